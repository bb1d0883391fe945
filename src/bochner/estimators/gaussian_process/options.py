"""ProcessOptions: the parameters of a Gaussian process, and what "auto" means for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import DataSource
from bochner.estimators.automatic.scales import MANY_COLUMNS, scaled_kernel
from bochner.estimators.automatic.settings import default_kernel, is_auto
from bochner.estimators.inputs.tables import Table
from bochner.features import Centers, FeatureMap, RandomFeatures, map_of
from bochner.kernels import Kernel, Precomputed
from bochner.solvers import DoublyStochastic, Preconditioned, Solver
from bochner.validation import require_not_negative

CENTERS, WAVES, OPERATOR_WAVES = 1_500, 2_048, 1_024
FEW_ROWS = 3_000  # for which functions are fitted exactly
RIDGE = 1e-7  # beside noise / rows


def require_noise(noise: Any) -> None:
    """Require "auto", a variance from 0 on, or a positive variance for each row."""
    if np.ndim(noise) == 0:
        if not is_auto(noise):
            require_not_negative("noise", noise)
        return
    given = np.asarray(noise)
    numbers = given.ndim == 1 and given.dtype.kind in "fiu"
    if not numbers or not (np.isfinite(given) & (given > 0)).all():
        raise ValueError(
            'noise must be "auto", a number from 0 on, or an array of a finite positive variance '
            f"for each row; got an array of shape {given.shape}, {given.dtype}, with numbers from "
            f"{given.min(initial=np.inf) if numbers else given.flat[:1]!s} on."
        )


@dataclass(frozen=True, eq=False)
class RowNoises:
    """Noise variances of rows: a row of noise v has the weight `common` / v.

    `common`, the harmonic mean, is that of a row of weight 1, which is the mean weight.
    """

    variances: NDArray[np.float64]

    @classmethod
    def of(cls, noise: Any, rows: int) -> RowNoises:
        """Return checked variances, one for each row."""
        given = np.asarray(noise, np.float64)
        if given.shape != (rows,):
            raise ValueError(
                "noise must be a number, or an array with a variance for each row, in the order of "
                f"the rows; got {len(given):,} variances for {rows:,} rows."
            )
        return cls(given)

    @property
    def common(self) -> float:
        """The harmonic mean of the variances."""
        least = self.variances.min()
        return float(least / np.mean(least / self.variances))

    def weights(self, sample_weight: Any) -> NDArray[np.float64]:
        """Return the weights of the rows, times weights that are given."""
        own = self.common / self.variances
        if sample_weight is None:
            return own
        given = np.asarray(sample_weight, np.float64)
        return own * given if given.shape in ((), own.shape) else given  # which is refused later


@dataclass(frozen=True, eq=False)
class ProcessOptions:
    """The parameters of `KernelGaussianProcess`, the seed, and the names and table of columns."""

    kernel: Any
    noise: float | str
    variance: str
    features: Any
    solver: Any
    scale: str | None
    scales: Any
    normalize_y: bool
    likelihood_rows: int
    memory_budget: int | str | None
    seed: int
    columns: NDArray[Any] | None = None
    table: Table | None = None

    @property
    def parameters(self) -> str:
        """The parameters that sums over rows depend on, as text."""
        names = "kernel", "features", "scale", "scales", "variance", "normalize_y"
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in names)

    @property
    def given_noise(self) -> float | None:
        """The noise variance in the units of y squared, None for "auto"."""
        return None if is_auto(self.noise) else float(self.noise)

    def kernel_on(self, features: FeatureMap) -> Kernel:
        """Return the kernel with given scales and with indices of columns; refuse "precomputed"."""
        kernel = default_kernel(features) if is_auto(self.kernel) else self.kernel
        kernel = scaled_kernel(kernel, self.scales)
        if isinstance(kernel, Precomputed):
            raise ValueError(
                "A Gaussian process needs the kernel's values at new rows, too; got "
                "kernel='precomputed'. Give the kernel itself, or a function k(A, B)."
            )
        return kernel.with_column_indices(self.columns)

    def learned_scales(self, columns: int) -> str | None:
        """Return "learn" (one scale a column), "equal" (one for all) or None (none is learned)."""
        if isinstance(self.scales, str) and self.scales != "auto":
            return self.scales
        if not is_auto(self.scales) or not is_auto(self.kernel):
            return None
        return "learn" if columns <= MANY_COLUMNS else "equal"

    def solver_for(self, rows: int | None, size: int | None = None) -> Solver[Any]:
        """Return the solver; "auto" depends on `variance` and on the number of rows."""
        if not is_auto(self.solver):
            return Solver.resolve(self.solver)
        if self.variance == "operator":
            # Features are targets without noise, so caution is not needed. All features are in one
            # block: with several, the solver converges slowly where the variance is small.
            step = Preconditioned(ridge=RIDGE, caution=0.0)
            return DoublyStochastic(step=step, feature_block="auto" if size is None else size)
        return Solver.resolve("direct" if rows is not None and rows <= FEW_ROWS else "nystroem")

    def features_for(self, source: DataSource, part: bool) -> FeatureMap:
        """Return the feature map; `part` if more rows will follow in other calls."""
        given: Any = self.features
        if is_auto(given) and self.variance == "features":
            # The first rows of a stream need not represent later ones, as centres must.
            stream = part or source.n_rows is None
            given = self._random_features(WAVES) if stream else Centers(CENTERS)
        elif is_auto(given) and self.variance == "operator":
            given = RandomFeatures(OPERATOR_WAVES)
        elif is_auto(given):
            # Without a limit on their number, features would be used once and would fit the noise.
            given = self.solver_for(source.n_rows).tags.default_features
            given = self._random_features(WAVES) if given == "fourier" else given
        return FeatureMap.resolve(given)  # type: ignore[no-any-return]

    def precision(self, rows: int | None) -> Any:
        """Return double precision for closed forms, single precision for gradients."""
        closed = self.variance == "features" or self.solver_for(rows).tags.takes_ridge
        return np.float64 if closed else np.float32

    def _random_features(self, size: int) -> FeatureMap:
        """Return random features of the kernel, Fourier features for "auto"."""
        kernel = "gaussian" if is_auto(self.kernel) else self.kernel
        return map_of(scaled_kernel(kernel, self.scales), size)
