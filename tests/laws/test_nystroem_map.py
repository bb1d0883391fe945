"""Nystroem features are the Nystroem approximation of any kernel."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from bochner import KernelClassifier, KernelRegressor, NystroemMap
from bochner.features import NystroemFeatures
from bochner.kernels import Gaussian, Laplacian

TOLERANCE = {np.float32: 2e-3, np.float64: 1e-7}
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rows(n_rows=300, n_columns=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def squared_product(A, B):
    return (1 + A @ B.T) ** 2


@both_dtypes
@pytest.mark.parametrize("choice", ["uniform", "kmeans", "pivoted"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(4.0), Gaussian(1.0) + Laplacian(2.0)])
def test_products_of_features_are_the_nystroem_approximation(kernel, choice, dtype):
    X = rows().astype(dtype)
    transformer = NystroemMap(kernel, 40, choice, random_state=0).fit(X)
    Z = transformer.transform(X)
    assert Z.dtype == dtype
    inner = transformer.basis_.inner
    centres = inner.centring.undone(inner.centers.astype(float))
    K, columns = kernel(centres), kernel(X.astype(float), centres)
    expected = columns @ np.linalg.lstsq(K, columns.T, rcond=1e-12)[0]
    np.testing.assert_allclose(Z @ Z.T, expected, atol=TOLERANCE[dtype])


def test_at_the_centres_it_is_the_kernel():
    X, kernel = rows(), Laplacian(3.0)
    Z = NystroemMap(kernel, given=X[:50]).fit(X).transform(X[:50])
    np.testing.assert_allclose(Z @ Z.T, kernel(X[:50]), atol=1e-9)


def test_all_rows_as_centres_make_the_kernel_matrix():
    X, kernel = rows(100), Laplacian(3.0)
    Z = NystroemMap(kernel, size=100).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, kernel(X), atol=1e-9)


def test_columns_come_in_the_order_of_the_eigenvalues():
    X = rows(200)
    Z = NystroemMap(Gaussian(2.0), given=X).fit_transform(X)
    squares = (Z**2).sum(axis=0)
    assert np.all(np.diff(squares) <= 1e-8 * squares[0])


def test_equal_centres_count_once():
    X = np.repeat(rows(20), 5, axis=0)
    transformer = NystroemMap(Laplacian(3.0), given=X).fit(X)
    assert transformer.transform(X).shape == (100, 20)
    assert len(transformer.get_feature_names_out()) == 20


def test_any_kernel_will_do():
    X = rows()
    Z = NystroemMap(squared_product, size=60, random_state=0).fit_transform(X)
    assert Z.shape[1] == 10  # the polynomials of degree 2 in 3 variables
    np.testing.assert_allclose(Z @ Z.T, squared_product(X, X), rtol=1e-6, atol=1e-6)


def test_it_is_as_close_to_the_kernel_as_that_of_scikit_learn():
    X = rows(1_000, 5)
    K = Gaussian(2.0)(X)
    ours, theirs = [], []
    for seed in range(5):
        Z = NystroemMap(Gaussian(2.0), 100, random_state=seed).fit_transform(X)
        W = Nystroem(gamma=1 / 8, n_components=100, random_state=seed).fit_transform(X)
        ours.append(np.linalg.norm(Z @ Z.T - K))
        theirs.append(np.linalg.norm(W @ W.T - K))
    assert np.mean(ours) < 1.1 * np.mean(theirs)


def test_sparse_rows_and_frames_are_taken():
    X = rows() * (rows(seed=1) > 0)
    transformer = NystroemMap(Gaussian(2.0), 50, random_state=0)
    dense = transformer.fit_transform(X)
    sparse = transformer.fit(sp.csr_array(X)).transform(sp.csr_matrix(X))
    np.testing.assert_allclose(sparse @ sparse.T, dense @ dense.T, atol=1e-5)
    frame = transformer.set_output(transform="pandas").fit_transform(X)
    assert frame.columns[0] == "nystroemmap0"


def test_the_result_does_not_depend_on_the_number_of_threads():
    X = rows(700)
    one, two = (NystroemMap(size=300, random_state=0, n_jobs=n).fit_transform(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_linear_model_on_them_is_a_kernel_machine():
    X = rows(600)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    model = make_pipeline(NystroemMap(size=200, random_state=0), Ridge(1e-3)).fit(X, y)
    assert model.score(X, y) > 0.99


def test_machines_take_them_by_solvers_of_whole_passes():
    X = rows(600)
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    features = NystroemFeatures(100, "pivoted")
    model = KernelRegressor("gaussian", features=features, random_state=0).fit(X, y)
    assert model.plan_.solver == "cg"
    assert model.score(X, y) > 0.95
    labels = KernelClassifier("gaussian", features=features, loss="logistic", random_state=0)
    assert labels.fit(X, y > 0).score(X, y > 0) > 0.9


def test_features_are_compared_by_their_centres():
    X = rows(20)
    assert NystroemFeatures(given=X) == NystroemFeatures(given=X.copy())
    assert NystroemFeatures(given=X) != NystroemFeatures(given=X + 1)
    assert NystroemFeatures(5) != NystroemFeatures(6)
    assert "20 x 3 numbers" in repr(NystroemFeatures(given=X))
    assert repr(NystroemFeatures(5)) == "NystroemFeatures(size=5, choice='uniform', given=None)"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"size": 0}, "size must be a whole number"),
        ({"choice": "best"}, "choice of centres must be one of"),
        ({"given": rows(5, 2)}, "columns of X, which are 3"),
        ({"kernel": lambda A, B: np.zeros((len(A), len(B)))}, "positive eigenvalue"),
    ],
)
def test_what_makes_no_features_is_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        NystroemMap(**settings).fit(rows())


def test_pivots_may_be_more_than_the_rank_in_single_precision():
    X = rows(200, 1).astype(np.float32)
    Z = NystroemMap(Gaussian(1.0), 40, "pivoted", random_state=0).fit_transform(X)
    assert Z.shape[1] < 40
    np.testing.assert_allclose(Z @ Z.T, Gaussian(1.0)(X), atol=1e-3)
