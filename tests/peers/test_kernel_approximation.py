"""Feature maps beside scikit-learn's kernel approximations."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise
from sklearn.pipeline import make_pipeline

from bochner import (
    AdditiveHomogeneous,
    ArcCosine,
    Fastfood,
    HistogramFourier,
    NystroemMap,
    OrthogonalFourier,
    PartialWhitening,
    QuasiMonteCarloFourier,
    RandomBinning,
    RandomFourier,
    RandomLaplace,
    RandomMaclaurin,
    TensorSketch,
)
from bochner.kernels import (
    ChiSquared,
    Exponentiated,
    Gaussian,
    Laplacian,
    Polynomial,
    SkewedChiSquared,
)

rng = np.random.default_rng(0)
X, Y = rng.random((120, 50)), rng.random((120, 50))
X /= X.sum(axis=1)[:, None]
Y /= Y.sum(axis=1)[:, None]
for rows in (X, Y):
    rows.flags.writeable = False
NEGATIVE = np.where(np.arange(50) == 7, -1.0, X)
FOURIER = [RandomFourier, OrthogonalFourier, QuasiMonteCarloFourier, Fastfood]
ALL = [
    *FOURIER,
    RandomBinning,
    NystroemMap,
    AdditiveHomogeneous,
    HistogramFourier,
    RandomLaplace,
    TensorSketch,
    RandomMaclaurin,
    ArcCosine,
    PartialWhitening,
]
SIZES = {RandomBinning: {"grids": 16}, PartialWhitening: {"eigenvectors": 4}}
every_map = pytest.mark.parametrize("Map", ALL, ids=lambda Map: Map.__name__)


def small(Map, **settings):
    """Return a map to a few features."""
    return Map(**SIZES.get(Map, {"size": 64}), random_state=0, **settings)


def dense(features):
    return features.toarray() if sp.issparse(features) else features


def error(transformer, K, A=X, B=Y):
    """Return kernel minus product of features, as fitted to A."""
    return K - dense(transformer.fit_transform(A)) @ dense(transformer.transform(B)).T


def rms(make, K, A=X, B=Y):
    """Return the error of a map over seeds, as a share of the kernel's size."""
    errors = [error(make(seed), K, A, B) for seed in range(8)]
    return np.sqrt(np.mean(np.square(errors)) / np.mean(K**2))


# ------------------------------------------------------------- polynomial kernels


@pytest.mark.parametrize("scale", [0.1, 1.0, 2.5])
@pytest.mark.parametrize(("degree", "size"), [(1, 500), (2, 500), (3, 5_000)])
@pytest.mark.parametrize("constant", [0.0, 2.5])
def test_sketches_approximate_polynomials(scale, degree, size, constant):
    K = pairwise.polynomial_kernel(X, Y, degree=degree, gamma=scale, coef0=constant)
    kernel = Polynomial(degree, constant, scale)
    difference = error(TensorSketch(kernel, size=size, random_state=42), K)
    assert abs(difference.mean()) <= 0.05
    assert np.abs(difference).max() <= 0.15


@pytest.mark.parametrize(("degree", "constant"), [(2, 0.0), (2, 2.5), (3, 1.0)])
def test_sketches_are_as_close_as_those_of_scikit_learn(degree, constant):
    A = np.random.default_rng(1).normal(size=(60, 20))
    K = pairwise.polynomial_kernel(A, degree=degree, gamma=0.1, coef0=constant)
    kernel, same = Polynomial(degree, constant, 0.1), {"degree": degree, "coef0": constant}
    ours = rms(lambda seed: TensorSketch(kernel, 400, random_state=seed), K, A, A)
    theirs = rms(
        lambda seed: PolynomialCountSketch(gamma=0.1, n_components=400, random_state=seed, **same),
        K,
        A,
        A,
    )
    assert ours < 1.2 * theirs


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("constant", [0.0, 2.5])
@pytest.mark.parametrize("Map", [TensorSketch, RandomMaclaurin])
def test_sparse_rows_have_the_sketches_of_dense_ones(Map, degree, constant):
    kernel = Polynomial(degree, constant, 1.0)
    by_dense, by_sparse = (Map(kernel, 256, random_state=42) for _ in range(2))
    for A in (X, Y):
        method = "fit_transform" if A is X else "transform"
        expected = getattr(by_dense, method)(A)
        found = getattr(by_sparse, method)(sp.csr_array(A))
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_maclaurin_features_approximate_polynomials():
    K = pairwise.polynomial_kernel(X, Y, degree=3, gamma=20.0, coef0=1.0)
    few, many = (
        rms(lambda seed, n=n: RandomMaclaurin(Polynomial(3, 1.0, 20.0), n, random_state=seed), K)
        for n in (200, 3_200)
    )
    assert many < 0.5 * few < 0.5


