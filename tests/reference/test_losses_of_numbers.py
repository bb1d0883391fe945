"""Losses for numbers against their formulas, scikit-learn and SciPy's minimum."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import mean_pinball_loss

from bochner.data import ArraySource, Batch
from bochner.features import Binning, Encoded, Fourier
from bochner.kernels import Gaussian, Laplacian
from bochner.losses import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    SmoothedAbsolute,
    Squared,
    SquaredEpsilonInsensitive,
    deviations,
)
from bochner.problem import Problem
from bochner.solvers import CoordinateDescent, Newton
from bochner.solvers.passes import newton
from bochner.solvers.solver import best_constant
from bochner.stopping import Passes, Solved
from bochner.training.loop import run

rng = np.random.default_rng(0)
ROWS = 400
X = rng.random((ROWS, 3))
y = (np.sin(6 * X[:, 0]) + X[:, 1] * rng.standard_t(2, size=ROWS))[:, None]
weight = rng.integers(1, 4, ROWS).astype(float)
far = rng.uniform(0.5, 3, size=(100, 1)) * rng.choice([-1, 1], size=(100, 1))
FORMULAS = {
    "huber": (Huber(0.4), 0.4 * np.abs(far) - 0.08),
    "absolute": (Absolute(0.1), np.abs(far)),
    "epsilon": (EpsilonInsensitive(0.3, 0.1), np.abs(far) - 0.3),
    "epsilon of 0": (EpsilonInsensitive(0.0, 0.1), np.abs(far)),
    "squared epsilon": (SquaredEpsilonInsensitive(0.3), (np.abs(far) - 0.3) ** 2 / 2),
    "squared epsilon of 0": (SquaredEpsilonInsensitive(0.0), far**2 / 2),
    "quantile": (Quantile(0.9, 0.1), np.where(far < 0, -0.9 * far, 0.1 * far)),
}
LOSSES = {
    "huber": Huber(0.2),
    "absolute": Absolute(0.05),
    "epsilon": EpsilonInsensitive(0.2, 0.1),
    "squared epsilon": SquaredEpsilonInsensitive(0.2),
    "quantile": Quantile(0.9, 0.1),
    "quantiles": Quantile((0.1, 0.5), 0.2),
}


@pytest.mark.parametrize(("loss", "expected"), FORMULAS.values(), ids=FORMULAS)
def test_where_it_is_not_smoothed_a_loss_is_its_formula(loss, expected):
    np.testing.assert_allclose(loss.value(np.zeros_like(far), far), expected[:, 0], rtol=1e-12)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_the_pinball_loss_is_that_of_scikit_learn(share):
    ours = Quantile(share, 1e-9).value(y, 2 * y + 1).mean()
    np.testing.assert_allclose(ours, mean_pinball_loss(y, 2 * y + 1, alpha=share), rtol=1e-8)


def test_a_huber_loss_that_reaches_far_is_the_squared_loss():
    f, V = rng.normal(size=(2, ROWS, 1))
    for ours, expected in (
        (Huber(1e6).value(y, f), Squared().value(y, f)),
        (Huber(1e6).gradient(y, f), f - y),
        (Huber(1e6).hessian_product(y, f, V), V),
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-9)


def test_outputs_have_a_quantile_and_a_width_each():
    f = rng.normal(size=(ROWS, 2))
    both = Quantile((0.1, 0.8), (0.2, 0.6)).value(y, f)
    one, other = Quantile(0.1, 0.2).value(y, f[:, :1]), Quantile(0.8, 0.6).value(y, f[:, 1:])
    np.testing.assert_allclose(both, 0.5 * one + 1.5 * other)  # in proportion to the widths


@pytest.mark.parametrize("by", [None, weight])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("moved", [0.0, 1e4])
def test_the_best_constant_is_the_minimum_wherever_the_targets_are(loss, by, moved):
    targets = moved + np.repeat(y, 2, axis=1)
    problem = Problem(None, loss, 0.0, outputs=2)
    constant = best_constant(problem, Batch(X, targets, np.arange(ROWS), by))

    def mean(c):
        return np.average(loss.value(targets, np.tile(moved + c, (ROWS, 1))), weights=by)

    reached = minimize(mean, constant - moved, method="Nelder-Mead", tol=1e-9).fun
    assert mean(constant - moved) <= reached + 1e-4


def test_with_a_small_smoothing_width_the_best_constant_is_median_and_quantile():
    rows = Batch(X, y, np.arange(ROWS), weight)
    repeated = np.repeat(y[:, 0], weight.astype(int))
    for loss, share in ((Absolute(1e-6), 0.5), (Quantile(0.9, 1e-6), 0.9)):
        found = best_constant(Problem(None, loss, 0.0, outputs=1), rows)
        np.testing.assert_allclose(
            found, np.quantile(repeated, share, method="inverted_cdf"), atol=1e-4
        )


def test_deviations_are_those_of_a_normal_variable_whatever_its_outliers():
    columns = rng.normal(size=(20_000, 2)) * [1.0, 30.0]
    columns[:1000] = 1e6
    np.testing.assert_allclose(deviations(columns, None), [1.0, 30.0], rtol=0.1)
    few = np.where(np.arange(100) < 90, 0.0, 1.0)[:, None]
    np.testing.assert_allclose(deviations(few, None), few.std())
    np.testing.assert_allclose(deviations(np.ones((5, 2)), None), 1e-6)


def basis_of(features, kernel):
    return features.build(kernel, ArraySource(X, y).sample(100), seed=0)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("solver", [Newton(1e-4), CoordinateDescent("l2", 1e-5)])
@pytest.mark.parametrize("by", [None, weight])
def test_whole_passes_end_at_the_minimum(loss, solver, by):
    alpha, outputs = 1e-2, 1 + (loss is LOSSES["quantiles"])
    targets = np.repeat(y, outputs, axis=1)
    source = ArraySource(X, targets, by)
    rows = solver.rows_per_batch(None)
    encoded = Encoded(source, basis_of(Binning(8), Laplacian(1.0)), rows)
    problem = Problem(encoded.basis, loss, alpha, outputs, rows=ROWS)
    solution = run(solver, problem, encoded, stop=Solved() | Passes(3000))
    assert solution.reason.converged
    Z = np.hstack([encoded.basis.matrix(encoded.basis.encode(X)).toarray(), np.ones((ROWS, 1))])

    def objective(flat):
        w = flat.reshape(-1, outputs)
        f, row_weights = Z @ w, np.ones(ROWS) if by is None else by
        slopes = Z.T @ (loss.gradient(targets, f) * row_weights[:, None]) / row_weights.sum()
        slopes[:-1] += alpha * w[:-1]
        penalty = alpha / 2 * np.sum(w[:-1] ** 2)
        return np.average(loss.value(targets, f), weights=row_weights) + penalty, slopes.ravel()

    ours = np.vstack([solution.expansion.weights, solution.expansion.intercept])
    best = minimize(objective, np.zeros(ours.size), jac=True, options={"maxiter": 5000}).fun
    assert objective(ours.ravel())[0] <= best * (1 + 1e-4)


def test_the_parabola_at_a_prediction_lies_above_the_loss():
    f, move = 2 * rng.normal(size=(ROWS, 1)), 3 * rng.normal(size=(ROWS, 1))
    for loss in (loss for loss in LOSSES.values() if isinstance(loss, SmoothedAbsolute)):
        if loss is LOSSES["quantiles"]:
            continue
        parabola = loss.value(y, f) + (loss.gradient(y, f) * move)[:, 0]
        parabola += (move * loss.model_product(y, f, move))[:, 0] / 2
        assert (loss.value(y, f + move) <= parabola + 1e-12).all()


@pytest.mark.parametrize("width", [0.3, 0.003])
def test_a_newton_step_need_not_be_shortened_however_small_the_smoothing_width(width, monkeypatch):
    monkeypatch.setattr(newton, "shortened", None)  # calling it would fail
    basis = basis_of(Fourier(64), Gaussian(0.5))
    problem = Problem(basis, Absolute(width), 1e-3, 1, rows=ROWS)
    solution = run(Newton(), problem, ArraySource(X, y), stop=Solved() | Passes(2000))
    assert solution.reason.converged
