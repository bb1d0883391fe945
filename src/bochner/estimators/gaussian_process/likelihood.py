"""Kernel and noise of a Gaussian process, by the greatest likelihood of a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.compute.random.counter_based import Random
from bochner.data import DataSource
from bochner.estimators.automatic.defaults import is_auto
from bochner.estimators.automatic.scales import MANY_COLUMNS
from bochner.kernels import ColumnScaled, Kernel
from bochner.kernels.kernel import ShiftInvariant
from bochner.posterior import ExactLikelihood, Hyper, Units, maximum
from bochner.posterior.feature_posterior import LEAST_NOISE, ROUNDING
from bochner.posterior.units import weights_of
from bochner.tuning.exact import require_shift_invariant

if TYPE_CHECKING:
    from bochner.estimators.gaussian_process.gaussian_process import KernelGaussianProcess
    from bochner.estimators.gaussian_process.setup import GaussianProcessSetup

FIRST_NOISE = 0.1  # in variances of the targets, where the search begins
MOST_NUMBERS = 20_000_000  # of a sample


def learned(
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
    return found.amplitude * size * ColumnScaled(inner, found.scales), found.noise


def _mode(estimator: KernelGaussianProcess, columns: int) -> str | None:
    """Return whether scales are learned each for itself, all together, or not at all."""
    if isinstance(estimator.scales, str) and estimator.scales != "auto":
        return estimator.scales
    if not is_auto(estimator.scales) or not is_auto(estimator.kernel):
        return None
    return "learn" if columns <= MANY_COLUMNS else "equal"
