"""What centres promise, however they are chosen, and what the kept kernel matrix is."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from bochner import KernelRegressor
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import Centers
from bochner.features.codes.kept_columns import KernelRows
from bochner.kernels import Gaussian, Laplacian

KERNEL = Gaussian(1.0)
CHOICES = ["uniform", "kmeans", "pivoted"]
every_choice = pytest.mark.parametrize("choice", CHOICES)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n_rows=300, seed=0):
    """Rows with zeros in them."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 3))
    return np.where(np.abs(X) < 0.3, 0.0, X)


def built(features, X, kernel=KERNEL, dtype=np.float64, seed=0, **settings):
    return features.build(kernel, ArraySource(X).sample(X.shape[0]), seed, dtype, **settings)


def centers_of(basis):
    """Return the centres where they were before they were moved."""
    centers = basis.centers.toarray() if sp.issparse(basis.centers) else basis.centers
    return basis.centring.undone(centers)


def as_set(X):
    return {tuple(row) for row in np.round(X, 9)}


@every_choice
@pytest.mark.parametrize("size", [1, 2, 40, 150])
def test_as_many_distinct_centres_are_built_as_were_asked_for(choice, size):
    X = np.random.default_rng(0).normal(size=(300, 3))
    basis = built(Centers(size, choice), X)
    assert basis.size == size == len(as_set(centers_of(basis)))
    if choice != "kmeans":
        np.testing.assert_allclose(centers_of(basis), X[basis.index], atol=1e-12)


@every_choice
def test_the_seed_says_which_centres_and_nothing_else_does(choice):
    X = rows(700)
    with threads(1):
        one = built(Centers(60, choice), X)
    with threads(2):
        two = built(Centers(60, choice), X)
    np.testing.assert_array_equal(one.centers, two.centers)
    other = built(Centers(60, choice), X, seed=1)
    assert not np.array_equal(one.centers, other.centers)


@every_choice
@pytest.mark.parametrize("solver", ["nystroem", "eigenpro"])
def test_sparse_rows_have_the_centres_of_dense_ones(choice, solver):
    X, S = rows(), sp.csr_array(rows())
    if choice == "uniform":
        dense, sparse = built(Centers(40, choice), X), built(Centers(40, choice), S)
        np.testing.assert_array_equal(dense.index, sparse.index)
    y = np.sin(X[:, 0])
    model = KernelRegressor(KERNEL, features=Centers(40, choice), solver=solver, random_state=0)
    f = model.set_params(max_passes=12).fit(S, y).predict(S)
    assert np.mean((f - y) ** 2) < 0.2 * np.var(y)
    np.testing.assert_allclose(f, model.predict(X), atol=1e-4)


@every_choice
def test_more_centres_than_rows_are_all_rows(choice):
    X = rows(50)
    basis = built(Centers(80, choice), X)
    assert basis.size == 50
    assert sorted(basis.index) == list(range(50))
    assert not basis.complete  # other rows may follow


def test_all_rows_are_a_complete_basis():
    basis = built(Centers(), rows(50))
    assert basis.complete
    assert sorted(basis.index) == list(range(50))


@every_choice
@pytest.mark.parametrize("bandwidth", [1.0, 50.0])
def test_repeated_rows_are_no_obstacle(choice, bandwidth):
    X = np.repeat(rows(20), 20, axis=0)
    basis = built(Centers(60, choice), X, Gaussian(bandwidth), np.float32)
    assert basis.size == 60
    assert np.isfinite(basis.centers).all()
    model = KernelRegressor(
        Gaussian(bandwidth), features=Centers(60, choice), solver="nystroem", random_state=0
    )
    assert np.isfinite(model.fit(X, X[:, 0]).predict(X)).all()


def test_pivots_meet_every_row_once_before_any_is_repeated():
    X = np.repeat(10 * rows(20), 20, axis=0)
    basis = built(Centers(20, "pivoted"), X, Gaussian(0.1))
    assert len(as_set(centers_of(basis))) == len(as_set(X)) == 20


