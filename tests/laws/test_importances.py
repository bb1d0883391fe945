"""Importances belong to columns, so that scikit-learn selects columns by our machines."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.inspection import permutation_importance

import bochner
from bochner import (
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
)
from bochner.estimators.fitting.importances import LEAST_ROWS, MOST_CHANGES, ReferenceRows
from bochner.features import Centers, Fourier
from bochner.kernels import Gaussian
from bochner.tuning import Tuning

USED = [3, 7]  # of 10 columns
OLD_MODELS = Path(__file__).parents[1] / "golden" / "models"
MACHINES = {
    "exact": KernelRegressor(),
    "waves": KernelRegressor(solver="dsg"),
    "bins": KernelRegressor(features="binning"),
    "labels": KernelClassifier(),
    "softmax": KernelClassifier(solver="dsg"),
    "hinge": KernelClassifier(loss="hinge"),
    "quantiles": KernelQuantileRegressor(),
    "process": KernelGaussianProcess(),
    "process of functions": KernelGaussianProcess(variance="functions"),
}


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(300, 10))


@pytest.fixture(scope="module")
def targets(rows):
    return np.sin(2 * rows[:, 3]) + rows[:, 7]


def targets_of(model, targets):
    return np.where(targets > 0, "high", "low") if isinstance(model, KernelClassifier) else targets


@pytest.fixture(scope="module")
def fitted(rows, targets):
    return {
        name: clone(model).set_params(random_state=0).fit(rows, targets_of(model, targets))
        for name, model in MACHINES.items()
    }


@pytest.mark.parametrize("name", MACHINES)
def test_scikit_learn_selects_the_columns_that_matter(fitted, rows, name):
    importances = fitted[name].feature_importances_
    assert importances.shape == (10,)
    assert (importances >= 0).all()
    assert importances.sum() == pytest.approx(1.0)
    selected = SelectFromModel(fitted[name], prefit=True, max_features=2, threshold=-np.inf)
    assert np.flatnonzero(selected.fit(rows).get_support()).tolist() == USED


def test_columns_are_eliminated_one_by_one(rows, targets):
    model = KernelRegressor(random_state=0)
    two = RFE(model, n_features_to_select=2).fit(rows, targets)
    assert np.flatnonzero(two.support_).tolist() == USED
    found = RFECV(model, cv=2).fit(rows[:, 2:], targets)
    assert set(np.flatnonzero(found.support_)) >= {1, 5}
    assert found.n_features_ < 8


def test_importances_order_columns_as_permutations_do(fitted, rows, targets):
    model = fitted["exact"]
    permuted = permutation_importance(model, rows, targets, n_repeats=2, random_state=0)
    assert set(np.argsort(-permuted.importances_mean)[:2]) == set(USED)


@pytest.mark.parametrize("name", MACHINES)
def test_there_is_no_coef_for_scikit_learn_to_take_for_columns(fitted, name):
    assert not hasattr(fitted[name], "coef_")


def test_who_asks_for_coef_learns_where_the_weights_are(fitted):
    with pytest.raises(AttributeError, match="weights_ are the weights of its functions"):
        _ = fitted["exact"].coef_
    assert fitted["exact"].weights_.shape == (1, 300)
    assert not hasattr(KernelRegressor(), "feature_importances_")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_total_effects_of_a_sum_are_the_variances_of_its_terms(rows, form):
    X = np.where(rows > 0, rows, 0.0)
    slopes = np.arange(10.0)
    found = ReferenceRows(form(X)).total_effects(lambda X: (X @ slopes)[:, None])
    expected = slopes**2 * X.var(axis=0)
    np.testing.assert_allclose(found, expected / expected.sum(), atol=0.03)
    np.testing.assert_allclose(
        found, ReferenceRows(X).total_effects(lambda X: (X @ slopes)[:, None])
    )


def test_each_output_counts_in_its_own_unit(rows):
    found = ReferenceRows(rows).total_effects(lambda X: X[:, :2] * [1.0, 1e6])
    np.testing.assert_allclose(found[:2], 0.5, atol=0.05)
    assert not ReferenceRows(rows).total_effects(lambda X: np.ones((len(X), 2))).any()


def test_the_work_is_bounded(rows):
    wide = ReferenceRows(np.tile(rows, (1, 30)))
    fewer, row, _ = wide.changes()
    assert LEAST_ROWS < len(fewer) < len(wide)
    assert len(row) <= MOST_CHANGES
    wider = ReferenceRows(np.tile(rows, (1, 300)))
    assert len(wider.changes()[0]) == LEAST_ROWS
    model = KernelRegressor("gaussian", random_state=0).fit(wider.X[:40], rows[:40, 0])
    assert pickle.loads(pickle.dumps(model))._importances is None
    assert model.feature_importances_.shape == (3_000,)  # who asks gets them


def test_rows_of_weight_0_do_not_count(rows, targets):
    far = np.concatenate([rows, 1e3 + rows[:, ::-1]])
    weight = np.repeat([1.0, 0.0], 300)
    model = KernelRegressor(Gaussian(4.0), features=Centers(given=rows[:50]), random_state=0)
    found = model.fit(far, np.tile(targets, 2), weight).feature_importances_
    assert set(np.argsort(-found)[:2]) == set(USED)


def test_streams_and_parts_have_importances(rows, targets):
    few = rows[:, [3, 0, 7]]
    blocks = [(few[i : i + 60], targets[i : i + 60]) for i in range(0, 300, 60)]
    stream = KernelRegressor(features=Fourier(64), random_state=0).fit(iter(blocks * 5))
    parts = KernelRegressor(features=Fourier(64), random_state=0)
    for X, y in blocks * 5:
        parts.partial_fit(X, y)
    for model in (stream, parts):
        assert model.feature_importances_.argmin() == 1
        assert len(model._reference) >= 256


def test_learned_scales_bring_their_relevance(targets):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 3))
    model = KernelRegressor(
        scales="learn", features="binning", tuning=Tuning(rows=400), random_state=0
    )
    model.fit(X, np.sin(2 * X[:, 1]))
    expected = np.maximum(model.relevance_, 0)
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())
    assert model.feature_importances_.argmax() == 1


@pytest.mark.parametrize("name", ["exact", "waves", "bins", "process"])
def test_files_and_copies_have_importances_and_no_rows_for_them(fitted, name, tmp_path):
    bochner.save(fitted[name], tmp_path / "m.bochner")
    for model in (pickle.loads(pickle.dumps(fitted[name])), bochner.load(tmp_path / "m.bochner")):
        assert "_reference" not in vars(model)
        np.testing.assert_array_equal(model.feature_importances_, fitted[name].feature_importances_)
    header = bochner.read_header(tmp_path / "m.bochner")
    assert header.importances == fitted[name].feature_importances_.tolist()


def test_importances_that_are_not_known_are_refused_in_a_sentence(rows, targets):
    K = rows @ rows.T
    assert not hasattr(KernelRegressor("precomputed").fit(K, targets), "feature_importances_")
    with pytest.raises(AttributeError, match="fit again"):
        _ = bochner.load(OLD_MODELS / "kernel_gaussian.bochner").feature_importances_


def test_a_new_fit_has_new_importances(rows, targets):
    for model in (KernelRegressor(random_state=0), KernelGaussianProcess(random_state=0)):
        first = model.fit(rows, targets).feature_importances_
        again = model.fit(rows[:, ::-1], targets).feature_importances_
        assert first.argsort()[-2:].tolist() == [9 - j for j in again.argsort()[-2:]]
    detector = KernelNoveltyDetector(random_state=0).partial_fit(rows * [*np.ones(9), 0])
    assert detector.feature_importances_[9] == 0.0
