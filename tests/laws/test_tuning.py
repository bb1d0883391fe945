"""What a search for scales promises: honest trials, no trap, and an estimator that uses it."""

import copy
import pickle
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bochner import KernelClassifier, KernelRegressor
from bochner.callbacks import History
from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource, Logarithm, Ranks
from bochner.estimators.fitting.growing_fit import GrowingFit, SmallerFit
from bochner.features import Binning, BinningBasis, Centers
from bochner.kernels import Gaussian, Laplacian, Mapped, Stretched, is_separable
from bochner.solvers import State
from bochner.training.loop import INTERRUPTED, Solution, Training
from bochner.training.progress import Evaluation
from bochner.tuning import RelevanceDisplay, Sample, Tuning
from bochner.tuning.comparison import ComparisonResult
from bochner.tuning.exact import score_kernel
from bochner.tuning.gradients import choose_kernel, tune_kernel
from bochner.tuning.quality import QUALITIES
from bochner.tuning.sample import HeldOutWeights, TrialSplit, depends_on_order, groups_of
from bochner.tuning.search import Search, Stage
from bochner.tuning.trials import TrialRidge, Trials

FAST = Tuning(rows=2_000, grids=8)
CONVERGED = SimpleNamespace(converged=True)
FACTORS = np.array([3.0, 1.0, 0.5, 2.0])


