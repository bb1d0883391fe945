"""Classifiers and regressors of margins beside scikit-learn's support vector machines.

SVC and SVR minimise |f|^2 / 2 + C times the sum of losses: alpha here is 1 / (C times the sum of
the weights). `support_vectors_` has no counterpart; `tests/reference/test_smo.py` compares
`dual_coef_`, and here functions are compared.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import (
    load_diabetes,
    load_iris,
    make_blobs,
    make_classification,
    make_moons,
    make_regression,
)
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

from bochner import (
    DensityRatio,
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
    NystroemMap,
    RandomFourier,
)
from bochner.features import Binning, Fourier, NystroemFeatures
from bochner.kernels import DotProduct, Gaussian, Laplacian, Polynomial
from bochner.losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from bochner.solvers import Newton, Nystroem
from peers.agreement import assert_agree, distance

FEW = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], float)
LABELS = np.array([1, 1, 1, 2, 2, 2])
NEW, TRUE = np.array([[-1, -1], [2, 2], [3, 2]], float), [1, 2, 2]
SIDED = np.array([[-2, 0], [-1, -1], [0, -2], [0, 2], [1, 1], [2, 0]], float)
IRIS = load_iris()
MOONS, MOON = make_moons(120, noise=0.25, random_state=0)
LOSSES = ["squared", "logistic", "softmax", "squared_hinge", "hinge"]
every_loss = pytest.mark.parametrize("loss", LOSSES)


def classifier(kernel="auto", loss="auto", **settings):
    return KernelClassifier(kernel, loss, random_state=0, **settings)


def exact(kernel, loss, C, rows, **settings):
    """Return a machine on all features of the kernel at the rows, near the minimum."""
    features, solver = NystroemFeatures(rows), Newton(1e-5)
    settings = {"features": features, "solver": solver, "early_stopping": False} | settings
    return classifier(kernel, loss, alpha=1 / (C * rows), **settings)


def columns(kernel, X):
    """Return features whose products are the kernel."""
    values, vectors = np.linalg.eigh(kernel(X))
    kept = values > 1e-9 * values.max()
    return vectors[:, kept] * np.sqrt(values[kept])


# ------------------------------------------------------------- agreement with the minimum

KERNELS = {
    "Gaussian": Gaussian(0.5),
    "Laplacian": Laplacian(1.0),
    "lines": DotProduct([1.0, 1.0]),
    "cubes": Polynomial(3, 1.0, 1.0),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@every_kernel
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_squared_hinge_loss_is_that_of_the_linear_machine_on_the_kernels_features(kernel, C):
    Z = columns(kernel, MOONS)
    theirs = LinearSVC(C=C, fit_intercept=False, tol=1e-9, max_iter=100_000, dual=False)
    expected = theirs.fit(Z, MOON).decision_function(Z)
    model = exact(kernel, "squared_hinge", C, 120, fit_intercept=False).fit(MOONS, MOON)
    assert_agree(model.decision_function(MOONS), expected, expected, 1e-3)


@every_kernel
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_logistic_loss_is_logistic_regression_on_the_kernels_features(kernel, C, intercept):
    Z = columns(kernel, MOONS)
    theirs = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-9, max_iter=10_000)
    expected = theirs.fit(Z, MOON).decision_function(Z)
    model = exact(kernel, "logistic", C, 120, fit_intercept=intercept).fit(MOONS, MOON)
    assert_agree(model.decision_function(MOONS), expected, expected, 1e-3)
    np.testing.assert_allclose(model.predict_proba(MOONS), theirs.predict_proba(Z), atol=1e-3)


@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), DotProduct([1.0, 1.0])], ids=["Gaussian", "lines"]
)
def test_softmax_is_the_multinomial_regression_on_the_kernels_features(kernel):
    Z = columns(kernel, IRIS.data)
    theirs = LogisticRegression(C=1.0, tol=1e-9, max_iter=10_000).fit(Z, IRIS.target)
    model = exact(kernel, "softmax", 1.0, 150).fit(IRIS.data, IRIS.target)
    np.testing.assert_allclose(model.predict_proba(IRIS.data), theirs.predict_proba(Z), atol=1e-3)


def test_two_classes_of_softmax_have_half_the_penalty_of_the_logistic_loss():
    """LogisticRegression has one function for two classes; softmax has two, which share |f|^2."""
    softmax = exact(Gaussian(0.5), "softmax", 1.0, 120).fit(MOONS, MOON)
    logistic = exact(Gaussian(0.5), "logistic", 2.0, 120).fit(MOONS, MOON)
    expected = logistic.decision_function(MOONS)
    assert_agree(softmax.decision_function(MOONS), expected, expected, 2e-3)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_more_classes_are_one_against_the_rest(loss):
    model = exact(Gaussian(2.0), loss, 1.0, 150).fit(IRIS.data, IRIS.target)
    each = OneVsRestClassifier(exact(Gaussian(2.0), loss, 1.0, 150)).fit(IRIS.data, IRIS.target)
    expected = each.decision_function(IRIS.data)
    assert_agree(model.decision_function(IRIS.data), expected, expected, 5e-3)


@pytest.mark.parametrize("data", ["two", "three"])
@pytest.mark.parametrize("precomputed", [False, True])
def test_the_squared_loss_is_kernel_ridge_regression_of_signs(data, precomputed):
    X, y = (MOONS, MOON) if data == "two" else (IRIS.data, IRIS.target)
    kernel = Gaussian(0.5)
    signs = np.where(y == 1, 1.0, -1.0) if data == "two" else 2.0 * np.eye(3)[y] - 1
    K = kernel(X)
    expected = KernelRidge(alpha=1.0, kernel="precomputed").fit(K, signs).predict(K)
    model = classifier(
        "precomputed" if precomputed else kernel, "squared", alpha=1 / len(X), fit_intercept=False
    )
    rows = K if precomputed else X
    assert_agree(model.fit(rows, y).decision_function(rows), expected, signs)


INEXACT = pytest.mark.xfail(
    strict=True, reason="solver 'nystroem' is inexact where the kernel's eigenvalues decay fast"
)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("kernel", ["Gaussian", "lines", pytest.param("cubes", marks=INEXACT)])
def test_nystroem_on_all_rows_ends_at_the_minimum(loss, kernel):
    """This is what "auto" chooses for these losses up to 3,000 rows."""
    kernel = KERNELS[kernel]
    settings = {"fit_intercept": False, "features": "centers", "solver": Nystroem(1e-7)}
    near = exact(kernel, loss, 0.01, 120, **settings).fit(MOONS, MOON)
    expected = exact(kernel, loss, 0.01, 120, fit_intercept=False).fit(MOONS, MOON)
    values = expected.decision_function(MOONS)
    assert_agree(near.decision_function(MOONS), values, values, 0.01)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_nystroem_on_all_rows_ends_at_the_minimum_of_a_rough_kernel(loss):
    settings = {"fit_intercept": False, "features": "centers", "solver": Nystroem(1e-7)}
    near = exact(Laplacian(1.0), loss, 1.0, 120, **settings).fit(MOONS, MOON)
    expected = exact(Laplacian(1.0), loss, 1.0, 120, fit_intercept=False).fit(MOONS, MOON)
    values = expected.decision_function(MOONS)
    assert_agree(near.decision_function(MOONS), values, values, 1e-3)


# ------------------------------------------------------------- regression within a tube

rng = np.random.default_rng(0)
ROWS = rng.normal(size=(150, 3))
TARGET = np.sin(2 * ROWS[:, 0]) + ROWS[:, 1] + 0.1 * rng.normal(size=150)


def tube(loss, C, solver="nystroem", rows=150, **settings):
    return KernelRegressor(
        Laplacian(3.0),
        loss,
        features="centers",
        solver=solver,
        alpha=1 / (C * rows),
        random_state=0,
        early_stopping=False,
        **settings,
    )


def primal(f, C, epsilon, kernel):
    """Return the objective of SVR, divided by C n, of the function through values at the rows."""
    K, intercepts = kernel(ROWS), np.linspace(f.min(), f.max(), 401)
    inverse = np.linalg.inv(K + 1e-9 * np.eye(len(K)))
    penalty = min((f - b) @ inverse @ (f - b) for b in intercepts)
    return np.maximum(np.abs(f - TARGET) - epsilon, 0).mean() + penalty / (2 * C * len(K))


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.3])
def test_the_epsilon_insensitive_loss_is_support_vector_regression(C, epsilon):
    """The loss is smoothed within a width, which moves the minimum by less than that."""
    laplacian = Laplacian(3.0)
    theirs = SVR(kernel=laplacian, C=C, epsilon=epsilon, tol=1e-6).fit(ROWS, TARGET)
    model = tube(EpsilonInsensitive(epsilon, 1e-2), C, Nystroem(1e-4)).fit(ROWS, TARGET)
    assert_agree(model.predict(ROWS), theirs.predict(ROWS), TARGET, 0.02)
    objective, least = (primal(m.predict(ROWS), C, epsilon, laplacian) for m in (model, theirs))
    assert objective == pytest.approx(least, rel=0.02)


NEARLY = (
    "the tolerance is relative to the first gradient, so 'the minimum was reached' is said where "
    "the objective, small beside the first one, is still far above its least value"
)


@pytest.mark.xfail(strict=True, reason=NEARLY)
@pytest.mark.parametrize("solver", [Newton(), Nystroem()], ids=["newton", "nystroem"])
def test_a_tube_wider_than_the_noise_is_support_vector_regression(solver):
    theirs = SVR(gamma=0.5, C=1_000.0, epsilon=0.5, tol=1e-6).fit(ROWS, TARGET)
    features = NystroemFeatures(150) if isinstance(solver, Newton) else "centers"
    model = tube(EpsilonInsensitive(0.5, 1e-2), 1_000.0, solver)
    model.set_params(kernel=Gaussian(1.0), features=features).fit(ROWS, TARGET)
    assert "minimum was reached" in model.stopped_because_
    kernel = Gaussian(1.0)
    objective, least = (primal(m.predict(ROWS), 1_000.0, 0.5, kernel) for m in (model, theirs))
    assert objective < 1.1 * least


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_squared_epsilon_insensitive_loss_is_the_linear_machine_on_features(epsilon, C):
    """It is half the square here, so C counts twice there."""
    Z = columns(Laplacian(3.0), ROWS)
    theirs = LinearSVR(
        epsilon=epsilon,
        C=C / 2,
        loss="squared_epsilon_insensitive",
        fit_intercept=False,
        dual=False,
        tol=1e-9,
        max_iter=100_000,
    ).fit(Z, TARGET)
    model = tube(SquaredEpsilonInsensitive(epsilon), C, Nystroem(1e-6), fit_intercept=False)
    assert_agree(model.fit(ROWS, TARGET).predict(ROWS), theirs.predict(Z), TARGET, 1e-3)


def test_a_wide_tube_has_no_support_vectors():
    """Targets that fit into the tube are predicted by a constant, from sparse rows, too."""
    X = sp.csr_array([[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    y = np.array([0.04, 0.04, 0.10, 0.16])
    model = KernelRegressor("dot_product", EpsilonInsensitive(0.1, 1e-4), random_state=0).fit(X, y)
    found = model.predict(X)
    assert (np.abs(found - y) <= 0.1).all()
    np.testing.assert_allclose(found, found[0], atol=1e-4)


@pytest.mark.parametrize("loss", ["squared", "absolute", "epsilon_insensitive", "huber"])
def test_a_constant_target_is_predicted(loss):
    X = load_diabetes().data
    model = KernelRegressor(loss=loss, random_state=0).fit(X, np.ones(len(X)))
    np.testing.assert_allclose(model.predict(X), 1.0, atol=1e-4)


@pytest.mark.xfail(
    strict=True, reason="the constant stays where the tube around the target begins: 0.9"
)
def test_a_constant_target_is_predicted_by_the_squared_epsilon_insensitive_loss():
    X = load_diabetes().data
    model = KernelRegressor(loss="squared_epsilon_insensitive", random_state=0)
    np.testing.assert_allclose(model.fit(X, np.ones(len(X))).predict(X), 1.0, atol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "absolute", "epsilon_insensitive"])
@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6])
def test_lines_explain_diabetes_as_support_vectors_do(loss, unit):
    data = load_diabetes()
    theirs = LinearSVR(C=1e3, max_iter=100_000).fit(data.data, data.target)
    expected = theirs.score(data.data, data.target)
    model = KernelRegressor("dot_product", loss, random_state=0)
    model.fit(data.data, unit * data.target)
    assert model.score(data.data, unit * data.target) == pytest.approx(expected, abs=0.05)


@pytest.mark.xfail(
    strict=True,
    reason="alpha='auto' is not divided by the size of the residuals for the Huber loss, as it is "
    "for the others: large targets are predicted by a constant",
)
@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6])
def test_lines_explain_diabetes_by_the_huber_loss(unit):
    data = load_diabetes()
    model = KernelRegressor("dot_product", "huber", random_state=0)
    assert model.fit(data.data, unit * data.target).score(data.data, unit * data.target) > 0.45


# ------------------------------------------------------------- classes


@every_loss
def test_two_groups_of_rows_are_told_apart(loss):
    model = classifier(loss=loss).fit(FEW, LABELS)
    np.testing.assert_array_equal(model.predict(NEW), TRUE)
    np.testing.assert_array_equal((model.decision_function(NEW) > 0) + 1, TRUE)


@every_loss
def test_iris_is_learned_as_well_as_by_support_vectors(loss):
    expected = SVC().fit(IRIS.data, IRIS.target).score(IRIS.data, IRIS.target)
    model = classifier(loss=loss).fit(IRIS.data, IRIS.target)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    assert model.score(IRIS.data, IRIS.target) > expected - 0.02


@every_loss
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_predictions_are_the_largest_decisions(loss, classes):
    """Ties are never broken otherwise, as `break_ties=True` does there."""
    X, y = make_blobs(80, centers=classes, random_state=0)
    model = classifier(loss=loss).fit(X, y)
    grid = np.random.default_rng(0).uniform(X.min(), X.max(), size=(500, 2))
    decision = model.decision_function(grid)
    assert decision.shape == ((500,) if classes == 2 else (500, classes))
    largest = decision > 0 if classes == 2 else decision.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(grid), largest)


@every_loss
def test_decisions_grow_away_from_the_boundaries(loss):
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], float)
    model = classifier("dot_product", loss).fit(signs, range(4))
    near, far = model.decision_function(5 * signs), model.decision_function(10 * signs)
    np.testing.assert_array_equal(far.argmax(axis=1), range(4))
    assert (np.diag(far) > np.diag(near)).all()
    assert (np.diag(near) > 0).all()


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_probabilities_are_probabilities(loss):
    model = classifier(loss=loss).fit(IRIS.data, IRIS.target)
    found = model.predict_proba(IRIS.data)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(found.argmax(axis=1), model.predict(IRIS.data))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(IRIS.data)), found, atol=1e-7)


@pytest.mark.parametrize(
    "labels",
    [
        IRIS.target_names[IRIS.target],
        IRIS.target - 7,
        IRIS.target.astype(np.uint8),
        IRIS.target.astype(np.float32),
        IRIS.target == 1,
        np.array(["yes", "no"])[(IRIS.target == 1).astype(int)].astype("U40"),
    ],
    ids=["text", "negative", "bytes", "single", "bool", "wide text"],
)
def test_labels_of_every_kind_come_back(labels):
    theirs, model = SVC().fit(IRIS.data, labels), classifier().fit(IRIS.data, labels)
    np.testing.assert_array_equal(model.classes_, theirs.classes_)
    found = model.predict(IRIS.data)
    assert found.dtype.kind == labels.dtype.kind  # text is as wide as the longest label
    assert (found == labels).mean() > 0.9


@pytest.mark.parametrize("model", [SVC(), classifier()], ids=["SVC", "KernelClassifier"])
def test_numbers_that_are_not_whole_are_no_labels(model):
    with pytest.raises(ValueError, match="Unknown label type"):
        clone(model).fit(IRIS.data, IRIS.target + 0.5)


def test_a_function_is_cloned_and_gives_the_machine_of_its_kernel():
    model = classifier(lambda A, B: A @ B.T, "squared")
    found = clone(model).fit(IRIS.data, IRIS.target).decision_function(IRIS.data)
    expected = classifier("dot_product", "squared").fit(IRIS.data, IRIS.target)
    assert_agree(found, expected.decision_function(IRIS.data), found, 1e-3)


def test_values_of_a_kernel_of_text_are_as_good_as_counts():
    """SVC gives text to a function; here text goes through kernel='precomputed'."""
    texts = ["A A", "A", "B", "B B", "A B"]
    counts = np.array([[text.count("A"), text.count("B")] for text in texts], float)
    y = [1, 1, 2, 2, 1]
    by_counts = classifier("dot_product", "squared").fit(counts, y)
    by_values = classifier("precomputed", "squared").fit(counts @ counts.T, y)
    expected = by_counts.decision_function(counts)
    assert_agree(by_values.decision_function(counts @ counts.T), expected, expected)
    with pytest.raises(ValueError, match="could not convert string to float"):
        classifier(lambda a, b: counts @ counts.T).fit(texts, y)


def test_no_penalty_is_a_tiny_penalty():
    """C is infinite there where alpha is 0 here."""
    X, y = make_regression(random_state=0)
    models = (KernelRegressor(alpha=alpha, random_state=0) for alpha in (0.0, 1e-12))
    none, tiny = (model.fit(X, y).predict(X) for model in models)
    assert_agree(none, tiny, y)
    X, y = make_classification(random_state=0)
    for loss in ("squared", "logistic", "squared_hinge"):
        model = classifier(loss=loss, alpha=0.0)
        assert model.fit(X, y).score(X, y) == SVC(C=np.inf).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("rows", [[[0.0], [1.0]], [[0.0], [1.0], [2.0]]])
def test_the_default_bandwidth_is_half_the_median_distance(rows):
    """gamma="scale" there is 1 / (columns times variance)."""
    model = KernelRegressor(random_state=0).fit(rows, np.arange(len(rows)))
    assert model.kernel_.bandwidth == pytest.approx(0.5)


# ------------------------------------------------------------- inside other estimators


@pytest.mark.parametrize("Wrapper", [OneVsRestClassifier, OneVsOneClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_can_be_split_by_scikit_learn(Wrapper, classes):
    X, y = make_blobs(centers=classes, random_state=0)
    assert Wrapper(classifier()).fit(X, y).score(X, y) > 0.95


def test_probabilities_can_be_averaged_and_cross_validated():
    other = LogisticRegression(max_iter=1_000)
    vote = VotingClassifier([("a", classifier()), ("b", other)], voting="soft")
    assert vote.fit(IRIS.data, IRIS.target).score(IRIS.data, IRIS.target) > 0.95
    found = cross_val_predict(classifier(), IRIS.data, IRIS.target, method="predict_proba")
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)


def test_predict_proba_is_there_before_a_fit_where_it_is_there_afterwards():
    for loss in ("squared", "logistic", "softmax"):
        assert hasattr(classifier(loss=loss), "predict_proba")
    for loss in ("hinge", "squared_hinge"):
        assert not hasattr(classifier(loss=loss), "predict_proba")


def test_predict_proba_is_there_before_a_fit_with_the_default_loss():
    assert hasattr(classifier(), "predict_proba")
    assert hasattr(classifier(solver="dsg"), "predict_proba")
    assert not hasattr(classifier(solver="smo"), "predict_proba")
    assert hasattr(classifier(solver="unknown"), "predict_proba")  # refused by the fit


def test_probabilities_can_be_stacked():
    stack = StackingClassifier([("kernel", classifier())], stack_method="predict_proba")
    assert stack.fit(IRIS.data, IRIS.target).score(IRIS.data, IRIS.target) > 0.9


# ------------------------------------------------------------- weights

WEIGHTS = {
    "equal": [1] * 6,
    "left": [10, 0.1, 0.1, 0.1, 0.1, 10],
    "right": [1, 0.1, 10, 10, 0.1, 0.1],
}


@pytest.mark.parametrize("loss", LOSSES[:-1])
def test_heavier_rows_draw_the_boundary_away_from_them(loss):
    """The hinge loss separates these rows by the widest margin, whatever their weights."""
    """Both sides are equal at (-1, 1) until one gets more weight."""
    at = {
        side: classifier("dot_product", loss)
        .fit(SIDED, LABELS, weight)
        .decision_function([[-1, 1]])
        for side, weight in WEIGHTS.items()
    }
    assert at["equal"] == pytest.approx(0, abs=1e-6)
    assert at["left"] < -1e-3
    assert at["right"] > 1e-3


@pytest.mark.parametrize("loss", ["squared", "squared_epsilon_insensitive", "huber"])
def test_heavier_rows_draw_a_regression_towards_them(loss):
    at = {
        side: KernelRegressor("dot_product", loss, alpha=0.1, random_state=0)
        .fit(SIDED, LABELS, weight)
        .predict([[-1, 1]])
        for side, weight in WEIGHTS.items()
    }
    assert at["equal"] == pytest.approx(1.5, abs=1e-3)
    assert at["left"] < 1.49
    assert at["right"] > 1.51


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("alpha", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_heavier_rows_draw_a_tube_as_they_do_in_scikit_learn(weight, alpha, epsilon):
    C = 1 / (alpha * np.sum(weight))
    theirs = SVR(kernel="linear", C=C, epsilon=epsilon, tol=1e-8).fit(SIDED, LABELS, weight)
    loss = EpsilonInsensitive(epsilon) if epsilon else "absolute"
    ours = KernelRegressor("dot_product", loss, alpha=alpha, random_state=0)
    found = ours.fit(SIDED, LABELS, weight).predict(SIDED)
    np.testing.assert_allclose(found, theirs.predict(SIDED), atol=2e-4)


@pytest.mark.parametrize("factor", [0.01, 100.0])
@every_loss
def test_all_weights_times_a_number_change_nothing(loss, factor):
    """The loss is a mean: only C changes the penalty there, and only alpha does here.

    alpha="auto" is divided by the total weight, so that a row of weight 2 is the row twice.
    """
    model = classifier(Gaussian(1.0), loss, alpha=1e-2)
    expected = clone(model).fit(FEW, LABELS).decision_function(NEW)
    found = model.fit(FEW, LABELS, np.full(6, factor)).decision_function(NEW)
    np.testing.assert_allclose(found, expected, atol=1e-5)


MACHINES = {
    "classifier": classifier(),
    "regressor": KernelRegressor(),
    "quantiles": KernelQuantileRegressor(),
    "process": KernelGaussianProcess(),
    "detector": KernelNoveltyDetector(features=Fourier(16)),
}


@pytest.mark.parametrize("model", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize(
    ("weight", "message"),
    [([0.0] * 6, "zero"), ([-0.3] * 6, "[Nn]egative"), ([1, -0.5, 1, 1, 1, 1], "[Nn]egative")],
    ids=["zero", "negative", "one negative"],
)
def test_weights_that_leave_no_rows_are_refused(model, weight, message):
    """SVC ignores rows of a negative weight, and only refuses if none are left."""
    with pytest.raises(ValueError, match=message):
        clone(model).fit(FEW, LABELS, sample_weight=weight)


@pytest.mark.parametrize("kept", [0, 3])
def test_a_class_without_weight_is_never_predicted(kept):
    """SVC refuses such weights; here the other class is predicted everywhere."""
    weight = np.zeros(6)
    weight[kept : kept + 3] = 1.0
    found = classifier().fit(FEW, LABELS, weight).predict(10 * FEW)
    np.testing.assert_array_equal(found, np.full(6, LABELS[kept]))


FIXED = {"alpha": 1e-2, "random_state": 0}
DOUBLE = {
    "squared": KernelClassifier(Gaussian(1.0), "squared", **FIXED),
    "logistic": KernelClassifier(Gaussian(1.0), "logistic", **FIXED),
    "squared hinge": KernelClassifier(Gaussian(1.0), "squared_hinge", **FIXED),
    "least squares": KernelRegressor(Gaussian(1.0), **FIXED),
    "epsilon": KernelRegressor(Gaussian(1.0), EpsilonInsensitive(0.1, 0.05), **FIXED),
    "process": KernelGaussianProcess(Gaussian(1.0), 0.1, random_state=0),
    "on bins": KernelRegressor(Laplacian(1.0), features=Binning(8), **FIXED),
    "on waves": KernelRegressor(Gaussian(1.0), features=Fourier(32), solver="cg", **FIXED),
}


def values(model, X):
    """Return decisions, or predictions of a regressor."""
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(X)


@pytest.mark.parametrize("model", DOUBLE.values(), ids=DOUBLE)
def test_rows_of_weight_zero_are_not_there(model):
    """With a given bandwidth and penalty: rows of the other label, of weight 0."""
    X, y = np.repeat(FEW, 3, axis=0), np.repeat(LABELS, 3)
    X2, y2 = np.vstack([X, X + 0.3]), np.append(y, 3 - y)
    weight = np.append(np.ones(18), np.zeros(18))
    order = np.random.default_rng(0).permutation(36)
    expected = values(clone(model).fit(X, y), NEW)
    found = values(clone(model).fit(X2[order], y2[order], weight[order]), NEW)
    np.testing.assert_allclose(found, expected, atol=5e-3)  # iterations end at 1e-3


DEFAULTS = {
    "classifier": classifier(),
    "regressor": KernelRegressor(random_state=0),
    "quantiles": KernelQuantileRegressor(random_state=0),
    "process": KernelGaussianProcess("gaussian", random_state=0),
    "detector": KernelNoveltyDetector(features=Fourier(16), random_state=0),
}


@pytest.mark.parametrize("model", DEFAULTS.values(), ids=DEFAULTS)
def test_rows_of_weight_zero_do_not_change_the_bandwidth(model):
    X, y, weight = np.vstack([FEW, 50 * FEW]), np.tile(LABELS, 2), np.repeat([1.0, 0.0], 6)
    expected = clone(model).fit(FEW, LABELS).kernel_
    assert clone(model).fit(X, y, sample_weight=weight).kernel_ == expected


@pytest.mark.parametrize("model", [classifier(Gaussian(1.0)), KernelRegressor(Gaussian(1.0))])
def test_rows_of_weight_zero_do_not_change_the_penalty(model):
    X, y, weight = np.tile(FEW, (4, 1)), np.tile(LABELS, 4), np.repeat([1.0, 0.0], [6, 18])
    expected = values(clone(model).fit(FEW, LABELS), NEW)
    np.testing.assert_allclose(values(clone(model).fit(X, y, weight), NEW), expected, atol=1e-3)


@pytest.mark.parametrize("model", DOUBLE.values(), ids=DOUBLE)
def test_weights_are_repetitions(model):
    X, y = MOONS[:60], MOON[:60]
    weight = np.random.default_rng(1).integers(1, 4, 60)
    once = values(clone(model).fit(X, y, weight), X)
    often = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    expected = values(often, X)
    assert distance(once, expected, expected) < 0.01


@every_loss
@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 3.0}, "balanced"], ids=["dict", "balanced"])
def test_weights_of_classes_are_weights_of_their_rows(loss, class_weight):
    X, y = MOONS[:120], MOON[:120].copy()
    kept = (y == 0) | (np.arange(120) % 4 == 0)
    X, y = X[kept], y[kept]
    factors = [1.0, 3.0] if class_weight != "balanced" else len(y) / (2 * np.bincount(y))
    model = classifier(Gaussian(0.5), loss, alpha=1e-2)
    by_class = clone(model).set_params(class_weight=class_weight).fit(X, y)
    expected = clone(model).fit(X, y, np.asarray(factors)[y]).decision_function(X)
    np.testing.assert_allclose(by_class.decision_function(X), expected, atol=2e-3)
    both = clone(model).set_params(class_weight=class_weight).fit(X, y, np.asarray(factors)[y])
    # Classes of equal total weight are balanced already.
    power = 1 if class_weight == "balanced" else 2
    twice = clone(model).fit(X, y, np.asarray(factors)[y] ** power).decision_function(X)
    np.testing.assert_allclose(both.decision_function(X), twice, atol=2e-3)


@every_loss
def test_a_class_of_little_weight_is_given_up(loss):
    """In SVC with C = 1 a tenth of the weight is enough; with less regularisation it is not."""
    model = classifier(Gaussian(3.0), loss, alpha=1.0, class_weight={1: 0.02}).fit(FEW, LABELS)
    np.testing.assert_array_equal(model.predict(FEW), np.full(6, 2))


@every_loss
def test_a_rare_class_is_found_by_its_weight(loss):
    X, y = make_classification(200, 10, weights=[0.833, 0.167], random_state=2)
    model = classifier(loss=loss, class_weight={0: 0.1, 1: 10}).fit(X[:100], y[:100])
    assert f1_score(y[100:], model.predict(X[100:])) > 0.3


@every_loss
def test_balanced_classes_are_told_apart_better(loss):
    y = IRIS.target + 1
    X, kept = IRIS.data[:, :2], np.delete(np.arange(150), np.flatnonzero(y > 2)[::2])
    model = classifier("dot_product", loss)
    plain, balanced = (
        clone(model).set_params(class_weight=w).fit(X[kept], y[kept]).predict(X)
        for w in (None, "balanced")
    )
    assert f1_score(y, plain, average="macro") <= f1_score(y, balanced, average="macro")


# ------------------------------------------------------------- what is refused, and what is said


def test_lengths_that_differ_are_refused():
    for model in MACHINES.values():
        if not isinstance(model, KernelNoveltyDetector):
            with pytest.raises(ValueError, match="inconsistent numbers of samples"):
                clone(model).fit(FEW, LABELS[:-1])
        with pytest.raises(ValueError, match=r"sample_weight.shape == \(3,\), expected \(6,\)"):
            clone(model).fit(FEW, LABELS, sample_weight=[0.1, 0.3, 0.1])


def test_precomputed_values_must_be_square():
    with pytest.raises(ValueError, match="square matrix"):
        classifier("precomputed").fit(FEW, LABELS)
    model = classifier("precomputed").fit(FEW @ FEW.T, LABELS)
    with pytest.raises(ValueError, match="6 features"):
        model.predict(FEW)
    np.testing.assert_array_equal(model.predict(NEW @ FEW.T), TRUE)


def test_a_machine_of_dense_rows_predicts_sparse_ones():
    """SVC refuses to; here the form of the rows does not matter."""
    model = classifier().fit(FEW, LABELS)
    expected = model.decision_function(FEW)
    for form in (sp.csr_array, sp.lil_array, sp.coo_matrix):
        np.testing.assert_allclose(model.decision_function(form(FEW)), expected, atol=1e-6)


def test_sparse_values_of_a_kernel_are_taken():
    """SVC refuses them."""
    K = FEW @ FEW.T
    dense, sparse = (
        classifier("precomputed").fit(form(K), LABELS) for form in (np.array, sp.csr_array)
    )
    np.testing.assert_allclose(sparse.decision_function(K), dense.decision_function(K), atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [lambda a, b: a, lambda a, b: np.array([[1.0]]), lambda a, b: np.full((6, 6), np.nan)],
)
def test_a_function_that_is_no_kernel_is_refused(function):
    with pytest.raises(ValueError, match="kernel function"):
        classifier(function).fit(FEW, LABELS)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_rows_that_cannot_be_computed_with_are_refused():
    X = np.finfo(np.float64).max * np.random.default_rng(0).uniform(size=(10, 2))
    with pytest.raises(ValueError, match=r"at most 1e.150 in size, so that they can be squared"):
        classifier().fit(X, [0, 1] * 5)
    with pytest.raises(ValueError, match=r"at most 1e.37"):
        classifier().fit(X * 1e-200, [0, 1] * 5)


@pytest.mark.parametrize(
    "model",
    [*MACHINES.values(), DensityRatio(), RandomFourier(), NystroemMap()],
    ids=lambda model: type(model).__name__,
)
def test_an_estimator_that_is_not_fitted_says_so_before_it_looks_at_rows(model):
    method = "transform" if hasattr(model, "transform") else "predict"
    with pytest.raises(NotFittedError, match=f"{type(model).__name__}.*not fitted"):
        getattr(clone(model), method)("foo!")


SOLVERS = {
    "dsg": "fourier",
    "udsg": "fourier",
    "cdsg": "fourier",
    "eigenpro": "centers",
    "pegasos": "centers",
    "nystroem": "centers",
    "newton": Fourier(64),
    "averaged": "binning",
    "coordinate": "binning",
}


@pytest.mark.parametrize(("solver", "features"), SOLVERS.items(), ids=SOLVERS)
def test_a_fit_that_ends_too_early_warns(solver, features):
    model = classifier(loss="logistic", solver=solver, features=features, max_passes=2)
    with pytest.warns(ConvergenceWarning, match="max_passes"):
        model.fit(IRIS.data, IRIS.target)
    assert type(model.n_iter_) is int
    assert model.n_iter_ == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("solver", "features"), SOLVERS.items(), ids=SOLVERS)
def test_the_same_seed_gives_the_same_decisions_also_after_one_pass(solver, features):
    model = classifier(loss="logistic", solver=solver, features=features, max_passes=1)
    first, second = (
        clone(model).fit(IRIS.data, IRIS.target).decision_function(IRIS.data) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
