"""The fit of a Gaussian process, in the three ways to its variance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bochner.data import DataSource, mapped
from bochner.estimators.choices import is_auto
from bochner.estimators.gaussian_process_setup import GaussianProcessSetup, solver_of
from bochner.posterior import (
    FeaturePosterior,
    FeatureSums,
    FunctionPosterior,
    OperatorPosterior,
    Posterior,
    Ridge,
    Units,
    best_noise,
)
from bochner.posterior.feature_posterior import LEAST_NOISE, least_noise
from bochner.posterior.feature_sums import extended, require_few_features
from bochner.posterior.units import weights_of

if TYPE_CHECKING:
    from bochner.estimators.kernel_gaussian_process import KernelGaussianProcess

BATCH_NUMBERS, BATCH_ROWS = 2**23, (256, 8_192)  # features of a batch; its fewest and most rows
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
) -> Learned:
    """Return the posterior given the rows, and those of the sums `before`."""
    if estimator.variance == "features":
        return _by_features(estimator, setup, source, before)
    return _by_ridge(estimator, setup, mapped(source, setup))


def noises_in_units(noise: float, units: Units) -> NDArray[np.float64]:
    """Return a variance in the units of y squared as one for each output in other units."""
    return noise / np.square(units.deviation)


def _by_features(
    estimator: KernelGaussianProcess,
    setup: GaussianProcessSetup,
    source: DataSource,
    before: FeatureSums | None,
) -> Learned:
    setup, sums = _summed(setup, source, before)
    units = sums.units if estimator.normalize_y else Units.none(setup.targets.outputs)
    least = least_noise(sums, setup.prior)
    if is_auto(estimator.noise):
        best = best_noise(sums, units, max(setup.noise, least), least)
        noises = np.full(setup.targets.outputs, best)
    else:
        noises = np.maximum(noises_in_units(float(estimator.noise), units), least)
    posterior = FeaturePosterior(setup.basis, setup.kernel, sums, units, noises)
    return Learned(setup, posterior, units, noises, sums)


def _summed(
    setup: GaussianProcessSetup, source: DataSource, before: FeatureSums | None
) -> tuple[GaussianProcessSetup, FeatureSums]:
    """Walk through the rows once; bins grow as rows call for them."""
    require_few_features(setup.basis.size)
    basis, sums, least = setup.basis, before, BATCH_ROWS[0]
    if sums is not None:  # sums are added to in place, and the rows may turn out to be bad
        sums = replace(sums, gram=sums.gram.copy())
    rows = max(least, min(BATCH_NUMBERS // max(basis.size or 1, 1), BATCH_ROWS[1]))
    for batch in mapped(source, setup).batches(rows):
        if len(batch) == 0:
            continue
        assert batch.y is not None  # targets are coded
        sums = FeatureSums.empty(basis.end(None), batch.y.mean(axis=0)) if sums is None else sums
        larger, Z = extended(basis, batch.X)
        sums, basis = sums.grown(larger, basis).added(Z, batch), larger
    if sums is None:
        raise ValueError("A Gaussian process needs at least one row; got none.")
    return replace(setup, basis=basis), sums


def _by_ridge(
    estimator: KernelGaussianProcess, setup: GaussianProcessSetup, source: DataSource
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
    weights = [weights_of(batch) for batch in source.batches(BATCH_ROWS[1])]
    mass = float(sum(part.sum() for part in weights))
    typical = mass / sum(np.count_nonzero(part) for part in weights)
    noises = np.maximum(noises, LEAST_NOISE * setup.prior * typical)
    ridge = Ridge(
        mapped(source, units),
        setup.basis,
        solver_of(estimator, source.n_rows, setup.basis.size),
        float(noises[0]) / mass,
        setup.seed,
        estimator.max_passes,
        estimator.tol,
    )
    posterior = POSTERIORS[estimator.variance].learn(setup.kernel, ridge, outputs)
    return Learned(setup, posterior, units, noises, None)
