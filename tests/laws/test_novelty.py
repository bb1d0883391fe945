"""What the one-class problem promises."""

import numpy as np
import pytest

from bochner import KernelNoveltyDetector
from bochner.features import Fourier
from bochner.kernels import Gaussian
from bochner.losses import OneClass


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(6_000, 2))


def objective(h, rho, nu):
    return np.maximum(rho - h, 0).mean() - nu * rho


@pytest.mark.parametrize("nu", [0.03, 0.1, 0.5, 0.9])
def test_the_offset_minimises_the_cost_of_the_threshold(nu):
    h = np.random.default_rng(0).normal(size=(501, 1))
    rho = -OneClass(nu).offset(h, None)[0]
    values = [objective(h[:, 0], r, nu) for r in np.linspace(-4, 4, 2_001)]
    assert objective(h[:, 0], rho, nu) <= min(values) + 1e-12


def test_the_gradient_is_the_derivative_of_the_value():
    f, step = np.random.default_rng(0).normal(size=(50, 2)), 1e-6
    y, loss = np.ones_like(f), OneClass(0.1)
    slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
    np.testing.assert_allclose(slope, loss.gradient(y, f).sum(axis=1), atol=1e-8)


def test_weights_count_as_repetitions_in_the_offset():
    rng = np.random.default_rng(0)
    h, weight = rng.normal(size=(100, 1)), rng.integers(0, 4, size=100)
    repeated = OneClass(0.2).offset(np.repeat(h, weight, axis=0), None)
    np.testing.assert_array_equal(OneClass(0.2).offset(h, weight.astype(float)), repeated)


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.5])
def test_nu_is_the_share_of_rows_outside(rows, nu):
    outside = KernelNoveltyDetector(nu=nu, random_state=0).fit_predict(rows) < 0
    assert abs(outside.mean() - nu) < 0.1 * nu + 0.01


def test_the_decision_is_the_score_above_the_offset(rows):
    detector = KernelNoveltyDetector(random_state=0).fit(rows)
    decision = detector.decision_function(rows)
    np.testing.assert_allclose(detector.score_samples(rows) - detector.offset_, decision, atol=1e-7)
    np.testing.assert_array_equal(detector.predict(rows), np.where(decision < 0, -1, 1))


def test_a_stream_in_chunks_finds_what_is_new(rows):
    detector = KernelNoveltyDetector(nu=0.05, random_state=0)
    for chunk in np.split(np.random.default_rng(1).normal(size=(40_000, 2)), 20):
        detector.partial_fit(chunk)
    assert abs((detector.predict(rows) < 0).mean() - 0.05) < 0.02
    assert (detector.predict(rows + 6.0) < 0).mean() > 0.98


def test_an_iterator_of_blocks_is_learned_from_once(rows):
    detector = KernelNoveltyDetector(random_state=0).fit(iter(np.split(rows, 3)))
    assert detector.n_iter_ == 1
    assert detector.predict([[9.0, 9.0]])[0] == -1


def test_the_number_of_threads_changes_nothing(rows):
    scores = [
        KernelNoveltyDetector(n_jobs=n_jobs, random_state=0).fit(rows).score_samples(rows)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*scores)


def test_rows_of_weight_0_are_not_learned(rows):
    both = np.concatenate([rows, rows + 8.0])
    weight = np.repeat([1.0, 0.0], len(rows))
    detector = KernelNoveltyDetector(Gaussian(1.0), random_state=0).fit(both, sample_weight=weight)
    assert (detector.predict(rows + 8.0) < 0).mean() > 0.98
    assert (detector.predict(rows) < 0).mean() < 0.2


def test_a_warm_start_goes_on(rows):
    whole = KernelNoveltyDetector(random_state=0)
    parts = KernelNoveltyDetector(warm_start=True, random_state=0)
    for model, passes in ((whole, 6), (parts, 3), (parts, 6)):
        with pytest.warns(UserWarning, match="max_passes"):
            model.set_params(max_passes=passes).fit(rows)
    np.testing.assert_array_equal(whole.score_samples(rows), parts.score_samples(rows))


@pytest.mark.parametrize("nu", [0.0, 1.0, -1, "auto", True])
def test_nu_outside_0_and_1_is_refused(rows, nu):
    with pytest.raises(ValueError, match="nu must be a number between 0 and 1"):
        KernelNoveltyDetector(nu=nu).fit(rows)


def test_scales_cannot_be_learned_without_targets(rows):
    with pytest.raises(ValueError, match="learned from targets"):
        KernelNoveltyDetector(scales="learn").fit(rows)


def test_equal_rows_give_a_finite_function():
    detector = KernelNoveltyDetector(random_state=0).fit(np.ones((100, 3)))
    assert np.isfinite(detector.score_samples([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])).all()
    assert detector.decision_function([[1.0] * 3])[0] > detector.decision_function([[9.0] * 3])[0]


def test_a_finite_number_of_features_is_kept(rows):
    detector = KernelNoveltyDetector(features=Fourier(256), random_state=0).fit(rows)
    assert detector.n_features_used_ == 256
    assert detector.predict([[9.0, 9.0]])[0] == -1


def test_a_last_batch_of_one_row_does_not_set_the_threshold(rows):
    detector = KernelNoveltyDetector(nu=0.2, random_state=0)
    for part in (rows[:500], *np.split(rows[500:520], 20)):
        detector.partial_fit(part)
    outside = (detector.predict(rows[:520]) == -1).mean()
    assert 0.1 < outside < 0.3
