"""Quantiles beside scikit-learn's linear quantile regression.

QuantileRegressor minimises the pinball loss plus alpha times the sum of absolute slopes by a linear
program. Here the penalty is alpha/2 |f|^2 and the loss is smoothed within a width: with little
penalty and a small width both have the same minimum.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

from bochner import KernelQuantileRegressor, KernelRegressor
from bochner.features import Binning, NystroemFeatures
from bochner.kernels import DotProduct, Gaussian, Laplacian
from bochner.losses import Absolute, Huber, Quantile
from bochner.solvers import Newton
from peers.agreement import assert_agree

SHARES = [0.1, 0.5, 0.9]
LINES = DotProduct([0.0, 1.0])
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def noisy_lines(rows=200, columns=3, seed=0):
    """Return rows and a linear target whose noise is as large as the rest, and skewed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return X, X @ np.arange(1, columns + 1) + rng.exponential(3.0, size=rows)


def line(loss, alpha=1e-6, **settings):
    """Return linear regression by a loss, near the minimum."""
    settings = {"fit_intercept": True, "early_stopping": False} | settings
    return KernelRegressor(
        LINES,
        loss,
        features=NystroemFeatures(32),
        solver=Newton(1e-4),
        alpha=alpha,
        random_state=0,
        **settings,
    )


# ------------------------------------------------------------- the minimum


@pytest.mark.parametrize(
    ("share", "slope"), [(0.51, 10.0), (0.49, 1.0)], ids=["above the median", "below the median"]
)
def test_two_targets_at_one_row_are_parted_by_the_share(share, slope):
    X, y = np.array([[0.0], [1.0], [1.0]]), [1.0, 2.0, 11.0]
    theirs = QuantileRegressor(quantile=share, alpha=0).fit(X, y)
    low, high = line(Quantile(share, 1e-3), 1e-5).fit(X, y).predict([[0.0], [1.0]])
    assert low == pytest.approx(theirs.intercept_, abs=0.01)
    assert high - low == pytest.approx(theirs.coef_[0], abs=0.01) == pytest.approx(slope, abs=0.01)


def test_the_median_of_two_targets_lies_between_them():
    X, y = np.array([[0.0], [1.0], [1.0]]), [1.0, 2.0, 11.0]
    low, high = line(Quantile(0.5, 1e-3), 1e-5).fit(X, y).predict([[0.0], [1.0]])
    assert low == pytest.approx(1, abs=0.01)
    assert 1.99 < high < 11.01


