"""Laws of bandwidth="auto": held-out rows find it, in proportion to the columns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bochner import (
    KernelClassifier,
    KernelNoveltyDetector,
    KernelRegressor,
    RandomBinning,
    RandomFourier,
    two_sample_test,
)
from bochner.kernels import Cauchy, Gaussian, Laplacian, Matern, Stretched

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (4_000, 2)).astype(np.float32)
wave = np.sin(20 * X[:, 0]) * np.cos(15 * X[:, 1])
y = wave + 0.05 * rng.normal(size=len(X))
KERNELS = {
    "laplacian": (Laplacian, "binning"),
    "gaussian": (Gaussian, "auto"),
    "matern": (Matern, "auto"),
}


def fitted(kernel, features="auto", X=X, y=y, **options):
    model = KernelRegressor(kernel, features=features, random_state=0, **options)
    return model.fit(X[:3_500], y[:3_500])


def error(model, X=X):
    return float(np.mean(np.square(model.predict(X[3_500:]) - wave[3_500:])))


@pytest.mark.parametrize(("kind", "features"), KERNELS.values(), ids=KERNELS)
def test_a_fine_wave_calls_for_a_small_bandwidth(kind, features):
    median, found = (fitted(kind(b), features) for b in ("median", "auto"))
    assert isinstance(found.kernel_.bandwidth, float)
    assert found.kernel_.bandwidth < 0.8 * median.kernel_.bandwidth
    assert error(found) < (1.1 if kind is Matern else 0.9) * error(median)


@pytest.mark.parametrize(("kind", "features"), KERNELS.values(), ids=KERNELS)
def test_it_has_the_units_of_the_columns(kind, features):
    narrow, wide = (fitted(kind("auto"), features, X=c * X) for c in (1.0, 8.0))
    ratio = wide.kernel_.bandwidth / narrow.kernel_.bandwidth
    np.testing.assert_allclose(ratio, 8.0, rtol=1e-3)


@pytest.mark.parametrize(("kind", "features"), KERNELS.values(), ids=KERNELS)
def test_given_scales_are_kept(kind, features):
    other = X * np.float32([1.0, 50.0])
    found = fitted(kind("auto"), features, X=other, scales=[1.0, 50.0])
    assert isinstance(found.kernel_, Stretched)
    np.testing.assert_array_equal(found.kernel_.scales, [1.0, 50.0])
    alone = fitted(kind("auto"), features)
    np.testing.assert_allclose(found.kernel_.kernel.bandwidth, alone.kernel_.bandwidth, rtol=1e-3)
    assert error(found, other) < 2 * error(alone)


def test_it_is_a_parameter_of_a_named_kernel_and_clones():
    model = KernelRegressor("laplacian", features="binning", random_state=0)
    model.set_params(kernel__bandwidth="auto")
    other = clone(model)
    assert other.kernel == Laplacian("auto")
    assert other.fit(X[:3_500], y[:3_500]).kernel_ == fitted(Laplacian("auto"), "binning").kernel_
    assert other.kernel.bandwidth == "auto"


def test_learned_scales_find_it_as_well():
    model = fitted(Gaussian("auto"), scales="learn")
    assert isinstance(model.kernel_, Stretched)
    assert error(model) < 0.02


def test_labels_sparse_rows_and_streams_have_one_too():
    labels = (wave > 0).astype(int)
    model = KernelClassifier(Laplacian("auto"), features="binning", random_state=0)
    dense = model.fit(X, labels).kernel_
    assert dense.bandwidth < 1.0
    assert model.fit(sp.csr_matrix(X), labels).kernel_ == dense
    stream = KernelClassifier(Gaussian("auto"), random_state=0)
    stream.partial_fit(X, labels, classes=[0, 1])
    assert isinstance(stream.kernel_.bandwidth, float)


def test_a_plan_needs_no_bandwidth():
    plan = KernelRegressor(Laplacian("auto"), features="binning", random_state=0).plan(X, y)
    assert plan.features == "binning"


@pytest.mark.parametrize(
    "use",
    [
        lambda: RandomFourier(Gaussian("auto")).fit(X),
        lambda: RandomBinning(Laplacian("auto")).fit(X),
        lambda: KernelNoveltyDetector(Gaussian("auto")).fit(X),
        lambda: two_sample_test(X, X, kernel=Gaussian("auto")),
    ],
    ids=["fourier", "binning", "novelty", "two samples"],
)
def test_without_targets_it_is_refused(use):
    with pytest.raises(ValueError, match=r'[Gg]ive a number, or "median"'):
        use()


def test_another_text_is_refused():
    with pytest.raises(ValueError, match="'median' or 'auto'"):
        fitted(Gaussian("wide"))


def test_composite_kernels_have_none():
    with pytest.raises(ValueError, match="must be the whole kernel"):
        fitted(2.0 * Gaussian("auto"))


@pytest.mark.parametrize("scales", ["learn", None])
def test_beside_categories_it_is_for_the_kernel_of_bins(scales):
    table = pd.DataFrame({"kind": np.where(X[:, 1] > 0, "a", "b"), "x": X[:, 0]})
    y = np.sin(20 * X[:, 0]) * (X[:, 1] > 0)
    settings = {"features": "binning", "scales": scales, "random_state": 0}
    found = KernelRegressor(Laplacian("auto"), **settings).fit(table, y)
    assert found.score(table, y) > 0.9
    with pytest.raises(ValueError, match="with columns of categories needs a Laplacian kernel"):
        KernelRegressor(Cauchy("auto"), **settings).fit(table, y)


def test_scales_of_another_number_are_refused():
    with pytest.raises(ValueError, match="a number for each of the 2 columns"):
        fitted(Gaussian("auto"), scales=[1.0, 2.0, 3.0])


@pytest.mark.parametrize(("kind", "features"), KERNELS.values(), ids=KERNELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_limit_of_time_holds_for_it(kind, features):
    hurried = fitted(kind("auto"), features, max_seconds=1e-3)
    assert isinstance(hurried.kernel_.bandwidth, float)
