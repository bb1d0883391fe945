"""What `quality` promises: more searches for more time, one machine all the same."""

import time
from itertools import product

import numpy as np
import pytest

from bochner import KernelClassifier, KernelQuantileRegressor, KernelRegressor, load, save
from bochner.data import ArraySource
from bochner.features import Binning
from bochner.kernels import Anova, ColumnScaled, Laplacian, Scaled
from bochner.tuning import Sample, Tuning
from bochner.tuning.few_rows import FewRowsSearch
from bochner.tuning.quality import QUALITIES
from bochner.tuning.search import mean_kernel

MANY, FEW = 3_200, 240


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(count, 5))
    return X, np.round(3 * X[:, 0]) % 2 + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=count)


def fitted(quality, count=MANY, **settings):
    X, y = rows(count)
    return KernelRegressor(quality=quality, random_state=0, **settings).fit(X, y)


def test_anova_is_the_mean_of_laplacian_kernels_of_subsets():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    kernel, expected = Anova(1.5, share=0.3), np.zeros((4, 5))
    for subset in product([False, True], repeat=3):
        weight = np.prod(np.where(subset, 0.3, 0.7))
        apart = np.abs(A[:, None] - B[None])[:, :, list(subset)].sum(axis=2)
        expected += weight * np.exp(-apart / 1.5)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-12)
    np.testing.assert_allclose(Anova(1.5, share=1.0)(A, B), Laplacian(1.5)(A, B), rtol=1e-12)


def test_grids_of_anova_ignore_columns():
    X = np.array([[0.0, 0.0, 0.0], [0.4, -0.3, 1.0]])
    kernel = ColumnScaled(Anova(1.0, share=0.5), np.array([0.5, 1.0, 2.0]))
    basis = Binning(20_000).build(kernel, ArraySource(X).sample(2), seed=0)
    basis, code = basis.extended(X)
    columns = basis.matrix(code)
    np.testing.assert_allclose((columns @ columns.T).toarray(), kernel(X), atol=0.01)


@pytest.mark.parametrize("share", [0.0, 1.2, "half"])
def test_a_share_of_anova_out_of_range_is_refused(share):
    with pytest.raises(ValueError, match="share of columns of Anova"):
        Anova(1.0, share=share)([[0.0]])


def test_the_kernel_is_the_mean_of_those_of_the_searches():
    X, y = rows(MANY)
    sample = Sample.of(X, y[:, None], None, warp=True)
    tuning = Tuning(rows=2_000, searches=2)
    alone = tuning.search(sample, 0)
    results = tuning.search_again(sample, alone, 0)
    assert len(results) == 2
    assert (results[0].scales != results[1].scales).any()
    expected = (results[0].kernel(X[:9]) + results[1].kernel(X[:9])) / 2
    np.testing.assert_allclose(
        mean_kernel([one.kernel for one in results])(X[:9]), expected, rtol=1e-6
    )
    np.testing.assert_array_equal(alone.scales, results[0].scales)


def test_numbers_are_learned_on_subsets_of_columns_and_classes_on_all():
    X, y = rows(MANY)
    number = KernelRegressor(tuning=Tuning(searches=1), random_state=0).fit(X, y).kernel_
    assert isinstance(number.kernel, Anova)
    classes = KernelClassifier(tuning=Tuning(searches=1), random_state=0).fit(X, y > 0).kernel_
    assert isinstance(classes.kernel, Laplacian)
    given = KernelRegressor("laplacian", scales="learn", random_state=0).fit(X, y).kernel_
    assert "Anova" not in repr(given)


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_higher_quality_tries_more(count):
    trials = [fitted(quality, count).tuning_.trials for quality in (1, 3, 5)]
    assert trials[0] < trials[1] < trials[2]


def test_the_lowest_quality_takes_few_grids():
    fast, usual = (len(fitted(level, 12_000).expansion_.basis.grids) for level in (1, 3))
    assert fast < usual


def test_the_highest_quality_takes_the_mean_of_kernels_of_few_rows():
    kernel = fitted(5, FEW).kernel_
    assert isinstance(kernel, Scaled)
    X, y = rows(FEW, seed=1)
    assert fitted(5, FEW).score(X, y) > 0.7


@pytest.mark.parametrize("quality", [1, 5])
@pytest.mark.parametrize("count", [FEW, MANY])
def test_the_result_does_not_depend_on_threads_and_is_saved(quality, count, tmp_path):
    X, _ = rows(50, seed=2)
    one, two = (fitted(quality, count, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    save(one, tmp_path / "m.bochner")
    stored = load(tmp_path / "m.bochner")
    np.testing.assert_array_equal(stored.predict(X), one.predict(X))
    assert stored.quality == quality
    assert len(one.relevance_) == 5


def test_a_mean_of_kernels_goes_on_with_more_rows():
    model = fitted(5)
    X, y = rows(200, seed=3)
    assert isinstance(model.kernel_, Scaled)
    before = model.predict(X)
    model.partial_fit(X, y)
    assert (model.predict(X) != before).any()


def test_quantiles_of_many_rows_take_a_quality():
    X, y = rows(MANY)
    models = [KernelQuantileRegressor(quality=q, random_state=0).fit(X, y) for q in (1, 3)]
    assert models[0].tuning_.trials < models[1].tuning_.trials


def test_without_a_search_quality_does_not_matter():
    given = {
        "kernel": Laplacian(1.0),
        "scales": None,
        "features": "binning",
        "early_stopping": False,
    }
    fast, usual = (len(fitted(level, 12_000, **given).expansion_.basis.grids) for level in (1, 3))
    assert fast == usual


@pytest.mark.parametrize("settings", [{"features": "nystroem"}, {"features": "centers"}])
def test_centres_have_the_kernel_of_one_search(settings):
    kernel = fitted(5, 1_000, scales="learn", **settings).kernel_
    assert isinstance(kernel, ColumnScaled)
    assert not isinstance(kernel.kernel, Anova)


def test_a_number_of_numpy_is_a_quality():
    assert fitted(np.int64(1), FEW).score(*rows(FEW)) > 0.5


@pytest.mark.parametrize("quality", [0, 6, "best", None])
def test_another_quality_is_refused(quality):
    X, y = rows(50)
    with pytest.raises(ValueError, match="quality must be"):
        KernelRegressor(quality=quality).fit(X, y)


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_plan_expects_more_time_for_a_higher_quality(count):
    X, y = rows(count)
    seconds = [KernelRegressor(quality=q).plan(X, y).search.seconds for q in (1, 2, 3, 4, 5)]
    assert (np.diff(seconds) > 0).all()


def test_a_search_without_time_does_not_go_on_at_any_quality():
    X, y = rows(600)
    sample = Sample.of(X, y[:, None])
    late = FewRowsSearch(sample, 0, time.perf_counter(), quality=QUALITIES[5]).run()
    free = FewRowsSearch(sample, 0, np.inf, quality=QUALITIES[5]).run()
    assert late.tuned.trials < 80 < free.tuned.trials
    assert np.isfinite(late.kernel(X)).all()