def rows(n_rows=3_000, useless=6, seed=0):
    """Return rows of which the first column tells most, the second some, and no other anything."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 2 + useless))
    return X, np.sin(12 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n_rows)


def drawn(seed=0, n_rows=400, categorical=(), outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 4))
    for j in categorical:
        X[:, j] = rng.integers(5, size=n_rows)
    y = np.stack([np.sin(5 * X[:, 0] + k) for k in range(outputs)], axis=1)
    weight = rng.uniform(0.5, 2.0, size=n_rows)
    return TrialSplit(np.ascontiguousarray(X.T, np.float32), y, weight, 300, categorical)


def settled(drawn, factors=FACTORS, grids=12):
    found = Trials(drawn, grids, Random(1))
    found.apply(dict(enumerate(factors)))
    return found


# ---------------------------------------------------------------- trials


@pytest.mark.parametrize("categorical", [(), (2,), (0, 3)])
def test_a_trial_with_moved_keys_is_one_with_keys_made_anew(categorical):
    data = drawn(categorical=categorical)
    move = {0: 1.5, 2: 4.0, 3: 0.25}
    changed = np.array([move.get(j, factor) for j, factor in enumerate(FACTORS)])
    moved = settled(data).errors([move], 0.3)
    np.testing.assert_array_equal(moved, settled(data, changed).errors([{}], 0.3))
    there_and_back = settled(data)
    there_and_back.apply(move)
    there_and_back.apply({j: FACTORS[j] for j in move})
    np.testing.assert_array_equal(there_and_back.keys, settled(data).keys)


def test_trials_do_not_depend_on_their_company_or_on_threads():
    data = drawn(outputs=3)
    moves = [{}, {0: 1.0}, {1: 9.0, 2: 0.0}]
    with threads(2):
        together = settled(data).errors(moves, 0.1)
    with threads(1):
        apart = np.concatenate([settled(data).errors([move], 0.1) for move in moves])
    np.testing.assert_array_equal(together, apart)


@pytest.mark.parametrize("outputs", [1, 3])
def test_backfitting_ends_at_the_weighted_ridge_regression(outputs):
    data, ridge = drawn(outputs=outputs), 0.5
    found = settled(data)
    codes, _ = found._bins({})
    known, weight = data.known, data.weight[: data.known]
    same = np.mean([code[:, None] == code[None, :known] for code in codes], axis=0)
    mean = np.average(data.y[:known], axis=0, weights=weight)
    a = np.linalg.solve(same[:known] + ridge * np.diag(1 / weight), data.y[:known] - mean)
    errors = np.square(data.y[known:] - mean - same[known:] @ a).sum(axis=1)
    np.testing.assert_allclose(
        found.errors_by_ridge([{}], [ridge], 400)[0, 0], errors, rtol=1e-5, atol=1e-9
    )


def test_rows_are_together_as_often_as_the_kernel_says():
    data = drawn(n_rows=310)
    found = settled(data, grids=4_000)
    codes, _ = found._bins({})
    together = np.mean([code[300:, None] == code[None, :300] for code in codes], axis=0)
    X = data.columns.T.astype(float)
    exact = Stretched(Laplacian(1.0), 1 / FACTORS)(X[300:], X[:300])
    np.testing.assert_allclose(together, exact, atol=0.05)


def test_categories_are_told_apart_as_often_as_the_kernel_says():
    codes = np.arange(2, dtype=np.float32)[None]
    pair = TrialSplit(codes, np.zeros((2, 1)), np.ones(2), 1, (0,))
    found = Trials(pair, 20_000, Random(0))
    found.apply({0: 0.7})
    together = np.mean(found.keys[:, 0] == found.keys[:, 1])
    assert together == pytest.approx(np.exp(-0.7), abs=0.02)


# ------------------------------------------------------- rows held out


def test_one_hot_columns_move_together_and_constant_ones_not_at_all():
    one_hot = np.eye(3)[np.arange(9) % 3]
    other = np.eye(2)[np.arange(9) // 5]
    X = np.hstack([one_hot, np.full((9, 1), 4.0), other, np.arange(9.0)[:, None]])
    assert [list(group) for group in groups_of(X)] == [[0, 1, 2], [4, 5], [6]]


def test_a_time_series_is_told_from_rows_on_their_own():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(2_000, 3)), axis=0)
    assert depends_on_order(walk)
    turns = np.random.default_rng(2).normal(size=(5, 3))[np.arange(2_000) % 5]
    assert depends_on_order(turns + 0.1 * walk / walk.std())
    assert not depends_on_order(walk[np.random.default_rng(1).permutation(2_000)])
    assert Sample.of(walk, walk[:, :1], None).block is not None
    assert Sample.of(walk, walk[:, :1], None, held_out="random").block is None


@pytest.mark.parametrize("held_out", ["blocks", np.arange(1_000) % 37])
def test_blocks_and_groups_are_held_out_whole(held_out):
    X = np.arange(1_000.0)[:, None]
    sample = Sample.of(X, X, None, held_out=held_out)
    for seed in range(3):
        part = sample.draw_split(700, Random(seed))
        places = np.round(part.columns[0] + X.mean()).astype(int)
        known, others = (set(sample.block[some]) for some in np.split(places, [part.known]))
        assert not known & others
        assert 0.1 < len(others) / len(known | others) < 0.4


def test_rows_without_weight_have_no_say():
    X, y = rows()
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    spoiled = np.where(weight == 0, 1e6, y)
    some = [Sample.of(X, target[:, None], weight) for target in (y, spoiled)]
    np.testing.assert_array_equal(some[0].y, some[1].y)
    assert len(some[0]) == int(weight.sum())


def test_the_size_of_weights_does_not_matter():
    X, y = rows(1_500)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    one, two = (FAST.search(Sample.of(X, y[:, None], w), 0) for w in (weight, 1e-4 * weight))
    np.testing.assert_array_equal(one.scales, two.scales)
    assert one.ridge == two.ridge


def test_one_row_with_a_weight_is_not_enough():
    with pytest.raises(ValueError, match="at least two rows"):
        Sample.of(np.eye(3), np.eye(3), np.array([0.0, 1.0, 0.0]))
    one_group = Sample.of(np.eye(40), np.eye(40), held_out=np.arange(40) // 39)
    for seed in range(10):
        assert 0 < one_group.draw_split(5, Random(seed)).known < 5


def test_the_errors_of_many_outputs_are_told_by_few():
    y = np.eye(20)[np.random.default_rng(0).integers(20, size=4_000)]
    few = Sample.of(np.zeros((4_000, 1)), y, None).y
    assert few.shape[1] < 20
    assert np.square(few).sum(axis=1).mean() == pytest.approx(1.0, rel=0.1)


# -------------------------------------------------------------- searches


def test_a_search_finds_the_columns_that_tell_something():
    X, y = rows()
    tuned = FAST.search(Sample.of(X, y[:, None], None), seed=0)
    assert tuned.helped
    assert tuned.learned_error < 0.5 * tuned.common_error
    assert list(np.argsort(-tuned.relevance)[:2]) == [0, 1]
    assert max(tuned.scales[:2]) < min(tuned.scales[2:])
    assert tuned.trials > 50
    assert "is kept" in str(tuned)


def test_a_search_stays_with_one_bandwidth_where_no_other_is_better():
    X, y = rows(1_000)
    tuned = Tuning(seconds=1e-9).search(Sample.of(X, y[:, None], None), seed=0)
    assert not tuned.helped
    np.testing.assert_allclose(np.ptp(tuned.scales / X.std(axis=0)), 0.0, atol=1e-6)
    assert "one bandwidth for all is kept" in str(tuned)


def test_scales_that_do_not_stand_the_test_are_given_up():
    X, y = rows(2_000)
    search = Search(Sample.of(X, y[:, None]), patience=2, seed=0, deadline=np.inf)
    search.run([Stage(1_000, 8, 1.0, 1)])
    search.powers = search.powers + 6.0  # so narrow that every row is on its own
    tuned = search.tuned()
    assert not tuned.helped
    assert tuned.learned_error > tuned.common_error
    per_width = tuned.scales * search.per_width[: X.shape[1]]
    assert min(np.ptp(per_width) / per_width[0], np.ptp(tuned.scales) / tuned.scales[0]) < 1e-9


def test_neighbours_in_time_do_not_decide():
    """Targets drift with the time, in another series elsewhere: narrow kernels must not win."""
    rng = np.random.default_rng(1)

    def series():
        drift = np.cumsum(rng.normal(size=(2_000, 2)), axis=0) / 10
        signal = np.repeat(rng.normal(size=400), 5)
        X = np.hstack([signal[:, None] + 0.3 * rng.normal(size=(2_000, 1)), drift])
        return X, (signal + np.sin(drift[:, 0] + rng.uniform(0, 6)))[:, None]

    errors = {"auto": 0.0, "random": 0.0}
    for _ in range(3):
        (X, y), (X_new, y_new) = series(), series()
        for held_out in errors:
            sample = Sample.of(X, y, held_out=held_out)
            tuned = Tuning(2_000, 8, held_out=held_out).search(sample, 0)
            kernel = Stretched(Laplacian(1.0), tuned.scales)
            model = KernelRegressor(kernel, solver="direct", alpha=tuned.ridge / len(y)).fit(X, y)
            errors[held_out] += np.mean((model.predict(X_new) - y_new) ** 2)
    assert errors["auto"] < errors["random"]


def test_a_series_is_cut_into_long_stretches():
    X, y = rows(4_000)
    walk = np.cumsum(X - 0.5, axis=0)
    assert Search(Sample.of(X, y[:, None]), 2, 0, np.inf).folds is None
    search = Search(Sample.of(walk, y[:, None]), patience=2, seed=0, deadline=np.inf)
    parts = search.folds.parts
    assert [(len(rest), len(part)) for rest, part in parts] == [(3_200, 800)] * 5
    assert [set(part.block) for _, part in parts] == [{k} for k in range(5)]


def test_what_helps_in_a_series_has_to_help_its_stretches():
    X, y = rows(4_000)
    search = Search(Sample.of(X, y[:, None]), patience=2, seed=0, deadline=np.inf)
    search.run([Stage(2_000, 8, 1.0, 4)])
    assert copy.copy(search).tuned().helped
    errors = [np.arange(10.0), np.arange(10.0) - np.repeat([0.0, 1.0], 5)]
    result = ComparisonResult([0.0, 0.0], errors, HeldOutWeights(np.ones(10), np.repeat([0, 1], 5)))
    assert not result.helps(1, 0)  # one stretch of two gained: that is no more than its deviation
    search.folds = SimpleNamespace(compare=lambda models, most: result, trials=0)
    assert not search.tuned().helped


def test_the_verdict_on_classes_counts_wrong_labels():
    """A regression may lower squared errors and miss more labels."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2_000, 3))
    labels = np.digitize(X[:, 0] + 0.3 * X[:, 1], [0.4, 0.8])
    one_hot = np.eye(3)[labels]
    sample = Sample.of(X, one_hot, classes=True)
    tuned = FAST.search(sample, seed=0)
    assert 0 < tuned.learned_error < 0.1
    known, held_out = sample.split(0.25, Random(0))
    trials = Trials(TrialSplit.of(known, held_out), 32, Random(1))
    move = dict.fromkeys(range(3), 4.0)
    wrong = trials.label_errors(move, 0.1)
    assert set(wrong) == {0.0, 1.0}
    codes, starts = trials._bins(move)
    fit = TrialRidge(trials.split, trials.split.scores, (codes, starts), 0.1)
    fit.sweep(4)
    mean = np.average(one_hot, axis=0)
    scores = trials.split.scores[trials.split.known :] - fit.held_out_residuals().T
    size = np.sqrt(np.square(one_hot - mean).sum(axis=1).mean())
    found = np.argmax(scores * size + mean, axis=1)
    truth = np.argmax(trials.split.scores[trials.split.known :] * size + mean, axis=1)
    np.testing.assert_array_equal(wrong, found != truth)


