"""Refined frequencies lower the loss, are kept by the model, and depend on nothing else."""

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import KernelClassifier, KernelRegressor
from bochner.data import ArraySource, Batch
from bochner.features import Fourier
from bochner.kernels import Gaussian
from bochner.losses import Loss
from bochner.problem import Problem
from bochner.solvers import DoublyStochastic, Preconditioned, PredictionCache, Refinement
from bochner.solvers.doubly_stochastic.block_view import Residuals
from bochner.solvers.doubly_stochastic.doubly_stochastic import view_block
from bochner.solvers.doubly_stochastic.refinement import (
    _direction,
    _frequencies,
    _stepped,
    frequencies_of,
    objective,
)
from bochner.solvers.doubly_stochastic.step_rules import Move, StepLength

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
ROWS, WIDTH = 600, 64


def data(n_rows=ROWS, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, np.sin(1.5 * X[:, 0] - X[:, 1])[:, None] * np.array([[1.0, -2.0]])


def solver(**settings):
    settings = {"feature_block": WIDTH, "batch_size": ROWS, "max_features": 4 * WIDTH} | settings
    return DoublyStochastic(**settings)


def looked(kind=np.asarray, loss="squared", weight=None):
    """Return a look through a block, a move of its weights, and the code of the rows."""
    X, Y = data()
    Y = Y if loss == "squared" else (Y[:, :1] > 0) * 2.0 - 1
    source = ArraySource(kind(X), Y, weight)
    basis = Fourier().build(Gaussian(2.0), source.sample(ROWS), 0, np.float64)
    problem = Problem(basis, Loss.resolve(loss), 1e-3, Y.shape[1], rows=ROWS)
    state = solver().init(problem, source.sample(ROWS))
    code, batch = basis.encode(kind(X)), Batch(kind(X), Y, np.arange(ROWS), weight)
    residuals = Residuals(problem, batch, np.zeros((ROWS, Y.shape[1])))
    look = view_block(state, residuals, code, None, 480, 480 + WIDTH)  # in two units of the basis
    change = np.random.default_rng(3).normal(size=(WIDTH + 1, Y.shape[1])) * 0.1
    return look, Move(change), code


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_direction_is_the_derivative_of_the_objective(kind, loss, weighted):
    weight = np.random.default_rng(4).uniform(0.2, 2.0, ROWS) if weighted else None
    look, move, code = looked(kind, loss, weight)
    direction = _direction(look, move, code)
    omega = _frequencies(look)
    np.testing.assert_allclose(np.mean(direction**2), np.mean(omega**2))

    def value(step):
        problem = _stepped(look, step)
        columns = problem.basis.columns(code, look.start, look.start + look.width)
        return objective(replace(look, columns=columns), move)

    steps = np.random.default_rng(5).normal(size=(5, *omega.shape)) * 1e-5
    slopes = np.array([(value(s) - value(-s)) / 2 for s in steps])
    along = np.array([np.sum(direction * s) for s in steps])
    np.testing.assert_allclose(slopes / along, (slopes / along)[0], rtol=1e-4)
    assert (slopes / along)[0] > 0


def test_steps_lower_the_objective_and_move_only_the_frequencies_of_the_block():
    look, _, code = looked()
    rule, pace = Preconditioned(), StepLength(1.0, 1.0)
    move = rule.move(look, pace)
    decide = partial(rule.move, pace=pace)
    better, change = Refinement(steps=5).refined(look, move, code, decide)
    assert objective(better, change) < 0.9 * objective(look, move)
    before, after = look.residuals.problem.basis, better.residuals.problem.basis
    assert before.given == {}
    assert set(frequencies_of(better.residuals.problem)) == {0, 1}
    np.testing.assert_array_equal(before.columns(code, 0, 480), after.columns(code, 0, 480))
    np.testing.assert_array_equal(before.columns(code, 544, 900), after.columns(code, 544, 900))
    assert not np.allclose(before.columns(code, 480, 544), after.columns(code, 480, 544))


def test_without_rows_to_judge_nothing_moves():
    weight = np.tile([1.0, 0.0], ROWS // 2)
    look, move, code = looked(weight=weight)
    assert Refinement().refined(look, move, code, lambda _: move) == (look, move)


@pytest.mark.parametrize("coordinates", ["new", "uniform", "checked"])
@pytest.mark.parametrize("averaging", [None, 8.0])
def test_what_is_known_of_the_rows_is_what_the_model_predicts(coordinates, averaging):
    X, Y = data()
    settings = {"coordinates": coordinates, "averaging": averaging, "batch_size": 200}
    by = solver(refinement=Refinement(), **settings)
    source = ArraySource(X, Y)
    basis = Fourier().build(Gaussian(2.0), source.sample(ROWS), 0, np.float64)
    problem = Problem(basis, Loss.resolve("squared"), 1e-4, 2, rows=ROWS)
    state = by.init(problem, source.sample(ROWS))
    held_out, cache = source.sample(50), PredictionCache()
    for pass_ in range(4):
        for batch in source.batches(200, 0, pass_):
            state = by.advance(problem, state, batch)
            by.predictions(problem, state, held_out, cache)
    expansion = by.expansion(problem, state)
    whole = source.sample(50)
    np.testing.assert_allclose(
        by.predictions(problem, state, held_out, cache), expansion(whole.X), atol=1e-8
    )
    if averaging is None:
        known = state.row_predictions.values[batch.index] * state.weights.scale + state.intercept
        np.testing.assert_allclose(known, expansion(batch.X), atol=1e-8)
    assert state.frequencies


def test_a_model_with_refined_frequencies_fits_better_with_as_many_features():
    X, Y = data(4_000, 8)
    settings = {"features": Fourier(256), "max_passes": 4, "random_state": 0, "max_seconds": None}
    errors = []
    for refinement in (None, Refinement(steps=4)):
        by = DoublyStochastic(feature_block=64, refinement=refinement)
        model = KernelRegressor("gaussian", solver=by, **settings).fit(X[:3_000], Y[:3_000])
        errors.append(np.mean((model.predict(X[3_000:]) - Y[3_000:]) ** 2))
    assert errors[1] < 0.9 * errors[0]


def test_orthogonal_frequencies_are_refined_too():
    X, Y = data(600)
    by = DoublyStochastic(refinement=Refinement())
    model = KernelRegressor("gaussian", features="orthogonal", solver=by, random_state=0)
    assert model.fit(X, Y).expansion_.basis.given


def test_the_result_does_not_depend_on_the_number_of_threads():
    X, Y = data(1_500)
    labels = np.where(Y[:, 0] > 0, "up", "down")
    by = DoublyStochastic(feature_block=128, batch_size=700, refinement=Refinement())
    fits = [
        KernelClassifier("gaussian", solver=by, max_passes=3, random_state=0, n_jobs=n_jobs)
        .fit(X, labels)
        .decision_function(X)
        for n_jobs in (1, 2, 4)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    np.testing.assert_array_equal(fits[0], fits[2])


def test_going_on_and_pickling_keep_the_frequencies():
    X, Y = data(1_200)
    by = DoublyStochastic(feature_block=64, batch_size=300, refinement=Refinement())
    model = KernelRegressor("gaussian", solver=by, random_state=0)
    model.partial_fit(X[:600], Y[:600])
    first = len(model.expansion_.basis.given)
    model.partial_fit(X[600:], Y[600:])
    assert len(model.expansion_.basis.given) >= first > 0
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"solver": DoublyStochastic(refinement=Refinement(steps=0))}, "steps of Refinement"),
        ({"solver": DoublyStochastic(refinement=Refinement(rate=-1.0))}, "rate of Refinement"),
        ({"solver": DoublyStochastic(refinement=True)}, "Refinement\\(steps, rate\\); got True"),
        (
            {"solver": DoublyStochastic(refinement=Refinement()), "features": "leverage"},
            "needs Fourier features, .*; got a SelectedBasis",
        ),
        (
            {"solver": DoublyStochastic(refinement=Refinement()), "features": "fastfood"},
            r"one by one; got those of Fastfood\(\)",
        ),
    ],
)
def test_what_cannot_be_refined_is_refused(settings, said):
    X, Y = data(100)
    with pytest.raises(ValueError, match=said):
        KernelRegressor("gaussian", **settings).fit(X, Y)
