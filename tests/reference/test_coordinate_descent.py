"""Coordinate descent by grids against scikit-learn, conjugate gradients and its own conditions."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.fixes import parse_version

from bochner.compute.bins.segments import GridColumn
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import Binning, Encoded
from bochner.kernels import Laplacian
from bochner.losses import Logistic, Softmax, Squared, SquaredHinge
from bochner.problem import Problem
from bochner.solvers import ConjugateGradient
from bochner.solvers.binning.coordinate_descent import CoordinateDescent, Penalty
from bochner.stopping import Passes, RowLimit, Solved
from bochner.training.loop import run

# scikit-learn names the penalty by its share of absolute values from version 1.8 on.
OLD = parse_version(sklearn.__version__) < parse_version("1.8")
L1 = {"penalty": "l1"} if OLD else {"l1_ratio": 1}
rng = np.random.default_rng(0)
ROWS, GRIDS = 400, 8
X = rng.random((ROWS, 3))
score = np.sin(6 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] - 0.6 + 0.2 * rng.normal(size=ROWS)
signs = np.where(score > 0, 1.0, -1.0)
classes = np.digitize(score, [-0.5, 0.5])
weight = rng.integers(0, 3, ROWS).astype(float)
TARGETS = {
    Squared: score[:, None],
    Logistic: signs[:, None],
    SquaredHinge: signs[:, None],
    Softmax: np.eye(3)[classes],
}
losses = pytest.mark.parametrize("loss", [Squared(), Logistic(), SquaredHinge(), Softmax()])


def encoded(X, y, weight=None, rows=250):
    source = ArraySource(X, y, weight)
    basis = Binning(GRIDS).build(Laplacian(1.0), source.sample(100), seed=0)
    return Encoded(source, basis, rows)


def matrix(source):
    return source.basis.matrix(source.basis.encode(X)).toarray()


def fitted(loss, alpha, source=None, intercept=False, passes=2000, **options):
    source = encoded(X, TARGETS[type(loss)]) if source is None else source
    outputs = TARGETS[type(loss)].shape[1]
    problem = Problem(source.basis, loss, alpha, outputs, intercept, rows=ROWS)
    solver = CoordinateDescent(**({"tol": 1e-5} | options))
    return run(solver, problem, source, stop=Solved() | Passes(passes))


def objective(loss, penalty, weights, intercept=0.0, weight=None):
    f = matrix(encoded(X, score)) @ weights + intercept
    values = loss.value(TARGETS[type(loss)], f)
    return np.average(values, weights=weight) + penalty.value(weights)


def assert_as_low(loss, penalty, solution, reference, intercept=0.0):
    """The objective is as low as the reference's, or lower."""
    ours = objective(loss, penalty, solution.expansion.weights, solution.expansion.intercept)
    assert solution.reason.converged
    assert ours <= objective(loss, penalty, reference, intercept) * (1 + 1e-6)


