"""What the two-sample test promises."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from bochner import KernelWitness, two_sample_test
from bochner.kernels import Gaussian

METHODS = pytest.mark.parametrize("method", ["permutation", "normal"])


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(600, 3)), rng.normal(size=(500, 3)) + np.array([0.6, 0.0, 0.0])


def pvalues(draw, repetitions, **parameters):
    rng = np.random.default_rng(0)
    return np.array(
        [
            two_sample_test(*draw(rng), size=64, random_state=seed, **parameters).pvalue
            for seed in range(repetitions)
        ]
    )


@METHODS
def test_samples_of_one_law_are_told_apart_as_often_as_the_level_says(method):
    found = pvalues(
        lambda rng: (rng.normal(size=(200, 2)), rng.normal(size=(200, 2))),
        300,
        method=method,
        permutations=99,
    )
    low, high = stats.binom.interval(0.999, 300, 0.05)
    assert low <= (found <= 0.05).sum() <= high


@METHODS
def test_a_shift_is_seen(method):
    found = pvalues(
        lambda rng: (rng.normal(size=(300, 2)), rng.normal(size=(250, 2)) + 0.4),
        40,
        method=method,
    )
    assert (found <= 0.05).mean() > 0.9


def test_the_statistic_is_that_of_the_kernel(samples):
    X, Y = samples
    kernel = Gaussian(2.0)
    found = two_sample_test(X, Y, kernel=kernel, size=32_768, permutations=1, random_state=0)
    exact = kernel(X, X).mean() + kernel(Y, Y).mean() - 2 * kernel(X, Y).mean()
    assert found.statistic == pytest.approx(exact, rel=0.05)
    assert found.rows == (600, 500)


def test_the_witness_has_the_statistic_as_difference_of_its_means(samples):
    X, Y = samples
    test = two_sample_test(X, Y, random_state=0)
    difference = test.witness.predict(X).mean() - test.witness.predict(Y).mean()
    assert difference == pytest.approx(test.statistic, rel=1e-3)
    fitted = KernelWitness(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict(X), test.witness.predict(X))
    assert fitted.predict([[-1.0, 0, 0]])[0] > 0 > fitted.predict([[1.5, 0, 0]])[0]


@METHODS
def test_streams_in_other_blocks_give_the_same(samples, method):
    X, Y = samples
    arrays = two_sample_test(X, Y, kernel=Gaussian(2.0), method=method, random_state=0)
    streams = two_sample_test(
        iter(np.array_split(X, 7)),
        iter(np.array_split(Y, 3)),
        kernel=Gaussian(2.0),
        method=method,
        random_state=0,
    )
    assert streams.rows == arrays.rows
    assert streams.statistic == pytest.approx(arrays.statistic, rel=1e-4)
    assert streams.pvalue == pytest.approx(arrays.pvalue, abs=0.01)


def test_the_number_of_threads_changes_nothing(samples):
    one, two = (two_sample_test(*samples, random_state=0, n_jobs=n) for n in (1, 2))
    assert (one.statistic, one.pvalue) == (two.statistic, two.pvalue)


@METHODS
def test_equal_samples_are_not_told_apart(samples, method):
    X, _ = samples
    assert two_sample_test(X, X, method=method, random_state=0).pvalue > 0.5


def test_samples_that_cannot_be_used_are_refused(samples):
    X, Y = samples
    with pytest.raises(ValueError, match="The sample X has no rows"):
        two_sample_test(X[:0], Y)
    with pytest.raises(ValueError, match="two rows at least; got 1 and 500"):
        two_sample_test(X[:1], Y)
    with pytest.raises(ValueError, match="the same columns; got 3 of X and 2 of Y"):
        two_sample_test(X, Y[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        two_sample_test(X, np.full_like(Y, np.nan))
    with pytest.raises(ValueError, match="NaN or infinity"):
        two_sample_test(iter([X]), iter([np.full_like(Y, np.nan)]))
    with pytest.raises(ValueError, match="method must be one of"):
        two_sample_test(X, Y, method="exact")
    with pytest.raises(ValueError, match="method='normal' needs 16 rows"):
        two_sample_test(X[:5], Y[:5], method="normal")


def test_samples_in_two_forms_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="One sample is sparse"):
        two_sample_test(X, sp.csr_array(X))


def test_a_weight_is_a_repetition(samples):
    X, Y = samples
    w, v = (np.random.default_rng(1).integers(0, 4, len(rows)) for rows in (X, Y))
    settings = {"kernel": Gaussian(2.0), "random_state": 0}
    weighted = two_sample_test(X, Y, sample_weight_X=w, sample_weight_Y=v, **settings)
    repeated = two_sample_test(np.repeat(X, w, axis=0), np.repeat(Y, v, axis=0), **settings)
    assert weighted.statistic == pytest.approx(repeated.statistic, rel=1e-4)
    np.testing.assert_allclose(
        weighted.witness.predict(X), repeated.witness.predict(X), rtol=1e-3, atol=1e-5
    )
    fitted = KernelWitness(Gaussian(2.0), random_state=0).fit(X, Y, w, v)
    np.testing.assert_array_equal(fitted.predict(X), weighted.witness.predict(X))


def test_equal_weights_are_none(samples):
    X, Y = samples
    Y = Y - [0.55, 0.0, 0.0]
    plain = two_sample_test(X, Y, random_state=0)
    assert 0.01 < plain.pvalue < 0.99
    for w, v in ((3.0, None), (1e-40, 1e40)):
        weights = {
            "sample_weight_X": np.full(len(X), w),
            "sample_weight_Y": None if v is None else np.full(len(Y), v),
        }
        alike = two_sample_test(X, Y, **weights, random_state=0)
        assert alike.statistic == pytest.approx(plain.statistic, rel=1e-5)
        assert alike.pvalue == plain.pvalue


def test_weighted_samples_of_one_law_are_told_apart_as_often_as_the_level_says():
    rng = np.random.default_rng(0)
    found = []
    for seed in range(300):
        (X, w), (Y, v) = (
            (rows, np.exp(rows[:, 0])) for rows in (rng.normal(size=(200, 2)) for _ in range(2))
        )
        weights = {"sample_weight_X": w, "sample_weight_Y": v}
        settings = {"size": 64, "permutations": 99, "random_state": seed}
        found.append(two_sample_test(X, Y, **weights, **settings).pvalue)
    low, high = stats.binom.interval(0.999, 300, 0.05)
    assert low <= (np.array(found) <= 0.05).sum() <= high


def test_weights_see_a_difference_that_rows_do_not_have():
    X, Y = np.random.default_rng(0).normal(size=(2, 500, 2))
    weights = {"sample_weight_Y": np.exp(Y[:, 0])}
    assert two_sample_test(X, Y, random_state=0).pvalue > 0.05
    assert two_sample_test(X, Y, **weights, random_state=0).pvalue < 0.01


def test_weights_of_blocks_are_those_of_arrays(samples):
    X, Y = samples
    w = np.random.default_rng(1).uniform(size=len(X))
    arrays = two_sample_test(X, Y, sample_weight_X=w, kernel=Gaussian(2.0), random_state=0)
    parts = zip(np.array_split(X, 7), np.array_split(w, 7), strict=True)
    blocks = ((rows, None, weight) for rows, weight in parts)
    streams = two_sample_test(blocks, iter([Y]), kernel=Gaussian(2.0), random_state=0)
    assert streams.statistic == pytest.approx(arrays.statistic, rel=1e-4)
    assert streams.pvalue == pytest.approx(arrays.pvalue, abs=0.01)


def test_weights_that_cannot_be_used_are_refused(samples):
    X, Y = samples
    ones = np.ones(len(X))
    with pytest.raises(ValueError, match=r"at least one non-zero|positive weight"):
        two_sample_test(X, Y, sample_weight_X=0 * ones)
    with pytest.raises(ValueError, match=r"zero for every row|All rows of a sample have weight 0"):
        two_sample_test(iter([(X, None, 0 * ones)]), Y)
    with pytest.raises(ValueError, match="Negative values"):
        two_sample_test(X, Y, sample_weight_X=-ones)
    with pytest.raises(ValueError, match="its weights are part of it"):
        two_sample_test(iter([X]), Y, sample_weight_X=ones)
    with pytest.raises(ValueError, match="have no targets"):  # nor are these the weights
        two_sample_test(iter([(X, ones)]), Y)
    with pytest.raises(ValueError, match="method='normal' takes no weights"):
        two_sample_test(X, Y, sample_weight_X=ones, method="normal")