def test_hopeless_trials_are_given_up_after_a_sweep():
    found = settled(drawn())
    bar, moves = found.first_sweep_errors(0.3), [{}, {0: 1e4}, {1: 0.9}]
    errors = found.errors(moves, 0.3, bar)
    assert np.isinf(errors[1]).all()
    np.testing.assert_array_equal(errors[[0, 2]], found.errors(moves, 0.3)[[0, 2]])


def test_a_search_is_the_same_whatever_the_number_of_threads():
    X, y = rows(1_500)
    sample = Sample.of(X, y[:, None], None)
    found = []
    for number in (1, 2):
        with threads(number):
            found.append(FAST.search(sample, seed=3))
    np.testing.assert_array_equal(found[0].scales, found[1].scales)
    assert found[0].rounds == found[1].rounds


def test_a_search_ends_in_time():
    X, y = rows()
    sample = Sample.of(X, y[:, None], None)
    assert len(Tuning(seconds=1e-9).search(sample, 0).rounds) == 0
    assert len(FAST.search(sample, 0, most_seconds=1e-9).rounds) == 0


def test_exact_machines_find_the_bandwidth_and_the_smoother_kernel():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1_500, 2))
    smooth = Sample.of(X, np.sin(6 * X[:, :1] + 3 * X[:, 1:]), None)
    best = choose_kernel(smooth, np.ones(2), seed=0)
    assert isinstance(best.kernel.kernel, Gaussian)
    own = score_kernel(Gaussian(0.001), smooth, np.ones(2), seed=0)
    assert own.kernel.kernel.bandwidth == 0.001
    assert best.beats(own)
    steps = Sample.of(X, np.floor(8 * X[:, :1]), None)
    assert isinstance(choose_kernel(steps, np.array([0.1, 10.0]), seed=0).kernel.kernel, Laplacian)


