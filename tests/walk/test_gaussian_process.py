"""A Gaussian process refuses bad input with a sentence, or gives a finite result."""

import numpy as np
import pytest

from bochner import KernelGaussianProcess
from bochner.data import ArraySource
from bochner.features import Binning, Fourier
from bochner.kernels import Gaussian, Laplacian

X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0]


def refused(model, message, *data, **more):
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message) as error:
        model.fit(*data, **more)
    assert len(str(error.value)) > 20
    assert vars(model) == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": -1.0}, "noise must be a number from 0 on"),
        ({"noise": "much"}, "noise must be"),
        ({"noise": np.full(5, 0.1)}, "got 5 variances for"),
        ({"noise": np.zeros(60)}, "a finite positive variance for each row"),
        ({"noise": ["a", "b"]}, "a finite positive variance for each row"),
        ({"noise": np.ones((60, 2))}, "a finite positive variance for each row"),
        ({"variance": "none"}, "variance must be one of 'features'"),
        ({"scales": "best"}, "scales must be one of"),
        ({"scales": [1.0, 2.0]}, "one scale for each"),
        ({"likelihood_rows": 0}, "likelihood_rows must be"),
        ({"tol": -1}, "tol must be"),
        ({"max_seconds": 0}, "max_seconds must be None or a positive number"),
        ({"callbacks": print}, "callbacks must be None or a list of functions"),
        ({"kernel": "precomputed"}, "needs the kernel's values at new rows"),
        ({"kernel": lambda A, B: A @ B.T, "scales": "learn"}, "shift-invariant"),
        ({"features": "fourier"}, "needs a fixed number of features"),
        ({"features": Fourier(20_000), "kernel": "gaussian", "noise": 1.0}, "at most 10,000"),
        ({"variance": "operator", "features": Fourier(10_000)}, "at most 8,192 features"),
        ({"variance": "operator", "features": "centers"}, "number of random features"),
        (
            {"kernel": Laplacian(0.05), "features": Binning(400), "noise": 1.0},
            "at most 10,000 features",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(settings, message):
    refused(KernelGaussianProcess(**settings), message, X, Y)


def test_noises_of_rows_are_refused_where_rows_come_in_parts():
    model = KernelGaussianProcess(noise=np.full(len(X), 0.1), random_state=0)
    refused(model, "weights = noise / noises of the rows", iter([(X, Y)]))
    with pytest.raises(ValueError, match="sample_weight = noise / noises of the rows"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="Give noise=True"):
        model.fit(X, Y).predict(ArraySource(X), return_std=True, noise=np.full(len(X), 0.1))
    with pytest.raises(ValueError, match="got 3 variances for 2 rows"):
        model.predict(X[:2], return_std=True, noise=np.ones(3))


@pytest.mark.parametrize("variance", ["operator", "functions"])
def test_streams_are_for_features(variance):
    blocks = ((X[i : i + 20], Y[i : i + 20]) for i in (0, 20, 40))
    refused(KernelGaussianProcess(variance=variance), "variance='features'", blocks)
    assert not hasattr(KernelGaussianProcess(variance=variance), "partial_fit")
    early = KernelGaussianProcess(np.dot, variance=variance, scales="learn")  # no such scales
    refused(early, "got a stream", ((X, Y) for _ in range(2)))


def test_an_operator_knows_no_likelihood():
    with pytest.raises(AttributeError) as error:
        KernelGaussianProcess(variance="operator").log_marginal_likelihood()
    assert "variance='features'" in str(error.value.__cause__)


def test_a_failed_part_leaves_what_was_known():
    model = KernelGaussianProcess(Gaussian(1.0), 0.1, features=Fourier(20), random_state=0)
    model.partial_fit(X, Y)
    before = model.predict(X)
    bad = ((X[:20], Y[:20] if i == 0 else np.full(20, np.nan)) for i in range(2))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad)
    np.testing.assert_array_equal(model.predict(X), before)


def test_too_many_rows_for_a_covariance_are_refused():
    model = KernelGaussianProcess("gaussian", 0.1).fit(X, Y)
    many = np.zeros((5_001, 3))
    assert np.isfinite(model.predict(many, return_std=True)[1]).all()
    for ask in (model.sample_y, lambda rows: model.predict(rows, return_cov=True)):
        with pytest.raises(ValueError, match="at most 5,000 rows"):
            ask(many)
    with pytest.raises(ValueError, match="At most one"):
        model.predict(X, return_std=True, return_cov=True)


@pytest.mark.parametrize("variance", ["features", "operator", "functions"])
def test_constant_targets_have_a_constant_mean_and_finite_deviations(variance):
    features = Fourier(32) if variance == "operator" else "auto"
    model = KernelGaussianProcess(variance=variance, features=features, random_state=0)
    mean, deviation = model.fit(X, np.full(60, 7.0)).predict(X, return_std=True)
    np.testing.assert_allclose(mean, 7.0)
    assert np.isfinite(deviation).all()
    assert np.isfinite(model.noise_)


def test_large_constant_targets_are_constant_though_their_mean_rounds():
    small, large = (
        KernelGaussianProcess(random_state=0).fit(X, np.full(60, y)).predict(X, return_std=True)
        for y in (7.0, 1e9 + 0.3)
    )
    np.testing.assert_allclose(large[0], 1e9 + 0.3, rtol=1e-15)
    np.testing.assert_allclose(large[1], small[1])


@pytest.mark.parametrize("variance", ["features", "functions"])
def test_equal_rows_without_noise_have_the_mean_of_their_targets(variance):
    rows = np.repeat(X[:20], 2, axis=0)
    y = np.repeat(Y[:20], 2) + np.tile([-0.1, 0.1], 20)
    model = KernelGaussianProcess(Gaussian(1.0), 0.0, variance, random_state=0).fit(rows, y)
    mean, deviation = model.predict(X[:20], return_std=True)
    np.testing.assert_allclose(mean, Y[:20], atol=1e-3)
    assert (deviation < 0.02).all()


def test_rows_of_no_weight_are_refused():
    refused(KernelGaussianProcess(), "non-zero|positive weight", X, Y, sample_weight=np.zeros(60))
