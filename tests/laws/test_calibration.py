"""What the probabilities of losses promise that are no likelihood."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import log_loss

from bochner import KernelClassifier
from bochner.data import Batch
from bochner.estimators.fitting import calibration
from bochner.estimators.fitting.calibration import UNCALIBRATED, Calibration
from bochner.features import Binning, Fourier
from bochner.losses import Hinge, Squared

FRESH = 4_000
every_loss = pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
every_number_of_classes = pytest.mark.parametrize("classes", [2, 4])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def drawn(scores, rng):
    """Return the softmax of scores and a class for each row, drawn by it."""
    p = softmax(scores, axis=1)
    return p, (p.cumsum(axis=1)[:, :-1] < rng.random((len(p), 1))).sum(axis=1)


def rows(classes, n_rows=2_000, sharpness=1.5, seed=0):
    """Return rows with the probabilities that their classes were drawn by."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 2))
    directions = np.array([[1.0, 0.5], [-1.0, 0.5], [0.2, -1.5], [0.3, 1.0]])[:classes]
    p, y = drawn(sharpness * (X @ directions.T + np.sin(2 * X[:, [0]] * directions[:, 0])), rng)
    return X, y, p


def classifier(loss, **changes):
    settings = {"features": Fourier(100), "alpha": 1e-4, "random_state": 0, "tol": 1e-3}
    solver = {"squared": "cg", "squared_hinge": "newton", "softmax": "newton"}.get(loss, "dsg")
    return KernelClassifier(loss=loss, **{"solver": solver} | settings | changes)


def fitted(loss, classes, **changes):
    X, y, p = rows(classes, 2_000 + FRESH)
    return classifier(loss, **changes).fit(X[FRESH:], y[FRESH:]), X[:FRESH], y[:FRESH], p[:FRESH]


def batch(y, weight=None):
    """Return held-out rows; their X plays no part."""
    return Batch(np.zeros((len(y), 1)), y, np.arange(len(y)), weight)


def held_out(classes, slope=1.7, n_rows=2_500):
    """Return f and the coded labels of rows whose best slope is known."""
    rng = np.random.default_rng(0)
    f = rng.normal(size=(n_rows, 1 if classes == 2 else classes))
    _, y = drawn(slope * (np.hstack([-f / 2, f / 2]) if classes == 2 else f), rng)
    columns = 2 * np.eye(classes)[y] - 1
    return f, columns[:, 1:] if classes == 2 else columns


@every_number_of_classes
def test_the_slope_is_that_of_the_law_that_drew_the_labels(classes):
    f, y = held_out(classes)
    calibration = Calibration.learn(Hinge(), batch(y), f)
    assert calibration.slope == pytest.approx(1.7, rel=0.1)
    assert (calibration.power, calibration.rows) == (0.0, len(f))


@every_number_of_classes
def test_no_other_slope_and_power_are_more_likely(classes):
    f, y = held_out(classes)
    best = Calibration.learn(Squared(), batch(y), f)
    place = (y[:, 0] > 0).astype(int) if classes == 2 else y.argmax(axis=1)
    loss = log_loss(place, best.probabilities(Squared(), f))
    for slope, power in [(0.1, 0.0), (-0.1, 0.0), (0.0, 0.1), (0.1, -0.1), (-0.1, 0.1)]:
        other = Calibration(best.slope + slope, max(best.power + power, 0.0), best.rows)
        # Platt's targets are not quite the labels.
        assert log_loss(place, other.probabilities(Squared(), f)) > loss - 1e-5


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=str)
@every_number_of_classes
def test_a_row_of_weight_two_counts_as_two_rows(loss, classes):
    f, y = held_out(classes, n_rows=1_000)
    weight = np.random.default_rng(1).integers(3, size=len(f))
    weighted = Calibration.learn(loss, batch(y, weight.astype(float)), f)
    repeated = Calibration.learn(loss, batch(y.repeat(weight, axis=0)), f.repeat(weight, axis=0))
    # Only Platt's targets differ: rows that are known to be copies are no new evidence.
    np.testing.assert_allclose(
        weighted.probabilities(loss, f), repeated.probabilities(loss, f), atol=3e-3
    )
    assert weighted.rows == (weight > 0).sum()


