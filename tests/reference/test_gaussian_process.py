"""The posterior of a Gaussian process beside its closed form, and beside scikit-learn's."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from bochner import KernelGaussianProcess
from bochner.features import Binning, Centers, Fourier
from bochner.kernels import Gaussian, Laplacian, Matern
from bochner.posterior import ExactLikelihood
from bochner.solvers import ConjugateGradient, DoublyStochastic, Nystroem, Preconditioned

NOISE = 0.1
KERNEL = Gaussian(1.5)
NEWTON = DoublyStochastic(step=Preconditioned(caution=0.0), feature_block=128)


@pytest.fixture
def rows(regression):
    """Training rows, targets and weights, and rows to predict."""
    X, y = regression
    return X[:300], y[:300], np.random.default_rng(2).uniform(0.5, 3.0, 300), X[300:]


def closed(kernel, X, y, T, noise=NOISE, weight=1.0):
    """Return mean and covariance by Rasmussen and Williams 2006, Eq. 2.23 and 2.24."""
    K, k = kernel(X) + noise * np.diag(np.broadcast_to(1 / weight, len(X))), kernel(T, X)
    return k @ np.linalg.solve(K, y), kernel(T) - k @ np.linalg.solve(K, k.T)


def process(**settings):
    return KernelGaussianProcess(KERNEL, NOISE, normalize_y=False, random_state=0, **settings)


def assert_close(model, T, mean, covariance, tolerance):
    found, deviation = model.predict(T, return_std=True)
    np.testing.assert_allclose(found, mean, atol=tolerance)
    np.testing.assert_allclose(deviation**2, np.diag(covariance), atol=tolerance)


@pytest.mark.parametrize(
    "settings",
    [
        {"features": Centers()},
        {"variance": "functions"},
        {"variance": "functions", "features": Centers(300), "solver": Nystroem(1e-10)},
    ],
)
def test_all_rows_as_centers_are_the_exact_posterior(rows, settings):
    X, y, weight, T = rows
    model = process(**settings).fit(X, y, weight)
    assert_close(model, T, *closed(KERNEL, X, y, T, weight=weight), 1e-6)
    found = model.predict(T, return_cov=True)[1]
    np.testing.assert_allclose(found, closed(KERNEL, X, y, T, weight=weight)[1], atol=1e-6)


@pytest.mark.parametrize("features", [Fourier(50), Binning(4)])
def test_features_have_the_posterior_of_their_products(rows, features):
    X, y, weight, T = rows
    kernel = Laplacian(5.0) if isinstance(features, Binning) else KERNEL
    model = process(features=features).set_params(kernel=kernel).fit(X, y, weight)
    basis = model.basis_
    Z, P = (np.asarray(basis.columns(basis.encode(A)), np.float64) for A in (X, T))
    A = Z.T @ (weight[:, None] * Z) + NOISE * np.eye(Z.shape[1])
    mean = P @ np.linalg.solve(A, Z.T @ (weight * y))
    covariance = NOISE * P @ np.linalg.solve(A, P.T) + np.diag(1 - np.square(P).sum(axis=1))
    assert_close(model, T, mean, covariance, 1e-9)


def test_few_centers_know_what_they_do_not_know(rows):
    X, y, _, T = rows
    model = process(features=Centers(20)).fit(X, y)
    C = model.basis_.centers.centers + model.basis_.centers.centring.centre
    Kuu, Kuf, Kus = KERNEL(C), KERNEL(C, X), KERNEL(C, T)
    S = np.linalg.inv(NOISE * Kuu + Kuf @ Kuf.T)
    variance = 1 - np.einsum("ij,ij->j", Kus, np.linalg.solve(Kuu, Kus) - NOISE * (S @ Kus))
    assert_close(model, T, Kus.T @ S @ Kuf @ y, np.diag(variance), 1e-6)
    far = model.predict(np.full((1, 3), 50.0), return_std=True)
    assert far[0] == pytest.approx(0.0, abs=1e-9)
    assert far[1] == pytest.approx(1.0)


def test_the_operator_is_the_posterior_of_its_features(rows):
    X, y, weight, T = rows
    exact = process(features=Fourier(64)).fit(X, y, weight)
    learned = process(variance="operator", features=Fourier(64), solver=ConjugateGradient(1e-8))
    mean, covariance = exact.predict(T, return_cov=True)
    assert_close(learned.fit(X, y, weight), T, mean, covariance, 1e-3)


def distance(model, T, covariance):
    return np.abs(model.predict(T, return_std=True)[1] ** 2 - np.diag(covariance)).mean()


def test_functions_on_waves_have_the_posterior_of_these(rows):
    """Targets of the kernel itself would miss it by what the waves miss of the kernel."""
    X, y, weight, T = rows
    settings = {"variance": "functions", "solver": ConjugateGradient(tol=1e-6)}
    model = process(features=Fourier(256), **settings).fit(X, y, weight)
    closed_form = process(features=Fourier(256)).fit(X, y, weight)
    mean, covariance = closed_form.predict(T, return_cov=True)
    assert_close(model, T, mean, covariance, 1e-3)
    np.testing.assert_allclose(model.predict(T, return_cov=True)[1], covariance, atol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "settings", [{"variance": "operator", "features": Fourier(512)}, {"variance": "functions"}]
)
def test_doubly_stochastic_gradients_come_to_the_variance(rows, settings):
    X, y, _, T = rows
    covariance = closed(KERNEL, X, y, T)[1]
    few, many = (
        process(solver=NEWTON, max_passes=passes, tol=0.0, **settings).fit(X, y)
        for passes in (1, 100)
    )
    assert distance(many, T, covariance) < 0.3 * distance(few, T, covariance)
    assert distance(many, T, covariance) < 0.05


@pytest.mark.parametrize("kernel", [Gaussian(1.2), Matern(2.0)])
def test_slopes_are_those_of_the_likelihood(rows, kernel):
    X, y, weight, _ = rows
    likelihood = ExactLikelihood(kernel, X[:60], y[:60, None], weight[:60])
    begin = np.log([1.3, 0.2, 1.0, 2.0, 0.7])

    def value(t):
        return likelihood(np.exp(t[0]), np.exp(t[1]), np.exp(t[2:]))

    found, slopes = likelihood.with_gradient(1.3, 0.2, np.exp(begin[2:]))
    steps = 1e-5 * np.eye(5)
    numeric = [(value(begin + step) - value(begin - step)) / 2e-5 for step in steps]
    assert found == pytest.approx(value(begin))
    np.testing.assert_allclose(slopes, numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("normalize", [False, True])
def test_the_likelihood_is_the_density_of_the_targets(rows, normalize):
    X, y, weight, _ = rows
    model = process(features=Centers()).set_params(normalize_y=normalize).fit(X, y, weight)
    shift = np.average(y, weights=weight) if normalize else 0.0
    size = np.average((y - shift) ** 2, weights=weight) if normalize else 1.0
    C = size * KERNEL(X) + NOISE * np.diag(1 / weight)
    determinant = np.linalg.slogdet(C)[1]
    rest = y - shift
    expected = -0.5 * (rest @ np.linalg.solve(C, rest) + determinant + 300 * np.log(2 * np.pi))
    assert model.log_marginal_likelihood() == pytest.approx(expected, rel=1e-6)
    assert model.log_marginal_likelihood(NOISE) == pytest.approx(expected, rel=1e-6)


def test_functions_have_the_likelihood_of_the_exact_posterior(rows):
    X, y, weight, _ = rows
    weight[::7] = 0
    Y = np.column_stack([y, y**2])
    settings = {"noise": "auto", "normalize_y": True}
    exact = process(features=Centers()).set_params(**settings).fit(X, Y, weight)
    model = process(variance="functions").set_params(**settings).fit(X, Y, weight)
    expected = exact.log_marginal_likelihood(NOISE)
    assert model.log_marginal_likelihood(NOISE) == pytest.approx(expected, rel=1e-6)
    same = model.set_params(noise=NOISE, normalize_y=False).fit(X, y, weight)
    assert same.log_marginal_likelihood() == same.log_marginal_likelihood(NOISE)
    # A row of weight 0 is no row.
    with pytest.raises(ValueError, match=r"likelihood_rows=256 rows; got 257. Raise"):
        model.set_params(likelihood_rows=256).log_marginal_likelihood()


def test_what_is_learned_is_what_scikit_learn_learns(rows):
    X, y, _, T = rows
    theirs = GaussianProcessRegressor(
        ConstantKernel() * RBF(np.ones(3), (1e-5, 1e7)) + WhiteKernel(), normalize_y=True
    ).fit(X, y)
    ours = KernelGaussianProcess(random_state=0).fit(X, y)
    assert ours.log_marginal_likelihood() > theirs.log_marginal_likelihood_value_ - 1.0 - (
        len(y) * np.log(y.std())
    )
    mean, deviation = theirs.predict(T, return_std=True)
    noise = np.exp(theirs.kernel_.theta[-1]) * y.var()
    found, spread = ours.predict(T, return_std=True)
    np.testing.assert_allclose(found, mean, atol=0.05)
    np.testing.assert_allclose(spread**2 + ours.noise_, deviation**2, atol=0.01)
    assert ours.noise_ == pytest.approx(noise, rel=0.1)


def test_samples_have_mean_and_covariance_of_the_posterior(rows):
    X, y, _, T = rows
    model = process().fit(X, y)
    drawn = model.sample_y(T[:5], 20_000, random_state=1)
    mean, covariance = model.predict(T[:5], return_cov=True)
    assert drawn.shape == (5, 20_000)
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(drawn), covariance, atol=0.02)
    np.testing.assert_array_equal(drawn, model.sample_y(T[:5], 20_000, random_state=1))
