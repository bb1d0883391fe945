"""Gaussian process regression beside scikit-learn's.

`noise` is the variance on the diagonal, which scikit-learn calls alpha. Here it is in the units of
y and at least 1e-8 k(x, x), there it is in normalised units and 1e-10 by default.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as peer

from bochner import KernelGaussianProcess
from bochner.kernels import DotProduct, Gaussian, Laplacian, Matern, RationalQuadratic
from peers.agreement import assert_agree

X = np.array([[1.0], [3.0], [5.0], [6.0], [7.0], [8.0]])
T = np.array([[2.0], [4.0], [5.5], [6.5], [7.5]])
y = (X * np.sin(X))[:, 0]
KERNELS = {
    "Gaussian": (peer.RBF(1.0), Gaussian(1.0)),
    "four Gaussians": (peer.ConstantKernel(4.0) * peer.RBF(1.0), 4.0 * Gaussian(1.0)),
    "a half Gaussian and a constant": (
        peer.ConstantKernel(0.5) * peer.RBF(1.0) + peer.ConstantKernel(0.1),
        0.5 * Gaussian(1.0) + DotProduct([0.1]),
    ),
    "Matern": (peer.Matern(2.0, nu=1.5), Matern(2.0, nu=1.5)),
    "rough Matern": (peer.Matern(1.0, nu=0.5), Laplacian(1.0)),
    "rational quadratic": (peer.RationalQuadratic(1.0, 0.7), RationalQuadratic(1.0, shape=0.7)),
    "lines and a Gaussian": (
        peer.DotProduct(1.0) + peer.RBF(1.0),
        DotProduct([1.0, 1.0]) + Gaussian(1.0),
    ),
    "a product": (
        peer.Matern(2.0, nu=2.5) * peer.RationalQuadratic(1.0, 2.0),
        Matern(2.0, nu=2.5) * RationalQuadratic(1.0, shape=2.0),
    ),
}
every_kernel = pytest.mark.parametrize(("theirs", "ours"), KERNELS.values(), ids=KERNELS)
normalized = pytest.mark.parametrize("normalize", [False, True], ids=["as given", "normalised"])
exactly = pytest.mark.parametrize("variance", ["features", "functions"])


def process(kernel="auto", noise="auto", variance="features", **settings):
    return KernelGaussianProcess(kernel, noise, variance, random_state=0, **settings)


def peer_process(kernel, noise, normalize=False, target=y):
    """Return scikit-learn's process of a given kernel."""
    alpha = noise / target.var() if normalize else noise
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, normalize_y=normalize)


