"""Ways to draw frequencies: each keeps the kernel as mean, and differs as it promises."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from bochner import Fastfood, KernelRegressor, OrthogonalFourier, QuasiMonteCarloFourier
from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource
from bochner.features import SAMPLE_ROWS, Drawing, FeatureMap, Fourier, RandomPhase, prepare
from bochner.features.drawings import PAIRS, Orthogonal, scales_of
from bochner.kernels import (
    Cauchy,
    ExponentialPower,
    Gaussian,
    Laplacian,
    Mapped,
    Matern,
    RationalQuadratic,
    Stretched,
)

DRAWINGS = sorted(Drawing.registry)
FAST = ["fastfood", "structured_orthogonal"]
COLUMNS = 20
KERNELS = {
    "gaussian": Gaussian(4.0),
    "matern": Matern(5.0, nu=2.5),
    "cauchy": Cauchy(5.0),
    "rational quadratic": RationalQuadratic(4.0, shape=0.7),
    "exponential power": ExponentialPower(6.0, power=1.3),
    "sum": Gaussian(4.0) + 3 * Matern(5.0),
    "product": Gaussian(6.0) * Matern(8.0),
    "stretched": Stretched(0.5 * Gaussian(4.0), np.linspace(0.5, 3, COLUMNS)),
}
every_drawing = pytest.mark.parametrize("drawing", DRAWINGS)
every_fast = pytest.mark.parametrize("drawing", FAST)
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def rows(n_rows=40, n_columns=COLUMNS, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def built(drawing, size=1024, kernel=None, X=None, seed=0, map_=Fourier, **options):
    sample = ArraySource(rows() if X is None else X).sample(SAMPLE_ROWS)
    return map_(size, drawing).build(kernel or Gaussian(4.0), sample, seed, **options)


def squared_error(drawing, size, X, kernel, seeds=10):
    """Return the mean over pairs of rows and seeds of (phi(x)'phi(y) - k(x, y))^2."""
    K, errors = kernel(X), []
    for seed in range(seeds):
        basis = built(drawing, size, kernel, X, seed, dtype=np.float64)
        Phi = basis.columns(basis.encode(X))
        errors.append(np.mean((Phi @ Phi.T - K) ** 2))
    return np.mean(errors)


def test_there_are_features_of_the_name_of_every_drawing():
    assert set(DRAWINGS) - {"plain"} <= set(FeatureMap.registry)
    assert FeatureMap.resolve("orthogonal") == Fourier(drawing="orthogonal")


@every_drawing
@every_kernel
def test_products_of_features_converge_to_the_kernel(drawing, kernel):
    X, size = rows(), 16_384
    basis = built(drawing, size, kernel, dtype=np.float64)
    Phi = basis.columns(basis.encode(X))
    error = (Phi @ Phi.T - kernel(X)) / kernel.variance
    # Signs are not quite uniform directions: Hadamard products with them are a little off.
    bias = 0.01 if drawing == "structured_orthogonal" else 0.0
    assert np.abs(error).max() < 6 / np.sqrt(size / 2) + bias
    np.testing.assert_allclose(np.diagonal(error), 0, atol=1e-12)


@every_drawing
@pytest.mark.parametrize("n_columns", [1, 2, 9, 300, 1030])
def test_any_number_of_columns_will_do(drawing, n_columns):
    X = rows(20, n_columns)
    kernel = Gaussian(2 * np.sqrt(n_columns))
    basis = built(drawing, 2048, kernel, X)
    Phi = basis.columns(basis.encode(X))
    np.testing.assert_allclose(Phi @ Phi.T, kernel(X), atol=0.15)


@pytest.mark.parametrize("drawing", ["orthogonal", "structured_orthogonal"])
def test_orthogonal_frequencies_have_half_the_variance_of_plain_ones_or_less(drawing):
    X, kernel = rows(50, 64), Gaussian(8.0)
    plain = squared_error("plain", 256, X, kernel)
    assert squared_error(drawing, 256, X, kernel) < 0.5 * plain


@pytest.mark.parametrize("drawing", ["orthogonal", "structured_orthogonal"])
def test_orthogonal_frequencies_help_mixtures_as_well(drawing):
    for n_columns in (8, 64):
        X, kernel = rows(50, n_columns), Matern(1.2 * np.sqrt(n_columns), nu=1.5)
        plain = squared_error("plain", 512, X, kernel)
        assert squared_error(drawing, 512, X, kernel) < 0.6 * plain


def test_quasi_monte_carlo_has_a_smaller_error_on_few_columns():
    X = rows(50, 8)
    for kernel in (Gaussian(3.0), Matern(4.0), Laplacian(8.0)):
        plain = squared_error("plain", 2048, X, kernel)
        assert squared_error("quasi_monte_carlo", 2048, X, kernel) < 0.6 * plain


def test_fastfood_has_about_twice_the_variance_of_plain_frequencies():
    X, kernel = rows(50, 64), Gaussian(8.0)
    plain = squared_error("plain", 256, X, kernel)
    assert squared_error("fastfood", 256, X, kernel) < 2.5 * plain


@pytest.mark.parametrize("n_columns", [3, 64, 100, 700])
def test_directions_are_orthogonal_and_lengths_have_their_law(n_columns):
    basis = built("orthogonal", None, Gaussian(2.0), rows(5, n_columns), dtype=np.float64)
    assert basis.pairs == max(PAIRS, 1 << (n_columns - 1).bit_length())
    omega = 4 * np.pi * basis.parameters(3)
    block = omega[:, n_columns * (basis.pairs // n_columns - 1) :][:, :n_columns]
    gram = block.T @ block
    lengths = np.sqrt(np.diagonal(gram))
    np.testing.assert_allclose(gram, np.diag(lengths**2), atol=1e-9 * n_columns)
    every = np.linalg.norm(omega, axis=0)
    assert stats.kstest(every, stats.chi(n_columns).cdf).pvalue > 1e-3
    assert stats.kstest(omega.ravel(), stats.norm.cdf).pvalue > 1e-3


def test_of_very_many_columns_some_are_orthogonal_at_a_time():
    assert Orthogonal().pairs(5000) == 1024


@pytest.mark.parametrize("drawing", ["orthogonal", *FAST])
@pytest.mark.parametrize("kernel", [Laplacian(1.0), Gaussian(1.0) + Laplacian(1.0)])
def test_a_kernel_that_is_no_mixture_of_gaussians_is_refused(drawing, kernel):
    with pytest.raises(ValueError, match=r"Laplacian.*drawing='"):
        built(drawing, kernel=kernel)


@every_fast
def test_what_only_a_matrix_can_do_is_refused(drawing):
    mapped = Mapped(Gaussian(1.0), np.eye(COLUMNS)[:, :3])
    apart = Stretched(Gaussian(1.0), np.ones(COLUMNS)) + Gaussian(2.0)
    for kernel in (mapped, apart, 2 * apart):
        with pytest.raises(ValueError, match="drawing='plain', or 'orthogonal'"):
            built(drawing, kernel=kernel)
        assert built("orthogonal", kernel=kernel).size == 1024


@every_fast
@pytest.mark.parametrize("count", [1, 3, COLUMNS + 1])
def test_scales_of_other_columns_are_refused(drawing, count):
    with pytest.raises(ValueError, match=f"each of the {COLUMNS} columns; got {count} scales"):
        built(drawing, kernel=Stretched(Gaussian(1.0), np.ones(count)))


def test_an_unknown_drawing_is_refused_by_name():
    with pytest.raises(ValueError, match=r"drawing must be one of 'fastfood', 'orthogonal'"):
        built("sobol")


@every_kernel
def test_scales_of_a_kernel_are_those_of_its_frequencies(kernel):
    if isinstance(kernel, Stretched):
        kernel = kernel.kernel
    size = 4000
    lengths = np.linalg.norm(kernel.frequencies(COLUMNS, size, Random(0)), axis=0)
    chi = np.linalg.norm(Random(1).normal((COLUMNS, size)), axis=0)
    assert stats.ks_2samp(lengths, chi * scales_of(kernel, size, Random(2))).pvalue > 1e-3


@every_drawing
@pytest.mark.parametrize("map_", [Fourier, RandomPhase])
def test_values_are_the_same_whatever_is_kept_in_memory(drawing, map_):
    X, weights = rows(200), rows(3000, 2)
    kept, redrawn = (built(drawing, None, map_=map_, memory=memory) for memory in (None, 0))
    code = kept.encode(X)
    np.testing.assert_array_equal(redrawn.evaluate(code, weights), kept.evaluate(code, weights))
    np.testing.assert_array_equal(redrawn.columns(code, 0, 3000), kept.columns(code, 0, 3000))
    assert kept._kept
    assert not redrawn._kept


@every_drawing
@pytest.mark.parametrize("map_", [Fourier, RandomPhase])
def test_a_smaller_size_is_a_prefix_of_a_larger_one_and_of_the_endless_one(drawing, map_):
    small, large, endless = (built(drawing, size, map_=map_) for size in (300, 2000, None))
    code = small.encode(rows())
    Phi = small.columns(code)
    for other in (large, endless):
        np.testing.assert_allclose(other.columns(code, 0, 300) * other.gain(300), Phi, atol=1e-6)


@every_drawing
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_give_the_features_of_dense_rows_at_the_same_place(drawing, dtype):
    X = sp.random_array((300, 40), density=0.1, format="csr", random_state=0)
    basis = built(drawing, 1000, Gaussian(3.0), X, dtype=dtype)
    Phi = basis.columns(basis.encode(X))
    assert Phi.dtype == dtype
    np.testing.assert_allclose(Phi, basis.columns(basis.encode(X.toarray())), atol=1e-6)


@every_drawing
def test_single_precision_is_close_to_double(drawing):
    X = rows(50, 100)
    single, double = (
        built(drawing, 512, Gaussian(10.0), X, dtype=dtype) for dtype in (np.float32, np.float64)
    )
    Phi = single.columns(single.encode(X))
    np.testing.assert_allclose(Phi, double.columns(double.encode(X)), atol=1e-6)


@pytest.mark.parametrize("name", [*sorted(set(DRAWINGS) - {"plain"}), "random_phase"])
def test_the_doubly_stochastic_solver_draws_them_without_end(name, regression):
    X, y = regression
    model = KernelRegressor(kernel="gaussian", features=name, solver="dsg", random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9


TRANSFORMERS = {
    Fastfood: "fastfood",
    OrthogonalFourier: "orthogonal",
    QuasiMonteCarloFourier: "quasi_monte_carlo",
}


@pytest.mark.parametrize("Transformer", TRANSFORMERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transformers_give_the_columns_of_the_basis(Transformer, dtype):
    X = rows(300).astype(dtype)
    features = Fourier(500, TRANSFORMERS[Transformer])
    _, basis = prepare("gaussian", features, ArraySource(X).sample(SAMPLE_ROWS, 3), 3, dtype)
    with threads(1):
        Z = Transformer(size=500, random_state=3).fit_transform(X)
    assert Z.dtype == dtype
    np.testing.assert_array_equal(Z, basis.columns(basis.encode(X)))