# ------------------------------------------------------------- histograms


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_additive_features_are_closer_than_those_of_scikit_learn(steps):
    """Theirs sample the spectrum at regular points; ours choose points and weights for the data."""
    sums = X[:, None] + Y
    K = (2 * X[:, None] * Y / sums).sum(axis=2)
    ours = np.abs(error(AdditiveHomogeneous(size=50 * (2 * steps - 1), random_state=0), K)).max()
    theirs = np.abs(error(AdditiveChi2Sampler(sample_steps=steps), K)).max()
    assert ours < theirs
    assert ours < 0.1
    np.testing.assert_allclose(ChiSquared()(X, Y), K, atol=1e-12)


@pytest.mark.parametrize("size", [50, 150, 250])
def test_sparse_histograms_have_the_features_of_dense_ones(size):
    """They are dense here; scikit-learn keeps zeros as zeros in a sparse matrix."""
    A = np.where(X > 0.02, X, 0.0)
    expected = AdditiveHomogeneous(size=size, random_state=0).fit_transform(A)
    found = AdditiveHomogeneous(size=size, random_state=0).fit_transform(sp.csr_array(A))
    assert not sp.issparse(found)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    nothing = AdditiveHomogeneous(size=size, random_state=0).fit(A).transform(np.zeros((1, 50)))
    np.testing.assert_array_equal(nothing, 0.0)


@pytest.mark.parametrize("skewness", [0.03, 0.5])
def test_skewed_features_approximate_their_kernel(skewness):
    left, right = X[:, None] + skewness, Y + skewness
    K = np.prod(2 * np.sqrt(left * right) / (left + right), axis=2)
    kernel = SkewedChiSquared(skewness)
    difference = error(HistogramFourier(kernel, size=1_000, random_state=42), K)
    assert np.abs(difference).max() < 0.15
    ours = rms(lambda seed: HistogramFourier(kernel, 400, random_state=seed), K)
    theirs = rms(
        lambda seed: SkewedChi2Sampler(skewedness=skewness, n_components=400, random_state=seed), K
    )
    assert ours < 1.2 * theirs


def test_exponentiated_chi_squared_features_approximate_their_kernel():
    """scikit-learn chains AdditiveChi2Sampler and RBFSampler for this."""
    K = pairwise.chi2_kernel(X.copy(), Y.copy(), gamma=1.0)  # it refuses rows that are read-only
    kernel = Exponentiated(bandwidth=np.sqrt(0.5))
    ours = rms(lambda seed: HistogramFourier(kernel, 400, random_state=seed), K)
    theirs = rms(
        lambda seed: make_pipeline(
            AdditiveChi2Sampler(sample_steps=3),
            RBFSampler(gamma=1.0, n_components=400, random_state=seed),
        ),
        K,
    )
    assert ours < 1.2 * theirs


@pytest.mark.parametrize("Map", [AdditiveHomogeneous, HistogramFourier, RandomLaplace])
def test_negative_entries_are_refused(Map):
    """The skewed kernel of scikit-learn takes entries down to -skewness, here all are from 0 on."""
    with pytest.raises(ValueError, match="Negative values in data"):
        small(Map).fit(NEGATIVE)
    with pytest.raises(ValueError, match="Negative values in data"):
        small(Map).fit(X).transform(NEGATIVE)


# ------------------------------------------------------------- shift-invariant kernels


