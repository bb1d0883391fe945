"""What the types say of kernels, features, solvers and machines is what happens."""

from pathlib import Path

import numpy as np
import pytest

import bochner
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource
from bochner.features import Drawing, FeatureMap, Fourier, map_of
from bochner.kernels import Delta, Gaussian, Kernel, Laplacian, Mapped, Polynomial, Precomputed
from bochner.solvers import Solver
from compatibility import (
    MACHINES,
    WITH_A_SIZE,
    features_of,
    losses_of,
    machines_with,
    solvers_on,
    tables,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
OURS = [
    name
    for name in sorted(Kernel.registry)
    if Kernel.resolve(name).__module__.startswith("bochner")
]
COMBINED = {
    "sum": Gaussian(1.0) + Laplacian(1.0),
    "stretched": Laplacian(1.0).stretched([1.0, 2.0, 3.0]),
    "orthogonal needs normal vectors": Laplacian(1.0) * Gaussian(1.0),
    "general sum": Polynomial(2, 1.0, 1.0) + Gaussian(1.0) + Laplacian(1.0),
    "mixed": Delta().on(0) * Gaussian(1.0).on([1, 2]),
}
every_kernel = pytest.mark.parametrize("name", [*OURS, *COMBINED])
every_map = pytest.mark.parametrize("features", sorted(FeatureMap.registry))


def rows():
    """Return categories in the first column and histograms without negative entries."""
    X = np.random.default_rng(0).random((60, 3))
    X[:, 0] = np.arange(60) % 3
    return X


def kernel_of(name):
    X = np.rint(3 * rows()) if name in ("delta", "overlap") else rows()
    kernel = COMBINED.get(name) or Kernel.resolve(name)
    X = X @ X.T if isinstance(kernel, Precomputed) else X
    return kernel.resolved(X, Random(0)), X


def happens(work):
    try:
        work()
    except ValueError:
        return False
    return True


@every_kernel
def test_features_are_built_exactly_of_the_kernels_that_they_take(name):
    kernel, X = kernel_of(name)
    sample = ArraySource(X).sample(60)
    for features in sorted(FeatureMap.registry):
        map_ = FeatureMap.resolve(features)
        assert happens(lambda: map_.build(kernel, sample, 0)) == (features in features_of(kernel))  # noqa: B023
        if features in features_of(kernel):
            assert isinstance(map_.build(kernel, sample, 0), map_.basis_type)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(1.0).stretched(np.ones(5)),
        Gaussian(1.0).on(4) * (2 * Gaussian(1.0)),
        Mapped(Gaussian(1.0), np.eye(5)[:, :2]),
        Laplacian(1.0).on(4),
    ],
    ids=repr,
)
def test_waves_of_kernels_of_some_number_of_columns_are_built_as_they_say(kernel):
    sample = ArraySource(np.random.default_rng(0).normal(size=(20, 5))).sample(20)
    for drawing in sorted(Drawing.registry):
        map_ = Fourier(64, drawing)
        assert happens(lambda: map_.build(kernel, sample, 0)) == map_.takes(kernel)  # noqa: B023


@every_map
def test_solvers_take_exactly_the_features_that_they_say(features):
    X = rows()
    y, kernel = X[:, 1] - X[:, 2], taken_by(features)
    settings = {"max_passes": 1, "early_stopping": False, "random_state": 0}
    for solver in sorted(Solver.registry):
        said = solvers_on(features).get(solver)
        model = bochner.KernelRegressor(kernel, features=features, solver=solver, **settings)
        assert happens(lambda: model.fit(X, y)) == (said == "yes")  # noqa: B023
        if said == WITH_A_SIZE:
            model.set_params(features=FeatureMap.resolve(features).set_params(size=24)).fit(X, y)


def taken_by(features):
    names = (name for name in OURS if name not in ("precomputed", "delta", "overlap"))
    return next(k for k, _ in map(kernel_of, names) if features in features_of(k))


@pytest.mark.parametrize("machine", ["KernelClassifier", "KernelRegressor"])
def test_machines_take_solvers_with_the_losses_that_they_say(machine):
    X = rows()
    y = X[:, 1] - X[:, 2]
    y = y > 0 if machine == "KernelClassifier" else y
    for solver in sorted(Solver.registry):
        home = Solver.resolve(solver).tags.default_features
        for loss in sorted(bochner.losses.Loss.registry):
            model = getattr(bochner, machine)(
                "laplacian", loss, features=home, solver=solver, max_passes=1, random_state=0
            )
            assert happens(lambda: model.fit(X, y)) == (loss in losses_of(machine, solver))  # noqa: B023


@every_kernel
def test_machines_take_the_kernels_that_they_say(name):
    kernel, X = kernel_of(name)
    y = rows()[:, 1] - rows()[:, 2]
    settings = {"kernel": kernel, "random_state": 0, "max_passes": 1}
    fits = {
        "KernelClassifier": lambda: bochner.KernelClassifier(**settings).fit(X, y > 0),
        "KernelRegressor": lambda: bochner.KernelRegressor(**settings).fit(X, y),
        "KernelQuantileRegressor": lambda: bochner.KernelQuantileRegressor(**settings).fit(X, y),
        "KernelNoveltyDetector": lambda: bochner.KernelNoveltyDetector(**settings).fit(X),
        "KernelGaussianProcess": lambda: bochner.KernelGaussianProcess(kernel).fit(X, y),
        "DensityRatio": lambda: bochner.DensityRatio(kernel, size=20).fit(X[:30], X[30:]),
        "two_sample_test": lambda: bochner.two_sample_test(X[:30], X[30:], kernel=kernel, size=64),
        "KernelWitness": lambda: bochner.KernelWitness(kernel, size=64).fit(X[:30], X[30:]),
    }
    assert set(fits) == set(MACHINES)
    assert [machine for machine, work in fits.items() if happens(work)] == [
        machine for machine in fits if machine in machines_with(kernel)
    ]


def test_the_map_of_a_kernel_is_among_its_features():
    for name in OURS:
        kernel = kernel_of(name)[0]
        if "random" in features_of(kernel):
            assert map_of(kernel).takes(kernel)


def test_the_page_of_kernels_has_the_tables_of_today():
    page = Path(__file__).parents[2] / "docs" / "gallery.md"
    assert tables() in page.read_text()