def sines(rows, columns, noise, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.uniform(-2, 2, size=(rows, columns))
    return A, np.sin(2 * A[:, 0]) + 0.5 * A[:, -1] + noise * rng.normal(size=rows)


@every_kernel
@exactly
def test_without_noise_the_mean_goes_through_the_targets(theirs, ours, variance):
    mean, covariance = process(ours, 0.0, variance).fit(X, y).predict(X, return_cov=True)
    assert_agree(mean, y, y)
    assert np.abs(covariance).max() < 1e-5 * y.var()


@every_kernel
@normalized
@pytest.mark.parametrize("noise", [1e-4, 0.5])
@exactly
def test_mean_and_covariance_are_those_of_scikit_learn(theirs, ours, normalize, noise, variance):
    expected = peer_process(theirs, noise, normalize).fit(X, y)
    model = process(ours, noise, variance, normalize_y=normalize).fit(X, y)
    mean, covariance = model.predict(T, return_cov=True)
    peer_mean, peer_covariance = expected.predict(T, return_cov=True)
    assert_agree(mean, peer_mean, y)
    np.testing.assert_allclose(covariance, peer_covariance, atol=1e-6 * y.var())
    deviation = model.predict(T, return_std=True)[1]
    np.testing.assert_allclose(deviation, np.sqrt(np.diag(covariance)), atol=1e-8)


@every_kernel
@normalized
def test_the_likelihood_is_that_of_scikit_learn(theirs, ours, normalize):
    """Here it is the density of y, there of normalised y: n log(deviation) lies between them."""
    expected = peer_process(theirs, 0.1, normalize).fit(X, y).log_marginal_likelihood_value_
    model = process(ours, 0.1, normalize_y=normalize).fit(X, y)
    between = len(y) * np.log(y.std()) if normalize else 0.0
    assert model.log_marginal_likelihood() == pytest.approx(expected - between, abs=1e-6)


@pytest.mark.parametrize("noise", [1e-3, 0.01, 1.0, 10.0])
def test_the_likelihood_of_another_noise_is_that_of_scikit_learn(noise):
    expected = peer_process(peer.RBF(1.0), noise).fit(X, y).log_marginal_likelihood_value_
    model = process(Gaussian(1.0), 0.1, normalize_y=False).fit(X, y)
    assert model.log_marginal_likelihood(noise) == pytest.approx(expected, abs=1e-6)


DECAYING = [
    "Gaussian",
    "four Gaussians",
    "Matern",
    "rough Matern",
    "rational quadratic",
    "a product",
]


@pytest.mark.parametrize("name", DECAYING)
def test_far_from_all_rows_a_process_is_its_prior(name):
    """The prior's mean is that of y if y is normalised, and 0 in scikit-learn's units."""
    theirs, ours = KERNELS[name]
    mean, deviation = process(ours, 0.1).fit(X, y).predict([[1e6]], return_std=True)
    assert mean[0] == pytest.approx(y.mean(), abs=1e-4)
    assert deviation[0] ** 2 == pytest.approx(theirs.diag(T)[0] * y.var(), rel=1e-6)


def test_a_process_that_is_not_fitted_predicts_nothing():
    """scikit-learn predicts the prior; here most kernels take their bandwidth from the rows."""
    with pytest.raises(NotFittedError):
        process(Gaussian(1.0)).predict(T)
    with pytest.raises(NotFittedError):
        process(Gaussian(1.0)).sample_y(T)


@every_kernel
def test_drawn_functions_have_the_mean_and_the_variance_of_the_posterior(theirs, ours):
    model = process(ours, 0.1).fit(X, y)
    drawn = model.sample_y(T, 20_000)
    mean, covariance = model.predict(T, return_cov=True)
    size = np.sqrt(np.diag(covariance).max())
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=0.05 * size)
    np.testing.assert_allclose(np.cov(drawn), covariance, atol=0.05 * size**2)


def test_the_same_seed_draws_the_same_functions():
    model = process(Gaussian(1.0), 0.1).fit(X, y)
    np.testing.assert_array_equal(model.sample_y(T, 3), model.sample_y(T, 3))
    assert (model.sample_y(T, 3, random_state=1) != model.sample_y(T, 3)).any()


@pytest.mark.parametrize("kernel", [Gaussian(1.3), Matern(2.0), 3.0 * Gaussian(0.7)])
def test_a_kernel_with_numbers_stays_as_it_is_given(kernel):
    assert process(kernel).fit(X, y).kernel_ == kernel


@pytest.mark.parametrize("scales", ["learn", "equal"])
@pytest.mark.parametrize("start", [0.3, 1.0, 5.0])
def test_learning_raises_the_likelihood(scales, start):
    A, b = sines(60, 2, 0.1)
    given = process(Gaussian(start), 0.3).fit(A, b).log_marginal_likelihood()
    learned = process(Gaussian(start), scales=scales).fit(A, b).log_marginal_likelihood()
    assert learned > given


LINE, PLANE = np.linspace(0, 10, 60)[:, None], np.random.default_rng(3).normal(size=(40, 2))
DATA = {
    "six rows": (X, y),
    "little noise": sines(60, 2, 0.01),
    "some noise": sines(60, 2, 0.3),
    "mostly noise": sines(80, 3, 3.0),
    "a step": (LINE, 1.0 * (LINE[:, 0] > 5)),
    "fast and slow": (PLANE, np.sin(PLANE @ [3, 1])),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("A", "b"), DATA.values(), ids=DATA)