# ------------------------------------------------------------ estimators


def regressor(**changes):
    """Return a machine whose kernel is not open, unless that is asked for: it takes seconds."""
    return KernelRegressor(
        **{"kernel": "laplacian", "scales": "learn", "tuning": FAST, "random_state": 0} | changes
    )


def test_learned_scales_beat_one_bandwidth_and_tell_which_columns_matter():
    X, y = rows(6_000)
    X_test, _ = rows(2_000, seed=1)
    truth = np.sin(12 * X_test[:, 0]) + X_test[:, 1]
    plain = KernelRegressor("laplacian", features="binning", random_state=0).fit(X, y)
    model = regressor(kernel="auto").fit(X, y)
    one, two = (np.mean((m.predict(X_test) - truth) ** 2) for m in (plain, model))
    assert two < 0.5 * one
    assert model.tuning_.helped
    assert list(np.argsort(-model.relevance_)[:2]) == [0, 1]
    assert is_separable(model.kernel_)
    rough = regressor().fit(X, y)
    np.testing.assert_array_equal(rough.kernel_.scales, rough.tuning_.scales)
    assert isinstance(rough.expansion_.basis, BinningBasis)


def test_wild_targets_do_not_decide_about_scales_for_a_loss_they_do_not_move():
    X, y = rows(3_200)
    rng = np.random.default_rng(0)
    wild = np.where(rng.uniform(size=len(y)) < 0.1, y + 50 * rng.standard_t(2, size=len(y)), y)
    model = regressor(loss="absolute").fit(X, wild)
    assert set(np.argsort(model.tuning_.scales)[:2]) == {0, 1}
    assert np.mean((model.predict(X) - y) ** 2) < 0.1


def test_labels_are_learned_with_scales_whatever_the_number_of_threads():
    X, y = rows(4_000)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [0.0, 1.0])]
    models = [
        KernelClassifier("laplacian", scales="learn", tuning=FAST, n_jobs=jobs, random_state=0).fit(
            X, labels
        )
        for jobs in (1, 2)
    ]
    assert models[0].score(X, labels) > 0.9
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_a_given_kernel_gets_the_scales_and_a_bandwidth():
    X, y = rows(2_000)
    model = regressor(kernel="gaussian").fit(X, y)
    assert isinstance(model.kernel_.kernel, Gaussian)
    assert model.plan_.solver == "direct"
    assert model.score(X, y) > 0.95
    kept = regressor(kernel=Gaussian(0.3), features=Centers(200), solver="nystroem").fit(X, y)
    assert kept.kernel_.kernel.bandwidth == 0.3