def left_over(choice, X, size, seed):
    """Return the trace of K - k(X, Z) k(Z, Z)^+ k(Z, X)."""
    basis = built(Centers(size, choice), X, seed=seed)
    columns = KERNEL(X, centers_of(basis))
    core = np.linalg.pinv(KERNEL(centers_of(basis)), rcond=1e-10, hermitian=True)
    return len(X) - np.einsum("ij,jk,ik->", columns, core, columns)


def test_pivots_leave_less_of_the_kernel_matrix_than_rows_at_random():
    rng = np.random.default_rng(0)
    crowd, few = 0.05 * rng.normal(size=(900, 2)), rng.uniform(-20, 20, size=(60, 2))
    X = np.vstack([crowd, few])
    uniform, pivoted = (
        np.mean([left_over(choice, X, 70, seed) for seed in range(3)])
        for choice in ("uniform", "pivoted")
    )
    assert pivoted < 0.3 * uniform


def test_clusters_have_a_mean_each():
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])
    X = places[rng.integers(3, size=400)] + 0.1 * rng.normal(size=(400, 2))
    means = centers_of(built(Centers(3, "kmeans"), X))
    distances = np.linalg.norm(means[:, None] - places, axis=2)
    assert (distances.min(axis=0) < 0.2).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_centres_that_differ_far_inside_are_not_told_as_the_same(form):
    given = np.random.default_rng(0).normal(size=(500, 40))
    other = given.copy()
    other[250, 20] += 1.0
    one, two = Centers(given=form(given)), Centers(given=form(other))
    assert repr(one) == repr(Centers(given=form(given.copy())))
    assert repr(one) != repr(two)
    assert len(repr(one)) < 120


def test_given_centres_are_taken_as_they_are():
    X = rows()
    given = X[:7] + 0.5
    for form in (given, given.tolist(), sp.csr_array(given), given.astype(np.float32)):
        basis = built(Centers(given=form), X)
        np.testing.assert_allclose(centers_of(basis), given, atol=1e-6)
        assert basis.index is None
        assert not basis.complete


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_given_centres_are_in_the_units_of_the_rows(form):
    X = rows() * [1.0, 100.0, 0.01] + [5.0, 0.0, -3.0]
    y, given = np.sin(X[:, 0]), X[:30] + np.array([0.1, 1.0, 0.001])
    settings = {"solver": "nystroem", "alpha": 1e-3, "random_state": 0}
    model = KernelRegressor(
        KERNEL, features=Centers(given=form(given)), scale="standard", **settings
    )
    scaler = StandardScaler().fit(X)
    scaled = KernelRegressor(KERNEL, features=Centers(given=scaler.transform(given)), **settings)
    expected = scaled.fit(scaler.transform(X), y).predict(scaler.transform(X))
    np.testing.assert_allclose(model.fit(X, y).predict(X), expected, atol=1e-3)
    assert model.features == Centers(given=form(given))


BAD = [
    (Centers(0), "positive integer.*got 0"),
    (Centers(-3), "positive integer"),
    (Centers(2.5), "positive integer"),
    (Centers(True), "positive integer.*got True"),
    (Centers("many"), "positive integer"),
    (Centers(5, "medoids"), "must be one of 'uniform', 'kmeans', 'pivoted'; got 'medoids'"),
    (Centers(5, given=[[0.0] * 3]), "a number of centres or the centres; got both"),
    (Centers(given=[0.0] * 3), r"two dimensions.*got the shape \(3,\)"),
    (Centers(given=np.empty((0, 3))), "at least one centre"),
    (Centers(given=[[0.0] * 2]), "columns of X, which are 3; got centres of 2"),
    (Centers(given=[[0.0, np.nan, 0.0]]), "finite numbers"),
    (Centers(given=[["a", "b", "c"]]), "finite numbers"),
]


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize(("features", "message"), BAD, ids=lambda v: str(v)[:40])
def test_what_cannot_be_centres_is_refused(features, message, scale):
    X = rows(60)
    model = KernelRegressor(KERNEL, features=features, solver="nystroem", scale=scale)
    with pytest.raises(ValueError, match=message):
        model.fit(X, X[:, 0])
    assert not hasattr(model, "expansion_")


