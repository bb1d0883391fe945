"""What a fit promises, whatever the machine, the layout of the rows and the form of the labels."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier

from bochner import KernelClassifier, KernelRegressor, RandomFourier
from bochner.data import ArraySource, IteratorSource, hold_out
from bochner.features import Fourier
from bochner.kernels import Gaussian
from bochner.solvers import DoublyStochastic

SOLVERS = ["dsg", "udsg", "cdsg", DoublyStochastic(step="plain")]
SMALL_STEPS = DoublyStochastic(batch_size=100, feature_block=12)
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=str)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def regressor(**changes):
    return KernelRegressor(**{"random_state": 0, "max_passes": 5, "solver": SMALL_STEPS} | changes)


def classifier(**changes):
    return KernelClassifier(**{"random_state": 0, "max_passes": 5, "solver": SMALL_STEPS} | changes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_do_not_depend_on_the_order_of_memory(regression, dtype):
    X, y = regression[0].astype(dtype), regression[1]
    rows_first = regressor().fit(np.ascontiguousarray(X), y).predict(X)
    columns_first = regressor().fit(np.asfortranarray(X), y).predict(np.asfortranarray(X))
    np.testing.assert_array_equal(rows_first, columns_first)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_of_the_rows_is_that_of_the_predictions(regression, two_classes, dtype):
    X, y = regression
    assert regressor().fit(X.astype(dtype), y).predict(X.astype(dtype)).dtype == dtype
    X, y = two_classes
    model = classifier().fit(X.astype(dtype), y)
    assert model.predict_proba(X.astype(dtype)).dtype == dtype


def test_sparse_rows_are_learned_like_dense_ones(regression):
    X, y = regression
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = regressor(alpha=1e-2)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_array(X), y)
    # Dense rows are centred: the waves differ in phase and span the same functions.
    np.testing.assert_allclose(dense.predict(X), sparse.predict(sp.csr_array(X)), atol=1e-3)
    np.testing.assert_allclose(dense.predict(X), dense.predict(sp.csr_array(X)), atol=1e-6)


@pytest.mark.parametrize("scale", ["standard", "range"])
def test_a_scale_is_learned_and_kept_with_the_model(regression, scale):
    X, y = regression
    moved = X * [1.0, 1000.0, 0.01] + [5.0, -300.0, 0.0]
    model = regressor(scale=scale).fit(moved, y)
    assert model.score(moved, y) > 0.8 > regressor().fit(moved, y).score(moved, y)
    assert pickle.loads(pickle.dumps(model)).score(moved, y) == model.score(moved, y)


def test_frames_keep_the_names_of_their_columns(classes):
    X, y = classes
    frame = pd.DataFrame(X, columns=["height", "width"])
    model = classifier().fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["height", "width"]
    np.testing.assert_array_equal(model.predict(frame), classifier().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["width", "height"]])


@pytest.mark.parametrize("loss", ["softmax", "logistic", "hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("data", ["classes", "two_classes"])
def test_every_loss_tells_classes_apart(request, data, loss):
    X, y = request.getfixturevalue(data)
    model = classifier(loss=loss).fit(X, y)
    assert model.score(X, y) > 0.85
    assert set(model.predict(X)) == set(model.classes_) == set(y)


@pytest.mark.parametrize("loss", ["softmax", "logistic"])
@pytest.mark.parametrize("data", ["classes", "two_classes"])
def test_probabilities_sum_to_one_and_agree_with_the_predictions(request, data, loss):
    X, y = request.getfixturevalue(data)
    model = classifier(loss=loss).fit(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(X), len(model.classes_))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    assert (model.classes_[probabilities.argmax(axis=1)] == model.predict(X)).all()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), probabilities, atol=1e-6)


def test_a_loss_without_probabilities_offers_none():
    model = classifier(loss="hinge")
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as error:
        _ = model.predict_proba
    assert "softmax" in str(error.value.__cause__)


@pytest.mark.parametrize("given", ["array", "series", "blocks", "classes"])
def test_labels_that_are_objects_come_back_as_objects(two_classes, given):
    X, y = two_classes
    words = np.where(y == np.unique(y)[0], "elm", "a long label").astype(object)
    words = words[:200]
    X, model = X[:200], KernelClassifier(features=Fourier(64), random_state=0)
    if given == "array":
        model.fit(X, words)
    elif given == "series":
        model.fit(X, pd.Series(words, dtype=object))
    elif given == "blocks":
        model.fit(IteratorSource([(X[:90], words[:90]), (X[90:], words[90:])]))
    else:
        model.partial_fit(X, words, classes=np.unique(words))
    for labels in (model.classes_, model.predict(X), pickle.loads(pickle.dumps(model)).predict(X)):
        assert labels.dtype == object
        assert {*map(type, labels)} == {str}
    assert model.score(X, words) > 0.7


def test_several_labels_of_a_row_are_refused_with_what_takes_them(two_classes):
    X = two_classes[0]
    X, Y = X[:100], np.stack([X[:100, 0] > 0, X[:100, 1] > 0], axis=1).astype(int)
    for fit in (
        lambda: KernelClassifier().fit(X, Y),
        lambda: KernelClassifier().partial_fit(X, Y, classes=[0, 1]),
        lambda: KernelClassifier().fit(IteratorSource([(X, Y)])),
        lambda: KernelClassifier().fit(iter([(X, Y)]), classes=[0, 1]),
    ):
        with pytest.raises(ValueError, match=r"OneVsRestClassifier\(KernelClassifier\(\)\)"):
            fit()
    many = OneVsRestClassifier(KernelClassifier(random_state=0)).fit(X, Y)
    assert (many.predict(X) == Y).mean() > 0.95
    assert many.predict_proba(X).shape == Y.shape


def test_boolean_labels_come_back_as_boolean(two_classes):
    X, y = two_classes
    model = classifier().fit(X, y == "ash")
    assert model.predict(X).dtype == bool
    assert model.score(X, y == "ash") > 0.85


def test_weights_count_by_their_ratios(regression):
    X, y = regression
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    one, ten = regressor().fit(X, y, weight), regressor().fit(X, y, 10 * weight)
    np.testing.assert_allclose(one.predict(X), ten.predict(X), atol=1e-4)


def test_rows_of_weight_zero_are_not_learned_from(regression):
    X, y = regression
    weight = (np.arange(len(y)) % 4 > 0).astype(float)
    spoiled = np.where(weight == 0, 1000.0, y)
    np.testing.assert_array_equal(
        regressor().fit(X, y, weight).predict(X), regressor().fit(X, spoiled, weight).predict(X)
    )


def test_balanced_classes_have_the_weights_of_their_dict(two_classes):
    X, y = two_classes
    keep = (y == "ash") | (np.arange(len(y)) % 5 == 0)
    X, y = X[keep], y[keep]
    share = {label: len(y) / (2 * (y == label).sum()) for label in np.unique(y)}
    balanced = classifier(class_weight="balanced").fit(X, y)
    by_dict = classifier(class_weight=share).fit(X, y)
    np.testing.assert_array_equal(balanced.decision_function(X), by_dict.decision_function(X))
    plain = classifier().fit(X, y)
    assert (balanced.predict(X) == "beech").sum() > (plain.predict(X) == "beech").sum()


@pytest.mark.parametrize("coordinates", ["new", "uniform"])
def test_several_outputs_of_a_linear_method_are_several_regressions(regression, coordinates):
    X, y = regression
    solver = DoublyStochastic("plain", coordinates, batch_size=100, feature_block=12)
    Y = np.column_stack([y, np.cos(X[:, 2]), 3 * y])
    together = regressor(solver=solver).fit(X, Y).predict(X)
    alone = [regressor(solver=solver).fit(X, column).predict(X) for column in Y.T]
    np.testing.assert_allclose(together, np.column_stack(alone), atol=1e-4)


def test_a_column_of_targets_comes_back_as_a_column(regression):
    X, y = regression
    flat, column = regressor().fit(X, y).predict(X), regressor().fit(X, y[:, None]).predict(X)
    assert column.shape == (len(X), 1)
    np.testing.assert_array_equal(flat, column[:, 0])


@every_solver
def test_coefficients_belong_to_the_columns_of_the_transformer(regression, solver):
    X, y = regression
    Y = np.column_stack([y, -y])
    model = regressor(features=Fourier(256), solver=solver).fit(X, Y)
    columns = RandomFourier("gaussian", 256, random_state=0).fit(X).transform(X)
    expected = columns @ model.weights_.T + model.intercept_
    assert model.weights_.shape == (2, 256)
    np.testing.assert_allclose(model.predict(X), expected, atol=2e-5)


def test_coefficients_are_gone_after_a_fit_without_an_end_of_features(regression):
    model = regressor(features=Fourier(64)).fit(*regression)
    assert hasattr(model, "weights_")
    assert not hasattr(model.set_params(features="fourier").fit(*regression), "weights_")


def test_without_an_intercept_it_is_zero(regression):
    model = regressor(fit_intercept=False).fit(*regression)
    np.testing.assert_array_equal(model.intercept_, 0.0)


def test_the_bandwidth_of_a_named_kernel_can_be_searched(classes):
    X, y = classes
    search = GridSearchCV(classifier(max_passes=2), {"kernel__bandwidth": [0.01, 1.0]}, cv=3)
    assert search.fit(X, y).best_params_ == {"kernel__bandwidth": 1.0}
    assert search.best_estimator_.kernel == Gaussian(1.0)
    assert search.estimator.kernel == "auto"


def test_a_threaded_search_gives_the_scores_of_a_sequential_one(classes):
    grid = {"kernel__bandwidth": [0.3, 1.0, 3.0], "alpha": [1e-6, 1e-2]}
    alone = GridSearchCV(classifier(max_passes=2), grid, cv=3).fit(*classes)
    with joblib.parallel_backend("threading", n_jobs=2):
        threaded = GridSearchCV(classifier(max_passes=2), grid, cv=3).fit(*classes)
    for key in ("mean_test_score", "std_test_score"):
        np.testing.assert_array_equal(alone.cv_results_[key], threaded.cv_results_[key])


def test_a_clone_is_unfitted_and_fits_to_the_same(regression):
    X, y = regression
    model = regressor(kernel=Gaussian(2.0)).fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "expansion_")
    assert copy.kernel is not model.kernel
    np.testing.assert_array_equal(copy.fit(X, y).predict(X), model.predict(X))


@every_solver
def test_a_pickle_predicts_the_same(classes, solver):
    X, y = classes
    model = classifier(solver=solver).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_a_pickle_of_a_converged_fit_has_nothing_for_each_row():
    X = np.random.default_rng(0).normal(size=(6_000, 1))
    solver = DoublyStochastic(batch_size=1_500, feature_block=64, max_features=64)
    fit = {"solver": solver, "max_passes": None, "early_stopping": False, "tol": 1.0}
    converged = regressor(**fit).fit(X, X[:, 0])
    assert "(tol)" in converged.stopped_because_
    assert len(pickle.dumps(converged)) < 3 * len(X)
    going_on = regressor(**fit, warm_start=True).fit(X, X[:, 0])
    assert len(pickle.dumps(going_on)) > 8 * len(X)


def test_fitted_attributes_say_what_happened(regression):
    model = regressor(max_passes=3).fit(*regression)
    assert model.n_iter_ == 3
    assert model.stopped_because_ == "3 passes were done (max_passes)"
    assert model.n_features_used_ == model.expansion_.size
    assert model.history_["step"] == list(range(1, len(model.history_["step"]) + 1))
    assert model.history_["rows"][-1] == 3 * len(regression[0])
    assert model.kernel_.bandwidth > 0


def test_a_number_of_passes_turns_automatic_early_stopping_off():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_200, 2))
    counted = regressor(max_passes=2).fit(X, X[:, 0])
    assert counted.history_["held_out_loss"][-1] is None
    assert counted.history_["rows"][-1] == 2 * len(X)
    judged = regressor(max_passes=None).fit(X, X[:, 0])
    assert judged.history_["held_out_loss"][-1] is not None
    assert judged.stopped_because_ == "the loss on held-out rows stopped falling"


def test_held_out_rows_are_not_learned_from():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_200, 2))
    y = X[:, 0].copy()
    held = hold_out(ArraySource(X), 0.1, 2_500, seed=0).held_out().index
    spoiled = y.copy()
    spoiled[held] = 0.0
    settings = {"early_stopping": True, "max_passes": 2, "kernel": Gaussian(1.0), "scale": None}
    # The sample that sets the first constant is drawn from all rows, so leave the constant out.
    models = [regressor(fit_intercept=False, **settings).fit(X, target) for target in (y, spoiled)]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    losses = [model.history_["held_out_loss"][-1] for model in models]
    assert losses[1] > 10 * losses[0]
