"""The parameters of a Gaussian process, and the kernel, features and noise that they lead to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data import DataSource, Scaling, mapped
from bochner.data.transforms.scaling import Moments
from bochner.estimators.automatic.scales import MANY_COLUMNS, scaled_kernel
from bochner.estimators.automatic.settings import (
    default_kernel,
    features_for_table,
    is_auto,
    unscaled_columns,
)
from bochner.estimators.fitting.setup import RowCoding, require_columns
from bochner.estimators.inputs.ranges import in_single_precision, refuse_vanishing
from bochner.estimators.inputs.tables import Table
from bochner.estimators.inputs.targets import Numbers
from bochner.features import (
    Basis,
    CenterBasis,
    Centers,
    FeatureMap,
    RandomFeatures,
    WhitenedBasis,
    map_of,
)
from bochner.features.feature_map import numeric_rows
from bochner.kernels import ColumnScaled, Kernel, Precomputed, ShiftInvariant
from bochner.posterior import ExactLikelihood, ProcessHyperparameters, Units, maximize_likelihood
from bochner.posterior.feature_posterior import LEAST_NOISE, ROUNDING
from bochner.records import Validated
from bochner.solvers import DoublyStochastic, Preconditioned, Solver
from bochner.tuning.exact import require_shift_invariant
from bochner.validation import require_not_negative

CENTERS, WAVES, OPERATOR_WAVES = 1_500, 2_048, 1_024
FEW_ROWS = 3_000  # for which functions are fitted exactly
RIDGE = 1e-7  # beside noise / rows
JITTER = 1e-10  # of k(Z, Z), in means of its diagonal
FIRST_NOISE = 0.1  # in variances of the targets, where the search starts
MOST_NUMBERS = 20_000_000  # of a sample


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


@dataclass(frozen=True, eq=False)
class GaussianProcessSetup(RowCoding, Validated):
    """Kernel, basis, scaling of the rows, coding of the targets, and a noise from a sample.

    `noise` is in variances of the targets if it was searched for and they are normalised, else in
    the units of y squared; `prior` is the mean of k(x, x), `parameters` the text of those that must
    stay the same when rows are added.
    """

    seed: int
    kernel: Kernel
    basis: Basis
    scaling: Scaling | None
    targets: Numbers
    noise: float
    prior: float = 1.0
    parameters: str = ""

    def validate(self) -> None:
        """Check that the scaling is of the columns of the basis."""
        require_columns(self.basis, self.scaling)

    def rows(self, X: Any) -> Any:
        """Return rows scaled; refuse those that are too large for single precision."""
        return in_single_precision(super().rows(X))


def prepare_setup(
    options: ProcessOptions, source: DataSource, part: bool, until: float = inf
) -> GaussianProcessSetup:
    """Choose kernel, features and noise by a sample; `part` if more rows follow in later calls.

    The search for the greatest likelihood ends at the time `until`.
    """
    if options.variance != "features":
        require_known_length(source, options.variance)
    y = source.sample(1).y
    if y is None:
        raise ValueError("KernelGaussianProcess needs targets: give y, or blocks (X, y).")
    features = options.features_for(source, part)
    kernel = options.kernel_on(features)
    features = features_for_table(features, options.table, kernel)
    scaling = None
    if options.scale is not None:
        left = unscaled_columns(features, kernel, source.n_columns)
        scaling = Scaling.learn(source, options.scale).without(left)  # type: ignore[arg-type]
        features = features.scaled(scaling)
    seed, targets = options.seed, Numbers.learn(y)
    first = GaussianProcessSetup(seed, kernel, None, scaling, targets, FIRST_NOISE)  # type: ignore[arg-type]
    kernel, noise = choose_kernel_and_noise(options, kernel, mapped(source, first), until)
    sample = first(source.sample(features.sample_rows(source.n_rows), seed))
    kernel = kernel.resolved(numeric_rows(features, sample.X), Random(seed), sample.weight)
    memory = memory_budget(options.memory_budget)
    refuse_vanishing(sample.X, "X")
    refuse_vanishing(sample.targets, "y")
    basis = features.build(kernel, sample, seed, options.precision(source.n_rows), memory)
    if isinstance(basis, CenterBasis) and options.variance == "features":
        basis = WhitenedBasis(basis, JITTER)
    prior = float(np.average(kernel.diagonal(sample.X), weights=sample.weight))
    parameters = options.parameters
    return replace(
        first, kernel=kernel, basis=basis, noise=noise, prior=prior, parameters=parameters
    )


def require_known_length(source: DataSource, variance: str) -> None:
    """Refuse a source of an unknown number of rows."""
    if source.n_rows is None:
        raise ValueError(
            f"variance={variance!r} needs the number of rows, by which the noise is divided; got a "
            "stream. Give variance='features', or arrays."
        )


def choose_kernel_and_noise(
    options: ProcessOptions, kernel: Kernel, source: DataSource, until: float = inf
) -> tuple[Kernel, float]:
    """Return the kernel and the noise of greatest likelihood on a sample of coded rows.

    A given kernel or noise is returned unchanged. A fitted noise is in variances of the targets if
    these are normalised.
    """
    mode, noise = options.learned_scales(source.n_columns), options.given_noise
    if mode is None and noise is not None:
        return kernel, noise
    rows = max(2, min(options.likelihood_rows, MOST_NUMBERS // source.n_columns))
    batch = source.sample(rows, options.seed)
    batch = batch[batch.weights > 0]
    weight = batch.weights
    if len(batch) == 0:
        return kernel, FIRST_NOISE if noise is None else noise
    y = batch.targets
    units = Units.none(y.shape[1])
    if options.normalize_y:
        mean = np.average(y, axis=0, weights=weight)
        squares = np.average(np.square(y - mean), axis=0, weights=weight)
        units = Units.of(mean, squares)
    y = units(batch).targets
    size, typical = _mean_square(y, units, batch.weight), float(weight.mean())
    fixed = None
    if noise is not None:
        fixed = float(np.mean(noise / typical / np.square(units.deviation))) / size
        fixed = max(fixed, LEAST_NOISE)
    X = np.asarray(batch.X.toarray() if sp.issparse(batch.X) else batch.X, np.float64)
    likelihood = X, y / np.sqrt(size), weight / typical
    with single_blas():
        if mode is None:
            start = ProcessHyperparameters(1 / size, FIRST_NOISE, np.ones(X.shape[1]))
            free = np.array([False, True, *np.zeros(X.shape[1], bool), False])
            inner = kernel.resolved(X, Random(options.seed), batch.weight)
            exact = ExactLikelihood(inner, *likelihood)  # type: ignore[arg-type]
            found = maximize_likelihood(exact, start, free, until)
            return kernel, found.noise * size * typical
        learned, found = _learn_scales(kernel, mode, likelihood, fixed, options.seed, until)
    kernel = found.amplitude * size * learned
    return kernel, found.noise * size * typical if noise is None else noise


def _learn_scales(
    kernel: Kernel,
    mode: str,
    rows: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    noise: float | None,
    seed: int,
    until: float,
) -> tuple[Kernel, ProcessHyperparameters]:
    """Return the kernel with scales of greatest likelihood, and all hyperparameters."""
    X, columns = rows[0], rows[0].shape[1]
    widths = np.ones(columns)
    if mode == "learn":
        deviation = _deviation(X, rows[2])
        widths = np.where(deviation > 0, deviation, 1.0)
    inner = kernel.resolved(X / widths, Random(seed), rows[2])
    require_shift_invariant(inner)
    assert isinstance(inner, ShiftInvariant)
    separate = np.full(columns, mode == "learn" and columns > 1)
    free = np.array([True, noise is None, *separate, not separate.any()])
    start = ProcessHyperparameters(1.0, FIRST_NOISE if noise is None else noise, widths)
    found = maximize_likelihood(ExactLikelihood(inner, *rows), start, free, until)
    return ColumnScaled(inner, found.scales), found


def _deviation(X: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted standard deviation of each column."""
    if (weight == weight[0]).all():
        return np.asarray(X.std(axis=0))
    return Moments.of(X, weight).deviation


def _mean_square(y: NDArray[np.float64], units: Units, weight: NDArray[np.float64] | None) -> float:
    """Return the mean square of targets in units, 1 if they are constant up to rounding."""
    squares = np.square(y)
    found = float(np.mean(squares if weight is None else np.average(squares, 0, weight)))
    return found if found > ROUNDING**2 * np.square(units.location).max() else 1.0