def test_all_rows_of_a_stream_cannot_be_centres():
    X = rows(60)
    with pytest.raises(ValueError, match="Give a number of centres"):
        KernelRegressor(features="centers", solver="eigenpro").fit(iter([(X, X[:, 0])]))


def test_maps_are_equal_if_their_centres_are():
    X = rows(9)
    assert Centers(5) == Centers(5) != Centers(6)
    assert Centers(5) != Centers(5, "kmeans")
    assert Centers(given=X) == Centers(given=X.copy()) != Centers(given=X + 1)
    assert Centers(given=X) != Centers()
    assert Centers(given=sp.csr_array(X)) == Centers(given=sp.csr_array(X))
    assert Centers(given=sp.csr_array(X)) != Centers(given=sp.csr_array(X[:5]))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(2.0)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [7, 300, 1300])
def test_the_kept_matrix_is_the_kernel_of_the_centres(kernel, dtype, n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    basis = built(Centers(), X, kernel, dtype)
    tolerance = {np.float32: 2e-6, np.float64: 1e-12}[dtype]
    assert basis.matrix.dtype == dtype
    np.testing.assert_allclose(basis.matrix, kernel(X[basis.index]), atol=tolerance)
    np.testing.assert_allclose(basis.matrix, basis.matrix.T, atol=tolerance)


@pytest.mark.parametrize("outputs", [1, 3, 20])
def test_rows_of_the_kept_matrix_stand_for_the_rows_themselves(outputs):
    X = np.random.default_rng(0).normal(size=(900, 3))
    kept = built(Centers(), X, dtype=np.float32)
    batch = ArraySource(X).sample(900)[np.arange(5, 700, 3)]
    code, rng = kept.encode_batch(batch), np.random.default_rng(1)
    assert isinstance(code, KernelRows)
    weights, slopes = rng.normal(size=(900, outputs)), rng.normal(size=(len(batch), outputs))
    plain = kept.encode(batch.X)
    np.testing.assert_array_equal(kept.columns(code), kept.columns(plain))
    np.testing.assert_array_equal(kept.columns(code, 30, 700), kept.columns(plain, 30, 700))
    np.testing.assert_allclose(
        kept.evaluate(code, weights), kept.evaluate(plain, weights), atol=1e-4
    )
    np.testing.assert_allclose(kept.project(code, slopes), kept.project(plain, slopes), atol=1e-4)


def test_rows_that_are_no_centres_are_encoded():
    X = rows(80)
    basis = built(Centers(), X)
    stranger = ArraySource(rows(90, seed=1)).sample(90)
    assert not isinstance(basis.encode_batch(stranger), KernelRows)
    assert not isinstance(built(Centers(), X, memory=0).encode_batch(stranger), KernelRows)
    assert not built(Centers(40), X).keeps_matrix


def test_neither_pickles_nor_copies_hold_the_matrix():
    X = rows(700)
    basis = built(Centers(), X, dtype=np.float32)
    size = basis.matrix.nbytes
    assert len(pickle.dumps(basis)) < size / 20
    other = pickle.loads(pickle.dumps(basis))
    assert other._matrix is None
    np.testing.assert_array_equal(other.matrix, basis.matrix)
    assert copy.deepcopy(basis) is basis


@pytest.mark.parametrize("solver", ["direct", "eigenpro", "nystroem", "pegasos"])
@pytest.mark.parametrize("warm_start", [False, True])
def test_a_fitted_model_has_let_the_matrix_go(solver, warm_start):
    X = rows(700)
    model = KernelRegressor(
        KERNEL, features=Centers(), solver=solver, max_passes=2, warm_start=warm_start
    ).fit(X, X[:, 0])
    for basis in (model._setup.basis, model.expansion_.basis):
        assert basis._matrix is None
        assert basis._factor is None
    matrix = 4 * len(X) ** 2
    assert len(pickle.dumps(model)) < matrix / 5
    twin = copy.deepcopy(model)
    assert len(pickle.dumps(twin)) < matrix / 5
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
