"""What quantiles promise: they do not cross, follow their targets, and have their share below."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score

from bochner import KernelQuantileRegressor, KernelRegressor
from bochner.features import Binning, Centers
from bochner.kernels import Laplacian
from bochner.losses import Absolute, Huber, Quantile
from bochner.report import QuantileDisplay, Run

SHARES = [0.05, 0.5, 0.95]
WAYS = {
    "auto": {},
    "bins": {"features": Binning(64), "scale": "range"},
    "newton": {"features": Binning(32), "solver": "newton"},
    "averaged": {"features": Binning(32), "solver": "averaged"},
    "fourier": {"features": "fourier"},
    "eigenpro": {"features": Centers(200), "solver": "eigenpro"},
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def drawn(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(rows, 1))
    width = 0.2 + 0.2 * np.abs(X[:, 0])
    return X, 3 + np.sin(2 * X[:, 0]) + width * rng.normal(size=rows)


def true_quantiles(X):
    middle, width = 3 + np.sin(2 * X), 0.2 + 0.2 * np.abs(X)
    return middle + width * norm.ppf(SHARES)


X, y = drawn(2_000)
T, _ = drawn(500, seed=1)


@every_way
def test_quantiles_come_near_the_true_ones_and_never_cross(way):
    model = KernelQuantileRegressor(SHARES, random_state=0, **way).fit(X, y)
    found = model.predict(T)
    assert found.shape == (500, 3)
    assert np.sqrt(np.mean((found - true_quantiles(T)) ** 2)) < 0.15
    elsewhere = np.random.default_rng(2).normal(size=(5_000, 1)) * 100
    assert (np.diff(model.predict(elsewhere), axis=1) >= 0).all()


@pytest.mark.parametrize("share", [0.9, np.float32(0.5)])
def test_a_number_is_one_quantile_in_the_shape_of_the_targets(share):
    few, target = X[:200], y[:200]
    model = KernelQuantileRegressor(share, random_state=0).fit(few, target)
    found = model.predict(T[:9])
    assert found.shape == (9,)
    column = KernelQuantileRegressor([share], random_state=0).fit(few, target)
    np.testing.assert_array_equal(found, column.predict(T[:9])[:, 0])
    assert model.score(few, target) == pytest.approx(column.score(few, target))
    both = model.fit(few, np.stack([target, -target], axis=1))
    assert both.predict(T[:9]).shape == (9, 2)
    run = Run.of(column.set_params(quantiles=share).fit(few, target), few, target, seconds=None)
    assert [score.name for score in run.scores] == ["mean pinball loss"]
    display = QuantileDisplay(few[:, 0], column.predict(few), share)
    assert display.predicted.shape == (200, 1)


@pytest.mark.parametrize("features", [Binning(32), Centers(32)], ids=["bins", "centers"])
@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1e3, 1e9])
def test_quantiles_follow_their_targets(scale, features):
    model = KernelQuantileRegressor(SHARES, features=features, random_state=0)
    before = clone(model).fit(X, y).predict(T)
    after = model.fit(X, scale * (y - 10)).predict(T)
    np.testing.assert_allclose(after / scale + 10, before, atol=5e-3)


def test_held_out_rows_do_not_end_a_fit_that_has_hardly_begun():
    rng = np.random.default_rng(8)
    rows = rng.uniform(0, 3, size=(2_000, 1))
    targets = np.sin(2 * rows[:, 0]) + 0.3 * rows[:, 0] * rng.normal(size=2_000)
    model = KernelQuantileRegressor(SHARES, random_state=8).fit(rows, targets)
    assert model.score(rows, targets) > 0.4  # 0.31 where small steps of the solver looked like none


def test_a_row_of_weight_two_is_the_row_twice():
    weight = np.where(np.arange(len(X)) < 500, 2.0, 1.0)
    model = KernelQuantileRegressor(
        SHARES, Laplacian(1.0), Binning(16), alpha=1e-3, max_passes=200, random_state=0
    )
    once = clone(model).fit(X, y, weight).predict(T)
    twice = model.fit(np.vstack([X, X[:500]]), np.append(y, y[:500])).predict(T)
    np.testing.assert_allclose(once, twice, atol=5e-3)


def test_several_numbers_have_their_quantiles_in_a_last_axis():
    both = np.column_stack([y, -100 * y])
    model = KernelQuantileRegressor(SHARES, features=Binning(32), random_state=0).fit(X, both)
    found = model.predict(T)
    assert found.shape == (500, 2, 3)
    assert (np.diff(found, axis=2) >= 0).all()
    np.testing.assert_allclose(-found[:, 1, ::-1] / 100, found[:, 0], atol=0.2)
    assert model.loss_.quantile == (*SHARES, *SHARES)
    assert 0.3 < model.score(X, both) < 1


def test_constant_targets_have_themselves_for_quantiles():
    model = KernelQuantileRegressor(SHARES, random_state=0)
    for ways in ({}, {"features": Binning(16)}, {"features": "fourier"}):
        fitted = clone(model).set_params(**ways).fit(X, np.full(len(X), 7.0))
        np.testing.assert_allclose(fitted.predict(T), 7.0, atol=1e-4)
        assert fitted.n_iter_ < 50  # what is there from the start is not looked for


def test_a_stream_is_learned_by_parts():
    model = KernelQuantileRegressor(SHARES, random_state=0)
    for seed in range(20):
        model.partial_fit(*drawn(2_000, seed))
    assert model.plan_.solver == "dsg"
    found = model.predict(T)
    assert np.sqrt(np.mean((found - true_quantiles(T)) ** 2)) < 0.15
    assert (np.diff(found, axis=1) >= 0).all()


def test_one_quantile_is_that_of_the_regressor():
    options = {"features": Binning(32), "random_state": 0}
    one = KernelRegressor(loss="quantile", quantile=0.9, **options).fit(X, y)
    column = KernelQuantileRegressor([0.9], **options).fit(X, y).predict(T)
    assert one.loss_.quantile == 0.9
    np.testing.assert_array_equal(one.predict(T), column[:, 0])
    given = KernelRegressor(loss=Quantile(0.9), **options).fit(X, y)
    np.testing.assert_array_equal(given.predict(T), one.predict(T))
    assert KernelRegressor(loss="quantile", **options).fit(X, y).loss_.quantile == 0.5


def test_the_score_is_the_mean_share_of_the_pinball_loss_explained():
    model = KernelQuantileRegressor(SHARES, random_state=0).fit(X, y)
    found, weight = model.predict(X), np.arange(len(X)) + 1.0
    scores = [
        d2_pinball_score(y, one, alpha=share, sample_weight=weight)
        for share, one in zip(SHARES, found.T, strict=True)
    ]
    assert model.score(X, y, weight) == pytest.approx(np.mean(scores))


def test_learned_scales_and_their_ridge_serve_quantiles():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(6_000, 6))
    y = 100 * (np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=6_000))
    model = KernelQuantileRegressor([0.1, 0.9], random_state=0).fit(X[:5_500], y[:5_500])
    assert model.tuning_.helped
    assert model.loss_.smoothing_width < 0.3 * y.std() / 2  # a share of what is left, not of all
    low, high = model.predict(X[5_500:]).T
    assert np.mean((low <= y[5_500:]) & (y[5_500:] <= high)) == pytest.approx(0.8, abs=0.08)
    assert np.mean(high - low) == pytest.approx(2 * 12.8, rel=0.3)


@pytest.mark.parametrize("loss", ["absolute", Absolute(), Huber(0.3), "quantile"])
@every_way
def test_a_tenth_of_wrong_targets_does_little_to_robust_losses(loss, way):
    wrong = y + 50.0 * (np.random.default_rng(3).random(len(y)) < 0.1)
    truth = true_quantiles(T)[:, 1]

    def error(loss):
        model = KernelRegressor(loss=loss, random_state=0, **way).fit(X, wrong)
        return np.sqrt(np.mean((model.predict(T) - truth) ** 2))

    assert error(loss) < 0.4


def waves(rows, deviation, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, size=rows)
    return x[:, None], np.sin(2 * x) + deviation * rng.normal(size=rows)


def inside(model, rows, target):
    low, high = model.predict(rows).T
    return np.mean((low <= target) & (target <= high))


@pytest.mark.parametrize("deviation", [0.01, 0.1, 1.0])
def test_intervals_hold_their_share_of_fresh_rows_whatever_the_noise(deviation):
    model = KernelQuantileRegressor([0.05, 0.95], random_state=0).fit(*waves(1_000, deviation, 0))
    assert 0.88 <= inside(model, *waves(10_000, deviation, 100)) <= 0.92


@pytest.mark.parametrize("rows", [500, 4_000])
@pytest.mark.parametrize("deviation", [0.03, 0.1])
def test_intervals_are_about_as_wide_as_the_true_ones_whatever_the_noise(rows, deviation):
    model = KernelQuantileRegressor([0.05, 0.95], random_state=0).fit(*waves(rows, deviation, 0))
    fresh, target = waves(10_000, deviation, 100)
    low, high = model.predict(fresh).T
    # Of 4,000 rows those with little noise had intervals up to ten times as wide.
    assert 0.9 < np.mean(high - low) / (2 * norm.ppf(0.95) * deviation) < 1.25
    assert 0.87 <= inside(model, fresh, target) <= 0.93


def test_intervals_hold_their_share_where_the_function_follows_the_rows_too_closely():
    rng = np.random.default_rng(0)
    rows, noise = rng.normal(size=(9_000, 8)), rng.normal(size=9_000)
    target = np.sin(rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.3 * noise
    model = KernelQuantileRegressor([0.05, 0.95], random_state=0)
    model.fit(rows[:1_000], target[:1_000])
    assert 0.86 <= inside(model, rows[1_000:], target[1_000:]) <= 0.94
    free = clone(model).set_params(early_stopping=False).fit(rows[:1_000], target[:1_000])
    assert inside(free, rows[1_000:], target[1_000:]) < 0.85


def test_the_smoothing_width_follows_the_residuals():
    rows, target = waves(2_000, 0.03, 0)
    settings = {"features": Binning(64), "solver": "backfitting", "random_state": 0}
    model = KernelQuantileRegressor([0.05, 0.95], **settings).fit(rows, target)
    low, high = model.predict(rows).T
    assert 0.2 * 0.03 < model.loss_.smoothing_width < 0.5 * 0.03
    assert 0.8 < np.mean(high - low) / (2 * norm.ppf(0.95) * 0.03) < 1.5
