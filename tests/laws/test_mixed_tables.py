"""Kernels of categories and of chosen columns, and machines on tables of both."""

import numpy as np
import pandas as pd
import pytest

from bochner import KernelClassifier, KernelGaussianProcess, KernelRegressor, RandomFourier
from bochner.compute.random.counter_based import Random
from bochner.kernels import ChiSquared, Delta, Gaussian, Laplacian, Mapped, Overlap, Stretched

TREES = np.array(["ash", "beech", "elm", "oak"])


def table(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    trees, (height, age) = rng.integers(4, size=n_rows), rng.normal(size=(2, n_rows))
    y = np.where(trees % 2 == 0, np.sin(2 * height), np.cos(2 * height)) + 0.1 * age
    return pd.DataFrame({"tree": TREES[trees], "height": height, "age": age}), y


def mixed():
    return Delta(0.1).on("tree") * Gaussian(1.0).on(["height", "age"])


def categories(n_rows=60, n_columns=3, seed=0):
    return np.random.default_rng(seed).integers(4, size=(n_rows, n_columns)).astype(float)


def test_delta_is_a_product_and_overlap_a_mean_over_the_columns():
    A, B = categories(), categories(40, seed=1)
    equal = A[:, None] == B
    np.testing.assert_array_equal(Delta()(A, B), equal.all(axis=2))
    np.testing.assert_allclose(Delta(0.3)(A, B), np.where(equal, 1, 0.3).prod(axis=2))
    np.testing.assert_allclose(Overlap()(A, B), equal.mean(axis=2), atol=1e-15)


def test_random_turns_are_hashes_of_categories():
    """In expectation waves of different categories are orthogonal."""
    kernel, X = Delta(), np.arange(200.0)[:, None]
    phases = X @ kernel.frequencies(1, 4096, Random(0))
    Phi = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(4096)
    assert np.abs(Phi @ Phi.T - np.eye(200)).max() < 6 / np.sqrt(2 * 4096)


def test_numbers_that_are_not_whole_are_refused():
    for kernel in (Delta(), Overlap(), Delta().on(1)):
        with pytest.raises(ValueError, match=r"whole numbers; got 0.5"):
            kernel([[0.0, 0.5]])


@pytest.mark.parametrize("other", [-0.1, 1.0, np.nan, None, "0.5", True])
def test_a_value_for_other_categories_that_is_none_is_refused(other):
    with pytest.raises(ValueError, match="from 0 to less than 1"):
        Delta(other)(categories())


def test_a_kernel_on_columns_sees_no_others():
    X = np.random.default_rng(0).normal(size=(30, 4))
    for kernel in (Gaussian(1.0), Laplacian(2.0)):
        np.testing.assert_allclose(kernel.on([2, 0])(X), kernel(X[:, [2, 0]]), rtol=1e-12)
    np.testing.assert_allclose(ChiSquared().on(1)(X**2), ChiSquared()(X[:, [1]] ** 2))
    resolved = Gaussian().on([1, 3]).resolved(X, Random(0))
    alone = Gaussian().resolved(X[:, [1, 3]], Random(0))
    np.testing.assert_allclose(resolved.kernel.bandwidth, alone.bandwidth)


def test_kernels_say_which_columns_they_take_for_numbers():
    assert Gaussian().numeric_columns(3) == {0, 1, 2}
    assert Delta().numeric_columns(3) == set()
    assert (Delta().on(0) * Gaussian().on([2]) + Overlap().on(1)).numeric_columns(3) == {2}
    assert Mapped(Gaussian(), np.eye(3)).numeric_columns(3) == {0, 1, 2}


@pytest.mark.parametrize("columns", [[], -1, 1.5, [0, 0], [True], None])
def test_columns_that_are_none_are_refused(columns):
    with pytest.raises(ValueError, match="columns"):
        Gaussian(1.0).on(columns).check()


def test_columns_that_are_not_there_are_refused():
    X, y = table()
    with pytest.raises(ValueError, match=r"not there: 'width'. There are 'tree', 'height', 'age'"):
        KernelRegressor(kernel=Gaussian().on("width")).fit(X, y)
    with pytest.raises(ValueError, match="needs a data frame that has the columns"):
        KernelRegressor(kernel=Gaussian().on("width")).fit(X[["height", "age"]].to_numpy(), y)
    with pytest.raises(ValueError, match=r"rows of 2 columns. Give indices below 2"):
        Gaussian(1.0).on(2)(np.zeros((3, 2)))


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "direct"},
        {"solver": "nystroem"},
        {"solver": "eigenpro"},
        {"features": "fourier", "solver": "dsg"},
        {},
    ],
    ids=["direct", "nystroem", "eigenpro", "fourier", "auto"],
)
def test_machines_learn_from_text_and_numbers(options):
    X, y = table(1500)
    model = KernelRegressor(kernel=mixed(), random_state=0, **options).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) > 0.9