@pytest.mark.parametrize("Map", FOURIER, ids=lambda Map: Map.__name__)
@pytest.mark.parametrize("gamma", [1.0, 10.0, 100.0])
def test_fourier_features_approximate_the_gaussian_kernel(Map, gamma):
    K = pairwise.rbf_kernel(X, Y, gamma=gamma)
    transformer = Map(Gaussian(np.sqrt(0.5 / gamma)), size=1_000, random_state=42)
    difference = error(transformer, K)
    assert abs(difference.mean()) <= 0.05
    assert np.abs(difference).max() <= 0.2
    assert np.abs(difference).mean() <= 0.05


@pytest.mark.parametrize("Map", FOURIER, ids=lambda Map: Map.__name__)
def test_fourier_features_are_as_close_as_those_of_scikit_learn(Map):
    K = pairwise.rbf_kernel(X, Y, gamma=100.0)
    ours = rms(lambda seed: Map(Gaussian(np.sqrt(0.005)), 400, random_state=seed), K)
    theirs = rms(lambda seed: RBFSampler(gamma=100.0, n_components=400, random_state=seed), K)
    assert ours < 1.2 * theirs


def test_bins_approximate_the_laplacian_kernel():
    K = pairwise.laplacian_kernel(X, Y, gamma=1.0)
    few, many = (
        rms(lambda seed, n=n: RandomBinning(Laplacian(1.0), grids=n, random_state=seed), K)
        for n in (25, 400)
    )
    assert many < 0.4 * few
    assert many < 0.1


@pytest.mark.parametrize("Map", FOURIER, ids=lambda Map: Map.__name__)
def test_features_of_both_precisions_are_the_same(Map):
    A = np.array([[1, 2], [3, 4], [5, 6]], np.float64)
    single, double = (
        small(Map, kernel=Gaussian(3.0)).fit_transform(A.astype(t)) for t in ("f4", "f8")
    )
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=1e-5)


# ------------------------------------------------------------- Nystroem


KERNELS = {
    "rbf": pairwise.rbf_kernel,
    "laplacian": pairwise.laplacian_kernel,
    "polynomial": pairwise.polynomial_kernel,
    "linear": pairwise.linear_kernel,
    "cosine": pairwise.cosine_similarity,
    "chi2": pairwise.chi2_kernel,
}
FEW = np.random.default_rng(5).uniform(size=(10, 4))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_all_rows_as_centres_give_the_kernel(kernel):
    Z = NystroemMap(kernel, size=10, random_state=0).fit_transform(FEW)
    np.testing.assert_allclose(Z @ Z.T, kernel(FEW), atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("choice", ["uniform", "kmeans", "pivoted"])
def test_two_centres_give_two_features(kernel, choice):
    found = NystroemMap(kernel, size=2, choice=choice, random_state=0).fit(FEW)
    assert found.transform(FEW).shape == (10, 2)
    assert len(found.get_feature_names_out()) == 2


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
@pytest.mark.parametrize("size", [3, 7, 10])
def test_products_of_features_are_those_of_scikit_learn(kernel, size):
    """With the same centres; the features themselves differ by a rotation."""
    theirs = Nystroem(kernel, n_components=size, random_state=0).fit(FEW)
    ours = NystroemMap(KERNELS[kernel], given=FEW[theirs.component_indices_]).fit(FEW)
    new = FEW[::-1] * 1.1
    Z, expected = ours.transform(new), theirs.transform(new)
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-5)


def test_equal_rows_count_once():
    """scikit-learn returns as many columns as centres, of which some are zero up to rounding."""
    A = np.vstack([X[:10], X[:10]])
    kernel = Gaussian(np.sqrt(0.5 / 100))
    Z = NystroemMap(kernel, size=20, random_state=0).fit_transform(A)
    assert Z.shape == (20, 10)
    np.testing.assert_allclose(Z @ Z.T, pairwise.rbf_kernel(A, gamma=100), atol=1e-6)


def test_more_centres_than_rows_are_all_rows():
    """scikit-learn warns of it."""
    found = NystroemMap(Gaussian(0.2), size=100, random_state=0).fit_transform(FEW)
    assert found.shape == (10, 10)