def test_threads_do_not_change_the_scales_of_a_smooth_kernel():
    X, y = rows(1_500)
    one, two = (regressor(kernel="gaussian", n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.kernel_.scales, two.kernel_.scales)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_solvers_of_bins_get_a_kernel_that_has_bins():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1_500, 2))
    y = np.sin(6 * X[:, 0] + 3 * X[:, 1])  # for which the Gaussian kernel is better
    model = regressor(kernel="auto", solver="cg").fit(X, y)
    assert is_separable(model.kernel_)


def test_going_on_with_another_kernel_or_other_scales_is_refused():
    X, y = rows(3_500)
    model = regressor(warm_start=True).fit(X, y)
    for change in ({"kernel": "gaussian"}, {"scales": None}, {"scales": np.ones(8)}):
        before = model.get_params(deep=False)
        with pytest.raises(ValueError, match="parameters of the first fit"):
            model.set_params(**change).fit(X, y)
        model.set_params(**before)


def test_given_scales_are_those_of_a_stretched_kernel():
    X, y = rows(500)
    scales = np.linspace(0.5, 3.0, X.shape[1])
    settings = {"features": "centers", "solver": "direct", "random_state": 0}
    one = KernelRegressor(Gaussian(1.0), scales=scales, **settings).fit(X, y)
    two = KernelRegressor(Stretched(Gaussian(1.0), scales), **settings).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert not hasattr(one, "tuning_")


def test_columns_of_text_have_scales_too():
    rng = np.random.default_rng(0)
    n = 3_000
    tree, noise = rng.integers(4, size=n), rng.integers(4, size=n)
    frame = pd.DataFrame(
        {"tree": np.array(list("abcd"))[tree], "noise": np.array(list("wxyz"))[noise]}
    ).assign(size=rng.uniform(size=n))
    model = regressor().fit(frame, tree + np.sin(6 * frame["size"]))
    assert isinstance(model.expansion_.basis, BinningBasis)
    assert model.relevance_[0] > 10 * abs(model.relevance_[1])
    assert model.score(frame, tree + np.sin(6 * frame["size"])) > 0.95


def test_sparse_rows_have_the_scales_of_dense_ones():
    X, y = rows(2_500)
    X = np.where(X < 0.3, 0.0, X)
    dense, sparse = regressor().fit(X, y), regressor().fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(dense.tuning_.scales, sparse.tuning_.scales)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_clone_forgets_a_pickle_keeps_and_a_fit_that_goes_on_stays_with_what_was_learned():
    X, y = rows(4_000)
    model = regressor(warm_start=True, max_passes=2).fit(X, y)
    tuned = model.tuning_
    assert not hasattr(clone(model), "tuning_")
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    model.set_params(max_passes=20).fit(X, y)
    assert model.tuning_ is tuned
    model.set_params(scales=None, warm_start=False).fit(X, y)
    assert not hasattr(model, "tuning_")
    assert not hasattr(model, "relevance_")


def test_streams_learn_scales_from_their_first_rows():
    X, y = rows(4_000)
    model = regressor(features="binning", solver="averaged")
    for part in np.split(np.arange(4_000), 4):
        model.partial_fit(X[part], y[part])
    assert list(np.argsort(model.tuning_.scales)[:2]) == [0, 1]
    assert model.score(X, y) > 0.8


def growing(**settings):
    effort = QUALITIES[settings.pop("quality", 3)]
    given = SimpleNamespace(**{"max_seconds": None, "tol": 0.02, "effort": effort} | settings)
    return GrowingFit(given, None, SimpleNamespace(tuned=True), History(), 0.0, None, None)


