"""What is settled before a Gaussian process sees its rows: kernel, features, a first noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.compute.memory import memory_budget
from bochner.compute.random import Random
from bochner.data import Batch, DataSource, Scaling
from bochner.estimators.choices import for_text, is_auto, kernel_for, unscaled
from bochner.estimators.scales import MANY_COLUMNS, scaled_kernel
from bochner.estimators.seeds import seed_of
from bochner.estimators.targets import Numbers
from bochner.features import Basis, CenterBasis, Centers, FeatureMap, Fourier, WhitenedBasis
from bochner.kernels import Kernel, Stretched
from bochner.kernels.kernel import ShiftInvariant
from bochner.posterior import ExactLikelihood, Hyper, Units, maximum
from bochner.posterior.feature_posterior import LEAST_NOISE, ROUNDING
from bochner.posterior.units import weights_of
from bochner.solvers import DoublyStochastic, Preconditioned, Solver
from bochner.tuning.exact import require_shift_invariant

if TYPE_CHECKING:
    from bochner.estimators.kernel_gaussian_process import KernelGaussianProcess

CENTERS, WAVES, OPERATOR_WAVES = 1_500, 2_048, 1_024
FEW_ROWS = 3_000  # for which functions are found exactly
FIRST_NOISE = 0.1  # in variances of the targets, where the search begins
JITTER = 1e-10  # of k(Z, Z), in means of its diagonal
RIDGE = 1e-7  # beside noise / rows
MOST_NUMBERS = 20_000_000  # of a sample


@dataclass(frozen=True, eq=False)
class GaussianProcessSetup:
    """Kernel, basis, coding of rows and targets, and the noise that a sample speaks for.

    `noise` is in variances of the targets if it was found and they are normalised, else in their
    units; `prior` is k(x, x) of some row, `recipe` what was asked for, in words.
    """

    seed: int
    kernel: Kernel
    basis: Basis
    scaling: Scaling | None
    targets: Numbers
    noise: float
    prior: float = 1.0
    recipe: str = ""

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
        kernel_for(features) if is_auto(estimator.kernel) else estimator.kernel, estimator.scales
    )
    if kernel.precomputed:
        raise ValueError(
            "A Gaussian process needs the kernel's values at new rows, too; got "
            "kernel='precomputed'. Give the kernel itself, or a function k(A, B)."
        )
    kernel = kernel.placed(estimator._names)
    features = for_text(features, estimator._table, kernel)
    scaling = _scaling(estimator, source, unscaled(features, kernel, source.n_columns))
    first = GaussianProcessSetup(seed, kernel, None, scaling, Numbers.learn(y), FIRST_NOISE)  # type: ignore[arg-type]
    kernel, noise = _learned(estimator, first, source)
    sample = first(source.sample(features.sample_rows(source.n_rows), seed))
    if scaling is not None:
        features = features.scaled(scaling)
    kernel = kernel.resolved(features.as_numbers(sample.X), Random(seed))
    basis = features.build(
        kernel, sample, seed, _precision(estimator, source.n_rows),
        memory_budget(estimator.memory_budget),
    )  # fmt: skip
    if isinstance(basis, CenterBasis) and estimator.variance == "features":
        basis = WhitenedBasis(basis, JITTER)
    prior = float(kernel.diagonal(sample.X[:1])[0])
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
        given = Fourier(WAVES) if stream else Centers(CENTERS)
    elif is_auto(given) and estimator.variance == "operator":
        given = Fourier(OPERATOR_WAVES)
    elif is_auto(given):
        # Endless features would never be visited again, and the noise fitted as well.
        given = solver_of(estimator, source.n_rows).home(source.n_rows)
        given = Fourier(WAVES) if given == "fourier" else given
    return FeatureMap.resolve(given)  # type: ignore[no-any-return]


def _precision(estimator: KernelGaussianProcess, rows: int | None) -> Any:
    """Return double precision for closed forms, single for gradients."""
    closed = estimator.variance == "features" or solver_of(estimator, rows).takes_ridge
    return np.float64 if closed else np.float32


def _scaling(
    estimator: KernelGaussianProcess, source: DataSource, left: tuple[int, ...]
) -> Scaling | None:
    if estimator.scale is None:
        return None
    return Scaling.learn(source, estimator.scale).without(left)  # type: ignore[arg-type]


def _learned(
    estimator: KernelGaussianProcess, setup: GaussianProcessSetup, source: DataSource
) -> tuple[Kernel, float]:
    """Return the kernel and the noise of the greatest likelihood of a sample."""
    mode = _mode(estimator, source.n_columns)
    if mode is None and not is_auto(estimator.noise):
        return setup.kernel, float(estimator.noise)  # type: ignore[arg-type]
    rows = max(2, min(estimator.likelihood_rows, MOST_NUMBERS // source.n_columns))
    batch = setup(source.sample(rows, setup.seed))
    weight = weights_of(batch)
    batch, weight = batch[weight > 0], weight[weight > 0]
    assert batch.y is not None  # targets are coded
    if len(batch) == 0:
        return setup.kernel, FIRST_NOISE if is_auto(estimator.noise) else float(estimator.noise)
    units = Units.none(batch.y.shape[1])
    if estimator.normalize_y:
        mean = np.average(batch.y, axis=0, weights=weight)
        squares = np.average(np.square(batch.y - mean), axis=0, weights=weight)
        units = Units.of(mean, squares)
    y = units(batch).y
    assert y is not None
    size, typical = _size(y, units), float(weight.mean())
    given = None if is_auto(estimator.noise) else float(estimator.noise) / typical  # type: ignore[arg-type]
    if given is not None:
        given = max(float(np.mean(given / np.square(units.deviation))) / size, LEAST_NOISE)
    X = np.asarray(batch.X.toarray() if sp.issparse(batch.X) else batch.X, np.float64)
    with single_blas():
        kernel, noise = _best(setup, mode, (X, y / np.sqrt(size), weight / typical), size, given)
    return kernel, noise * size * typical if given is None else float(estimator.noise)  # type: ignore[arg-type]


def _size(y: NDArray[np.float64], units: Units) -> float:
    """Return the mean square of targets in units, 1 if they are constant up to rounding."""
    found = float(np.mean(np.square(y)))
    return found if found > ROUNDING**2 * np.square(units.location).max() else 1.0


def _best(
    setup: GaussianProcessSetup,
    mode: str | None,
    rows: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    size: float,
    noise: float | None,
) -> tuple[Kernel, float]:
    """Return kernel and noise, given targets divided by the root of `size` and perhaps a noise."""
    X, columns, rng = rows[0], rows[0].shape[1], Random(setup.seed)
    widths = np.ones(columns)
    if mode == "learn":
        deviation = X.std(axis=0)
        widths = np.where(deviation > 0, deviation, 1.0)
    inner = setup.kernel.resolved(X / widths, rng)
    separate = np.full(columns, mode == "learn" and columns > 1)
    together = mode is not None and not separate.any()
    free = np.array([mode is not None, noise is None, *separate, together])
    guess = Hyper(
        1 / size if mode is None else 1.0, FIRST_NOISE if noise is None else noise, widths
    )
    if mode is not None:
        require_shift_invariant(inner)
    found = maximum(ExactLikelihood(inner, *rows), guess, free)  # type: ignore[arg-type]
    if mode is None:
        return setup.kernel, found.noise
    assert isinstance(inner, ShiftInvariant)
    return found.amplitude * size * Stretched(inner, found.scales), found.noise


def _mode(estimator: KernelGaussianProcess, columns: int) -> str | None:
    """Return whether scales are learned each for itself, all together, or not at all."""
    if isinstance(estimator.scales, str) and estimator.scales != "auto":
        return estimator.scales
    if not is_auto(estimator.scales) or not is_auto(estimator.kernel):
        return None
    return "learn" if columns <= MANY_COLUMNS else "equal"