def test_the_largest_likelihood_found_is_no_lower_than_scikit_learns(A, b):
    kernel = peer.ConstantKernel() * peer.RBF(A.std(axis=0), (1e-3, 1e6))
    theirs = GaussianProcessRegressor(
        kernel + peer.WhiteKernel(0.1, (1e-8, 1e2)), alpha=0, normalize_y=True
    ).fit(A, b)
    expected = theirs.log_marginal_likelihood_value_ - len(b) * np.log(b.std())
    assert process().fit(A, b).log_marginal_likelihood() > expected - 0.5  # of several maxima


@pytest.mark.parametrize(("A", "b"), list(DATA.values())[2:5], ids=list(DATA)[2:5])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_learned_parameters_are_a_local_maximum(A, b, factor):
    model = process().fit(A, b)
    best, scaled = model.log_marginal_likelihood() + 1e-3, model.kernel_
    assert model.log_marginal_likelihood(factor * model.noise_) < best
    others = [factor * scaled] + [
        scaled.column_scaled(np.where(np.arange(A.shape[1]) == j, factor, 1.0))
        for j in range(A.shape[1])
    ]
    for kernel in others:
        assert process(kernel, model.noise_).fit(A, b).log_marginal_likelihood() < best


def test_a_column_that_matters_less_gets_a_larger_scale():
    rng = np.random.default_rng(0)
    A = rng.uniform(-1, 1, size=(50, 2))
    kernel = process().fit(A, A[:, 0] + 0.1 * A[:, 1]).kernel_.kernel
    assert kernel.scales[1] > 5 * kernel.scales[0]


@every_kernel
def test_normalised_targets_are_normalised_by_hand(theirs, ours):
    by_hand = process(ours, 0.1 / y.var(), normalize_y=False).fit(X, (y - y.mean()) / y.std())
    model = process(ours, 0.1).fit(X, y)
    (mean, covariance), (found, spread) = (
        one.predict(T, return_cov=True) for one in (by_hand, model)
    )
    assert_agree(found, mean * y.std() + y.mean(), y)
    np.testing.assert_allclose(spread, covariance * y.var(), atol=1e-7 * y.var())


def test_targets_of_a_large_variance_have_the_predictions_of_gpy():
    """An RBF kernel and a noise learned from 10 y: the figures that scikit-learn is tested by."""
    mean, deviation = process().fit(X, 10 * y).predict(T, return_std=True)
    np.testing.assert_allclose(mean, [15.169, -27.987, -39.316, 14.526, 69.185], rtol=0.07)
    np.testing.assert_allclose(deviation, [7.789, 3.832, 0.631, 0.527, 0.862], rtol=0.15)


@exactly
def test_several_outputs_are_processes_of_one_kernel(variance):
    one = process(Gaussian(1.0), 0.01, variance, normalize_y=False).fit(X, y)
    two = process(Gaussian(1.0), 0.01, variance, normalize_y=False).fit(
        X, np.column_stack([y, 2 * y])
    )
    mean, deviation = one.predict(T, return_std=True)
    both, spread = two.predict(T, return_std=True)
    assert_agree(both, np.column_stack([mean, 2 * mean]), np.column_stack([y, 2 * y]))
    np.testing.assert_allclose(spread, np.column_stack([deviation, deviation]), rtol=1e-6)
    covariance = two.predict(T, return_cov=True)[1]
    for output in range(2):
        np.testing.assert_allclose(
            covariance[:, :, output], one.predict(T, return_cov=True)[1], atol=1e-8
        )


def test_the_same_output_twice_learns_the_same_kernel():
    A, b = sines(40, 2, 0.2)
    one, two = process().fit(A, b), process().fit(A, np.column_stack([b, b]))
    np.testing.assert_allclose(two.kernel_.kernel.scales, one.kernel_.kernel.scales, rtol=0.01)
    assert two.kernel_.factor == pytest.approx(one.kernel_.factor, rel=0.01)
    np.testing.assert_allclose(two.noise_, one.noise_, rtol=0.01)


