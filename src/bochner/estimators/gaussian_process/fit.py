"""The fit of a Gaussian process, in the three ways to its variance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bochner.data import DataSource, RandomAccess, mapped, shuffled
from bochner.estimators.automatic.defaults import is_auto
from bochner.estimators.gaussian_process.setup import GaussianProcessSetup, solver_of
from bochner.posterior import (
    FeaturePosterior,
    FeatureSums,
    FunctionPosterior,
    OperatorPosterior,
    Posterior,
    Ridge,
    Summation,
    Units,
    Watch,
    best_noise,
)
from bochner.posterior.feature_posterior import LEAST_NOISE, least_noise
from bochner.posterior.likelihood import row_likelihood
from bochner.posterior.summation import NOTHING_YET
from bochner.posterior.units import require_mass, weights_of
from bochner.training.progress import Progress

if TYPE_CHECKING:
    from bochner.estimators.gaussian_process.gaussian_process import KernelGaussianProcess

WALKED_ROWS = 8_192  # at a time
POSTERIORS: dict[str, type[OperatorPosterior] | type[FunctionPosterior]] = {
    "operator": OperatorPosterior,
    "functions": FunctionPosterior,
}


@dataclass(frozen=True, eq=False)
class Learned:
    """A posterior, in units of its own, and the sums that it comes from if there are any.

    `noises` are the variances of the noise of the outputs in these units.
    """

    setup: GaussianProcessSetup
    posterior: Posterior
    units: Units
    noises: NDArray[np.float64]
    sums: FeatureSums | None


def learned(
    estimator: KernelGaussianProcess,
    setup: GaussianProcessSetup,
    source: DataSource,
    before: FeatureSums | None,
    watch: Watch,
) -> Learned:
    """Return the posterior given the rows, and those of the sums `before`."""
    if estimator.variance == "features":
        return _by_features(estimator, setup, source, before, watch)
    return _by_ridge(estimator, setup, mapped(source, setup), watch)


def watched(posterior: Posterior, watch: Watch) -> Posterior:
    """Return the posterior with the fits that it makes at new rows, if any, under a watch."""
    if not isinstance(posterior, FunctionPosterior):
        return posterior
    return replace(posterior, ridge=replace(posterior.ridge, watch=watch))


def likelihood(
    posterior: Posterior, noises: NDArray[np.float64], units: Units, most_rows: int
) -> float:
    """Return log p(y | X) for variances of the noise in `units`."""
    if isinstance(posterior, FeaturePosterior):
        return posterior.log_likelihood(noises)
    if not isinstance(posterior, FunctionPosterior):
        raise ValueError(
            "This posterior is an operator, of which no likelihood is known. Fit it anew with "
            "variance='features' or 'functions'."
        )
    kernel, rows = posterior.kernel, posterior.ridge.source
    found, count = row_likelihood(kernel, rows, noises, most_rows)
    return found - count * float(np.log(units.deviation).sum())


def noises_in_units(noise: float, units: Units) -> NDArray[np.float64]:
    """Return a variance in the units of y squared as one for each output in other units."""
    return noise / np.square(units.deviation)


def _by_features(
    estimator: KernelGaussianProcess,
    setup: GaussianProcessSetup,
    source: DataSource,
    before: FeatureSums | None,
    watch: Watch,
) -> Learned:
    begin = NOTHING_YET if before is None else _last(estimator)
    summation = Summation(setup.basis, before, watch, begin)
    rows: DataSource = mapped(source, setup)
    if watch.max_seconds is not None and isinstance(rows, RandomAccess):
        rows = shuffled(rows)  # so that those the time is enough for stand for all
    sums = summation.walk(rows, setup.seed)
    setup = replace(setup, basis=summation.basis)
    units = sums.units if estimator.normalize_y else Units.none(setup.targets.outputs)
    least = least_noise(sums, setup.prior)
    if is_auto(estimator.noise):
        best = best_noise(sums, units, max(setup.noise, least), least)
        noises = np.full(setup.targets.outputs, best)
    else:
        noises = np.maximum(noises_in_units(float(estimator.noise), units), least)
    posterior = FeaturePosterior(setup.basis, setup.kernel, sums, units, noises)
    return Learned(setup, posterior, units, noises, sums)


def _last(estimator: KernelGaussianProcess) -> Progress:
    """Return where the parts so far have come to."""
    step, rows = (estimator.history_[name][-1] for name in ("step", "rows"))
    return replace(NOTHING_YET, pass_=estimator.n_iter_, step=step, rows=rows)


def _by_ridge(
    estimator: KernelGaussianProcess,
    setup: GaussianProcessSetup,
    source: DataSource,
    watch: Watch,
) -> Learned:
    outputs = setup.targets.outputs
    units = Units.learn(source) if estimator.normalize_y else Units.none(outputs)
    noises = np.full(outputs, setup.noise)
    if not is_auto(estimator.noise):
        noises = noises_in_units(setup.noise, units)
    if np.ptp(noises) > 0:
        raise ValueError(
            f"variance={estimator.variance!r} has one operator for all outputs, which differ in "
            "size: one noise for y is several in their units. Give normalize_y=False, "
            "noise='auto', or variance='features'."
        )
    mass, some = 0.0, 0
    for batch in source.batches(WALKED_ROWS):
        weight = weights_of(batch)
        mass, some = mass + float(weight.sum()), some + int(np.count_nonzero(weight))
    require_mass(mass)
    typical = mass / some
    noises = np.maximum(noises, LEAST_NOISE * setup.prior * typical)
    ridge = Ridge(
        mapped(source, units),
        setup.basis,
        solver_of(estimator, source.n_rows, setup.basis.size),
        float(noises[0]) / mass,
        setup.seed,
        watch,
    )
    posterior = POSTERIORS[estimator.variance].learn(setup.kernel, ridge, outputs)
    return Learned(setup, watched(posterior, watch.afresh()), units, noises, None)