def test_grids_are_not_added_where_there_is_no_time_for_them():
    X, y = rows(3_500)
    settings = {"features": "binning", "random_state": 0}
    free = KernelRegressor("laplacian", **settings).fit(X, y)
    assert free.binning_.grids > 64
    seconds = free.history_["seconds"][-1]
    basis = Binning().build(free.kernel_, ArraySource(X).sample(100), seed=0)
    setup, training = replace(free._setup, basis=basis), replace(free._training, smaller_losses=())
    progress = SimpleNamespace(seconds=seconds)
    solution = SimpleNamespace(training=training, progress=progress, reason=CONVERGED)
    data = SimpleNamespace(held_out=X, setup=setup, problem=SimpleNamespace(rows=len(X)))
    assert growing(max_seconds=2.9 * seconds)._larger(data, solution, 0.0) is None
    assert growing(max_seconds=3.1 * seconds)._larger(data, solution, 0.0) is not None
    assert growing(quality=1)._larger(data, solution, 0.0) is None
    training.smaller_losses = ()
    data.problem.rows = 2 * 10**6  # too many for as many grids again
    assert growing()._larger(data, solution, 0.0) is None


def test_more_grids_are_used_only_if_held_out_rows_gain():
    def solution(*losses, reason=CONVERGED):
        evaluations = tuple(Evaluation(1, 1, loss) for loss in losses)
        training = Training(State(0.0, 0.0, []), 1, evaluations=evaluations)
        return Solution(None, training, reason, None)

    few = solution(0.5, 0.3)
    assert solution(0.6, 0.2).training.best_loss < few.training.best_loss
    assert not solution(0.9, 0.4).training.best_loss < few.training.best_loss
    assert not solution(reason=INTERRUPTED).training.best_loss < few.training.best_loss
    before = SmallerFit(None, few, History())
    assert growing()._revert(before, solution(0.9))[1] is few
    assert growing()._revert(before, solution(reason=INTERRUPTED))[1].reason is INTERRUPTED


def test_scales_are_learned_by_default_where_all_is_open():
    X, y = rows(3_200)
    settings = {"tuning": FAST, "random_state": 0}
    assert KernelRegressor(**settings).fit(X, y).tuning_.helped
    for given in ({"scales": None}, {"kernel": "gaussian"}, {"solver": "nystroem"}):
        assert not hasattr(KernelRegressor(**settings, **given).fit(X, y), "tuning_")
    assert KernelRegressor(**settings).fit(X[:300], y[:300]).tuning_.helped


def test_a_plan_for_scales_that_are_still_to_be_learned_speaks_of_bins():
    X, y = rows(4_000)
    plan = regressor().plan(X, y)
    assert (plan.features, plan.solver) == ("binning", "backfitting")
    assert "a scale for each column" in str(plan)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scales": "guess"}, "scales must be 'auto', 'learn', None"),
        ({"scales": [1.0, -1.0]}, "finite positive numbers"),
        ({"scales": [1.0, 2.0]}, "one scale for each of the 8 columns"),
        ({"tuning": "guess"}, "tuning must be one of 'search'"),
        ({"tuning": Tuning(rows=5)}, "rows of Tuning must be a whole number from 100 on"),
        ({"tuning": Tuning(grids=True)}, "grids of Tuning must be a whole number"),
        ({"tuning": Tuning(patience=0)}, "patience of Tuning"),
        ({"tuning": Tuning(seconds=0)}, "seconds of Tuning must be positive"),
        ({"tuning": Tuning(held_out="months")}, "'blocks' or a group for each row"),
        ({"tuning": Tuning(held_out=[1, 2, 3])}, "a group for each row; got the shape"),
        ({"kernel": lambda A, B: A @ B.T}, "shift-invariant kernels"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_a_sentence(changes, message):
    X, y = rows(300)
    with pytest.raises(ValueError, match=message):
        regressor(**changes).fit(X, y)


def test_too_many_columns_are_refused():
    X = sp.random_array((50, 6_000), density=0.01, random_state=0, format="csr")
    with pytest.raises(ValueError, match="at most 5,000 columns"):
        regressor().fit(X, np.arange(50.0))


@pytest.mark.filterwarnings("ignore::bochner.exceptions.DataWarning")
@pytest.mark.parametrize("y", [np.ones(300), np.arange(300.0) % 2])
@pytest.mark.parametrize("kernel", ["auto", "laplacian"])
@pytest.mark.parametrize("varies", [True, False])
def test_constant_columns_and_targets_are_fine(y, kernel, varies):
    X = np.hstack([np.ones((300, 2)), varies * (np.arange(300.0)[:, None] % 7)])
    model = regressor(kernel=kernel).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.tuning_.scales).all()


