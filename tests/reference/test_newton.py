"""Newton's method ends where exact solvers of the same problem on the explicit features end."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import bochner.solvers.passes.linear_system as module
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import Binning, DenseBasis, Encoded, Fourier
from bochner.kernels import Laplacian
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import Newton
from bochner.solvers.passes.newton import Descent, Trial, initial_state
from bochner.stopping import Passes, RowLimit, Solved
from bochner.training.loop import Training, run

ALPHA = 1e-3
FEATURES = [Binning(16), Fourier(64)]
either_basis = pytest.mark.parametrize("features", FEATURES, ids=lambda f: type(f).__name__)


def labels(y, loss):
    """Return the target as the loss takes it: -1 and +1, or one-hot."""
    one_hot = (y[:, None] == np.unique(y)).astype(float)
    return one_hot if loss == "softmax" else 2 * one_hot[:, 1:] - 1


def posed(X, y, loss, features=FEATURES[0], weight=None, left_out=None, **settings):
    """Return the problem and its encoded rows."""
    source = ArraySource(X, y, weight)
    basis = features.build(Laplacian(2.0), source.sample(len(X)), seed=0)
    encoded = Encoded(source, basis, module.BATCH_ROWS, left_out=left_out)
    settings = {"alpha": ALPHA, "rows": len(X)} | settings
    loss = Loss.resolve(loss)
    return Problem(encoded.basis, loss, outputs=y.shape[1], **settings), encoded


def solved(problem, encoded, tol=1e-5, **settings):
    stop = Solved() | Passes(300)
    solution = run(Newton(tol), problem, encoded, stop=stop, **settings)
    assert solution.reason.converged
    return solution


def columns(basis, X):
    code = basis.encode(X)
    dense = isinstance(basis, DenseBasis)
    return basis.columns(code) if dense else basis.matrix(code).toarray()


def objective(problem, expansion, X, y):
    penalty = problem.alpha / 2 * np.sum(expansion.weights.astype(float) ** 2)
    return problem.loss.value(y, expansion(X)).mean() + penalty


def centred(f):
    return f - f.mean(axis=1, keepdims=True)


@either_basis
@pytest.mark.parametrize("intercept", [True, False])
def test_the_logistic_loss_ends_at_the_logistic_regression(two_classes, features, intercept):
    X, y = two_classes
    problem, encoded = posed(X, labels(y, "logistic"), "logistic", features, intercept=intercept)
    solution, Z = solved(problem, encoded), columns(problem.basis, X)
    exact = LogisticRegression(
        C=1 / (ALPHA * len(X)), tol=1e-9, max_iter=5_000, fit_intercept=intercept
    ).fit(Z, y)
    np.testing.assert_allclose(solution.expansion(X)[:, 0], exact.decision_function(Z), atol=1e-3)
    np.testing.assert_allclose(solution.expansion.weights[:, 0], exact.coef_[0], atol=1e-3)


@either_basis
def test_the_softmax_loss_ends_at_the_multinomial_regression(classes, features):
    X, y = classes
    problem, encoded = posed(X, labels(y, "softmax"), "softmax", features)
    solution, Z = solved(problem, encoded), columns(problem.basis, X)
    exact = LogisticRegression(C=1 / (ALPHA * len(X)), tol=1e-9, max_iter=5_000).fit(Z, y)
    # A constant that all classes share means nothing.
    mine, theirs = centred(solution.expansion(X)), centred(exact.decision_function(Z))
    np.testing.assert_allclose(mine, theirs, atol=2e-3)
    np.testing.assert_allclose(solution.expansion.weights.T, exact.coef_, atol=2e-3)


@either_basis
def test_the_squared_hinge_loss_ends_at_the_minimum(two_classes, features):
    X, y = two_classes
    y = labels(y, "squared_hinge")
    problem, encoded = posed(X, y, "squared_hinge", features)
    Z = np.column_stack([columns(problem.basis, X), np.ones(len(X))]).astype(float)

    def value_and_gradient(w):
        f = (Z @ w)[:, None]
        penalised = np.append(w[:-1], 0.0)
        slopes = Z.T @ problem.loss.gradient(y, f)[:, 0] / len(y)
        value = problem.loss.value(y, f).mean() + ALPHA / 2 * penalised @ penalised
        return value, slopes + ALPHA * penalised

    options = {"maxiter": 5_000, "ftol": 1e-15, "gtol": 1e-9}
    start = np.zeros(Z.shape[1])
    exact = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    f = solved(problem, encoded).expansion(X)[:, 0]
    np.testing.assert_allclose(f, Z @ exact.x, atol=1e-3)


def test_the_squared_loss_ends_at_the_ridge_regression_of_several_outputs(regression):
    X, y = regression
    Y = np.column_stack([y, -2 * y, X[:, 0]])
    problem, encoded = posed(X, Y, "squared")
    Z, means = columns(problem.basis, X), Y.mean(axis=0)
    Zc = Z - Z.mean(axis=0)
    w = np.linalg.solve(Zc.T @ Zc + ALPHA * len(X) * np.eye(Z.shape[1]), Zc.T @ (Y - means))
    f = solved(problem, encoded).expansion(X)
    np.testing.assert_allclose(f, Zc @ w + means, atol=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_one_against_the_rest_and_all_at_once_have_a_gradient_of_zero(classes, loss):
    X, y = classes
    one_hot = labels(y, "softmax")
    targets = one_hot if loss == "softmax" else 2 * one_hot - 1
    problem, encoded = posed(X, targets, loss)
    expansion = solved(problem, encoded).expansion
    slopes = problem.loss.gradient(targets, expansion(X)) / len(X)
    gradient = columns(problem.basis, X).T @ slopes + ALPHA * expansion.weights
    assert np.abs(gradient).max() < 1e-6
    assert np.abs(slopes.sum(axis=0)).max() < 1e-5


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_a_weight_is_a_number_of_repetitions(two_classes, loss):
    X, y = two_classes
    targets = labels(y, loss)
    weight = np.random.default_rng(0).integers(1, 4, len(X))
    problem, encoded = posed(X, targets, loss, weight=weight)
    many = posed(np.repeat(X, weight, axis=0), np.repeat(targets, weight, axis=0), loss)
    weighted, repeated = (
        problem.loss.probabilities(solution.expansion(X))
        for solution in (solved(problem, encoded), solved(*many))
    )
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)


def test_a_row_of_weight_zero_is_as_good_as_absent(two_classes):
    X, y = two_classes
    targets, out = labels(y, "logistic"), np.arange(0, len(X), 3)
    weight = np.ones(len(X))
    weight[out] = 0.0
    kept = weight > 0
    without = solved(*posed(X[kept], targets[kept], "logistic")).expansion(X[kept])
    zero = solved(*posed(X, targets, "logistic", weight=weight)).expansion(X[kept])
    held_out = solved(*posed(X, targets, "logistic", left_out=out)).expansion(X[kept])
    np.testing.assert_allclose(zero, without, atol=1e-3)
    np.testing.assert_allclose(held_out, without, atol=1e-3)


@pytest.fixture
def small_batches(monkeypatch):
    """Several batches a pass."""
    monkeypatch.setattr(module, "BATCH_ROWS", 128)


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
@pytest.mark.usefixtures("small_batches")
def test_an_interrupted_fit_goes_on_bit_for_bit(two_classes, loss):
    X, y = two_classes
    problem, encoded = posed(X, labels(y, loss), loss)
    whole = solved(problem, encoded, 1e-3)
    phases = set()
    for rows in range(100, whole.training.rows, 777):
        part = run(Newton(1e-3), problem, encoded, stop=RowLimit(rows))
        phases.add(type(part.training.state.phase))
        training = pickle.loads(pickle.dumps(part.training))
        resumed = solved(problem, encoded, 1e-3, training=training)
        assert np.array_equal(resumed.expansion.weights, whole.expansion.weights)
        assert resumed.training.state.pass_losses == whole.training.state.pass_losses
        assert resumed.training.rows == whole.training.rows
    assert phases == {Trial, Descent}


@pytest.mark.usefixtures("small_batches")
def test_rows_of_unknown_number_give_the_same_bits(two_classes):
    X, y = two_classes
    targets = labels(y, "logistic")
    known = solved(*posed(X, targets, "logistic"))
    unknown = solved(*posed(X, targets, "logistic", rows=None))
    assert np.array_equal(known.expansion.weights, unknown.expansion.weights)


def test_the_number_of_threads_does_not_change_a_bit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 3))
    y = np.digitize(X.sum(axis=1) + rng.normal(size=len(X)), [-1.0, 1.0])
    weights = []
    for n_jobs in (1, 2):
        with threads(n_jobs):
            problem, encoded = posed(X, labels(y, "softmax"), "softmax", Binning(8))
            solution = run(Newton(), problem, encoded, stop=Passes(8))
            weights.append(solution.expansion.weights)
    assert np.array_equal(*weights)


@pytest.mark.parametrize("loss", ["logistic", "softmax", "squared_hinge"])
def test_the_objective_never_rises_even_from_far_away(two_classes, loss):
    X, y = two_classes
    targets = labels(y, loss)
    problem, encoded = posed(X, targets, loss)
    rng = np.random.default_rng(0)
    far = rng.normal(scale=30.0, size=(problem.basis.size + 1, targets.shape[1]))
    start = Training(initial_state(problem, far.astype(np.float32)), module.BATCH_ROWS)
    values, lengths = [], set()

    def watch(progress):
        values.append(objective(problem, progress.expansion(), X, targets))
        phase = start.state.phase
        lengths.add(len(phase.lengths) if isinstance(phase, Trial) else 0)

    run(Newton(1e-6), problem, encoded, stop=Passes(200), training=start, callbacks=[watch])
    near = solved(problem, encoded, 1e-4)
    assert np.all(np.diff(values) <= 1e-6 * values[0])
    assert values[-1] == pytest.approx(
        objective(problem, near.expansion, X, targets), rel=1e-2, abs=1e-6
    )
    assert loss == "squared_hinge" or max(lengths) > 1  # a whole step was too long


def test_going_on_with_other_rows_begins_at_the_weights_so_far(two_classes):
    X, y = two_classes
    targets = labels(y, "logistic")
    problem, encoded = posed(X[:200], targets[:200], "logistic")
    before = solved(problem, encoded)
    source = ArraySource(X, targets)
    more = Encoded(source, before.expansion.basis, module.BATCH_ROWS)
    larger = Problem(more.basis, problem.loss, ALPHA, outputs=1, rows=len(X))
    state = Newton().on_new_rows(larger, before.training.state)
    np.testing.assert_allclose(
        Newton().expansion(larger, state)(X[:200]), before.expansion(X[:200]), atol=1e-5
    )
    went_on = solved(larger, more, training=Training(state, module.BATCH_ROWS))
    anew = solved(larger, more)
    np.testing.assert_allclose(went_on.expansion(X), anew.expansion(X), atol=1e-3)
    assert went_on.training.state.pass_losses[0] < anew.training.state.pass_losses[0]


def test_a_pass_loss_is_the_mean_loss_of_weights_that_were_accepted(two_classes):
    X, y = two_classes
    targets = labels(y, "logistic")
    problem, encoded = posed(X, targets, "logistic")
    solution = solved(problem, encoded)
    losses = solution.training.state.pass_losses
    assert len(losses) < solution.training.pass_
    mean = problem.loss.value(targets, solution.expansion(X)).mean()
    assert losses[-1] == pytest.approx(mean, rel=1e-5)
    assert np.isfinite(losses).all()


@pytest.mark.parametrize(
    ("loss", "size", "tol", "match"),
    [
        ("hinge", 64, 1e-3, "Newton needs a Smooth; got Hinge"),
        ("logistic", None, 1e-3, "finite number of features"),
        ("logistic", 64, 0.0, "tol must be a positive number; got 0.0"),
    ],
)
def test_what_cannot_be_solved_is_refused_with_a_sentence(loss, size, tol, match):
    source = ArraySource(np.zeros((4, 1)), np.ones((4, 1)))
    basis = Fourier(size).build(Laplacian(1.0), source.sample(4), seed=0)
    with pytest.raises(ValueError, match=match):
        run(Newton(tol), Problem(basis, Loss.resolve(loss), ALPHA, 1), source, stop=Passes(1))
