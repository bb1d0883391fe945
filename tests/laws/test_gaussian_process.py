"""What a Gaussian process promises whatever the rows: units, streams, weights, threads."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import KernelGaussianProcess
from bochner.data import ArraySource, IteratorSource
from bochner.features import Binning, Centers, Fourier
from bochner.features.random.fourier import FourierBasis
from bochner.kernels import Gaussian, Laplacian

KERNEL = Gaussian(1.5)
TABLE = [Centers(40), Fourier(60), Binning(3)]
every_feature = pytest.mark.parametrize("features", TABLE, ids=lambda f: type(f).__name__)
every_variance = pytest.mark.parametrize("variance", ["features", "operator", "functions"])


def process(features="auto", noise=0.1, **settings):
    kernel = Laplacian(8.0) if isinstance(features, Binning) else KERNEL
    return KernelGaussianProcess(kernel, noise, features=features, random_state=0, **settings)


def of_kind(variance, **settings):
    features = Fourier(32) if variance == "operator" else "auto"
    return process(features, variance=variance, max_passes=30, **settings)


def both(model, X):
    return np.stack(model.predict(X, return_std=True))


@every_feature
@pytest.mark.parametrize("noise", [0.1, "auto"])
def test_rows_in_parts_are_the_rows_at_once(regression, features, noise):
    X, y = regression
    weight = np.linspace(0.5, 2.0, len(y))
    given = Centers(given=X[:40]) if isinstance(features, Centers) else features
    whole = process(given, noise).fit(X, y, weight)
    parts = process(given, noise)
    for begin, end in ((0, 150), (150, 151), (151, 400)):
        parts.partial_fit(X[begin:end], y[begin:end], weight[begin:end])
    blocks = [(X[i : i + 90], y[i : i + 90], weight[i : i + 90]) for i in range(0, 400, 90)]
    stream = process(given, noise).fit(iter(blocks))
    tolerance = 1e-6 if noise == 0.1 else 5e-3  # the search for the noise begins elsewhere
    for model in (parts, stream, process(given, noise).fit(IteratorSource(blocks))):
        np.testing.assert_allclose(both(model, X), both(whole, X), atol=tolerance)
        assert model.noise_ == pytest.approx(whole.noise_, rel=0.05)


@every_variance
def test_targets_in_other_units_give_answers_in_those(regression, variance):
    X, y = regression
    one = of_kind(variance).fit(X[:100], y[:100])
    two = of_kind(variance).set_params(noise=0.1 * 49).fit(X[:100], 7 * y[:100] + 1e3)
    (mean, deviation), (far, wide) = both(one, X), both(two, X)
    np.testing.assert_allclose(far, 7 * mean + 1e3, atol=1e-3)
    np.testing.assert_allclose(wide, 7 * deviation, atol=1e-3)


@every_variance
def test_outputs_are_processes_of_their_own(regression, variance):
    X, y = regression
    Y = np.column_stack([y, X[:, 1] ** 2 - y])
    model = of_kind(variance, normalize_y=False).fit(X, Y)
    mean, deviation = model.predict(X[:50], return_std=True)
    assert mean.shape == deviation.shape == (50, 2)
    assert model.predict(X[:50], return_cov=True)[1].shape == (50, 50, 2)
    assert model.sample_y(X[:50], 3).shape == (50, 2, 3)
    for j in range(2):
        alone = of_kind(variance, normalize_y=False).fit(X, Y[:, j])
        tolerance = 1e-6 if variance != "operator" else 0.02
        np.testing.assert_allclose(mean[:, j], alone.predict(X[:50]), atol=tolerance)


@every_variance
def test_deviations_are_of_the_function_or_with_noise_of_observations(regression, variance):
    X, y = regression
    Y = np.column_stack([y, 1 - 2 * y])[:100]
    model = of_kind(variance, normalize_y=variance == "features").fit(X[:100], Y)
    of_f = model.predict(X[:9], return_std=True)[1]
    mean, deviation = model.predict(ArraySource(X[:9]), return_std=True, noise=True)
    np.testing.assert_allclose(deviation**2, of_f**2 + model.noise_)
    covariance = model.predict(X[:9], return_cov=True, noise=True)[1]
    np.testing.assert_allclose(np.einsum("iij->ij", covariance), deviation**2, rtol=1e-4)
    without = model.predict(X[:9], return_cov=True)[1]
    np.testing.assert_allclose(covariance[0, 1:], without[0, 1:])
    np.testing.assert_array_equal(mean, model.predict(X[:9]))
    with pytest.raises(ValueError, match="Give return_std=True or return_cov=True"):
        model.predict(X[:9], noise=True)


def test_outputs_of_other_sizes_may_have_other_noises(regression):
    X, y = regression
    Y = np.column_stack([y, 10 * y])
    mean, deviation = process().fit(X, Y).predict(X, return_std=True)
    for j in range(2):
        alone = process().fit(X, Y[:, j])
        np.testing.assert_allclose(np.stack([mean[:, j], deviation[:, j]]), both(alone, X))
    with pytest.raises(ValueError, match="normalize_y=False"):
        of_kind("functions").fit(X, Y)


@every_feature
def test_a_weight_is_a_repetition(regression, features):
    X, y = regression
    given = Centers(given=X[:40]) if isinstance(features, Centers) else features
    weight = np.arange(400) % 3
    weighted = process(given).fit(X, y, weight)
    repeated = process(given).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(both(weighted, X), both(repeated, X), atol=1e-6)


@every_variance
def test_rows_of_little_weight_do_not_set_the_units(variance):
    rng = np.random.default_rng(0)
    X, wild = rng.uniform(-3, 3, size=(400, 1)), np.arange(400) % 2 == 0
    y = np.sin(2 * X[:, 0]) + np.where(wild, 100.0, 0.1) * rng.normal(size=400)
    model = KernelGaussianProcess(variance=variance, random_state=0)
    model.fit(X, y, np.where(wild, 1e-6, 1.0))
    assert 0.3 < model.predict([[30.0]], return_std=True)[1][0] < 5.0


@every_variance
@pytest.mark.parametrize("noise", ["auto", 0.0])
def test_weights_in_other_units_change_nothing_but_the_noise(regression, variance, noise):
    X, y = regression[0][:100], regression[1][:100]
    weight = np.linspace(0.5, 2.0, 100)
    one, two = (of_kind(variance).set_params(noise=noise).fit(X, y, f * weight) for f in (1, 1e-9))
    np.testing.assert_allclose(both(two, X), both(one, X), atol=1e-3)
    assert two.noise_ == pytest.approx(1e-9 * one.noise_, rel=1e-3)


def test_what_features_cannot_fit_is_noise_however_much_it_is(regression):
    X, y = regression
    model = KernelGaussianProcess(Laplacian(50.0), features=Binning(1), random_state=0)
    model.set_params(likelihood_rows=50, scales="equal").fit(X, y)
    best = model.log_marginal_likelihood()
    assert all(model.log_marginal_likelihood(f * model.noise_) < best for f in (0.8, 1.25))


@every_variance
def test_threads_change_nothing(regression, variance):
    X, y = regression
    one, two = (of_kind(variance, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(both(one, X), both(two, X))


def test_learned_scales_are_the_same_for_any_number_of_threads(regression):
    X, y = regression
    one, two = (KernelGaussianProcess(random_state=0, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.kernel_ == two.kernel_
    np.testing.assert_array_equal(both(one, X), both(two, X))


def test_a_column_that_says_nothing_gets_a_large_scale(regression):
    X, y = regression
    scales = KernelGaussianProcess(random_state=0).fit(X, y).kernel_.kernel.scales
    assert scales[2] > 5 * scales[0]
    equal = KernelGaussianProcess(scales="equal", random_state=0).fit(X, y)
    assert len(set(equal.kernel_.kernel.scales)) == 1


def test_the_greatest_likelihood_has_the_noise_of_the_data(regression):
    X, y = regression
    model = KernelGaussianProcess(random_state=0).fit(X, y)
    assert model.noise_ == pytest.approx(0.01, rel=0.5)
    best = model.log_marginal_likelihood()
    assert all(model.log_marginal_likelihood(f * model.noise_) < best for f in (0.5, 2.0))


def test_intervals_cover_what_they_should(regression):
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, size=(3_000, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=3_000)
    model = KernelGaussianProcess(random_state=0, likelihood_rows=300).fit(X[:2_000], y[:2_000])
    mean, deviation = model.predict(X[2_000:], return_std=True)
    width = 1.645 * np.sqrt(deviation**2 + model.noise_)
    assert np.mean(np.abs(y[2_000:] - mean) < width) == pytest.approx(0.9, abs=0.03)


@every_variance
def test_a_copy_predicts_the_same(regression, variance):
    X, y = regression
    model = of_kind(variance).fit(X[:200], y[:200])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(both(copy, X[200:]), both(model, X[200:]))


def test_sparse_rows_are_rows(regression):
    X, y = regression
    dense, sparse = process(Fourier(40)).fit(X, y), process(Fourier(40)).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(both(sparse, sp.csr_array(X)), both(dense, X), atol=1e-6)


def test_a_source_that_can_be_read_again_serves_functions(regression):
    X, y = regression
    source = of_kind("functions").fit(ArraySource(X, y))
    np.testing.assert_allclose(both(source, X), both(of_kind("functions").fit(X, y), X))


def test_another_noise_holds_for_rows_that_follow(regression):
    X, y = regression
    process = KernelGaussianProcess(Gaussian(1.0), features=Fourier(64), random_state=0)
    process.partial_fit(X, y).set_params(noise=0.5).partial_fit(X, y)
    assert process.noise_ == pytest.approx(0.5)
    with pytest.raises(ValueError, match="parameters of the first rows"):
        process.set_params(features=Fourier(32)).partial_fit(X, y)


def test_streams_have_no_centres_among_their_first_rows(regression):
    X, y = regression
    process = KernelGaussianProcess(Gaussian(1.0), random_state=0)
    process.fit(iter([(X, y)]))
    assert isinstance(process.basis_, FourierBasis)


def test_no_noise_is_as_little_as_can_be_told(regression):
    X, y = regression
    process = KernelGaussianProcess(noise=0.0, random_state=0).fit(X, y)
    assert np.isfinite(process.predict(X, return_std=True)).all()
