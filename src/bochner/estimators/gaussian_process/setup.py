"""GaussianProcessSetup: kernel, features and coding of the rows, chosen before the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data import DataSource, Scaling, mapped
from bochner.estimators.automatic.settings import features_for_table, unscaled_columns
from bochner.estimators.fitting.setup import RowCoding, require_columns, require_recipe
from bochner.estimators.gaussian_process.maximum_likelihood import (
    FIRST_NOISE,
    choose_kernel_and_noise,
)
from bochner.estimators.gaussian_process.options import ProcessOptions
from bochner.estimators.inputs.targets import Numbers
from bochner.features import Basis, CenterBasis, WhitenedBasis
from bochner.features.feature_map import numeric_rows
from bochner.kernels import Kernel
from bochner.records import Validated

JITTER = 1e-10  # of k(Z, Z), in means of its diagonal


@dataclass(frozen=True, eq=False)
class GaussianProcessSetup(RowCoding, Validated):
    """Kernel, basis, scaling of the rows, coding of the targets, and a noise from a sample.

    `noise` is in variances of the targets if it was searched for and they are normalised, else in
    the units of y squared; `prior` is the mean of k(x, x), `recipe` the parameters as text.
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
        """Refuse to add rows with other parameters than the first rows had."""
        require_recipe(self.recipe, recipe, "rows", " with fit")


def prepare_setup(options: ProcessOptions, source: DataSource, part: bool) -> GaussianProcessSetup:
    """Choose kernel, features and noise by a sample; `part` if more rows follow in later calls."""
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
    kernel, noise = choose_kernel_and_noise(options, kernel, mapped(source, first))
    sample = first(source.sample(features.sample_rows(source.n_rows), seed))
    kernel = kernel.resolved(numeric_rows(features, sample.X), Random(seed))
    memory = memory_budget(options.memory_budget)
    basis = features.build(kernel, sample, seed, options.precision(source.n_rows), memory)
    if isinstance(basis, CenterBasis) and options.variance == "features":
        basis = WhitenedBasis(basis, JITTER)
    prior = float(np.mean(kernel.diagonal(sample.X)))
    recipe = options.recipe
    return replace(first, kernel=kernel, basis=basis, noise=noise, prior=prior, recipe=recipe)


def require_known_length(source: DataSource, variance: str) -> None:
    """Refuse a source of an unknown number of rows."""
    if source.n_rows is None:
        raise ValueError(
            f"variance={variance!r} needs to know how many rows there are, since the noise is "
            "shared among them; got a stream. Give variance='features', or arrays."
        )
