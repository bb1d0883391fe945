"""What every loss promises, for every loss in the registry."""

import numpy as np
import pytest
from sklearn.base import clone

from bochner.losses import (
    Hinge,
    Logistic,
    Loss,
    Margin,
    Multinomial,
    Probabilistic,
    Quadratic,
    Regression,
    Smooth,
    Softmax,
)

losses = {name: Loss.resolve(name) for name in sorted(Loss.registry)}


def every(kind):
    chosen = {name: loss for name, loss in losses.items() if isinstance(loss, kind)}
    return pytest.mark.parametrize("loss", chosen.values(), ids=chosen.keys())


def targets(loss, n_rows, outputs, rng):
    """Draw targets in the first coding of the loss."""
    if isinstance(loss, Regression):
        return rng.normal(size=(n_rows, outputs))
    if isinstance(loss, Multinomial):
        return np.eye(outputs)[rng.integers(outputs, size=n_rows)]
    return rng.choice([-1.0, 1.0], size=(n_rows, outputs))


def problem(loss, n_rows=200, outputs=3, seed=0):
    rng = np.random.default_rng(seed)
    return targets(loss, n_rows, outputs, rng), 2 * rng.normal(size=(n_rows, outputs)), rng


def test_the_registry_knows_the_losses_by_name():
    assert {"squared", "logistic", "softmax", "hinge", "squared_hinge"} <= set(Loss.registry)


@every(Loss)
def test_every_loss_says_how_targets_are_coded(loss):
    assert isinstance(loss, Regression | Margin | Multinomial)


@every(Loss)
def test_shapes_are_those_of_rows_and_outputs(loss):
    y, f, _ = problem(loss, outputs=2)
    assert loss.value(y, f).shape == (200,)
    assert loss.gradient(y, f).shape == f.shape


@every(Loss)
def test_gradient_is_the_derivative_of_value(loss):
    y, f, rng = problem(loss)
    direction, step = rng.normal(size=f.shape), 1e-6
    slope = (loss.value(y, f + step * direction) - loss.value(y, f - step * direction)) / (2 * step)
    expected = (loss.gradient(y, f) * direction).sum(axis=1)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


@every(Smooth)
def test_hessian_product_is_the_derivative_of_gradient(loss):
    y, f, rng = problem(loss)
    V, step = rng.normal(size=f.shape), 1e-6
    slope = (loss.gradient(y, f + step * V) - loss.gradient(y, f - step * V)) / (2 * step)
    np.testing.assert_allclose(slope, loss.hessian_product(y, f, V), rtol=1e-6, atol=1e-7)


@every(Smooth)
def test_curvature_is_bounded_and_the_bound_is_attained(loss):
    curvatures = []
    for f_scale in (0.0, 0.1, 10.0):
        y, f, rng = problem(loss, outputs=2)
        V = rng.normal(size=f.shape)
        V[:2] = [1.0, -1.0]  # the steepest direction of the softmax loss at 0
        products = (V * loss.hessian_product(y, f_scale * f, V)).sum(axis=1)
        curvatures.append(products / (V**2).sum(axis=1))
    if isinstance(loss, Regression):  # the steepest place of a smoothed loss
        curvatures.append((V * loss.hessian_product(y, y, V)).sum(axis=1) / (V**2).sum(axis=1))
    largest = np.max(curvatures)
    assert np.min(curvatures) >= -1e-12
    assert largest <= loss.curvature_bound * (1 + 1e-12)
    np.testing.assert_allclose(largest, loss.curvature_bound, rtol=1e-6)


@every(Smooth)
def test_the_majorising_parabola_lies_above(loss):
    y, f, rng = problem(loss)
    move = 3 * rng.normal(size=f.shape)
    parabola = loss.value(y, f) + (loss.gradient(y, f) * move).sum(axis=1)
    parabola += loss.curvature_bound / 2 * (move**2).sum(axis=1)
    assert np.all(loss.value(y, f + move) <= parabola + 1e-12)


@every(Quadratic)
def test_the_hessian_of_a_quadratic_loss_is_constant(loss):
    y, f, rng = problem(loss)
    V = rng.normal(size=f.shape)
    difference = loss.gradient(y, f + V) - loss.gradient(y, f)
    np.testing.assert_allclose(difference, loss.hessian_product(y, f, V))
    assert not np.shares_memory(loss.hessian_product(y, f, V), V)


@every(Loss)
def test_it_is_convex_along_lines(loss):
    y, f, rng = problem(loss)
    other, t = 2 * rng.normal(size=f.shape), rng.uniform(size=(len(f), 1))
    chord = (1 - t[:, 0]) * loss.value(y, f) + t[:, 0] * loss.value(y, other)
    assert np.all(loss.value(y, (1 - t) * f + t * other) <= chord + 1e-12)


