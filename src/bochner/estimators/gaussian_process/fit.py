"""The fit of a Gaussian process, for the three kinds of variance."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bochner.compute.interruption import abandonable, after, interruptible
from bochner.data import DataSource, RandomAccess, mapped, shuffled
from bochner.estimators.gaussian_process.setup import GaussianProcessSetup, ProcessOptions
from bochner.posterior import (
    FeaturePosterior,
    FeatureSums,
    FitLimits,
    FunctionPosterior,
    OperatorPosterior,
    Posterior,
    Ridge,
    Units,
    best_noise,
)
from bochner.posterior.feature_posterior import LEAST_NOISE, least_noise
from bochner.posterior.likelihood import row_likelihood
from bochner.posterior.summation import EarlierRows, sum_features
from bochner.solvers.solver import require_weight
from bochner.training.loop import INTERRUPTED

ROWS_PER_BATCH = 8_192  # of the pass that adds up the weights
POSTERIORS: dict[str, type[OperatorPosterior] | type[FunctionPosterior]] = {
    "operator": OperatorPosterior,
    "functions": FunctionPosterior,
}


@dataclass(frozen=True, eq=False)
class FittedProcess:
    """A posterior, the units of its targets, and the sums that it comes from, if any.

    `noises` are the noise variances of the outputs in these units.
    """

    setup: GaussianProcessSetup
    posterior: Posterior
    units: Units
    noises: NDArray[np.float64]
    sums: FeatureSums | None


def fit_process(
    options: ProcessOptions,
    setup: GaussianProcessSetup,
    source: DataSource,
    limits: FitLimits,
    earlier: EarlierRows | None = None,
) -> FittedProcess:
    """Return the posterior given the rows of a source and earlier ones."""
    source = mapped(source, setup)
    if options.variance == "features":
        return _fit_features(options, setup, source, limits, earlier)
    return _fit_ridge(options, setup, source, limits)


def with_limits(posterior: Posterior, limits: FitLimits) -> Posterior:
    """Return the posterior with limits for the fits that it makes at new rows, if any."""
    if not isinstance(posterior, FunctionPosterior):
        return posterior
    return replace(posterior, ridge=replace(posterior.ridge, watch=limits))


def log_likelihood(
    posterior: Posterior, noises: NDArray[np.float64], units: Units, most_rows: int
) -> float:
    """Return log p(y | X) for noise variances in `units`."""
    if isinstance(posterior, FeaturePosterior):
        return posterior.log_likelihood(noises)
    if not isinstance(posterior, FunctionPosterior):
        raise ValueError(
            "A likelihood needs the rows or sums over them, and this posterior is an operator "
            "without either. Fit again with variance='features' or 'functions'."
        )
    kernel, rows = posterior.kernel, posterior.ridge.source
    found, count = row_likelihood(kernel, rows, noises, most_rows)
    return found - count * float(np.log(units.deviation).sum())


def noises_in_units(noise: float, units: Units) -> NDArray[np.float64]:
    """Return a noise variance in the units of y squared as one for each output in other units."""
    return noise / np.square(units.deviation)


def _fit_features(
    options: ProcessOptions,
    setup: GaussianProcessSetup,
    source: DataSource,
    limits: FitLimits,
    earlier: EarlierRows | None,
) -> FittedProcess:
    if limits.max_seconds is not None and isinstance(source, RandomAccess):
        source = shuffled(source)  # so that the rows seen within the limit represent all
    basis, sums = sum_features(setup.basis, source, setup.seed, limits, earlier)
    setup = replace(setup, basis=basis)
    units = sums.units if options.normalize_y else Units.none(setup.targets.outputs)
    least, given = least_noise(sums, setup.prior), options.given_noise
    if given is None:
        best = _searched_noise(sums, units, max(setup.noise, least), least, limits)
        noises = np.full(setup.targets.outputs, best)
    else:
        noises = np.maximum(noises_in_units(given, units), least)
    posterior = FeaturePosterior(setup.basis, setup.kernel, sums, units, noises)
    return FittedProcess(setup, posterior, units, noises, sums)


def _searched_noise(
    sums: FeatureSums, units: Units, guess: float, least: float, limits: FitLimits
) -> float:
    """Return the noise of greatest likelihood; the guess after a Ctrl-C or a time limit."""
    late, end = after(limits.after(1.0)), limits.ends[-1]
    if end.reason is INTERRUPTED:
        return guess
    with interruptible() as asked, abandonable(lambda: asked.is_set() or late()):
        guess = best_noise(sums, units, guess, least)
    if asked.is_set():
        limits.record(replace(end, reason=INTERRUPTED))
    return guess


def _fit_ridge(
    options: ProcessOptions, setup: GaussianProcessSetup, source: DataSource, limits: FitLimits
) -> FittedProcess:
    outputs = setup.targets.outputs
    units = Units.learn(source) if options.normalize_y else Units.none(outputs)
    noises = np.full(outputs, setup.noise)
    if options.given_noise is not None:
        noises = noises_in_units(setup.noise, units)
    if np.ptp(noises) > 0:
        raise ValueError(
            f"variance={options.variance!r} has one operator for all outputs, which differ in "
            "size: one noise for y is several in their units. Give normalize_y=False, "
            "noise='auto', or variance='features'."
        )
    total_weight, mean_weight = _total_weight(source)
    noises = np.maximum(noises, LEAST_NOISE * setup.prior * mean_weight)
    solver = options.solver_for(source.n_rows, setup.basis.size)
    alpha = float(noises[0]) / total_weight
    ridge = Ridge(mapped(source, units), setup.basis, solver, alpha, setup.seed, limits)
    fitted = POSTERIORS[options.variance].learn(setup.kernel, ridge, outputs)
    posterior = with_limits(fitted, limits.without_callbacks())
    return FittedProcess(setup, posterior, units, noises, None)


def _total_weight(source: DataSource) -> tuple[float, float]:
    """Return the sum of the weights, and the mean of those that are not 0."""
    total_weight, positive = 0.0, 0
    for batch in source.batches(ROWS_PER_BATCH):
        weight = batch.weights
        total_weight += float(weight.sum())
        positive += int(np.count_nonzero(weight))
    require_weight(total_weight)
    return total_weight, total_weight / positive