@every_kernel
def test_a_row_twice_with_two_targets_is_two_rows_very_near(theirs, ours):
    rows, near = np.vstack([X, X[:1]]), np.vstack([X, X[:1] + 1e-13])
    targets, new = np.append(y, y[0] + 1), np.linspace(0, 10, 100)[:, None]
    equal, other = (
        process(ours, 0.01).fit(A, targets).predict(new, return_std=True) for A in (rows, near)
    )
    assert_agree(equal[0], other[0], y)
    np.testing.assert_allclose(equal[1], other[1], atol=1e-6)


@every_kernel
@pytest.mark.parametrize("value", [0.0, 1.0, -1e6])
def test_a_constant_target_has_the_deviation_one(theirs, ours, value):
    model = process(ours, 0.0).fit(X, np.full(6, value))
    mean, covariance = model.predict(X, return_cov=True)
    np.testing.assert_allclose(mean, value, rtol=1e-6)
    np.testing.assert_allclose(np.diag(covariance), 0.0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["auto", Gaussian(1.0)], ids=["learned", "given"])
def test_a_constant_output_beside_another_stays_constant(kernel):
    targets = np.column_stack([y, np.full(6, 2.0)])
    mean, covariance = process(kernel, 0.0).fit(X, targets).predict(X, return_cov=True)
    assert mean.shape == (6, 2)
    assert covariance.shape == (6, 6, 2)
    np.testing.assert_allclose(mean[:, 1], 2.0, rtol=1e-6)
    np.testing.assert_allclose(np.diag(covariance[:, :, 1]), 0.0, atol=1e-6)


@exactly
def test_deviations_agree_with_covariances_of_a_kernel_that_cannot_be_inverted(variance):
    angles = np.arange(6) * np.pi / 3
    A = 1.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    kernel = 9e5 * Gaussian(1.0).column_scaled([591.0, 1326.0])
    model = process(kernel, 1e-5, variance, normalize_y=False).fit(A, A[:, 0] - 2 * A[:, 1])
    deviation = model.predict(2 * A, return_std=True)[1]
    covariance = model.predict(2 * A, return_cov=True)[1]
    np.testing.assert_allclose(deviation, np.sqrt(np.diag(covariance)), rtol=1e-5)


def test_deviations_and_covariances_are_not_given_together():
    """scikit-learn raises a RuntimeError here."""
    with pytest.raises(ValueError, match="return_std and return_cov"):
        process(Gaussian(1.0), 0.1).fit(X, y).predict(T, return_std=True, return_cov=True)


@normalized
@pytest.mark.parametrize("outputs", [None, 1, 2, 10])
def test_shapes_are_those_of_the_targets(normalize, outputs):
    """A column of targets comes back as a column; scikit-learn drops its axis."""
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(9, 6)), rng.normal(size=(7, 6))
    shape = () if outputs is None else (outputs,)
    model = process(normalize_y=normalize).fit(A, rng.normal(size=(9, *shape)))
    mean, deviation = model.predict(B, return_std=True)
    assert mean.shape == deviation.shape == (7, *shape)
    assert model.predict(B, return_cov=True)[1].shape == (7, 7, *shape)
    assert model.sample_y(B, 5).shape == (7, *shape, 5)
    assert model.sample_y(B).shape == (7, *shape, 1)


def test_nothing_that_is_given_is_changed():
    rows, targets, new = X.copy(), y.copy(), T.copy()
    model = process(Gaussian(1.0)).fit(rows, targets)
    model.predict(new, return_std=True)
    model.sample_y(new)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(targets, y)
    np.testing.assert_array_equal(new, T)


@exactly
@normalized
def test_weights_are_noises_of_the_rows(variance, normalize):
    """scikit-learn takes alpha for each row, here the noise of a row is noise / weight.

    With weights the mean and the deviation of y are weighted, too, which alpha does not do.
    """
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 6)
    mean = np.average(y, weights=weight) if normalize else 0.0
    size = np.average((y - mean) ** 2, weights=weight) if normalize else 1.0
    theirs = GaussianProcessRegressor(peer.RBF(1.0), alpha=0.3 / weight / size, optimizer=None).fit(
        X, (y - mean) / np.sqrt(size)
    )
    model = process(Gaussian(1.0), 0.3, variance, normalize_y=normalize).fit(X, y, weight)
    expected, deviation = theirs.predict(T, return_std=True)
    found, spread = model.predict(T, return_std=True)
    assert_agree(found, mean + expected * np.sqrt(size), y)
    np.testing.assert_allclose(spread, deviation * np.sqrt(size), rtol=1e-5)