def test_relevance_is_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = rows(1_500)
    names = [f"c{j}" for j in range(8)]
    display = RelevanceDisplay.from_estimator(regressor().fit(X, y), names=names, most=3)
    assert len(display.ax_.patches) == 3
    assert display.ax_.get_yticklabels()[-1].get_text() == display.most_relevant(1)[0] == "c0"


def test_relevance_needs_learned_scales_and_a_name_for_each_column():
    X, y = rows(300)
    with pytest.raises(ValueError, match="has learned no scales"):
        RelevanceDisplay.from_estimator(regressor(scales=None).fit(X, y))
    with pytest.raises(ValueError, match="a name for each of 2 columns"):
        RelevanceDisplay(np.zeros(2), np.zeros(2), ["one"])


HEAVY = np.exp(2.0 * np.random.default_rng(5).normal(size=(3_000, 2)))


@pytest.mark.parametrize("kind", [Logarithm, Ranks])
def test_maps_are_monotone_and_bounded_by_what_they_have_seen(kind):
    x = HEAVY[:, 0]
    one = kind.learn(x)
    places = np.linspace(-1.0, 2.0 * x.max(), 5_000)
    assert (np.diff(one(places)) >= 0).all()
    assert np.isfinite(one(places)).all()
    assert np.ptp(one(x)) < 12 * one(x).std()


def test_heavy_tails_are_seen_as_logarithms_or_ranks_where_that_helps():
    y = np.sin(2.0 * np.log(HEAVY[:, 0])) + 0.01 * np.random.default_rng(6).normal(size=3_000)
    without, model = (
        regressor(tuning=Tuning(2_000, 8, warp=warp)).fit(HEAVY[:2_000], y[:2_000])
        for warp in (False, True)
    )
    assert without.warping_ is None
    assert 0 in model.warping_.maps
    assert "logarithms or ranks" in str(model.tuning_)
    held_out = HEAVY[2_000:], y[2_000:]
    assert 1 - model.score(*held_out) < 0.7 * (1 - without.score(*held_out))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(HEAVY), model.predict(HEAVY))


def test_columns_without_heavy_tails_have_no_alternatives():
    X = np.random.default_rng(0).normal(size=(1_000, 3))
    X[:, 1] = np.arange(1_000) % 5
    assert Sample.of(X, X[:, :1], warp=True).alternatives == ()
    columns = {one.column for one in Sample.of(HEAVY, HEAVY[:, :1], warp=True).alternatives}
    assert columns == {0, 1}


def test_sparse_rows_and_given_centers_are_not_warped():
    y = np.log(HEAVY[:, 0])
    sparse = regressor(kernel="laplacian").fit(sp.csr_array(HEAVY), y)
    given = regressor(kernel="gaussian", features=Centers(given=HEAVY[:50]), solver="nystroem")
    given.fit(HEAVY, y)
    assert sparse.warping_ is None
    assert given.warping_ is None


def test_equal_columns_move_and_are_judged_together():
    X, y = rows(1_500)
    twins = np.column_stack([X, X[:, 0]])
    groups = Sample.of(twins, y[:, None]).groups
    assert [0, 8] in [group.tolist() for group in groups]
    relevance = FAST.search(Sample.of(twins, y[:, None]), seed=0).relevance
    assert relevance[0] == relevance[8] > 0.1


def with_gaps(X, column, seed=0):
    """Return rows of which a fifth lacks a number, and which."""
    gone = np.random.default_rng(seed).random(len(X)) < 0.2
    X = X.copy()
    X[gone, column] = np.nan
    return X, gone


@pytest.mark.parametrize("kernel", ["auto", "laplacian", "gaussian"])
def test_missing_numbers_are_alike_and_unlike_all_others(kernel):
    X, y = rows(3_000, useless=1)
    X, gone = with_gaps(X, 2)
    model = regressor(kernel=kernel).fit(X[:2_000], (y + 3.0 * gone)[:2_000])
    assert model.score(X[2_000:], (y + 3.0 * gone)[2_000:]) > 0.9


def test_a_number_may_be_missing_that_was_never_missing_before():
    X, y = rows(500)
    model = regressor().fit(X, y)
    assert np.isfinite(model.predict(with_gaps(X, 0)[0])).all()