@pytest.mark.parametrize("alpha", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("intercept", [False, True])
def test_squared_loss_is_the_lasso(alpha, intercept):
    solution = fitted(Squared(), alpha, intercept=intercept)
    lasso = Lasso(alpha, fit_intercept=intercept, tol=1e-7, max_iter=100_000)
    lasso.fit(matrix(encoded(X, score)), score)
    assert_as_low(Squared(), Penalty(alpha, 0), solution, lasso.coef_[:, None], lasso.intercept_)


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_share_of_both_is_the_elastic_net(share):
    solution = fitted(Squared(), 1e-3, penalty=share)
    net = ElasticNet(1e-3, l1_ratio=share, fit_intercept=False, tol=1e-7, max_iter=100_000)
    net.fit(matrix(encoded(X, score)), score)
    assert_as_low(Squared(), Penalty.of(share, 1e-3), solution, net.coef_[:, None])


def test_logistic_loss_is_liblinear():
    alpha = 1e-3
    reference = LogisticRegression(
        C=1 / (ROWS * alpha), **L1, solver="liblinear", fit_intercept=False, tol=1e-8
    )
    reference.fit(matrix(encoded(X, score)), signs)
    solution = fitted(Logistic(), alpha)
    assert_as_low(Logistic(), Penalty(alpha, 0), solution, reference.coef_.T)


def test_squared_hinge_loss_is_liblinear():
    alpha = 1e-3
    reference = LinearSVC(
        C=1 / (ROWS * alpha),
        penalty="l1",
        dual=False,
        fit_intercept=False,
        tol=1e-6,
        max_iter=100_000,
        random_state=0,
    )
    reference.fit(matrix(encoded(X, score)), signs)
    solution = fitted(SquaredHinge(), alpha)
    assert_as_low(SquaredHinge(), Penalty(alpha, 0), solution, reference.coef_.T)


def test_softmax_loss_is_the_multinomial_regression():
    alpha = 3e-3
    reference = LogisticRegression(
        C=1 / (ROWS * alpha), **L1, solver="saga", fit_intercept=False, tol=1e-5,
        max_iter=5000, random_state=0,
    )  # fmt: skip
    reference.fit(matrix(encoded(X, score)), classes)
    solution = fitted(Softmax(), alpha)
    assert_as_low(Softmax(), Penalty(alpha, 0), solution, reference.coef_.T)


@pytest.mark.parametrize("intercept", [False, True])
def test_l2_is_the_ridge_regression_of_conjugate_gradients(intercept):
    source, ridge_solver = ArraySource(X, TARGETS[Squared]), ConjugateGradient(tol=1e-7)
    problem = Problem(encoded(X, score).basis, Squared(), 1e-3, 1, intercept, rows=ROWS)
    ridge = run(ridge_solver, problem, source, stop=Solved() | Passes(100))
    ours = fitted(Squared(), 1e-3, intercept=intercept, penalty="l2", tol=1e-6)
    np.testing.assert_allclose(ours.expansion(X), ridge.expansion(X), atol=1e-4)


@losses
@pytest.mark.parametrize("penalty", ["l1", 0.5, "l2"])
def test_the_end_meets_the_conditions_of_a_minimum(loss, penalty):
    y, cost = TARGETS[type(loss)], Penalty.of(penalty, 1e-3)
    solution = fitted(loss, 1e-3, encoded(X, y, weight), True, penalty=penalty, tol=1e-6)
    Phi, w = matrix(encoded(X, score)), solution.expansion.weights
    slopes = weight[:, None] * loss.gradient(y, solution.expansion(X)) / weight.sum()
    pull = -(Phi.T @ slopes) - cost.l2 * w
    np.testing.assert_allclose(pull[w != 0], (cost.l1 * np.sign(w))[w != 0], atol=1e-6)
    assert np.abs(pull[w == 0]).max(initial=0) <= cost.l1 + 1e-6
    np.testing.assert_allclose(slopes.sum(axis=0), 0, atol=3e-6)


@losses
def test_the_objective_never_rises(loss):
    values, penalty = [], Penalty(1e-4, 0)
    source = encoded(X, TARGETS[type(loss)])
    problem = Problem(source.basis, loss, 1e-4, TARGETS[type(loss)].shape[1], True, rows=ROWS)

    def note(progress):
        if progress.pass_ > 0:
            expansion = progress.expansion()
            f = expansion(X)
            mean = loss.value(TARGETS[type(loss)], f).mean()
            np.testing.assert_allclose(progress.loss, mean, rtol=1e-10)
            values.append(mean + penalty.value(expansion.weights))

    run(CoordinateDescent(), problem, source, stop=Passes(8), callbacks=[note])
    assert np.diff(values).max() <= 1e-12


@losses
def test_all_weights_are_zero_above_the_highest_alpha(loss):
    y = TARGETS[type(loss)]
    state = fitted(loss, 1.0, intercept=True, passes=1, path=2).training.state
    assert state.steepest > 0
    above = fitted(loss, 1.01 * state.steepest, intercept=True)
    below = fitted(loss, 0.9 * state.steepest, intercept=True)
    assert not above.expansion.weights.any()
    assert below.expansion.weights.any()
    slopes = loss.gradient(y, above.expansion(X)).mean(axis=0)
    np.testing.assert_allclose(slopes, 0, atol=1e-6)


@losses
def test_a_path_ends_at_the_same_point(loss):
    direct, along = fitted(loss, 1e-3), fitted(loss, 1e-3, path=4)
    assert along.training.state.stage == 4
    ends = [objective(loss, Penalty(1e-3, 0), s.expansion.weights) for s in (direct, along)]
    np.testing.assert_allclose(*ends, rtol=1e-6)


@losses
def test_rows_of_weight_zero_are_as_if_absent(loss):
    y = TARGETS[type(loss)]
    kept = weight > 0
    zero = fitted(loss, 1e-3, encoded(X, y, weight), True)
    absent = fitted(loss, 1e-3, encoded(X[kept], y[kept], weight[kept]), True)
    np.testing.assert_allclose(zero.expansion(X[kept]), absent.expansion(X[kept]), atol=1e-3)


@losses
def test_the_number_of_threads_changes_no_bit(loss):
    big, y = np.tile(X, (120, 1)), np.tile(TARGETS[type(loss)], (120, 1))
    big += 1e-3 * np.random.default_rng(1).normal(size=big.shape)
    source, weights = encoded(big, y, rows=10_000), []
    for n in (1, 2, 3):
        with threads(n):
            weights.append(fitted(loss, 1e-4, source, True, passes=4).expansion.weights)
    assert np.array_equal(weights[0], weights[1])
    assert np.array_equal(weights[0], weights[2])


@pytest.mark.parametrize("outputs", [1, 3])
def test_steep_bins_and_their_rows_are_found(outputs):
    rng, count = np.random.default_rng(0), 50
    bins = rng.integers(-1, count, 150_000).astype(np.int32)
    table = rng.normal(size=(len(bins), 2 * outputs)).astype(np.float32)
    weights = np.where(rng.random((count, outputs)) < 0.1, 1.0, 0.0)
    column, slopes = GridColumn(bins, count), np.zeros((count, outputs))
    np.add.at(slopes, bins[bins >= 0], table[bins >= 0, :outputs].astype(float))
    numbers = column.active_bins(table, weights, 60.0)
    expected = np.flatnonzero(((np.abs(slopes) > 60.0) | (weights != 0)).any(axis=1))
    assert 0 < len(expected) < count
    np.testing.assert_array_equal(numbers, expected)
    entries = column.select(numbers)
    np.testing.assert_array_equal(entries.rows, np.flatnonzero(np.isin(bins, numbers)))
    np.testing.assert_array_equal(numbers[entries.bins], bins[entries.rows])
    few = entries.select(np.array([0, 2]))
    np.testing.assert_array_equal(few.rows, np.flatnonzero(np.isin(bins, numbers[[0, 2]])))
    np.testing.assert_array_equal(numbers[[0, 2]][few.bins], bins[few.rows])


@losses
@pytest.mark.parametrize("passes", [0, 1])
def test_an_interrupted_run_goes_on_bit_for_bit(loss, passes):
    source, outputs = encoded(X, TARGETS[type(loss)]), TARGETS[type(loss)].shape[1]
    problem = Problem(source.basis, loss, 1e-4, outputs, True, rows=ROWS)
    solver = CoordinateDescent(path=2)
    whole = run(solver, problem, source, stop=Passes(9))
    half = run(solver, problem, source, stop=RowLimit(ROWS * passes + ROWS * 5 // GRIDS))
    assert half.training.position == 5
    assert bool(half.training.state.found) == (passes == 1)  # amid grids that were looked at
    kept = pickle.loads(pickle.dumps(copy.deepcopy(half.training)))
    rest = run(solver, problem, source, stop=Passes(9), training=kept)
    assert np.array_equal(rest.expansion.weights, whole.expansion.weights)
    assert rest.training.state.pass_losses == whole.training.state.pass_losses


def test_new_rows_begin_at_the_present_function():
    first = fitted(Squared(), 1e-3, encoded(X[:300], score[:300, None]), True)
    more = Encoded(ArraySource(X, score[:, None]), first.expansion.basis, 250)
    problem = Problem(more.basis, Squared(), 1e-3, 1, True, rows=ROWS)
    solver = CoordinateDescent(tol=1e-6)
    training = copy.deepcopy(first.training)
    training.state = solver.on_new_rows(problem, training.state)
    training.pass_, training.position = 0, 0
    opened = run(solver, problem, more, stop=Passes(1), training=copy.deepcopy(training))
    np.testing.assert_allclose(opened.expansion(X), first.expansion(X), atol=1e-12)
    np.testing.assert_allclose(opened.training.state.rows.f, first.expansion(X), atol=1e-12)
    end = run(solver, problem, more, stop=Solved() | Passes(2000), training=training)
    whole = fitted(Squared(), 1e-3, more, True)
    np.testing.assert_allclose(end.expansion(X), whole.expansion(X), atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l3"}, "penalty must be 'l1', 'l2'"),
        ({"penalty": 1.5}, "between 0 and 1"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"path": 0}, "path must be a whole number"),
        ({"path": 3, "penalty": "l2"}, "does not have"),
    ],
)
def test_hyperparameters_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fitted(Squared(), 1e-3, **options)
