"""Every public estimator answers every bad input by a finite result or by a sentence."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bochner import KernelGaussianProcess, KernelRegressor, RandomFourier
from bochner.features import Fourier
from contracts.bad_inputs import CASES, GOOD, estimators, outcome
from contracts.solver_cases import FEATURES, SOLVERS, takes

ESTIMATORS = estimators()
ROWS = 60
X = np.random.default_rng(0).uniform(0.1, 2, (ROWS, 3))
Y = np.sin(3 * X[:, 0])
HUGE, TINY = 2.0**100, 2.0**-100
# Whose penalty or loss grows in another power of the targets than the square of the function.
NOT_OF_SECOND_DEGREE = {"coordinate", "smo"}
PAIRS = [(name, features) for name in SOLVERS for features in FEATURES if takes(name, features)]


def test_there_are_eighty_bad_inputs():
    assert len(CASES) >= 80
    assert len(ESTIMATORS) >= 20


@pytest.mark.parametrize("name", ESTIMATORS)
def test_good_inputs_give_finite_results(name):
    given = GOOD.with_copies()
    assert outcome(clone(ESTIMATORS[name]), given).kind == "finite"


@pytest.mark.parametrize("case", CASES)
def test_no_input_gives_nan_a_warning_or_a_raw_error(case):
    for name, estimator in ESTIMATORS.items():
        model = clone(estimator)
        before = vars(model).copy()
        answer = outcome(model, CASES[case]())
        assert answer.is_sound, f"{name}: {answer.kind} {answer.text}"
        if answer.kind == "sentence" and not case.startswith(("new rows", "no new rows")):
            assert vars(model) == before or "n_features_in_" in vars(model), name


def predictions(model, rows, y, weight=None):
    return model.fit(rows, y, weight).predict(rows)


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize(("name", "features"), PAIRS)
def test_scales_that_are_powers_of_two_change_nothing(name, features):
    loss = "absolute" if name == "smo" else "squared"
    model = KernelRegressor(
        "gaussian" if features != "bins" else "laplacian",
        loss,
        FEATURES[features],
        SOLVERS[name],
        max_passes=3,
        random_state=0,
        n_jobs=1,
    )
    expected = predictions(model, X, Y)
    given = clone(model).set_params(alpha=1e-3)  # alpha="auto" is divided by the total weight
    unweighted = predictions(given, X, Y)
    for size in (HUGE, TINY):
        np.testing.assert_allclose(predictions(model, X * size, Y), expected, atol=1e-5)
        weight = np.full(ROWS, size)
        np.testing.assert_allclose(predictions(given, X, Y, weight), unweighted, atol=1e-5)
        found = predictions(model, X, Y * size)
        assert np.isfinite(found).all()
        both = predictions(given, X, Y * size, weight)  # the product is out of range
        assert np.isfinite(both).all()
        if name not in NOT_OF_SECOND_DEGREE:
            np.testing.assert_allclose(found / size, expected, atol=1e-5)
            np.testing.assert_allclose(both / size, unweighted, atol=1e-5)


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize(
    ("variance", "features"),
    [("features", "auto"), ("operator", Fourier(16)), ("functions", "centers")],
)
def test_gaussian_processes_keep_scales_that_are_powers_of_two(variance, features):
    model = KernelGaussianProcess("auto", "auto", variance, features, max_passes=3, random_state=0)
    expected = predictions(model, X, Y)
    for size in (HUGE, TINY):
        np.testing.assert_allclose(predictions(model, X * size, Y), expected, atol=1e-3)
        np.testing.assert_allclose(predictions(model, X, Y * size) / size, expected, atol=1e-3)


def test_a_row_too_far_off_is_refused_with_a_remedy():
    rows = X.copy()
    rows[3, 1] = 1e30
    with pytest.raises(ValueError, match=r"too far from the others.*scale='standard'"):
        KernelRegressor("gaussian", features="centers", solver="cg").fit(rows, Y)
    fitted = KernelRegressor("gaussian", scale="standard").fit(rows, Y)
    assert np.isfinite(fitted.predict(rows)).all()
    fitted = KernelRegressor("gaussian").fit(X, Y)
    with pytest.raises(ValueError, match="too far from the others"):
        fitted.predict(rows)


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X * 1e-60, Y, "Numbers in X must not all be below 1e-37.*Column 0.*Multiply"),
        (X * [1, 1e-60, 1], Y, "Numbers in X must not all be below 1e-37.*Column 1"),
        (X, Y * 1e-60, "Numbers in y must not all be below 1e-37"),
        (X * 1e60, Y, r"at most 1e.37.*Column 2: \d"),
        (X * 1e300, Y, r"at most 1e.150 in size, so that they can be squared"),
    ],
)
def test_numbers_beyond_single_precision_are_refused(rows, y, message):
    with pytest.raises(ValueError, match=message):
        KernelRegressor().fit(rows, y)
    with pytest.raises(ValueError, match=message):
        KernelGaussianProcess().fit(rows, y)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_weights_beyond_single_precision_are_refused(size):
    with pytest.raises(ValueError, match=r"largest weight must be between 1e-37 and 1e.37"):
        KernelRegressor().fit(X, Y, np.full(ROWS, size))


def test_a_stream_is_in_range_batch_by_batch():
    for blocks, message in (
        ([(X, Y, np.ones(ROWS)), (X, Y, np.full(ROWS, 1e300))], "largest weight"),
        ([(X, Y), (X * 1e300, Y)], "at most 1e.150"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelRegressor(max_passes=1).fit(iter(blocks))


def test_transformers_refuse_numbers_that_single_precision_takes_for_zero():
    with pytest.raises(ValueError, match="must not all be below"):
        RandomFourier(size=8).fit((X * 1e-40).astype(np.float32))