def test_weights_of_the_calibration_count_by_their_ratios():
    f, y = held_out(2)
    weight = np.random.default_rng(1).random(len(f))
    small, large = (Calibration.learn(Hinge(), batch(y, c * weight), f) for c in (1e-6, 1e6))
    assert small.slope == pytest.approx(large.slope)


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=str)
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6, 1e37])
@every_number_of_classes
def test_labels_without_an_error_and_labels_without_a_sense_have_a_slope(loss, size, classes):
    f, _ = held_out(classes)
    right = np.sign(f) if classes == 2 else np.where(f == f.max(axis=1, keepdims=True), 1.0, -1.0)
    wrong = -right if classes == 2 else np.roll(right, 1, axis=1)
    for y in (right, wrong):
        p = Calibration.learn(loss, batch(y), size * f).probabilities(loss, size * f)
        assert np.isfinite(p).all()
        named = (f[:, 0] > 0) if classes == 2 else f.argmax(axis=1)
        np.testing.assert_array_equal(p.argmax(axis=1), named)


def test_a_function_that_is_zero_gives_equal_probabilities():
    f, y = held_out(4)
    p = Calibration.learn(Squared(), batch(y), 0 * f).probabilities(Squared(), 0 * f)
    np.testing.assert_allclose(p, 0.25)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("calibration", [UNCALIBRATED, Calibration(2.0, 0.5, 9)], ids=str)
@pytest.mark.parametrize("outputs", [1, 5])
def test_extreme_predictions_have_probabilities_in_their_order(dtype, calibration, outputs):
    f = np.random.default_rng(0).normal(size=(300, outputs)).astype(dtype)
    for size in (1e-2, 1.0, 1e4, 1e36):
        p = calibration.probabilities(Squared(), size * f)
        assert p.dtype == dtype
        assert np.isfinite(p).all()
        assert (p >= 0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-6)
        named = (f[:, 0] > 0) if outputs == 1 else f.argmax(axis=1)
        np.testing.assert_array_equal(p.argmax(axis=1), named)


def test_all_classes_far_below_their_line_keep_their_order():
    f = np.array([[-3.0, -2.0, -5.0, -2.5]])
    p = Squared().probabilities(f)
    np.testing.assert_array_equal(p.argsort(axis=1), f.argsort(axis=1))


@every_loss
@every_number_of_classes
def test_probabilities_sum_to_one_and_name_the_predicted_class(loss, classes):
    model, X, _, _ = fitted(loss, classes)
    p = model.predict_proba(X)
    assert model.calibration_.rows > 100
    assert p.shape == (len(X), classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(p))


def test_two_classes_of_a_hinge_have_the_probabilities_of_platt():
    model, X, _, _ = fitted("squared_hinge", 2)
    slope, f = model.calibration_.slope, model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(slope * f), rtol=1e-12)


@every_number_of_classes
def test_calibrated_probabilities_are_nearly_as_good_as_those_of_a_likelihood(classes):
    model, X, y, p = fitted("squared", classes)
    ours = model.predict_proba(X)
    raw = log_loss(y, UNCALIBRATED.probabilities(model.loss_, model._evaluate(X)))
    likelihood = log_loss(y, fitted("softmax", classes)[0].predict_proba(X))
    assert log_loss(y, ours) <= raw + 0.002
    assert log_loss(y, ours) <= likelihood + 0.05
    assert np.abs(ours - p).mean() < 0.05


@every_loss
@every_number_of_classes
def test_of_rows_with_probability_p_a_share_p_has_the_class(loss, classes):
    model, X, y, _ = fitted(loss, classes)
    p, hit = model.predict_proba(X).ravel(), np.eye(classes)[y].ravel()
    group = np.minimum((5 * p).astype(int), 4)
    size = np.bincount(group, minlength=5)
    gap = np.bincount(group, p - hit, minlength=5)
    assert np.abs(gap).sum() / size.sum() < 0.05