@every(Loss)
def test_it_is_never_negative(loss):
    y, f, _ = problem(loss)
    assert np.all(loss.value(y, 10 * f) >= 0)


@every(Loss)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_kept_and_extreme_predictions_are_finite(loss, dtype):
    y, f, rng = problem(loss)
    f[:100] = rng.choice([-1e4, 0.0, 1e4], size=(100, 3))
    y, f = y.astype(dtype), f.astype(dtype)
    results = [loss.value(y, f), loss.gradient(y, f)]
    if isinstance(loss, Smooth):
        results.append(loss.hessian_product(y, f, np.ones_like(f)))
    if isinstance(loss, Probabilistic):
        results.append(loss.probabilities(f))
    for result in results:
        assert result.dtype == dtype
        assert np.all(np.isfinite(result))


@every(Loss)
def test_float32_is_close_to_float64(loss):
    y, f, _ = problem(loss)
    f = f.astype(np.float32).astype(np.float64)
    y = y.astype(np.float32).astype(np.float64)
    small = y.astype(np.float32), f.astype(np.float32)
    np.testing.assert_allclose(loss.value(*small), loss.value(y, f), rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(loss.gradient(*small), loss.gradient(y, f), rtol=2e-5, atol=1e-6)


@every(Margin)
def test_margins_of_several_columns_are_summed(loss):
    y, f, _ = problem(loss)
    columns = [loss.value(y[:, [j]], f[:, [j]]) for j in range(3)]
    np.testing.assert_allclose(loss.value(y, f), np.sum(columns, axis=0))


@every(Loss)
def test_arguments_are_left_as_they_were(loss):
    y, f, _ = problem(loss)
    before = y.copy(), f.copy()
    loss.value(y, f)
    loss.gradient(y, f)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(f, before[1])


@every(Loss)
def test_it_survives_cloning_and_a_round_trip_of_its_parameters(loss):
    assert clone(loss) == loss
    assert clone(loss).set_params(**loss.get_params()) == loss


@every(Probabilistic)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f_scale", [0.0, 1.0, 1e4])
def test_probabilities_sum_to_one_and_agree_with_the_largest_prediction(loss, dtype, f_scale):
    f = (f_scale * np.random.default_rng(0).normal(size=(500, 4))).astype(dtype)
    p = loss.probabilities(f)
    assert p.shape == (500, 4)
    assert np.all(p >= 0)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(p[np.arange(500), f.argmax(axis=1)], p.max(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_of_one_logistic_column_agree_with_its_sign(dtype):
    f = np.array([-1e4, -3, -1e-3, 0, 1e-3, 3, 1e4], dtype)[:, None]
    p = Logistic().probabilities(f)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(np.sign(p[:, 1] - p[:, 0]), np.sign(f[:, 0]))


def test_hinge_is_not_smooth():
    assert not isinstance(Hinge(), Smooth)


def test_softmax_of_two_classes_is_the_logistic_loss_of_their_difference():
    y, f, _ = problem(Softmax(), outputs=2)
    margin, difference = y[:, [1]] - y[:, [0]], f[:, [1]] - f[:, [0]]
    np.testing.assert_allclose(Softmax().value(y, f), Logistic().value(margin, difference))
    np.testing.assert_allclose(
        Softmax().probabilities(f), Logistic().probabilities(difference), rtol=1e-12
    )


def test_an_unknown_name_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"'hinge'.*'logistic'.*'softmax'"):
        Loss.resolve("zero-one")


@every(Smooth)
def test_a_compiled_loop_moves_rows_as_the_loss_itself_does(loss, monkeypatch):
    y, f, rng = problem(loss)
    weight = rng.random(len(y))
    rows = np.arange(0, len(y), 2, dtype=np.int32)
    bins = rng.integers(5, size=len(rows)).astype(np.int32)
    moves = rng.normal(size=(5, f.shape[1]))
    moves[2] = 0.0
    table = (weight[:, None] * loss.derivatives(y, f, 0.01)).astype(np.float32)

    def moved():
        new, noted, rises = f.copy(), table.copy(), np.zeros(5)
        loss.move(y, new, weight, rows, bins, moves, 0.01, noted, rises)
        return new, noted, rises

    compiled = moved()
    monkeypatch.setattr(type(loss), "row_loop", None)
    for ours, expected in zip(compiled, moved(), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)
    assert compiled[2][2] == 0.0
    np.testing.assert_array_equal(compiled[0][1::2], f[1::2])


@every(Smooth)
def test_the_diagonal_bound_is_above_the_hessian(loss):
    y, f, rng = problem(loss)
    V = rng.normal(size=f.shape)
    curved = np.sum(V * loss.hessian_product(y, f, V), axis=1)
    assert (curved <= np.sum(V * V * loss.diagonal_bound(y, f), axis=1) + 1e-9).all()
