"""What the ratio of two densities promises."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bochner import DensityRatio
from bochner.data import ArraySource
from bochner.features import Fourier, prepare
from bochner.kernels import Gaussian
from bochner.losses import DensityDual, Logistic
from bochner.problem import Problem
from bochner.solvers import DoublyStochastic, Preconditioned
from bochner.stopping import Passes
from bochner.training.loop import run

LOSSES = pytest.mark.parametrize("loss", ["logistic", "exponential"])


@pytest.fixture
def samples():
    """Rows of N(0, I) and of N((1, 0), I): log p/q = 1/2 - x_1, divergence 1/2."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(4_000, 2)), rng.normal(size=(4_000, 2)) + np.array([1.0, 0.0])


def quick(**parameters):
    given = {"kernel": Gaussian(4.0), "alpha": 1e-4, "size": 64, "random_state": 0}
    return DensityRatio(**given | parameters)


def test_the_dual_has_the_derivatives_that_it_says():
    rng, step = np.random.default_rng(0), 1e-6
    y, f = rng.choice([-1.0, 1.0], size=(200, 1)), rng.uniform(-4, 9, size=(200, 1))
    loss = DensityDual()
    slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * step)
    np.testing.assert_allclose(slope, loss.gradient(y, f)[:, 0], rtol=1e-6)
    bend = (loss.gradient(y, f + step) - loss.gradient(y, f - step)) / (2 * step)
    np.testing.assert_allclose(bend, loss.hessian_product(y, f, np.ones_like(f)), rtol=1e-5)
    assert (bend <= loss.curvature_bound * (1 + 1e-6)).all()


def test_the_dual_is_finite_however_large_f_is():
    y, f = np.array([[1.0], [-1.0]]), np.full((2, 1), 1e4, np.float32)
    loss = DensityDual()
    for values in (loss.value(y, f), loss.gradient(y, f), loss.hessian_product(y, f, f)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("loss", [Logistic(), DensityDual()])
def test_doubly_stochastic_steps_reach_the_minimum(samples, loss):
    X, y = np.concatenate(samples), np.repeat([[1.0], [-1.0]], 4_000, axis=0)
    source = ArraySource(X, y)
    _, basis = prepare(Gaussian(3.0), Fourier(64), source.rows, 0, np.float64)
    problem = Problem(basis, loss, 1e-3, 1, False, len(X))
    step = Preconditioned(caution=0.0)
    solver = DoublyStochastic(step, batch_size=8_000, feature_block=64, averaging=None)
    f = run(solver, problem, source, stop=Passes(60)).expansion
    columns = basis.columns(basis.encode(X))
    slope = columns.T @ loss.gradient(y, f(X)) / len(X) + 1e-3 * f.weights
    assert np.abs(slope).max() < 1e-5


@LOSSES
def test_it_finds_the_ratio_of_two_normal_laws(samples, loss):
    model = DensityRatio(loss=loss, random_state=0).fit(*samples)
    points = np.random.default_rng(1).normal(size=(500, 2)) + np.array([0.5, 0.0])
    assert np.abs(model.log_ratio(points) - (0.5 - points[:, 0])).mean() < 0.1
    assert model.kl_divergence_ == pytest.approx(0.5, rel=0.15)


@LOSSES
def test_the_divergence_on_new_rows_is_close_to_the_true_one(samples, loss):
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(50_000, 2)), rng.normal(size=(50_000, 2)) + np.array([1.0, 0.0])
    assert DensityRatio(loss=loss, random_state=0).fit(*samples).kl_divergence(
        X, Y
    ) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("seed", [2, 5])
def test_few_rows_do_not_choose_a_function_that_is_large_by_mistake(seed):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(21_000, 2)), rng.normal(size=(21_000, 2)) + np.array([1.0, 0.0])
    model = DensityRatio(loss="exponential", random_state=seed).fit(X[:1_000], Y[:1_000])
    assert model.kl_divergence(X[1_000:], Y[1_000:]) > 0.4


def test_one_law_has_the_ratio_1():
    X, Y = np.split(np.random.default_rng(0).normal(size=(8_000, 2)), 2)
    model = DensityRatio(random_state=0).fit(X, Y)
    assert abs(model.kl_divergence_) < 0.02
    np.testing.assert_allclose(model.ratio(X[:100]), 1.0, atol=0.3)


