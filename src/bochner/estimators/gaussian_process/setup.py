"""What is settled before a Gaussian process sees its rows: kernel, features, a first noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data import Batch, DataSource, Scaling
from bochner.estimators.automatic.defaults import (
    default_kernel,
    features_for_table,
    is_auto,
    unscaled_columns,
)
from bochner.estimators.automatic.scales import scaled_kernel
from bochner.estimators.fitting.setup import require_columns
from bochner.estimators.gaussian_process.likelihood import FIRST_NOISE, learned
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
from bochner.kernels import Kernel, Precomputed
from bochner.records import Validated
from bochner.solvers import DoublyStochastic, Preconditioned, Solver
from bochner.validation import seed_of

if TYPE_CHECKING:
    from bochner.estimators.gaussian_process.gaussian_process import KernelGaussianProcess

CENTERS, WAVES, OPERATOR_WAVES = 1_500, 2_048, 1_024
FEW_ROWS = 3_000  # for which functions are found exactly
JITTER = 1e-10  # of k(Z, Z), in means of its diagonal
RIDGE = 1e-7  # beside noise / rows


@dataclass(frozen=True, eq=False)
class GaussianProcessSetup(Validated):
    """Kernel, basis, coding of rows and targets, and the noise that a sample speaks for.

    `noise` is in variances of the targets if it was found and they are normalised, else in their
    units; `prior` is the mean of k(x, x), `recipe` what was asked for, in words.
    """

    seed: int
    kernel: Kernel
    basis: Basis
    scaling: Scaling | None
    targets: Numbers
    noise: float
    prior: float = 1.0
    recipe: str = ""

    def validate(self) -> None:
        """Check that the scaling is of the columns of the basis."""
        require_columns(self.basis, self.scaling)

    def require(self, recipe: str) -> None:
        """Refuse to go on with another recipe than the first rows had."""
        if recipe != self.recipe:
            raise ValueError(
                f"Going on needs what the first rows had, {self.recipe}; got {recipe}. Set it "
                "back, or begin anew with fit."
            )

    def rows(self, X: Any) -> Any:
        """Return rows as the basis takes them."""
        if self.scaling is None:
            return X
        dense = X.toarray() if sp.issparse(X) and self.scaling.location.any() else X
        return self.scaling.rows(dense)

    def __call__(self, batch: Batch) -> Batch:
        """Scale the rows and code the targets of a batch."""
        return self.targets(replace(batch, X=self.rows(batch.X)))


def settled(
    estimator: KernelGaussianProcess, source: DataSource, part: bool
) -> GaussianProcessSetup:
    """Take from a sample what is open; `part` if the rows are the first of more."""
    if estimator.variance != "features":
        require_rows(source, estimator.variance)
    seed = seed_of(estimator.random_state)
    y = source.sample(1).y
    if y is None:
        raise ValueError("KernelGaussianProcess needs targets: give y, or blocks (X, y).")
    features = _features(estimator, source, part)
    kernel = scaled_kernel(
        default_kernel(features) if is_auto(estimator.kernel) else estimator.kernel,
        estimator.scales,
    )
    if isinstance(kernel, Precomputed):
        raise ValueError(
            "A Gaussian process needs the kernel's values at new rows, too; got "
            "kernel='precomputed'. Give the kernel itself, or a function k(A, B)."
        )
    kernel = kernel.with_column_indices(estimator._names)
    features = features_for_table(features, estimator._table, kernel)
    scaling = _scaling(estimator, source, unscaled_columns(features, kernel, source.n_columns))
    first = GaussianProcessSetup(seed, kernel, None, scaling, Numbers.learn(y), FIRST_NOISE)  # type: ignore[arg-type]
    kernel, noise = learned(estimator, first, source)
    sample = first(source.sample(features.sample_rows(source.n_rows), seed))
    if scaling is not None:
        features = features.scaled(scaling)
    kernel = kernel.resolved(numeric_rows(features, sample.X), Random(seed))
    basis = features.build(
        kernel, sample, seed, _precision(estimator, source.n_rows),
        memory_budget(estimator.memory_budget),
    )  # fmt: skip
    if isinstance(basis, CenterBasis) and estimator.variance == "features":
        basis = WhitenedBasis(basis, JITTER)
    prior = float(np.mean(kernel.diagonal(sample.X)))
    recipe = recipe_of(estimator)
    return replace(first, kernel=kernel, basis=basis, noise=noise, prior=prior, recipe=recipe)


def require_rows(source: DataSource, variance: str) -> None:
    """Refuse rows whose number nobody knows."""
    if source.n_rows is None:
        raise ValueError(
            f"variance={variance!r} needs to know how many rows there are, since the noise is "
            "shared among them; got a stream. Give variance='features', or arrays."
        )


def recipe_of(estimator: KernelGaussianProcess) -> str:
    """Return in words what sums over rows depend on."""
    names = "kernel", "features", "scale", "scales", "variance", "normalize_y"
    return ", ".join(f"{name}={getattr(estimator, name)!r}" for name in names)


def solver_of(
    estimator: KernelGaussianProcess, rows: int | None, size: int | None = None
) -> Solver[Any]:
    """Return the solver, which "auto" leaves to the way to the variance and to the rows."""
    if not is_auto(estimator.solver):
        return Solver.resolve(estimator.solver)
    if estimator.variance == "operator":
        # Features are targets without noise: there is nothing to be cautious about. All in one
        # block, since blocks that take turns are slow where the variance is small.
        step = Preconditioned(ridge=RIDGE, caution=0.0)
        return DoublyStochastic(step=step, feature_block="auto" if size is None else size)
    return Solver.resolve("direct" if rows is not None and rows <= FEW_ROWS else "nystroem")


def _features(estimator: KernelGaussianProcess, source: DataSource, part: bool) -> FeatureMap:
    given: Any = estimator.features
    if is_auto(given) and estimator.variance == "features":
        # What comes first need not stand for what comes later, as centres would have to.
        stream = part or source.n_rows is None
        given = _drawn(estimator, WAVES) if stream else Centers(CENTERS)
    elif is_auto(given) and estimator.variance == "operator":
        given = RandomFeatures(OPERATOR_WAVES)
    elif is_auto(given):
        # Endless features would never be visited again, and the noise fitted as well.
        given = solver_of(estimator, source.n_rows).tags.default_features
        given = _drawn(estimator, WAVES) if given == "fourier" else given
    return FeatureMap.resolve(given)  # type: ignore[no-any-return]


def _drawn(estimator: KernelGaussianProcess, size: int) -> FeatureMap:
    """Return random features of the kernel, waves if it is open."""
    kernel = "gaussian" if is_auto(estimator.kernel) else estimator.kernel
    return map_of(scaled_kernel(kernel, estimator.scales), size)


def _precision(estimator: KernelGaussianProcess, rows: int | None) -> Any:
    """Return double precision for closed forms, single for gradients."""
    closed = estimator.variance == "features" or solver_of(estimator, rows).tags.takes_ridge
    return np.float64 if closed else np.float32


def _scaling(
    estimator: KernelGaussianProcess, source: DataSource, left: tuple[int, ...]
) -> Scaling | None:
    if estimator.scale is None:
        return None
    return Scaling.learn(source, estimator.scale).without(left)  # type: ignore[arg-type]