@exactly
def test_noises_of_the_rows_are_alpha(variance):
    noises = np.random.default_rng(0).uniform(0.02, 2.0, len(X))
    theirs = GaussianProcessRegressor(peer.RBF(1.0), alpha=noises, optimizer=None).fit(X, y)
    model = process(Gaussian(1.0), noises, variance, normalize_y=False).fit(X, y)
    expected, deviation = theirs.predict(T, return_std=True)
    found, spread = model.predict(T, return_std=True)
    assert_agree(found, expected, y)
    np.testing.assert_allclose(spread, deviation, rtol=1e-5)
    wanted = theirs.log_marginal_likelihood_value_
    assert model.log_marginal_likelihood() == pytest.approx(wanted, rel=1e-5)
    assert model.noise_ == pytest.approx(1 / np.mean(1 / noises))
    new = np.linspace(0.1, 5.0, len(T))
    both = model.predict(T, return_std=True, noise=new)[1]
    np.testing.assert_allclose(both**2, spread**2 + new)
    covariance = model.predict(T, return_cov=True, noise=new)[1]
    np.testing.assert_allclose(covariance.diagonal(), both**2, rtol=1e-5)


@normalized
def test_equal_noises_of_the_rows_are_one_noise(normalize):
    given = {"normalize_y": normalize, "kernel": Gaussian(1.0)}
    one, many = process(noise=0.3, **given), process(noise=np.full(len(X), 0.3), **given)
    weight = np.arange(1.0, 1.0 + len(X))
    for by in (None, weight):
        expected = one.fit(X, y, by).predict(T, return_std=True, noise=True)
        np.testing.assert_allclose(many.fit(X, y, by).predict(T, True, noise=True), expected)


def test_noises_of_rows_help_where_they_differ():
    A, b = sines(300, 2, 0.0)
    noises = np.where(np.arange(300) % 2 == 0, 1e-4, 4.0)
    b = b + np.sqrt(noises) * np.random.default_rng(1).normal(size=300)
    clean = sines(100, 2, 0.0, seed=1)
    scores = [process(noise=noise).fit(A, b).score(*clean) for noise in ("auto", noises)]
    assert scores[1] > 0.99 > scores[0]


@pytest.mark.parametrize("form", [np.float32, csr_array, list], ids=["single", "sparse", "list"])
def test_rows_of_every_form_have_the_same_posterior(form):
    A, b = sines(50, 3, 0.1)
    A = np.where(A > 0, A, 0.0)
    taken = A.astype(np.float32) if form is np.float32 else form(A.tolist() if form is list else A)
    expected = peer_process(peer.RBF(1.0), 0.1).fit(A, b).predict(A, return_std=True)
    model = process(Gaussian(1.0), 0.1, normalize_y=False).fit(taken, b)
    mean, deviation = model.predict(taken, return_std=True)
    assert_agree(mean, expected[0], b)
    np.testing.assert_allclose(deviation, expected[1], atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [peer.RBF(1.0), peer.Matern(2.0, nu=2.5), peer.ExpSineSquared(1.0, 3.0) + peer.DotProduct()],
    ids=["Gaussian", "Matern", "periodic and lines"],
)
def test_a_kernel_of_scikit_learn_is_a_kernel_here(kernel):
    expected = peer_process(kernel, 0.1).fit(X, y).predict(T, return_std=True)
    model = process(kernel, 0.1, normalize_y=False).fit(X, y)
    mean, deviation = model.predict(T, return_std=True)
    assert_agree(mean, expected[0], y)
    np.testing.assert_allclose(deviation, expected[1], atol=1e-6)


def test_rows_of_text_are_refused():
    """scikit-learn gives structured rows to the kernel as they are; rows are numbers here."""
    with pytest.raises(ValueError, match="could not convert string to float"):
        process(lambda a, b: np.ones((len(a), len(b)))).fit(["A", "B", "C"], [1, 2, 3])