@pytest.mark.parametrize("solver", ["dsg", "cg"])
def test_probabilities_do_not_depend_on_the_number_of_threads(solver):
    one, X, _, _ = fitted("squared", 4, solver=solver, n_jobs=1)
    two, _, _, _ = fitted("squared", 4, solver=solver, n_jobs=2)
    assert one.calibration_ == two.calibration_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@every_number_of_classes
def test_without_held_out_rows_least_squares_are_the_mean_of_the_labels(classes):
    model, X, _, _ = fitted("squared", classes, early_stopping=False)
    assert model.calibration_ == UNCALIBRATED
    f = model.decision_function(X)
    f = np.column_stack([-f, f]) if classes == 2 else f
    inside = (np.abs(f) < 0.99).all(axis=1)
    expected = (1 + f) / 2 / ((1 + f) / 2).sum(axis=1, keepdims=True)
    assert inside.mean() > 0.1
    np.testing.assert_allclose(model.predict_proba(X)[inside], expected[inside], rtol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_hinge_has_probabilities_only_by_held_out_rows(loss):
    model = classifier(loss)
    assert not hasattr(model, "predict_proba")
    X, y, _ = rows(2)
    assert hasattr(model.fit(X, y), "predict_proba")
    model.set_params(early_stopping=False, max_passes=3).fit(X, y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as error:
        _ = model.predict_log_proba
    assert "early_stopping=True" in str(error.value.__cause__)


def test_the_squared_loss_promises_probabilities_before_the_fit():
    assert hasattr(KernelClassifier(loss="squared"), "predict_proba")


def test_a_likelihood_is_not_calibrated():
    X, y, _ = rows(2)
    model = classifier("squared").fit(X, y)
    assert model.calibration_.rows > 0
    model.set_params(loss="logistic", solver="newton").fit(X, y)
    assert not hasattr(model, "calibration_")


@pytest.mark.parametrize("features", [Fourier(50), Binning(16)], ids=str)
def test_a_calibration_survives_a_pickle(features):
    model, X, _, _ = fitted("squared", 4, features=features)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.calibration_ == model.calibration_
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_partial_fit_has_no_held_out_rows_and_keeps_what_a_fit_has_learned():
    X, y, _ = rows(2)
    stream = classifier("squared", solver="dsg").partial_fit(X[:500], y[:500], classes=[0, 1])
    assert stream.calibration_ == UNCALIBRATED
    assert stream.predict_proba(X).shape == (len(X), 2)
    model = classifier("squared", solver="dsg").fit(X, y)
    learned = model.calibration_
    assert model.partial_fit(X[:500], y[:500]).calibration_ == learned


def test_a_warm_start_is_calibrated_anew():
    X, y, _ = rows(4)
    short = {"max_passes": 2, "early_stopping": True, "warm_start": True}
    model = classifier("squared", **short).fit(X, y)
    first = model.calibration_
    going_on = model.set_params(max_passes=6).fit(X, y)
    whole = classifier("squared", max_passes=6, early_stopping=True).fit(X, y)
    assert going_on.calibration_ == whole.calibration_ != first


@pytest.mark.parametrize("labels", [400, 1_900])
def test_labels_that_occur_once_take_few_steps_on_few_numbers(labels, monkeypatch):
    found, evaluate = [], calibration._loss

    def counted(factors, scores, targets, weight):
        found.append(targets.size)
        return evaluate(factors, scores, targets, weight)

    monkeypatch.setattr(calibration, "_loss", counted)
    rng = np.random.default_rng(0)
    f = 0.01 * rng.normal(size=(labels, labels)) - 1.0  # nothing is known of other rows
    learned = Calibration.learn(Squared(), batch(2 * np.eye(labels) - 1), f - 0.1 * np.eye(labels))
    assert len(found) < 300
    assert max(found) <= calibration.MOST_NUMBERS + labels
    assert learned.slope >= 0
    assert learned.power >= 0
