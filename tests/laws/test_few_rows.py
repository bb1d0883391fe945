"""What the search on few rows promises: exact errors, useful scales, the same bits."""

import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_score

import bochner
from bochner import KernelClassifier, KernelRegressor
from bochner.features import Centers
from bochner.kernels import Gaussian
from bochner.problem import Problem
from bochner.solvers import Direct
from bochner.solvers.passes.direct import left_out
from bochner.tuning import Sample
from bochner.tuning.few_rows import FewRowsSearch
from bochner.tuning.leave_one_out import JITTER, ColumnWeights, LeaveOneOut, SplitColumns


def mixed_rows(n_rows=60, seed=0):
    """Return numbers, with two equal columns and a constant one, and a column of categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6))
    X[:, 3], X[:, 4], X[:, 5] = X[:, 0], 7.0, rng.integers(3, size=n_rows)
    y = np.column_stack([np.sin(X[:, 0]) + X[:, 5], X[:, 1]])
    return X, y, rng.uniform(0.5, 2.0, size=n_rows)


@pytest.fixture(params=[1, 2], ids=["laplacian", "gaussian"])
def leave_one_out(request):
    X, y, weight = mixed_rows()
    sample = Sample.of(X, y, weight, categorical=(5,))
    offsets = np.linspace(-1.0, 0.0, len(sample.groups))
    return LeaveOneOut(request.param, SplitColumns.of(sample), sample.y, sample.weight, offsets)


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_those_of_machines_without_the_row(leave_one_out, intercept):
    loo = replace(leave_one_out, intercept=intercept)
    point = ColumnWeights(loo.offsets, -1.0)
    K, y, w = loo.matrix(point), loo.y, loo.weight
    C = K + np.diag(np.exp(-1.0) / w + JITTER)
    expected = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        of_y, of_ones = (
            np.linalg.solve(C[np.ix_(rest, rest)], v) for v in (y[rest], np.ones(len(y) - 1))
        )
        b = of_y.sum(axis=0) / of_ones.sum() if intercept else np.zeros(2)
        f = K[i, rest] @ (of_y - np.multiply.outer(of_ones, b)) + b
        expected.append(w[i] * np.square(y[i] - f).sum())
    np.testing.assert_allclose(loo.errors(K.copy(), -1.0), expected, rtol=1e-6)


def test_the_gradient_is_that_of_the_objective(leave_one_out):
    middle = ColumnWeights(leave_one_out.offsets + 0.3 * np.arange(4), -1.5).numbers
    gradient = leave_one_out.with_gradient(ColumnWeights.of(middle))[1]
    for k in range(len(middle)):
        ends = [middle + way * 1e-2 * (np.arange(len(middle)) == k) for way in (1, -1)]
        up, down = (leave_one_out.objective(ColumnWeights.of(end)) for end in ends)
        assert gradient[k] == pytest.approx((up - down) / 2e-2, rel=1e-2, abs=1e-2)


def test_the_kernel_is_that_of_the_errors():
    X, y, _ = mixed_rows()
    search = FewRowsSearch(Sample.of(X, y, categorical=(5,)), 0, np.inf)
    for power in (1, 2):
        _, scaled = search._scaled(power)
        found = scaled.kernel(6)(search.sample.X)
        np.testing.assert_allclose(found, scaled.matrix(slice(None)), atol=1e-5)


def test_a_column_of_another_unit_does_not_matter():
    X, y = load_wine(return_X_y=True)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    accuracy = cross_val_score(KernelClassifier(random_state=0), X, y, cv=folds)
    assert accuracy.mean() > 0.97  # the median bandwidth of raw columns has 0.77


def test_useless_columns_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=300)
    model = KernelRegressor(random_state=0).fit(X[:200], y[:200])
    assert set(np.argsort(model.relevance_)[-2:]) == {0, 1}
    assert model.tuning_.helped
    assert model.score(X[200:], y[200:]) > 0.9


def test_categories_have_scales_too():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"tree": rng.choice(["ash", "oak", "elm"], 300), "age": rng.uniform(size=300)}
    )
    y = (frame["tree"] == "oak") * np.sin(6 * frame["age"]) + 0.05 * rng.normal(size=300)
    model = KernelRegressor(random_state=0).fit(frame[:200], y[:200])
    assert model.plan_.solver == "direct"
    assert model.score(frame[200:], y[200:]) > 0.9
    unseen = frame[200:].assign(tree="fir")
    assert np.isfinite(model.predict(unseen)).all()


@pytest.mark.filterwarnings("ignore::bochner.exceptions.DataWarning")
@pytest.mark.parametrize("text", [["country"], ["country", "tree"], ["country", "currency"]])
def test_constant_categories_do_not_matter(text):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.uniform(size=200), "tree": rng.choice(["ash", "oak"], 200)})
    y = np.sin(6 * frame["age"]) + (frame["tree"] == "oak") * ("tree" in text)
    frame = frame[["age", *(["tree"] if "tree" in text else [])]]
    constant = {name: "same" for name in text if name != "tree"}
    model = KernelRegressor(random_state=0).fit(frame.assign(**constant), y)
    expected = KernelRegressor(random_state=0).fit(frame, y).predict(frame)
    for other in ("same", "another"):
        found = model.predict(frame.assign(**dict.fromkeys(constant, other)))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_missing_numbers_and_heavy_tails_are_no_obstacle():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + X[:, 1]
    X[:, 1] = np.exp(5 * X[:, 1])
    X[::7, 2] = np.nan
    model = KernelRegressor(random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9
    assert 1 in model.warping_.maps


def test_a_given_alpha_is_that_of_the_search():
    X, y, _ = mixed_rows(150)
    model = KernelRegressor(alpha=0.01, random_state=0).fit(X, y[:, 0])
    assert model.tuning_.ridge == pytest.approx(1.5)
    assert model.score(X, y[:, 0]) > 0.5


def test_results_do_not_depend_on_threads():
    X, y, _ = mixed_rows(150)
    one, two = (KernelRegressor(n_jobs=k, random_state=0).fit(X, y).predict(X) for k in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_search_without_time_gives_a_kernel():
    X, y, _ = mixed_rows(150)
    found = FewRowsSearch(Sample.of(X, y, categorical=(5,)), 0, time.perf_counter()).run()
    assert np.isfinite(found.kernel(X)).all()
    assert not found.tuned.relevance.any()


@pytest.mark.parametrize("intercept", [True, False])
def test_the_exact_machine_knows_what_the_other_rows_say(intercept):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(25, 2)), rng.normal(size=25)
    weight = rng.uniform(0.5, 2.0, size=25)
    machine = KernelRegressor(
        Gaussian(1.0), features=Centers(), solver=Direct(), alpha=0.02, fit_intercept=intercept,
        warm_start=True, random_state=0,
    )  # fmt: skip
    model = machine.fit(X, y, sample_weight=weight)
    state, setup = model._training.state, model._setup
    problem = Problem(setup.basis, setup.loss, 0.02, 1, intercept, 25, 0)
    found, order = left_out(problem, state), setup.basis.numbers(np.arange(25))
    for i in range(25):
        rest = np.flatnonzero(np.arange(25) != i)
        # The ridge of the whole: alpha times the sum of all weights.
        alpha = 0.02 * weight.sum() / weight[rest].sum()
        other = machine.set_params(alpha=alpha, warm_start=False)
        expected = other.fit(X[rest], y[rest], sample_weight=weight[rest]).predict(X[i : i + 1])
        assert found[order[i], 0] == pytest.approx(expected[0], abs=1e-4)


def test_probabilities_of_few_rows_are_honest():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1_200, 2))
    chance = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.uniform(size=1_200) < chance
    model = KernelClassifier(random_state=0).fit(X[:300], y[:300])
    best = log_loss(y[300:], chance[300:])
    assert log_loss(y[300:], model.predict_proba(X[300:])) < 1.08 * best
    assert model.calibration_.rows == 300


@pytest.mark.filterwarnings("ignore::bochner.exceptions.DataWarning")
def test_columns_have_importances_where_one_gives_the_target_away(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KernelRegressor(random_state=0).fit(X, X[:, 0])
    assert np.isfinite(model.tuning_.relevance).all()
    assert model.feature_importances_[0] > 0.9
    bochner.save(model, tmp_path / "model")  # refused importances that were not numbers