@pytest.mark.parametrize(("degree", "constant"), [(2, 0.1), (3, 0.1), (3, 2.0)])
def test_parameters_of_the_kernel_are_the_kernels_own(degree, constant):
    K = pairwise.polynomial_kernel(FEW, degree=degree, coef0=constant, gamma=0.25)
    Z = NystroemMap(Polynomial(degree, constant, 0.25), size=10).fit_transform(FEW)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-6)


def test_degrees_of_polynomials_are_whole():
    """scikit-learn takes 3.1, which is no kernel where a product is negative."""
    with pytest.raises(ValueError, match="degree of Polynomial"):
        NystroemMap(Polynomial(3.1, 0.1, 0.25)).fit(FEW)


def test_a_function_of_all_rows_is_a_kernel():
    """scikit-learn calls its function for each pair of rows, here it takes matrices, as SVC's."""
    theirs = Nystroem(lambda a, b: np.minimum(a, b).sum(), n_components=10).fit_transform(FEW)
    ours = NystroemMap(lambda A, B: np.minimum(A[:, None], B).sum(axis=2), 10).fit_transform(FEW)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-6)


def test_precomputed_values_have_no_features():
    """scikit-learn takes the columns of some rows as their features."""
    with pytest.raises(ValueError, match="kernel='precomputed'"):
        NystroemMap("precomputed").fit(FEW @ FEW.T)


def test_more_centres_come_closer():
    K = pairwise.rbf_kernel(X, gamma=20.0)
    errors = []
    for size in (5, 20, 60, 120):
        Z = NystroemMap(Gaussian(np.sqrt(1 / 40)), size=size, random_state=0).fit_transform(X)
        errors.append(np.linalg.norm(K - Z @ Z.T))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-4 * np.linalg.norm(K)


# ------------------------------------------------------------- all of them


@every_map
@pytest.mark.parametrize("form", [list, np.float32, np.int64, "frame", "columns first"], ids=str)
def test_rows_of_every_form_are_taken(Map, form):
    pd = pytest.importorskip("pandas")
    whole = np.random.default_rng(1).integers(1, 9, size=(30, 4))
    given = {
        list: whole.tolist(),
        np.float32: whole.astype(np.float32),
        np.int64: whole,
        "frame": pd.DataFrame(whole, columns=list("abcd")),
        "columns first": np.asfortranarray(whole.astype(float)),
    }[form]
    found = dense(small(Map).fit_transform(given))
    expected = dense(small(Map).fit_transform(whole.astype(float)))
    assert found.dtype == (np.float32 if form is np.float32 else np.float64)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4 * np.abs(expected).max())


@every_map
def test_names_of_features_are_the_class_and_a_number(Map):
    transformer = small(Map).fit(X)
    columns = transformer.transform(X).shape[1]
    expected = [f"{Map.__name__.lower()}{number}" for number in range(columns)]
    np.testing.assert_array_equal(transformer.get_feature_names_out(), expected)


@every_map
def test_rows_are_not_changed_and_seeds_decide(Map):
    A = X.copy()
    first = dense(small(Map).fit_transform(A))
    np.testing.assert_array_equal(A, X)
    np.testing.assert_array_equal(dense(clone(small(Map)).fit(A).transform(A)), first)
    np.testing.assert_array_equal(dense(small(Map).fit(A).transform(A[:7])), first[:7])


@pytest.mark.parametrize(
    "Map", [*FOURIER, NystroemMap, RandomBinning], ids=lambda Map: Map.__name__
)
def test_a_linear_model_on_features_is_a_kernel_machine(Map):
    rows = np.random.default_rng(3).uniform(-2, 2, size=(400, 2))
    target = np.sin(2 * rows[:, 0]) * rows[:, 1]
    size = {"grids": 300} if Map is RandomBinning else {"size": 300}
    kernel = Laplacian(4.0) if Map is RandomBinning else Gaussian(1.0)
    model = make_pipeline(Map(kernel, **size, random_state=0), Ridge(1e-2))
    assert model.fit(rows[:300], target[:300]).score(rows[300:], target[300:]) > 0.9