@pytest.mark.parametrize("share", SHARES)
def test_a_large_penalty_leaves_the_quantile_of_all_targets(share):
    X, y = noisy_lines()
    found = line(Quantile(share, 1e-2), 1e6).fit(X, y).predict(X)
    expected = QuantileRegressor(quantile=share, alpha=100).fit(X, y).predict(X)
    assert_agree(found, expected, y, 0.02)
    assert (y < found).mean() == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("share", [0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("intercept", [True, False])
def test_lines_are_those_of_linear_quantile_regression(share, intercept):
    X, y = noisy_lines()
    theirs = QuantileRegressor(quantile=share, alpha=0, fit_intercept=intercept).fit(X, y)
    model = line(Quantile(share, 0.05), fit_intercept=intercept).fit(X, y)
    losses = [mean_pinball_loss(y, m.predict(X), alpha=share) for m in (model, theirs)]
    assert losses[0] == pytest.approx(losses[1], rel=2e-3)
    assert_agree(model.predict(X), theirs.predict(X), y, 0.1)


@pytest.mark.parametrize("share", SHARES)
def test_the_share_of_targets_lies_below(share):
    X, y = noisy_lines(1_000, 5)
    model = line(Quantile(share, 0.1)).fit(X, y)
    assert (y < model.predict(X)).mean() == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("share", SHARES)
def test_the_share_of_the_weight_lies_below(share):
    X, y = noisy_lines(1_000)
    weight = np.where(y > y.mean(), 100.0, 1.0)
    plain, heavy = (line(Quantile(share, 0.1)).fit(X, y, w).predict(X) for w in (None, weight))
    assert (y < heavy).mean() > (y < plain).mean()
    assert np.average(y < heavy, weights=weight) == pytest.approx(share, abs=0.03)
    theirs = QuantileRegressor(quantile=share, alpha=0).fit(X, y, weight).predict(X)
    losses = [mean_pinball_loss(y, f, sample_weight=weight, alpha=share) for f in (heavy, theirs)]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_skewed_noise_has_its_quantiles(share):
    """Exponential noise whose quantile at this share is linear in the rows."""
    rng = np.random.default_rng(42)
    X = np.column_stack([np.abs(rng.normal(size=1_000)), -rng.integers(2, size=1_000)])
    truth = X @ [0.5, -2.0] + 1.23
    y = rng.exponential(-truth / np.log(1 - share))
    model = line(Quantile(share, 0.05)).fit(X, y)
    assert (model.predict(X) > y).mean() == pytest.approx(share, abs=0.015)
    theirs = QuantileRegressor(quantile=share, alpha=0).fit(X, y)
    assert_agree(model.predict(X), theirs.predict(X), y, 0.05)
    assert mean_pinball_loss(y, model.predict(X), alpha=share) < mean_pinball_loss(
        y, truth, alpha=share
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_median_absolute_deviation_and_a_narrow_huber_loss_are_one(intercept):
    X, y = noisy_lines()
    losses = {"median": Quantile(0.5, 0.05), "absolute": Absolute(0.05), "huber": Huber(0.05)}
    alphas = {"median": 1e-6, "absolute": 2e-6, "huber": 1e-7}  # they are 1/2, 1 and 0.05 |r|
    found = [
        line(loss, alphas[name], fit_intercept=intercept).fit(X, y).predict(X)
        for name, loss in losses.items()
    ]
    assert_agree(found[1], found[0], y, 0.02)
    assert_agree(found[2], found[0], y, 0.02)


# ------------------------------------------------------------- equivariance (Koenker 2005, 2.2.3)


def kernel_quantile(share, **settings):
    settings = {"early_stopping": False, "random_state": 0} | settings
    return KernelRegressor(Gaussian(2.0), Quantile(share), **settings)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_larger_targets_have_larger_quantiles(share):
    X, y = noisy_lines()
    expected = kernel_quantile(share).fit(X, y).predict(X)
    assert_agree(kernel_quantile(share).fit(X, 250 * y).predict(X) / 250, expected, y, 0.01)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_negative_targets_have_the_other_quantile(share):
    X, y = noisy_lines()
    expected = kernel_quantile(share).fit(X, y).predict(X)
    assert_agree(-kernel_quantile(1 - share).fit(X, -y).predict(X), expected, y, 0.01)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_shifted_targets_have_shifted_quantiles(share):
    X, y = noisy_lines()
    expected = kernel_quantile(share).fit(X, y).predict(X)
    assert_agree(kernel_quantile(share).fit(X, y - 1_000).predict(X) + 1_000, expected, y, 0.01)


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_rows_in_other_units_have_the_same_quantiles(share):
    """The median bandwidth follows the rows. Other linear maps of them change a kernel."""
    X, y = noisy_lines()
    model = kernel_quantile(share).set_params(kernel="gaussian")
    expected = clone(model).fit(X, y).predict(X)
    assert_agree(model.fit(1_000 * X, y).predict(1_000 * X), expected, y, 0.01)


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_rising_function_of_the_share_and_the_targets(share):
    """Each target raised raises the quantiles, and so does a larger share."""
    X, y = noisy_lines()
    low = line(Quantile(share, 0.05)).fit(X, y).predict(X)
    assert line(Quantile(share, 0.05)).fit(X, y + 1).predict(X).mean() > low.mean() + 0.9
    assert line(Quantile(share + 0.1, 0.05)).fit(X, y).predict(X).mean() > low.mean()


# ------------------------------------------------------------- rows and shapes


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_matrix])
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_rows_have_the_quantiles_of_dense_ones(form, intercept):
    X, y = noisy_lines(300, 8)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    model = line(Quantile(0.6, 0.1), fit_intercept=intercept)
    expected = clone(model).fit(X, y).predict(X)
    assert_agree(model.fit(form(X), y).predict(form(X)), expected, y, 1e-3)


@pytest.mark.parametrize("features", [Binning(16), "centers"], ids=["bins", "centers"])
def test_quantiles_at_once_are_quantiles_alone(features):
    """A common fit has one alpha and one width, those of the mean over the quantiles."""
    X, y = noisy_lines(400, 1)
    settings = {"features": features, "alpha": 1e-2, "random_state": 0, "early_stopping": False}
    together = KernelQuantileRegressor(SHARES, Laplacian(2.0), **settings).fit(X, y).predict(X)
    for number, share in enumerate(SHARES):
        alone = KernelQuantileRegressor([share], Laplacian(2.0), **settings).fit(X, y)
        assert_agree(together[:, number], alone.predict(X)[:, 0], y, 0.02)


def test_the_score_is_the_share_of_the_pinball_loss_explained():
    """QuantileRegressor.score is R^2; here it is D^2, and R^2 for KernelRegressor."""
    X, y = noisy_lines()
    model = KernelQuantileRegressor(SHARES, random_state=0).fit(X, y)
    found = model.predict(X).T
    scores = [d2_pinball_score(y, f, alpha=q) for f, q in zip(found, SHARES, strict=True)]
    assert model.score(X, y) == pytest.approx(np.mean(scores))


@pytest.mark.parametrize(
    "shares", [[0.0, 0.5], [0.5, 1.0], [-0.1], [0.9, 0.1], [0.5, 0.5], [], 0.0, ["a"], [np.nan]]
)
def test_shares_that_are_none_are_refused(shares):
    X, y = noisy_lines(20)
    with pytest.raises(ValueError, match="quantiles must be"):
        KernelQuantileRegressor(shares).fit(X, y)


@pytest.mark.parametrize("share", [0.0, 1.0, 2.0, -0.5])
def test_a_share_outside_is_refused(share):
    X, y = noisy_lines(20)
    with pytest.raises(ValueError, match="quantile"):
        KernelRegressor(loss="quantile", quantile=share).fit(X, y)


# ------------------------------------------------------------- defaults


@pytest.mark.parametrize("share", SHARES)
def test_defaults_have_their_share_of_fresh_rows_below_where_noise_is_large(share):
    """Theirs is of the rows of the fit, to which a function is closer than to others."""
    X, y = make_regression(3_000, 5, noise=100.0, random_state=0)
    model = KernelRegressor(loss="quantile", quantile=share, random_state=0)
    below = y[1_000:] < model.fit(X[:1_000], y[:1_000]).predict(X[1_000:])
    assert below.mean() == pytest.approx(share, abs=0.05)


@pytest.mark.parametrize("share", [0.05, 0.9])
def test_defaults_have_their_share_below_where_noise_is_small(share):
    X, y = make_regression(1_000, 20, noise=1.0, random_state=0)
    model = KernelRegressor("dot_product", "quantile", quantile=share, random_state=0).fit(X, y)
    assert (y < model.predict(X)).mean() == pytest.approx(share, abs=0.02)


def test_skewed_noise_of_many_rows_has_its_quantiles():
    """As histogram boosting does: on the rows of the fit the loss is below that of the truth."""
    rng = np.random.default_rng(42)
    X = np.column_stack([np.abs(rng.normal(size=4_000)), -rng.integers(2, size=4_000)])
    scale = X @ [0.5, -2.0] + 1.23
    y = rng.exponential(scale)
    found = KernelQuantileRegressor([0.2, 0.5, 0.8], random_state=0).fit(X, y).predict(X)
    for number, share in enumerate([0.2, 0.5, 0.8]):
        assert (y < found[:, number]).mean() == pytest.approx(share, abs=0.03)
        truth = -np.log(1 - share) * scale
        reached = mean_pinball_loss(y, found[:, number], alpha=share)
        assert reached < 1.02 * mean_pinball_loss(y, truth, alpha=share)