def test_weights_have_the_mean_1_and_move_a_mean_from_q_to_p(samples):
    X, Y = samples
    weights = quick().fit(X, Y).sample_weights(Y)
    assert weights.mean() == pytest.approx(1.0)
    assert abs(np.average(Y[:, 0], weights=weights)) < 0.1


def test_novelty_begins_where_the_logarithm_falls_below_rho(samples):
    model = quick().fit(*samples)
    logarithm = model.log_ratio(samples[1])
    np.testing.assert_array_equal(model.predict(samples[1]), np.exp(logarithm))
    novelty = model.novelty(samples[1], rho=-0.5)
    np.testing.assert_array_equal(novelty > 0, logarithm < -0.5)
    np.testing.assert_allclose(novelty[novelty > 0], -0.5 - logarithm[novelty > 0])


@LOSSES
def test_sample_weights_can_stand_for_another_law(samples, loss):
    X, Y = samples
    # Rows of p weighted by q/p are rows of q: nothing is left to tell.
    model = quick(loss=loss).fit(X, Y, sample_weight_X=np.exp(X[:, 0] - 0.5))
    assert np.abs(model.log_ratio(X)).mean() < 0.25


def test_the_scale_of_weights_is_free(samples):
    plain = quick().fit(*samples)
    scaled = quick().fit(*samples, sample_weight_X=np.full(4_000, 4.0))
    np.testing.assert_allclose(plain.log_ratio(samples[0]), scaled.log_ratio(samples[0]), atol=1e-4)


def test_the_number_of_threads_changes_nothing(samples):
    one, two = (quick(n_jobs=n).fit(*samples).log_ratio(samples[0]) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_given_alpha_is_kept_and_parameters_survive_cloning(samples):
    assert quick().fit(*samples).alpha_ == 1e-4
    assert clone(quick(loss="exponential")).get_params()["loss"] == "exponential"


def test_samples_that_cannot_be_used_are_refused(samples):
    X, Y = samples
    with pytest.raises(ValueError, match=r"The sample Y needs at least 4 rows.*got 0"):
        quick().fit(X, Y[:0])
    with pytest.raises(ValueError, match="the same columns; got 2 of X and 1 of Y"):
        quick().fit(X, Y[:, :1])
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(X, np.full_like(Y, np.nan))
    with pytest.raises(ValueError, match="zero"):
        quick().fit(X, Y, sample_weight_X=np.zeros(len(X)))
    with pytest.raises(ValueError, match="loss must be one of"):
        quick(loss="squared").fit(X, Y)
    with pytest.raises(ValueError, match="held_out"):
        quick(held_out=1.0).fit(X, Y)
    with pytest.raises(ValueError, match="3 columns"):
        quick().fit(X, Y).kl_divergence(np.ones((5, 3)), np.ones((5, 3)))


def test_equal_rows_give_a_finite_ratio():
    model = quick(kernel="auto").fit(np.ones((50, 2)), np.ones((50, 2)))
    np.testing.assert_allclose(model.ratio(np.ones((3, 2))), 1.0, atol=1e-3)


def test_frames_keep_their_names_and_models_their_pickles():
    rng = np.random.default_rng(0)
    X, Y = (pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]) for _ in range(2))
    model = DensityRatio(size=32, random_state=0).fit(X, Y)
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).ratio(X), model.ratio(X))


@LOSSES
def test_sparse_rows_are_learned_like_dense_ones(samples, loss):
    dense = [np.maximum(rows[:1_000], 0.0) for rows in samples]
    sparse = [sp.csr_matrix(rows) for rows in dense]
    expected = quick(loss=loss).fit(*dense)
    found = quick(loss=loss).fit(*sparse)
    assert sp.issparse(found.expansion_.basis.centers)
    np.testing.assert_allclose(
        found.log_ratio(sparse[0]), expected.log_ratio(dense[0]), rtol=0, atol=0.02
    )
    assert found.kl_divergence(*sparse) == pytest.approx(expected.kl_divergence(*dense), rel=0.01)


def test_samples_in_two_forms_are_refused(samples):
    with pytest.raises(ValueError, match="One sample is sparse and the other is not"):
        quick().fit(samples[0], sp.csr_matrix(samples[1]))


def test_a_fit_that_did_not_converge_says_so(samples, monkeypatch):
    monkeypatch.setattr("bochner.estimators.two_samples.ratio_fit.MOST_PASSES", 1)
    with pytest.warns(ConvergenceWarning, match="The fit ended before it converged: 1 pass"):
        DensityRatio(Gaussian(2.0), alpha=1e-6, random_state=0).fit(*samples)
