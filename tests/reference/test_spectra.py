"""Spectra agree with dense decompositions, and say how fast gradient descent can be."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from bochner import PartialWhitening, RandomFourier
from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.kernels import Gaussian, Laplacian
from bochner.report import axes
from bochner.spectra import (
    IterationBound,
    Spectrum,
    eigenpairs,
    iterations,
    singular,
    spectrum,
    step_bound,
)
from bochner.spectra.spectrum import KernelOperator, krylov

LARGE = spectrum.DENSE + 200  # beyond it pairs are found by iteration
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
both_ways = pytest.mark.parametrize("side", [150, LARGE], ids=["decomposed", "iterated"])


def rows(n_rows, n_columns=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def kernel_matrix(side, dtype=np.float64, kernel=None):
    return (kernel or Laplacian(4.0))(rows(side)).astype(dtype)


def with_spectrum(values, side, seed=0):
    """Return a matrix K such that K / side has given eigenvalues, and 0 for the others."""
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(side, len(values))))[0]
    return (Q * (side * np.asarray(values))) @ Q.T


def truth(matrix):
    values, vectors = np.linalg.eigh(matrix.astype(np.float64) / len(matrix))
    return values[::-1], vectors[:, ::-1]


def assert_same_pairs(found, values, vectors, rtol):
    """Check values, and vectors up to their signs."""
    count = len(found)
    np.testing.assert_allclose(found.values, values[:count], rtol=rtol)
    np.testing.assert_allclose(found.tail, values[count], rtol=rtol)
    cosines = np.abs((found.vectors * vectors[:, :count]).sum(axis=0))
    np.testing.assert_allclose(cosines, 1, atol=rtol)


def assert_orthonormal(vectors):
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-5)


def relative_residuals(K, found):
    V = found.vectors.astype(np.float64)
    return np.linalg.norm(K @ V / len(K) - V * found.values, axis=0) / found.values


@both_dtypes
@both_ways
def test_eigenpairs_are_those_of_a_dense_decomposition(side, dtype):
    K = kernel_matrix(side, dtype)
    found = eigenpairs(K, 12, Random(1))
    exact = dtype == np.float64 and side <= spectrum.DENSE
    assert_same_pairs(found, *truth(K), rtol=1e-9 if exact else 1e-3)
    assert_orthonormal(found.vectors)
    assert found.size == side
    assert (found.values.dtype, found.vectors.dtype) == (np.float64, dtype)


@both_dtypes
@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (LARGE, LARGE + 100)])
def test_singular_vectors_are_the_eigenvectors_of_the_covariance(shape, dtype):
    s, d = shape
    Phi = (rows(s, d) * 0.9 ** np.arange(d)).astype(dtype)
    values, vectors = singular(Phi, 12, Random(1))
    _, sv, right = np.linalg.svd(Phi.astype(np.float64), full_matrices=False)
    rtol = 1e-3 if dtype == np.float32 else 1e-6
    np.testing.assert_allclose(values, sv[:12] ** 2 / s, rtol=rtol)
    np.testing.assert_allclose(np.abs((vectors * right[:12].T).sum(axis=0)), 1, atol=rtol)
    assert_orthonormal(vectors)
    assert (vectors.shape, vectors.dtype) == ((d, 12), dtype)


@both_ways
def test_pairs_solve_their_equation_also_where_eigenvalues_are_close(side):
    values = 1 / np.arange(1, 101)
    K = with_spectrum(values, side)
    found = eigenpairs(K, 30, Random(0))
    assert (relative_residuals(K, found) < spectrum.ACCURACY).all()
    np.testing.assert_allclose(found.values, values[:30], rtol=1e-3)


def test_iteration_comes_closer_than_range_finding_with_more_columns():
    values = 1 / np.arange(1, 501) ** 0.5
    K = with_spectrum(values, LARGE)
    found = krylov(KernelOperator(K), (16, 10), 40, Random(0))
    Q = Random(0).normal((LARGE, 50))
    for _ in range(4):
        Q = np.linalg.qr(K @ Q)[0]
    ranged = np.linalg.eigvalsh(Q.T @ K @ Q)[::-1] / LARGE
    errors = [np.abs(numbers[:40] / values[:40] - 1).max() for numbers in (found.values, ranged)]
    assert errors[0] < errors[1] / 3


@both_dtypes
@both_ways
def test_pairs_do_not_depend_on_the_number_of_threads(side, dtype):
    K, found = kernel_matrix(side, dtype), []
    for n in (1, 2, 5):
        with threads(n):
            pairs = eigenpairs(K, 20, Random(3))
            found.append((pairs.values, pairs.vectors, *singular(K[:, :-7], 20, Random(3))))
    for arrays in found[1:]:
        for array, first in zip(arrays, found[0], strict=True):
            np.testing.assert_array_equal(array, first)


@both_ways
def test_steep_spectra_are_found_again_in_double_precision(side, monkeypatch):
    K = Gaussian(1.0)(rows(side, 1)).astype(np.float32)
    expected = truth(K)[0]
    found = eigenpairs(K, 40, Random(0))
    assert len(found) == np.count_nonzero(expected > 1e-7 * expected[0])
    np.testing.assert_allclose(found.values, expected[: len(found)], rtol=1e-6)
    assert relative_residuals(K, found).max() < 0.02
    assert found.vectors.dtype == np.float32
    monkeypatch.setattr(spectrum, "is_accurate", lambda pairs: True)
    assert relative_residuals(K, eigenpairs(K, 40, Random(0))).max() > 0.03


@pytest.mark.parametrize("side", [60, LARGE])
def test_numbers_whose_squares_exceed_single_precision_are_taken_in_double(side):
    Phi = (1e25 * rows(side, side) * 0.9 ** np.arange(side)).astype(np.float32)
    values, _ = singular(Phi, 3, Random(0))
    sv = np.linalg.svd(Phi.astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(values, sv[:3] ** 2 / side, rtol=1e-3)


def test_numbers_whose_squares_exceed_double_precision_are_refused():
    for side in (60, LARGE):
        with pytest.raises(ValueError, match=r"largest is .*e\+200.*Scale the columns"):
            singular(1e200 * rows(side, side), 3, Random(0))


def test_well_conditioned_single_precision_is_enough(monkeypatch):
    def refuse(self):
        raise AssertionError

    monkeypatch.setattr(KernelOperator, "in_double", refuse)
    for side in (150, LARGE):
        assert len(eigenpairs(kernel_matrix(side, np.float32), 20, Random(0))) == 20


@both_ways
def test_eigenvalues_below_the_floor_are_dropped(side):
    found = eigenpairs(with_spectrum([1.0, 1e-3, 3e-7, 5e-8, 1e-9], side), 4, Random(0))
    np.testing.assert_allclose(found.values, [1.0, 1e-3, 3e-7], rtol=1e-6)
    assert found.tail == pytest.approx(5e-8, rel=1e-5)


@both_dtypes
@both_ways
def test_a_matrix_of_low_rank_has_as_many_pairs(side, dtype):
    found = eigenpairs(with_spectrum([3.0, 2.0, 1.0], side).astype(dtype), 40, Random(0))
    np.testing.assert_allclose(found.values, [3.0, 2.0, 1.0], rtol=1e-5)
    assert found.vectors.shape == (side, 3)
    assert 0 <= found.tail < 1e-7


@both_dtypes
@pytest.mark.parametrize("shape", [(60, 20), (20, 60), (LARGE, LARGE)])
def test_features_of_low_rank_have_as_many_pairs(shape, dtype):
    Phi = (rows(shape[0], 3) @ rows(3, shape[1], seed=1)).astype(dtype)
    values, vectors = singular(Phi, 10, Random(0))
    sv = np.linalg.svd(Phi.astype(np.float64), compute_uv=False)
    np.testing.assert_allclose(values, sv[:3] ** 2 / shape[0], rtol=1e-5)
    assert_orthonormal(vectors)
    np.testing.assert_allclose(Phi @ vectors @ vectors.T, Phi, atol=1e-4)


def test_a_matrix_of_zeros_has_no_pairs():
    for side in (5, LARGE):
        found = eigenpairs(np.zeros((side, side)), 2, Random(0))
        assert (len(found), found.tail) == (0, 0.0)
    assert singular(np.zeros((5, 9), np.float32), 2, Random(0))[1].shape == (9, 0)


@pytest.mark.parametrize("count", [7, 8, 100])
def test_no_more_pairs_are_given_than_there_are(count):
    K = kernel_matrix(7)
    found = eigenpairs(K, count, Random(0))
    np.testing.assert_allclose(found.values, truth(K)[0], rtol=1e-10)
    assert found.tail == 0.0
    assert singular(rows(5, 9), count, Random(0))[1].shape == (9, 5)


def test_fewer_pairs_leave_the_next_value_as_their_tail():
    spectrum = eigenpairs(kernel_matrix(50), 10, Random(0))
    fewer = spectrum.first(4)
    assert isinstance(fewer, Spectrum)
    np.testing.assert_array_equal(fewer.values, spectrum.values[:4])
    assert (fewer.vectors.shape, fewer.tail, fewer.size) == ((50, 4), spectrum.values[4], 50)
    assert spectrum.first(10) is spectrum


@pytest.mark.parametrize(
    ("matrix", "count", "message"),
    [
        (np.ones((3, 4)), 1, r"as many columns as rows; got the shape \(3, 4\)"),
        (np.ones(3), 1, r"rows and columns.*got the shape \(3,\)"),
        (np.ones((0, 0)), 1, "rows and columns"),
        (np.eye(3), 0, "number of pairs from 1 on.*0 pairs"),
        (np.full((2, 2), np.nan), 1, "finite numbers"),
    ],
)
def test_what_has_no_eigenpairs_is_refused(matrix, count, message):
    with pytest.raises(ValueError, match=message):
        eigenpairs(matrix, count, Random(0))


def test_batches_stay_below_the_step_bound():
    Phi = RandomFourier(Gaussian(1.0), size=64, random_state=0).fit_transform(rows(4_000, 2))
    whitening = PartialWhitening(5, random_state=0)
    whitened, tail = whitening.fit_transform(Phi), whitening.spectrum_.tail
    kappa = (Phi**2).sum(axis=1).max()
    rng = np.random.default_rng(0)
    for batch in (8, 64, 512):
        bound = step_bound(tail, kappa, batch, 64)
        parts = [whitened[rng.choice(4_000, batch)] for _ in range(60)]
        norms = [np.linalg.eigvalsh(part.T @ part / batch)[-1] for part in parts]
        assert np.mean(np.array(norms) > bound) <= 0.05
        assert bound < 30 * np.max(norms)


def test_the_step_bound_is_the_tail_for_large_batches_and_that_of_one_direction_for_small_ones():
    assert step_bound(0.01, 1.0, 10**12, 100) == pytest.approx(0.01, rel=1e-3)
    assert step_bound(0.0, 1.0, 1, 1, delta=0.5) == pytest.approx(2 / 3 * np.log(4))


@pytest.mark.parametrize(
    "wrong", [{"tail": -1}, {"kappa": 0}, {"batch": 0}, {"size": 0}, {"delta": 1.0}]
)
def test_the_step_bound_refuses_numbers_without_meaning(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{name} must be"):
        step_bound(**({"tail": 0.1, "kappa": 1.0, "batch": 2, "size": 3, "delta": 0.1} | wrong))


def test_gradient_descent_needs_nearly_the_iterations_that_are_foretold():
    K, y = with_spectrum([1.0, 0.3, 0.05, 0.01], 40), rows(40, 1)[:, 0]
    found = eigenpairs(K, 4, Random(0))
    coefficients = found.vectors.T @ y
    foretold = iterations(found.values, coefficients, epsilon=1e-3)
    needed, residual = np.zeros(4), coefficients.copy()
    for t in range(1, 400):
        residual *= 1 - 2 / found.values[0] * found.values
        needed[np.abs(residual) >= 1e-3] = t
    # At the longest step of all the first direction swings without end.
    assert (needed[1:] < foretold[1:]).all()
    assert (needed[2:] > 0.9 * foretold[2:]).all()


def test_directions_that_are_close_enough_need_no_iteration():
    numbers = iterations(np.array([1.0, 0.5]), np.array([[1e-5, 1.0], [-1.0, 0.0]]))
    np.testing.assert_allclose(numbers, [[0, np.log(1e4) / 2], [np.log(1e4), 0]])


def test_preconditioning_divides_the_iterations_by_the_ratio_of_eigenvalues():
    reach = IterationBound(2.0 ** -np.arange(8), np.ones((8, 2)))
    better = reach.preconditioned(3)
    np.testing.assert_allclose(better[3:], reach.plain[3:] / 8)
    np.testing.assert_allclose(better[:3], reach.plain[[0, 0, 0]])
    np.testing.assert_array_equal(reach.preconditioned(0), reach.plain)
    with pytest.raises(ValueError, match=r"k must be from 0 to 7.*got 8"):
        reach.preconditioned(8)


def test_reach_is_taken_from_the_kernel_matrix_of_a_subsample():
    X, kernel = rows(90, 2), Laplacian(1.0)
    y = np.column_stack([np.sign(X[:, 0]), X[:, 1]])
    reach = IterationBound.of(kernel, X, y, rng=Random(0))
    values, vectors = truth(kernel(X))
    np.testing.assert_allclose(reach.values, values)
    np.testing.assert_allclose(np.abs(reach.coefficients), np.abs(vectors.T @ y), atol=1e-8)
    assert IterationBound.of("gaussian", X, y[:, 0], subsample=30).coefficients.shape[1] == 1
    assert len(IterationBound.of(kernel, X.tolist(), y, subsample=30).values) == 30
    with pytest.raises(ValueError, match="LabelBinarizer"):
        IterationBound.of(kernel, X, np.full(90, "a"))
    with pytest.raises(ValueError, match="as many rows as X"):
        IterationBound.of(kernel, X, y[:80])


def test_eigenvalues_without_a_logarithm_are_refused():
    with pytest.raises(ValueError, match="positive eigenvalues"):
        iterations(np.array([1.0, 0.0]), np.ones(2))
    with pytest.raises(ValueError, match="positive epsilon"):
        iterations(np.array([1.0]), np.ones(1), epsilon=0.0)


def test_the_picture_has_a_line_for_each_target_with_and_without_preconditioning():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    X = rows(200, 2)
    reach = IterationBound.of(Laplacian(1.0), X, np.sign(rows(200, 13, seed=1)))
    ax = figure.subplots()
    assert reach.plot(k=20, ax=ax) is ax
    assert len(ax.lines) == 2 * (10 + 1) + 1
    assert ax.get_yscale() == "log"
    np.testing.assert_array_equal(ax.lines[11].get_ydata(), reach.preconditioned(20)[:, 0])
    assert len(ax.get_legend().get_texts()) == 2


def test_new_axes_are_made_where_none_are_given():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = IterationBound(np.array([1.0, 0.1]), np.ones((2, 1))).plot()
    assert "k = 1 eigenvectors" in ax.get_legend().get_texts()[1].get_text()
    assert len(ax.lines) == 2 * (1 + 1) + 1
    pyplot.close(ax.figure)


def test_a_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setattr(axes, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'bochner\[report\]'"):
        IterationBound(np.array([1.0, 0.1]), np.ones((2, 1))).plot(k=1)


def features(n_rows=600, dtype=np.float64):
    """Return random Fourier features, whose covariance has eigenvalues that fall steeply."""
    X = rows(n_rows, 3).astype(dtype)
    return RandomFourier(Gaussian(2.0), size=80, random_state=0).fit_transform(X)


@both_dtypes
@pytest.mark.parametrize("damping", [1.0, 0.25])
def test_whitened_rows_have_the_promised_eigenvalues(damping, dtype):
    Phi = features(dtype=dtype)
    before = np.linalg.eigvalsh(Phi.T.astype(float) @ Phi / len(Phi))[::-1]
    whitening = PartialWhitening(10, damping, subsample=len(Phi), random_state=0)
    out = whitening.fit_transform(Phi)
    assert out.dtype == dtype
    after = np.linalg.eigvalsh(out.T.astype(float) @ out / len(Phi))[::-1]
    assert whitening.spectrum_.tail == pytest.approx(before[10], rel=1e-4)
    promised = np.sort(np.concatenate([np.full(10, damping * before[10]), before[10:]]))[::-1]
    np.testing.assert_allclose(after, promised, rtol=1e-3, atol=1e-7 * before[0])


def test_a_subsample_flattens_the_covariance_of_all_rows_nearly_as_well():
    Phi = features(6_000)
    out = PartialWhitening(10, subsample=1_500, random_state=0).fit_transform(Phi)
    before, after = (np.linalg.eigvalsh(A.T @ A / len(A))[::-1] for A in (Phi, out))
    assert after[0] < 1.5 * before[10] < before[0] / 10


def test_gradient_descent_on_whitened_rows_comes_closer_in_as_many_iterations():
    Phi = features()
    y = np.sin(rows(600, 3)[:, 0])

    def loss(A):
        step, w = 1 / np.linalg.eigvalsh(A.T @ A / len(A))[-1], np.zeros(A.shape[1])
        for _ in range(100):
            w -= step * A.T @ (A @ w - y) / len(A)
        return np.mean((A @ w - y) ** 2)

    whitened = PartialWhitening(10, random_state=0).fit_transform(Phi)
    assert loss(whitened) < loss(Phi) / 50


@pytest.mark.parametrize("outputs", [1, 3])
def test_least_squares_on_whitened_rows_is_least_squares_on_the_rows(outputs):
    X, Y = rows(300, 12) * 10.0 ** -np.linspace(0, 2, 12), rows(300, outputs, seed=1)
    Y = Y[:, 0] if outputs == 1 else Y
    expected = LinearRegression().fit(X, Y)
    model = make_pipeline(PartialWhitening(5, 0.5, random_state=0), LinearRegression()).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-9)
    weights = model[0].weights(model[1].coef_)
    np.testing.assert_allclose(weights, expected.coef_, rtol=1e-7)
    np.testing.assert_allclose(model[1].intercept_, expected.intercept_, atol=1e-12)


def test_whitened_rows_do_not_depend_on_their_neighbours_or_on_the_number_of_threads():
    Phi = features(700)
    outs = []
    for n_jobs in (1, 2, 5):
        whitening = PartialWhitening(10, random_state=0, n_jobs=n_jobs).fit(Phi)
        outs.append(whitening.transform(Phi))
        np.testing.assert_array_equal(whitening.transform(Phi[:33]), outs[0][:33])
        np.testing.assert_array_equal(outs[-1], outs[0])


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_rows_of_low_rank_keep_all_their_directions(rank):
    X = rows(50, rank) @ rows(rank, 8, seed=1) if rank else np.zeros((50, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whitening = PartialWhitening(random_state=0).fit(X)
    assert len(whitening.spectrum_) == max(rank - 1, 0)
    out = whitening.transform(X)
    assert np.linalg.matrix_rank(out) == rank
    if rank:
        sv = np.linalg.svd(out, compute_uv=False)[:rank]
        np.testing.assert_allclose(sv, np.linalg.svd(X, compute_uv=False)[rank - 1], rtol=1e-9)


def test_columns_are_named_and_frames_are_given_back():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows(20, 3), columns=["a", "b", "c"])
    whitening = PartialWhitening(1, random_state=0).set_output(transform="pandas").fit(frame)
    names = ["partialwhitening0", "partialwhitening1", "partialwhitening2"]
    assert list(whitening.transform(frame).columns) == names


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"eigenvectors": 0}, "eigenvectors must be a whole number from 1 on; got 0"),
        ({"subsample": 2.5}, "subsample must be a whole number"),
        ({"damping": 0}, "damping must be a positive number; got 0"),
        ({"damping": 1.5}, "damping must be a positive number of at most 1; got 1.5"),
        ({"n_jobs": 0}, "n_jobs must be a positive number"),
    ],
)
def test_parameters_out_of_range_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        PartialWhitening(**wrong).fit(rows(20))


def test_coefficients_of_another_number_of_columns_are_refused():
    whitening = PartialWhitening(1).fit(rows(20, 3))
    with pytest.raises(ValueError, match=r"each of 3 columns.*got the shape \(4,\)"):
        whitening.weights(np.ones(4))