def test_the_exact_machine_of_a_table_is_kernel_ridge_regression():
    X, y = table(200)
    model = KernelRegressor(
        kernel=mixed(), solver="direct", alpha=1e-2, fit_intercept=False, random_state=0
    ).fit(X, y)
    equal = np.where(X["tree"].to_numpy()[:, None] == X["tree"].to_numpy(), 1.0, 0.1)
    K = equal * Gaussian(1.0)(X[["height", "age"]].to_numpy())
    expected = K @ np.linalg.solve(K + 200 * 1e-2 * np.eye(200), y)
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-3)


def test_classes_probabilities_and_unseen_categories():
    X, y = table(600)
    model = KernelClassifier(kernel=mixed(), random_state=0).fit(X, y > 0)
    assert model.score(X, y > 0) > 0.9
    other = X[:5].assign(tree="yew")
    assert np.isfinite(model.predict_proba(other)).all()


def test_scaling_leaves_categories_as_they_are():
    X, y = table(600)
    kernel = Delta(0.1).on("tree") * Gaussian(1.0).on(["height", "age"])
    model = KernelRegressor(
        kernel=kernel, features="fourier", scale="standard", random_state=0
    ).fit(X, y)
    assert model.scaling_.factor[0] == 1
    assert model.scaling_.location[0] == 0
    assert model.scaling_.factor[1] != 1
    assert model.score(X, y) > 0.9


def test_text_that_a_kernel_takes_for_numbers_still_needs_bins():
    X, y = table()
    with pytest.raises(ValueError, match=r"Delta\(\).on\(columns\)"):
        KernelRegressor(kernel="gaussian", features="centers").fit(X, y)
    only_numbers = KernelRegressor(kernel=Gaussian().on(["height", "age"]), random_state=0)
    assert np.isfinite(only_numbers.fit(X, y).predict(X)).all()


def test_a_gaussian_process_takes_mixed_tables():
    X, y = table(300)
    model = KernelGaussianProcess(kernel=mixed(), random_state=0).fit(X, y)
    mean, deviation = model.predict(X, return_std=True)
    assert np.corrcoef(mean, y)[0, 1] > 0.9
    assert (deviation >= 0).all()


def test_parts_of_a_mixed_kernel_can_be_searched():
    X, y = table(200)
    model = KernelRegressor(kernel=mixed(), solver="direct")
    model.set_params(kernel__left__kernel__other=0.5, kernel__right__kernel__bandwidth=2.0)
    assert model.fit(X, y).kernel_.right.kernel.bandwidth == 2.0


def test_scales_leave_categories_as_they_are():
    X = np.column_stack([categories(30, 1), np.random.default_rng(0).normal(size=30)])
    kernel = Delta().on(0) * Gaussian(1.0).on(1)
    stretched, wide = Stretched(kernel, [7.0, 2.0]), Delta().on(0) * Gaussian(2.0).on(1)
    np.testing.assert_allclose(stretched(X), wide(X), rtol=1e-12)
    np.testing.assert_allclose(
        stretched.frequencies(2, 50, Random(0)), wide.frequencies(2, 50, Random(0)), rtol=1e-12
    )


def test_random_fourier_features_take_text_and_numbers():
    X, _ = table(60)
    Phi = RandomFourier(mixed(), 16_384, random_state=0).fit_transform(X)
    equal = np.where(X["tree"].to_numpy()[:, None] == X["tree"].to_numpy(), 1.0, 0.1)
    K = equal * Gaussian(1.0)(X[["height", "age"]].to_numpy())
    assert np.abs(Phi @ Phi.T - K).max() < 6 / np.sqrt(8192)
    with pytest.raises(ValueError, match=r"Delta\(\).on\(columns\)"):
        RandomFourier().fit(X)
