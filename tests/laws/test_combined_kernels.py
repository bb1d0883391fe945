"""Kernels of chosen columns, maps, sums and products at the edges of what users give."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bochner import (
    DensityRatio,
    KernelGaussianProcess,
    KernelRegressor,
    NystroemMap,
    RandomBinning,
    two_sample_test,
)
from bochner.data import ArraySource
from bochner.features import (
    AdditiveHomogeneous,
    Centers,
    Fourier,
    Leverage,
    NystroemFeatures,
    RandomFeatures,
)
from bochner.kernels import (
    ArcCosine,
    ChiSquared,
    Delta,
    Gaussian,
    Laplacian,
    Mapped,
    Overlap,
    Polynomial,
)

HISTOGRAMS = [
    ChiSquared(),
    ChiSquared().on([0, 1]),
    ChiSquared().stretched([1.0, 2.0, 0.5]),
    ChiSquared() * Gaussian(1.0),
]


def rows(n=60):
    return np.random.default_rng(0).random((n, 3))


def built(features, kernel, X, memory=None):
    return features.build(kernel, ArraySource(X).sample(len(X)), 0, np.float64, memory)


@pytest.mark.parametrize("kernel", HISTOGRAMS, ids=repr)
def test_a_number_of_features_is_what_the_endless_ones_begin_with(kernel):
    X = rows()
    basis = built(RandomFeatures(8192), kernel, X)
    Phi = basis.columns(basis.encode(X))
    assert basis.size == 8192
    assert np.abs(Phi @ Phi.T - kernel(X)).max() < 0.2
    model = KernelRegressor(kernel, features=RandomFeatures(512), random_state=0)
    assert model.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9


def test_machines_of_streams_take_kernels_of_some_columns():
    X, kernel = rows(200), ChiSquared().on([0, 1])
    assert two_sample_test(X[:100], X[100:] ** 3, kernel=kernel, size=64).pvalue < 0.05
    model = KernelGaussianProcess(kernel, random_state=0).partial_fit(X, X[:, 0])
    assert np.abs(model.predict(X) - X[:, 0]).mean() < 0.1


@pytest.mark.parametrize("kernel", [Delta(), Overlap()], ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_categories_that_single_precision_cannot_tell_apart_are_refused(kernel, form):
    X = np.array([[0.0], [1.0], [6e7]], np.float32)
    with pytest.raises(ValueError, match=r"up to 1,048,576; got 60,000,000.*OrdinalEncoder"):
        kernel.require(form(X))


def test_a_mapped_kernel_of_some_columns_sees_the_images():
    X, M = rows(), np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    kernel = Mapped(Gaussian(1.0).on(3), M.T)
    expected = Gaussian(1.0)(X.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(kernel(X), expected, atol=1e-12)
    assert KernelRegressor(kernel).fit(X, X.sum(axis=1)).score(X, X.sum(axis=1)) > 0.99


def test_rows_of_whole_numbers_are_divided_as_numbers():
    X = np.arange(1, 31).reshape(10, 3)
    kernel = (Polynomial(2, 1.0, 0.01) + Gaussian(1.0)).stretched([1.5, 2.5, 0.5])
    basis = built(RandomFeatures(64), kernel, X)
    same = built(RandomFeatures(64), kernel, X.astype(float))
    np.testing.assert_array_equal(
        basis.columns(basis.encode(X)), same.columns(same.encode(X.astype(float)))
    )


def test_parts_share_the_memory():
    X = np.random.default_rng(0).normal(size=(20, 500))
    small = built(RandomFeatures(), Gaussian(1.0) + ArcCosine(1), X, memory=1 << 20)
    large = built(RandomFeatures(), Gaussian(1.0) + ArcCosine(1), X, memory=1 << 30)
    assert small.span() < large.span()
    weights = np.random.default_rng(1).normal(size=(5_000, 2))
    np.testing.assert_array_equal(
        *(basis.evaluate(basis.encode(X), weights) for basis in (small, large))
    )


def test_leverage_needs_a_finite_ridge_and_whole_draws():
    with pytest.raises(ValueError, match=r"positive number; got inf"):
        built(Leverage(Fourier(), 64, ridge=np.inf), Gaussian(1.0), rows())
    with pytest.raises(ValueError, match=r"at least 2; got 1"):
        built(Leverage(Fourier(), 1), Gaussian(1.0), rows())


def test_an_error_in_chosen_columns_names_them():
    with pytest.raises(ValueError, match=r"Column 2: -"):
        ChiSquared().on([2])(rows() * [1, 1, -1])
    with pytest.raises(ValueError, match="needs a data frame that has the columns"):
        Gaussian(1.0).on("height")(rows())


def test_kernels_of_the_same_columns_are_equal():
    kernel = Gaussian(1.0).on(np.array([0, 1]))
    assert kernel == Gaussian(1.0).on([0, 1])
    assert kernel != Gaussian(1.0).on([1, 0])


def test_means_of_clusters_are_no_categories():
    X = np.column_stack([np.arange(60) % 3, rows()[:, 1:]])
    kernel = Delta(0.1).on(0) * Gaussian(1.0).on([1, 2])
    with pytest.raises(ValueError, match="Choose 'uniform' or 'pivoted'"):
        KernelRegressor(kernel, features=Centers(20, "kmeans")).fit(X, X[:, 1])


def test_sums_of_three_kernels_suit_the_machines_own_sizes():
    X, kernel = rows(200), Gaussian(1.0) + Polynomial(2) + Laplacian(1.0)
    assert two_sample_test(X[:100], X[100:] ** 3, kernel=kernel).pvalue < 0.05
    DensityRatio(kernel, random_state=0).partial_fit(X[:100], X[100:])
    KernelGaussianProcess(kernel, random_state=0).partial_fit(X, X[:, 0])


def test_density_ratios_of_streams_take_kernels_of_histograms():
    X = rows(400)
    ratio = DensityRatio(ChiSquared(), size=100, random_state=0).partial_fit(X[:200], X[200:])
    assert np.isfinite(ratio.predict(X)).all()


@pytest.mark.parametrize("features", [NystroemFeatures(40), AdditiveHomogeneous(30)], ids=repr)
def test_a_number_of_dense_features_is_learned_at_once_and_in_parts(features):
    X = rows(600)
    y = X[:, 0] + X[:, 1] ** 2
    kernel = Gaussian(1.0) if isinstance(features, NystroemFeatures) else ChiSquared()
    whole = KernelRegressor(kernel, features=features, random_state=0).fit(X, y)
    parts = KernelRegressor(kernel, features=features, random_state=0)
    for _ in range(4):
        for top in range(0, 600, 100):
            parts.partial_fit(X[top : top + 100], y[top : top + 100])
    assert (whole.plan_.solver, parts.plan_.solver) == ("cg", "eigenpro")
    assert whole.score(X, y) > 0.9
    assert parts.score(X, y) > 0.8


def test_solvers_of_bins_take_whitened_centres_for_other_kernels():
    X = rows(200)
    model = KernelRegressor(Polynomial(2), solver="cg", random_state=0).fit(X, X[:, 0] ** 2)
    assert model.plan_.features == "nystroem"
    assert model.score(X, X[:, 0] ** 2) > 0.99


def test_columns_are_found_by_name_where_scales_are_learned_and_in_bins():
    frame = pd.DataFrame(rows(200), columns=["a", "b", "c"])
    kernel = Gaussian(1.0).on(["a", "b"])
    model = KernelRegressor(kernel, scales="learn", random_state=0).fit(frame, frame["a"])
    assert model.score(frame, frame["a"]) > 0.9
    with pytest.raises(ValueError, match="Random binning needs a kernel that is a product"):
        RandomBinning(kernel).fit(frame)


def test_text_that_a_kernel_takes_for_numbers_is_told():
    frame = pd.DataFrame({"kind": ["x", "y"] * 30, "a": rows()[:, 0]})
    with pytest.raises(ValueError, match=r"treats columns of text as numbers.*kernel.on"):
        KernelRegressor(Delta(0.1).on("kind") + Gaussian(1.0)).fit(frame, frame["a"])


def test_rows_that_a_scale_has_spoilt_are_told():
    with pytest.raises(ValueError, match=r"scaled by scale='standard'. Give scale=None"):
        KernelRegressor(ChiSquared(), scale="standard").fit(rows(), rows()[:, 0])


def test_transformers_refuse_values_of_a_kernel():
    with pytest.raises(ValueError, match=r"got kernel='precomputed'"):
        NystroemMap("precomputed", size=5).fit(rows())
