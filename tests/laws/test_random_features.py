"""Features of kernels made of kernels, and of random functions, approximate what they belong to."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import KernelClassifier, KernelGaussianProcess, KernelRegressor
from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource
from bochner.features import Fourier, RandomFeatures, has_map, map_of
from bochner.features.random.process import ProcessFeatures
from bochner.kernels import (
    FunctionKernel,
    Gaussian,
    Laplacian,
    Polynomial,
    Precomputed,
    RandomProcess,
)

PAIRS_OF_ROWS = 20


def projected(omega, X):
    return X @ omega


def rectified(omega, X):
    return np.sqrt(2) * np.maximum(X @ omega, 0)


def directions(n_columns, size, rng):
    return rng.normal((n_columns, size))


linear = RandomProcess(projected, directions)  # E x'w w'y = x'y
arc = RandomProcess(rectified, directions)
gaussian = Gaussian(1.5)
KERNELS = {
    "process": (linear, lambda X: X @ X.T),
    "multiple": (3 * linear, lambda X: 3 * X @ X.T),
    "sum": (gaussian + linear, lambda X: gaussian(X) + X @ X.T),
    "sum of three": (
        gaussian + 0.5 * linear + Laplacian(2.0),
        lambda X: gaussian(X) + 0.5 * X @ X.T + Laplacian(2.0)(X),
    ),
    "product": (gaussian * linear, lambda X: gaussian(X) * (X @ X.T)),
    "square": (linear * linear, lambda X: (X @ X.T) ** 2),
    "multiple of a product": (
        2 * (linear * gaussian) * linear,
        lambda X: 2 * gaussian(X) * (X @ X.T) ** 2,
    ),
    "product of a sum": (
        (gaussian + linear) * gaussian,
        lambda X: (gaussian(X) + X @ X.T) * gaussian(X),
    ),
    "stretch": (
        (gaussian + linear).stretched([1.0, 2.0, 4.0]),
        lambda X: gaussian(X / [1, 2, 4]) + (X / [1, 2, 4]) @ (X / [1, 2, 4]).T,
    ),
}
every_kernel = pytest.mark.parametrize(("kernel", "exact"), KERNELS.values(), ids=KERNELS.keys())


def rows(n_rows=PAIRS_OF_ROWS, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, size=(n_rows, 3))


def built(kernel, size=None, X=None, seed=0, **options):
    X = rows() if X is None else X
    return RandomFeatures(size).build(kernel, ArraySource(X).sample(len(rows())), seed, **options)


def blocks(basis, X, width=192, count=200):
    """Return the kernel matrices of many blocks of functions, each by itself."""
    Phi = basis.columns(basis.encode(X), 0, width * count) * basis.gain(width)
    Phi = Phi.reshape(len(X), count, width).astype(float)
    return np.einsum("ibf,jbf->bij", Phi, Phi)


@every_kernel
def test_the_mean_over_blocks_is_the_kernel(kernel, exact):
    X = rows()
    values = blocks(built(kernel), X)
    error = values.mean(axis=0) - exact(X)
    deviation = values.std(axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(error) < 6 * deviation + 1e-5)


@every_kernel
def test_the_exact_form_is_close_to_the_closed_form(kernel, exact):
    X = rows()
    np.testing.assert_allclose(kernel(X), exact(X), atol=0.2 * exact(X).max())


@every_kernel
def test_all_functions_of_a_finite_basis_approximate_the_kernel(kernel, exact):
    X = rows()
    basis = built(kernel, 48 * 800)
    Phi = basis.columns(basis.encode(X))
    assert basis.size == 48 * 800
    assert np.abs(Phi @ Phi.T - exact(X)).max() < 0.15 * exact(X).max()
    endless = built(kernel)
    np.testing.assert_allclose(
        endless.columns(endless.encode(X), 0, 480) * endless.gain(480),
        basis.columns(basis.encode(X), 0, 480) * basis.gain(480),
        atol=1e-5,
    )


@every_kernel
def test_any_columns_are_those_of_the_whole(kernel, exact):
    basis, X = built(kernel, dtype=np.float64), rows()
    code = basis.encode(X)
    whole = basis.columns(code, 0, 300)
    for start, stop in ((0, 1), (3, 4), (5, 130), (63, 65), (7, 300)):
        np.testing.assert_allclose(basis.columns(code, start, stop), whole[:, start:stop])


@every_kernel
def test_values_do_not_depend_on_threads_or_on_what_is_kept(kernel, exact):
    X, weights = rows(600, 1), np.random.default_rng(2).normal(size=(900, 2))
    results = []
    for n_jobs, memory in ((1, None), (2, None), (4, 0)):
        basis = built(kernel, memory=memory)
        with threads(n_jobs):
            results.append(basis.evaluate(basis.encode(X), weights))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@every_kernel
def test_sparse_rows_have_the_features_of_dense_ones(kernel, exact):
    X = rows() * (rows(seed=1) > 0)
    basis = built(kernel, X=sp.csr_array(X))
    dense = basis.columns(basis.encode(X), 0, 300)
    np.testing.assert_allclose(
        basis.columns(basis.encode(sp.csr_array(X)), 0, 300), dense, atol=1e-5
    )


def test_the_factors_of_a_product_are_drawn_apart():
    basis = built(linear * linear)
    left, right = basis.parts
    assert not np.array_equal(left.parameters(0), right.parameters(0))


def test_seeds_and_pickles_make_the_same_functions():
    X, kernel = rows(), gaussian + arc
    basis = built(kernel, seed=3)
    columns = basis.columns(basis.encode(X), 100, 300)
    again, copy = built(kernel, seed=3), pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(again.columns(again.encode(X), 100, 300), columns)
    np.testing.assert_array_equal(copy.columns(copy.encode(X), 100, 300), columns)
    other = built(kernel, seed=4)
    assert not np.allclose(other.columns(other.encode(X), 100, 300), columns)


def test_a_shift_invariant_kernel_has_waves():
    X = rows()
    basis, waves = built(gaussian), Fourier().build(gaussian, ArraySource(X).sample(20), 0)
    np.testing.assert_array_equal(
        basis.columns(basis.encode(X), 0, 200), waves.columns(waves.encode(X), 0, 200)
    )


def test_sums_and_products_have_whole_draws():
    assert built(gaussian + linear, 30).size == 28
    assert built(gaussian * linear, 7).size == 6
    with pytest.raises(ValueError, match=r"drawn 4 at a time, so size must be at least 4; got 3"):
        built(gaussian + linear, 3)
    with pytest.raises(ValueError, match=r"whole number from 1 on.*got 2\.5"):
        built(linear, 2.5)


def test_kernels_without_features_are_refused_with_a_remedy():
    function = FunctionKernel(lambda A, B: A @ B.T)
    assert not has_map(function + gaussian)
    assert has_map(2 * linear + gaussian)
    with pytest.raises(ValueError, match=r"; got FunctionKernel.*centers"):
        built(function + gaussian)
    with pytest.raises(ValueError, match=r"Random features exist for .*; got Precomputed"):
        map_of(Precomputed())
    with pytest.raises(ValueError, match="for random-process kernels; got Gaussian"):
        ProcessFeatures().build(gaussian, ArraySource(rows()).sample(20), 0)


def test_a_process_that_cannot_be_used_is_refused():
    X = rows()
    with pytest.raises(ValueError, match="two functions"):
        RandomProcess(None, directions)(X)
    for name, given in (("draws", 0), ("seed", None)):
        with pytest.raises(ValueError, match=f"{name} of RandomProcess must be a whole number"):
            RandomProcess(projected, directions, **{name: given})(X)
    with pytest.raises(ValueError, match=r"20 rows and 64 draws.*shape \(20, 64\).*\(64, 20\)"):
        RandomProcess(lambda omega, X: (X @ omega).T, directions)(X)
    with pytest.raises(ValueError, match=r"finite numbers.*also for a row of zeros"):
        RandomProcess(lambda omega, X: X @ omega + np.inf, directions)(X)


def test_the_matrix_of_a_process_is_that_of_its_seed():
    X = rows()
    one, two, three = (RandomProcess(projected, directions, 256, seed)(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, three)
    assert linear.draw(3, Random(0)).shape == (3, 64)


@pytest.mark.parametrize("solver", ["dsg", "udsg", "cdsg"])
def test_a_machine_learns_with_the_kernel_of_a_process(solver):
    X = rows(2_000)
    y = np.maximum(X[:, 0] - X[:, 1], 0) + X[:, 2]
    model = KernelRegressor(kernel=arc, solver=solver, scale=None, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.99


def test_a_machine_learns_with_a_sum_of_kernels_of_two_kinds():
    X = rows(2_000)
    y = np.sin(4 * X[:, 0]) + 4 * X[:, 1]
    model = KernelRegressor(Gaussian(0.5) + linear, features="random", solver="dsg", random_state=0)
    assert model.fit(X, y).score(X, y) > 0.98


def test_a_nonsmooth_loss_takes_the_features_of_a_process():
    X = rows(600)
    y = np.where(X[:, 0] > X[:, 1], "above", "below")
    model = KernelClassifier(kernel=arc, loss="hinge", solver="dsg", random_state=0).fit(X, y)
    assert model.plan_.features == "random"
    assert model.score(X, y) > 0.9


def test_few_rows_take_the_exact_form_and_many_the_features():
    X = rows(300)
    y = np.maximum(X[:, 0], 0)
    few = KernelRegressor(kernel=arc, scale=None)
    assert few.plan(X, y).solver == "direct"
    assert few.fit(X, y).score(X, y) > 0.99
    many = np.tile(X, (20, 1))
    assert KernelRegressor(kernel=arc).plan(many, np.tile(y, 20)).features == "random"


def test_gaussian_processes_of_streams_take_the_features_of_the_kernel():
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = X[:, 0] * X[:, 1]
    model = KernelGaussianProcess(Polynomial(2) + Gaussian(1.0), random_state=0)
    for half in (slice(0, 200), slice(200, 400)):
        model.partial_fit(X[half], y[half])
    mean, deviation = model.predict(X, return_std=True)
    assert np.mean((mean - y) ** 2) < 0.01
    far = model.predict(np.array([[6.0, -6.0]]), return_std=True)[1]
    assert far > 2 * deviation.mean()
