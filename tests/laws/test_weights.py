"""Weights of rows: 0 leaves a row out, 1 is no weight, 2 is the row twice."""

import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import bochner
from bochner import (
    DensityRatio,
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
)
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource, IteratorSource, Scaling, hold_out, mapped, shuffled
from bochner.data.weights import positive_rows
from bochner.features import Binning, Centers, Fourier
from bochner.kernels import Exponential, Gaussian, Polynomial
from bochner.kernels.kernel import median
from bochner.solvers import CoordinateDescent, Solver
from bochner.tuning import Tuning

ROWS, FAR = 80, 40
NONSMOOTH = {"smo", "pegasos"}  # solvers of nonsmooth losses, or of labels


def data(rows=ROWS, far=FAR, seed=0):
    """Return rows, labels and weights: `far` rows among the others, of weight 0, are misleading."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(rows + far, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(float)
    weight = np.ones(rows + far)
    some = rng.permutation(rows + far)[:far]
    X[some], y[some], weight[some] = 1e3 * X[some], 1 - y[some], 0.0
    return X, y, weight


def takes_weights(name):
    found = getattr(bochner, name)
    is_estimator = inspect.isclass(found) and issubclass(found, BaseEstimator)
    return is_estimator and "sample_weight" in inspect.signature(found.fit).parameters


CASES = {name: getattr(bochner, name)() for name in bochner.__all__ if takes_weights(name)}
CASES["KernelNoveltyDetector"] = KernelNoveltyDetector(features=Fourier(64), max_passes=3)
CASES |= {
    f"KernelRegressor, {name}": KernelRegressor(solver=name, max_passes=5, alpha="auto")
    for name in sorted(Solver.registry)
    if name not in NONSMOOTH
}
CASES |= {
    "KernelClassifier, softmax": KernelClassifier(loss="softmax", solver="dsg", max_passes=3),
    "KernelClassifier, hinge": KernelClassifier(loss="hinge"),
    "KernelClassifier, balanced": KernelClassifier(class_weight="balanced"),
    "KernelClassifier, held out": KernelClassifier(features=Binning(8), early_stopping=True),
    "KernelRegressor, learned scales": KernelRegressor(scales="learn", features=Binning(8)),
    "KernelRegressor, learned bandwidth": KernelRegressor(Gaussian("auto")),
    "KernelRegressor, some centres": KernelRegressor(features=Centers(16, "pivoted")),
    "KernelRegressor, standard": KernelRegressor(scale="standard"),
    "KernelRegressor, range": KernelRegressor(scale="range"),
    "KernelGaussianProcess, features": KernelGaussianProcess(features=Fourier(32)),
}


def values(model, X):
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", CASES.values(), ids=CASES)
def test_rows_of_weight_0_are_as_if_they_were_not_there_and_ones_are_no_weights(model):
    X, y, weight = data()
    model, kept = model.set_params(random_state=0), weight > 0
    expected = values(clone(model).fit(X[kept], y[kept]), X[kept])
    found = clone(model).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(values(found, X[kept]), expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("form", ["sparse", "blocks", "iterator", "array source", "frame"])
def test_rows_of_weight_0_are_left_out_of_every_form(form):
    X, y, weight = data()
    kept = weight > 0
    weight[kept] = np.random.default_rng(1).uniform(0.5, 2.0, kept.sum())
    solver = "dsg" if form == "iterator" else "auto"
    model = KernelRegressor(solver=solver, features=Fourier(32), random_state=0, max_passes=2)
    few = X[kept], y[kept], weight[kept]
    given = {
        "sparse": lambda X, y, w: (sp.csr_array(X), y, w),
        "blocks": lambda *rows: (IteratorSource([rows]),),
        "iterator": lambda *rows: (iter([rows]),),
        "array source": lambda *rows: (ArraySource(*rows),),
        "frame": lambda X, y, w: (pd.DataFrame(X).assign(t=_words(X)), y, w),
    }[form]
    if form == "frame":
        model.set_params(features=Binning(8))
    some = X[kept]
    new = pd.DataFrame(some).assign(t=_words(some)) if form == "frame" else some
    expected = clone(model).fit(*given(*few)).predict(new)
    np.testing.assert_array_equal(model.fit(*given(X, y, weight)).predict(new), expected)


def _words(X):
    """Return a category for each row; those of far rows sort before the others."""
    return np.where(np.abs(X[:, 0]) > 1, "ash", np.where(X[:, 2] > 0, "oak", "pine"))


def test_far_rows_of_weight_0_do_not_spoil_a_fit():
    X, y, weight = data(400, 400)
    target, kept = X[:, 0] ** 2 + X[:, 1], weight > 0
    model = KernelRegressor(random_state=0).fit(X, target, weight)
    assert model.score(X[kept], target[kept]) > 0.99
    classifier = KernelClassifier(random_state=0).fit(X, y, weight)
    assert classifier.score(X[kept], y[kept]) > 0.95


def test_missing_cells_are_filled_by_the_rows_that_count():
    X, y, weight = data()
    kept = weight > 0
    X[np.flatnonzero(kept)[:5], 0] = np.nan
    model = KernelRegressor(random_state=0)
    expected = clone(model).fit(X[kept], y[kept]).predict(X[kept])
    np.testing.assert_array_equal(model.fit(X, y, weight).predict(X[kept]), expected)


def test_a_class_without_weight_stays_a_class():
    X, y, weight = data()
    y[weight == 0] = 2
    for given in (
        (X, y, weight),
        (ArraySource(X, y, weight),),
        (IteratorSource([(X, y, weight)]),),
    ):
        for class_weight in (None, "balanced"):
            model = KernelClassifier(class_weight=class_weight, random_state=0).fit(*given)
            assert model.classes_.tolist() == [0, 1, 2]
            assert not (model.predict(X[weight > 0]) == 2).any()


def test_groups_of_rows_that_are_held_out_together_are_those_of_all_rows():
    X, y, weight = data()
    groups, kept = np.arange(len(y)) // 6, weight > 0
    model = KernelRegressor(scales="learn", features=Binning(8), random_state=0)
    few = clone(model).set_params(tuning=Tuning(held_out=groups[kept])).fit(X[kept], y[kept])
    found = model.set_params(tuning=Tuning(held_out=groups)).fit(X, y, weight)
    np.testing.assert_array_equal(found.predict(X[kept]), few.predict(X[kept]))


def test_a_density_ratio_leaves_rows_of_weight_0_out():
    X, _, weight = data()
    Y, kept = np.random.default_rng(1).normal(size=(60, 3)), weight > 0
    model = DensityRatio(random_state=0)
    expected = clone(model).fit(X[kept], Y).predict(Y)
    np.testing.assert_array_equal(model.fit(X, Y, sample_weight_X=weight).predict(Y), expected)


def test_partial_fit_leaves_rows_of_weight_0_out():
    X, y, weight = data()
    kept = weight > 0
    model = KernelRegressor(Gaussian(1.0), features=Fourier(32), solver="dsg", random_state=0)
    expected = clone(model).partial_fit(X[kept], y[kept]).predict(X[kept])
    np.testing.assert_array_equal(model.partial_fit(X, y, weight).predict(X[kept]), expected)


def test_precomputed_kernels_have_columns_of_rows_of_weight_0():
    X, y, weight = data()
    K, kept = Gaussian(1.0)(X, X), weight > 0
    model = KernelRegressor("precomputed", random_state=0)
    expected = clone(model).fit(K[np.ix_(kept, kept)], y[kept]).predict(K[:, kept])
    np.testing.assert_allclose(model.fit(K, y, weight).predict(K), expected, atol=1e-5)


@pytest.mark.parametrize("weight", [[0.0] * 3, [0.0, 1.0, 0.0]])
def test_too_few_rows_of_positive_weight_are_refused(weight):
    with pytest.raises(ValueError, match=r"positive weight|non-zero"):
        KernelRegressor().fit(np.eye(3), np.arange(3.0), weight)
    with pytest.raises(ValueError, match="zero"):
        KernelRegressor().fit(ArraySource(np.eye(3), np.arange(3.0), np.zeros(3)))


# ---------------------------------------------------------- repetitions


@pytest.fixture
def repeated():
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(40, 3)), rng.integers(0, 5, 40)
    return X, weight.astype(float), np.repeat(X, weight, axis=0)


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Polynomial(), Exponential(), Gaussian() + Exponential()]
)
def test_medians_count_a_row_as_often_as_its_weight_says(kernel, repeated):
    X, weight, often = repeated
    for unit in (1.0, 7.0):
        found = kernel.resolved(X, Random(0), unit * weight)
        assert repr(found) == repr(kernel.resolved(often, Random(0)))


def test_a_median_is_that_of_repeated_values():
    rng = np.random.default_rng(0)
    for count in range(1, 30):
        some, weight = rng.integers(0, 9, count).astype(float), rng.integers(0, 4, count)
        weight[0] += 1
        assert median(some, weight.astype(float)) == np.median(np.repeat(some, weight))


@pytest.mark.parametrize("mode", ["standard", "range"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_moments_count_a_row_as_often_as_its_weight_says(mode, form, repeated):
    X, weight, often = repeated
    source = ArraySource(form(X), None, weight)
    found = Scaling.learn(source, mode)
    expected = Scaling.learn(ArraySource(form(often)), mode)
    np.testing.assert_allclose(found.location, expected.location, atol=1e-12)
    np.testing.assert_allclose(found.factor, expected.factor, rtol=1e-12)


TOLERANCES = {  # of the range of the function
    "direct": (KernelRegressor("gaussian"), 2e-6),
    "balanced": (KernelClassifier("gaussian", class_weight="balanced"), 2e-6),
    "backfitting": (KernelRegressor(features=Binning(8)), 2e-6),
    "coordinate": (KernelRegressor(features=Binning(8), solver=CoordinateDescent("l2")), 2e-3),
    "nystroem": (KernelRegressor(solver="nystroem"), 5e-3),
    "cg": (KernelRegressor(solver="cg", max_passes=200), 2e-3),
    "newton": (KernelClassifier(solver="newton", loss="logistic"), 2e-3),
    "quantiles": (KernelQuantileRegressor(), 2e-3),
    "process": (KernelGaussianProcess(noise=0.1, scales=None), 1e-8),
}


@pytest.mark.parametrize(("model", "tolerance"), TOLERANCES.values(), ids=TOLERANCES)
def test_a_weight_is_a_repetition_for_defaults_that_depend_on_rows(model, tolerance, repeated):
    """The bandwidth is the same, and the functions agree up to rounding or the solver's tolerance.

    Not for solvers that go by batches of rows, or where a sample is searched, nor for leave-one-out
    errors: of a repeated row the copies stay.
    """
    X, weight, often = repeated
    y = (X[:, 0] > 0).astype(float)
    once = clone(model).set_params(random_state=0).fit(X, y, sample_weight=weight)
    twice = clone(model).set_params(random_state=0).fit(often, np.repeat(y, weight.astype(int)))
    expected = values(twice, X)
    np.testing.assert_allclose(values(once, X), expected, atol=tolerance * np.ptp(expected))


# -------------------------------------------------------------- sources


def test_sources_of_positive_rows_are_those_without_the_others():
    X, y, weight = data()
    kept = weight > 0
    weight[kept] = np.arange(1.0, kept.sum() + 1)
    for form in (ArraySource, lambda *rows: IteratorSource([rows])):
        source, few = positive_rows(form(X, y, weight)), form(X[kept], y[kept], weight[kept])
        assert source.n_rows == few.n_rows
        for wrap in (lambda rows: rows, shuffled, lambda rows: mapped(rows, lambda batch: batch)):
            for one, two in zip(
                wrap(source).batches(7, 1, 2), wrap(few).batches(7, 1, 2), strict=True
            ):
                for name in ("X", "y", "index", "weight"):
                    np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        np.testing.assert_array_equal(source.sample(9, 1).X, few.sample(9, 1).X)
    held = hold_out(positive_rows(ArraySource(X, y, weight)), 0.3, 99, 0).held_out()
    assert (held.weight > 0).all()


def test_sources_without_weights_or_zeros_are_returned_as_they_are():
    X, y, _ = data()
    for source in (ArraySource(X, y), ArraySource(X, y, np.full(len(y), 2.0)), IteratorSource([X])):
        assert positive_rows(source) is source
    assert positive_rows(ArraySource(X, y, np.ones(len(y)))).sample(5).weight is None
