"""Features that are resampled by their leverage approximate the same kernel, and are worth more."""

import pickle

import numpy as np
import pytest

from bochner import KernelRegressor
from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource
from bochner.features import Centers, Fourier, Leverage, RandomFeatures
from bochner.features.random.leverage import _systematic
from bochner.kernels import Gaussian, Laplacian, RandomProcess

kernel = Gaussian(1.0)
process = RandomProcess(
    lambda omega, X: np.maximum(X @ omega, 0), lambda d, size, rng: rng.normal((d, size))
)


def rows(n_rows=400, n_columns=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def built(features, seed=0, kernel=kernel, X=None, **options):
    X = rows() if X is None else X
    return features.build(kernel, ArraySource(X).sample(len(X)), seed, **options)


def columns(basis, X):
    return basis.columns(basis.encode(X)).astype(float)


@pytest.mark.parametrize("inner", ["random", Fourier(), RandomFeatures()])
def test_the_mean_over_seeds_is_the_kernel(inner):
    X = rows()
    some = X[:15]
    features = Leverage(inner, 64, pool=4, rows=100)
    values = [columns(built(features, seed), some) for seed in range(200)]
    values = np.array([Phi @ Phi.T for Phi in values])
    deviation = values.std(axis=0) / np.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - kernel(some)) < 6 * deviation + 1e-5)


def test_what_is_selected_are_functions_of_the_pool_times_a_factor():
    X = rows(50)
    features = Leverage(Fourier(), 32, pool=4)
    pool = columns(built(Fourier(128)), X)
    for column in columns(built(features), X).T:
        scaled = np.abs(pool.T @ column) / np.linalg.norm(pool, axis=0) / np.linalg.norm(column)
        assert scaled.max() > 1 - 1e-5


def test_scores_are_the_ridge_leverage_of_the_columns():
    Z = rows(30, 50)
    scores = Leverage(ridge=0.1)._scores(Z)
    expected = np.diagonal(Z.T @ np.linalg.solve(Z @ Z.T + 30 * 0.1 * np.eye(30), Z))
    np.testing.assert_allclose(scores, expected, rtol=1e-9)


def test_an_automatic_ridge_leaves_a_quarter_of_the_features_free():
    Z = rows(300, 400)
    np.testing.assert_allclose(Leverage(size=200)._scores(Z).sum(), 50, rtol=1e-6)


def test_systematic_draws_are_as_many_as_their_chances_say():
    chances = np.array([0.5, 0.2, 0.2, 0.1])
    chosen, times = _systematic(chances, 10, Random(0))
    np.testing.assert_array_equal(chosen, [0, 1, 2, 3])
    np.testing.assert_allclose(times, 10 * chances, atol=1)
    assert times.sum() == 10


def test_functions_of_other_bases_can_be_selected():
    X = rows()
    features = Leverage(size=256, pool=4)
    for other in (process, process + kernel, process * Laplacian(2.0)):
        basis = built(features, kernel=other)
        Phi, whole = columns(basis, X[:20]), other(X[:20])
        assert np.abs(Phi @ Phi.T - whole).max() < 0.5 * whole.max()
        part = basis.columns(basis.encode(X[:20]), 3, 77)
        np.testing.assert_allclose(part, Phi[:, 3:77], atol=1e-6)


def test_the_kernel_above_a_ridge_is_closer_than_with_plain_features():
    """The norm of (K + n ridge I)^-1/2 (Z Z' - K) (K + n ridge I)^-1/2, as in the papers."""
    X, ridge, narrow = np.random.default_rng(0).uniform(-4, 4, (150, 1)), 1e-3, Gaussian(0.5)
    values, vectors = np.linalg.eigh(narrow(X))
    root = vectors / np.sqrt(np.maximum(values, 0) + len(X) * ridge)

    def error(features, seed):
        Z = root.T @ columns(built(features, seed, narrow, X), X)
        return np.linalg.norm(Z @ Z.T - root.T @ narrow(X) @ root, 2)

    plain = np.mean([error(Fourier(64), seed) for seed in range(4)])
    chosen = np.mean([error(Leverage(Fourier(), 64, ridge=ridge), seed) for seed in range(4)])
    assert chosen < 0.6 * plain


def test_nothing_depends_on_the_number_of_threads_and_pickles_are_equal():
    X, bases = rows(), []
    for n_jobs in (1, 2, 4):
        with threads(n_jobs):
            bases.append(built(Leverage(size=64)))
    for basis in (*bases[1:], pickle.loads(pickle.dumps(bases[0]))):
        np.testing.assert_array_equal(columns(basis, X), columns(bases[0], X))


def test_a_machine_learns_with_them():
    X = rows(2_000)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    model = KernelRegressor("gaussian", features=Leverage(size=256), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.99
    assert model.n_features_used_ <= 256


@pytest.mark.parametrize(
    ("features", "said"),
    [
        (Leverage(size=0), "size of Leverage must be a whole number"),
        (Leverage(pool=1.5), "pool of Leverage must be a whole number"),
        (Leverage(ridge=-1.0), "ridge of Leverage must be 'auto' or a positive number"),
        (Leverage(Fourier(64)), "infinitely many .*; got a FourierBasis of 64 functions"),
        (Leverage(Centers(10)), "infinitely many .*; got a CenterBasis"),
    ],
)
def test_what_cannot_be_resampled_is_refused(features, said):
    with pytest.raises(ValueError, match=said):
        built(features)