def test_missing_numbers_of_streams_are_filled_in_like_those_of_arrays():
    X, y = rows(600)
    X, _ = with_gaps(X, 1)
    one = regressor(scales=None, solver="averaged").partial_fit(X, y)
    two = regressor(scales=None, solver="averaged").partial_fit(iter([(X, y)]))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_a_precomputed_kernel_must_not_have_missing_values():
    K = np.eye(20)
    K[0, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KernelRegressor(kernel="precomputed").fit(K, np.arange(20.0))


# ------------------------------------------------ linear maps, many columns, more grids


def test_a_linear_map_is_learned_where_a_smooth_kernel_wants_one():
    """The target changes along one direction, which no scale of a column can tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_500, 6))
    direction = np.array([1.0, 1.0, -1.0, 1.0, 0.0, 0.0]) / 2
    y = np.sin(3 * X @ direction)
    models = {
        linear: KernelRegressor(
            "gaussian",
            scales="learn",
            tuning=Tuning(rows=2_000, grids=8, linear_map=linear),
            random_state=0,
        ).fit(X[:3_000], y[:3_000])
        for linear in (False, True)
    }
    assert isinstance(models[False].kernel_, Stretched)
    assert isinstance(models[True].kernel_, Mapped)
    errors = [np.mean((m.predict(X[3_000:]) - y[3_000:]) ** 2) for m in models.values()]
    assert errors[1] < 0.3 * errors[0]
    metric = models[True].kernel_.directions @ models[True].kernel_.directions.T
    top = np.linalg.eigh(metric)[1][:, -1]
    assert abs(top @ direction) > 0.98


def test_scales_are_kept_where_a_map_is_no_better():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2_400, 3))
    y = np.sin(4 * X).sum(axis=1, keepdims=True) + 0.5 * rng.normal(size=(2_400, 1))
    sample = Sample.of(X, y)
    plain, mapped = (tune_kernel(Gaussian(), sample, np.ones(3), 0, way) for way in (False, True))
    assert mapped.directions is None
    assert mapped.error == plain.error


def test_of_many_columns_the_kernel_and_its_bandwidth_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 300))
    y = X[:, 0] + 0.3 * X[:, 1] ** 2
    found = KernelRegressor(random_state=0).fit(X[:3_500], y[:3_500])
    assert not hasattr(found, "tuning_")
    fixed = KernelRegressor(scales=None, random_state=0).fit(X[:3_500], y[:3_500])
    scores = [model.score(X[3_500:], y[3_500:]) for model in (found, fixed)]
    assert scores[0] > max(0.5, scores[1])


def test_many_columns_of_which_one_is_text_are_left_to_bins():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(3_100, 300)))
    table["tree"] = rng.choice(["oak", "ash"], 3_100)
    table.columns = table.columns.astype(str)
    model = KernelRegressor(features=Binning(8), random_state=0)
    assert isinstance(model.fit(table, table["0"]).kernel_, Laplacian)
    assert model.set_params(features="auto").plan(table, table["0"]).features == "binning"


def test_one_block_tells_nothing_of_others():
    rows = HeldOutWeights(np.ones(10), np.zeros(10, np.int64))
    assert rows.gain(np.ones(10), np.zeros(10)) == (1.0, np.inf)
    sample = Sample.of(*wide(), held_out=np.repeat(np.arange(5), 40))
    assert len(np.unique(sample.split(0.2, Random(0))[1].block)) == 2


def test_a_column_given_twice_has_its_width():
    X, y = wide()
    twice = np.column_stack([1000 * X[:, 0], X[:, 1:], 1000 * X[:, 0], X[:, 1] > 0, X[:, 1] <= 0])
    widths = Sample.of(twice, y).widths()
    assert widths[0] == widths[3] > 500
    assert list(widths[-2:]) == [1.0, 1.0]


def wide():
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 3)), rng.normal(size=(200, 1))


def test_few_rows_begin_with_many_grids():
    basis = Binning().build(Laplacian(1.0), ArraySource(np.ones((10, 2))).sample(10), seed=0)

    def grids(rows, seconds=None, grids="auto"):
        return len(Binning(grids).initial_basis(basis, Laplacian(1.0), 0, rows, seconds).grids)

    assert [grids(n) for n in (1_000, 46_000, 47_000, 10**6)] == [512, 512, 256, 64]
    assert grids(39_000, seconds=1.0) == 128
    assert [grids(n, seconds=1.0) for n in (78_000, 80_000, 10**6)] == [64, 32, 8]
    assert grids(10**6, seconds=20.0) == 64
    assert grids(1_000, grids=64) == 64
