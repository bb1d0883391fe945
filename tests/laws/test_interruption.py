"""Interruption: every phase of a fit ends soon after Ctrl-C or a time limit, with a whole state."""

import signal
import threading
import time
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bochner import KernelClassifier, KernelGaussianProcess, KernelRegressor
from bochner.compute import interruption, pool
from bochner.compute.interruption import check_interruption
from bochner.estimators.automatic import plan
from bochner.estimators.fitting.setup import Setup
from bochner.features import Centers, EncodedRows, Fourier
from bochner.features.binning import binning
from bochner.kernels import Gaussian
from bochner.solvers import ConjugateGradient, EigenPro
from bochner.solvers.eigenpro import preconditioner
from bochner.training import loop
from bochner.tuning import Tuning
from contracts.solver_cases import CASES, bits, table

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
PLACES = (0.15, 0.45, 0.8)  # of the checks of a fit
# Checks of what is not abandoned: the start by the smallest subsample, a first small batch of a
# Gaussian process, the function at held-out rows, calibration, the rows in each bin.
MOST_TO_END = 130


class Checks:
    """Counts the checks, and acts once, at one of them; after it, counts the tiles that follow."""

    def __init__(self, monkeypatch, at=None, action=lambda: None):
        self.count, self.at, self.action, self.lock = 0, at, action, threading.Lock()
        monkeypatch.setattr(pool, "check_interruption", self)

    def __call__(self):
        with self.lock:
            self.count += 1
            now = self.count == self.at
        if now:
            self.action()
        check_interruption()

    @property
    def later(self):
        return 0 if self.at is None else max(0, self.count - self.at)


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def at_once(monkeypatch):
    """Work is abandoned at the next check, and every part of a run can be."""
    monkeypatch.setattr(interruption, "MORE_CHECKS", 0)
    monkeypatch.setattr(interruption, "MORE_SECONDS", -1.0)
    monkeypatch.setattr(loop, "SHORT", -1.0)


@quiet
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fit_interrupted_at_any_tile_continues_as_if_it_had_not_been(case, monkeypatch, at_once):
    X, y = table()
    with monkeypatch.context() as patch:
        checks = Checks(patch)
        whole = case.regressor(early_stopping=True).fit(X, y)
    for place in PLACES:
        model = case.regressor(early_stopping=True, warm_start=True)
        with monkeypatch.context() as patch:
            Checks(patch, 1 + int(place * checks.count), press)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, y)
        model.fit(X, y)
        np.testing.assert_array_equal(bits(model, X), bits(whole, X))
        assert model.history_["held_out_loss"] == whole.history_["held_out_loss"]


class Clock:
    """The clock, which jumps at one check; after it, each reading is a second later."""

    def __init__(self, monkeypatch):
        self.true, self.jumped, self.readings = time.perf_counter, False, 0
        monkeypatch.setattr(time, "perf_counter", self)

    def __call__(self):
        self.readings += self.jumped
        return self.true() + (1e6 + self.readings if self.jumped else 0.0)

    def jump(self):
        self.jumped = True


COUNTS = {}  # the checks of whole fits


def looks_after(monkeypatch, at, model, X, y):
    """Fit with a time limit that is up at some check; return how many checks followed."""
    with monkeypatch.context() as patch:
        clock = Clock(patch)
        checks = Checks(patch, at, clock.jump)
        model.set_params(max_seconds=1e4).fit(X, y)
    return checks.later


def count_looks(monkeypatch, model, X, y):
    with monkeypatch.context() as patch:
        checks = Checks(patch)
        model.fit(X, y)
    return checks.count


@quiet
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_time_limit_ends_every_solver_after_few_more_tiles(case, monkeypatch, at_once):
    X, y = table()
    count = count_looks(monkeypatch, case.regressor(early_stopping=True), X, y)
    for place in PLACES:
        model = case.regressor(early_stopping=True)
        later = looks_after(monkeypatch, 1 + int(place * count), model, X, y)
        assert later <= MOST_TO_END
        assert np.isfinite(model.predict(X)).all()


SLOW = {
    "search for scales": KernelRegressor(tuning=Tuning(rows=400, grids=4), random_state=0),
    "search for classes": KernelClassifier(tuning=Tuning(rows=400, grids=4), random_state=0),
    "pivoted centres": KernelRegressor(
        Gaussian(1.0), solver="cg", features=Centers(300, "pivoted"), random_state=0
    ),
    "waves": KernelRegressor(Gaussian(1.0), solver="cg", features=Fourier(4096), random_state=0),
    "process by features": KernelGaussianProcess(
        features=Centers(300), likelihood_rows=300, random_state=0
    ),
    "process by functions": KernelGaussianProcess(
        variance="functions", features=Centers(300), likelihood_rows=300, random_state=0
    ),
}


@pytest.fixture
def few_grids(monkeypatch):
    monkeypatch.setattr(binning, "FEW_GRIDS", 8)
    monkeypatch.setattr(binning, "MANY_GRIDS", 16)


@pytest.fixture
def slow(name, monkeypatch, at_once, few_grids):
    """A machine, its data, and the number of checks of its whole fit."""
    X, y = table(3_200)
    y = y > 0 if name == "search for classes" else y
    if name not in COUNTS:
        COUNTS[name] = count_looks(monkeypatch, clone(SLOW[name]), X, y)
    assert COUNTS[name] > 3 * MOST_TO_END
    return clone(SLOW[name]), X, y, COUNTS[name]


@quiet
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SLOW)
def test_a_time_limit_ends_every_phase_after_few_more_tiles(name, place, slow, monkeypatch):
    model, X, y, count = slow
    later = looks_after(monkeypatch, 1 + int(place * count), model, X, y)
    assert later <= MOST_TO_END
    assert np.isfinite(model.score(X, y))


@quiet
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SLOW)
def test_ctrl_c_ends_every_phase_after_few_more_tiles(name, place, slow, monkeypatch):
    model, X, y, count = slow
    with monkeypatch.context() as patch:
        checks = Checks(patch, 1 + int(place * count), press)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    assert checks.later <= MOST_TO_END


class TickingClock:
    """A clock that a reading moves on by a millisecond, so that time is a number of checks."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", self)

    def __call__(self):
        self.now += 1e-3
        return self.now


@quiet
def test_the_search_leaves_half_of_a_time_limit_to_the_fit(monkeypatch, at_once, few_grids):
    X, y = table(3_200)
    with monkeypatch.context() as patch:
        TickingClock(patch)
        whole = clone(SLOW["search for scales"]).set_params(max_seconds=1e3).fit(X, y)
        most = 0.5 * whole.tuning_.seconds
        model = clone(SLOW["search for scales"]).set_params(max_seconds=most).fit(X, y)
    assert model.tuning_.seconds < 0.5 * most
    assert model.n_iter_ > 0
    assert model.score(X, y) > 0.5 * whole.score(X, y)


def test_what_was_learned_is_kept_if_ctrl_c_comes_during_the_calibration(monkeypatch):
    X, y = table(1_200)
    calibrated = Setup.calibrated

    def interrupted(*given):
        press()
        return calibrated(*given)

    monkeypatch.setattr(Setup, "calibrated", interrupted)
    model = KernelClassifier(Gaussian(1.0), solver="cg", features=Fourier(64), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y > 0)
    assert model.stopped_because_ == "it was interrupted"
    assert model.score(X, y > 0) > 0.8


def test_ctrl_c_during_the_small_fits_of_a_plan_ends_the_fit(monkeypatch):
    X, y = table(3_200)
    advance = ConjugateGradient.advance

    def interrupted(*given):
        press()
        return advance(*given)

    def with_pilot(inputs, costs):
        inputs.gain()
        return on_centers(inputs, costs)

    on_centers = plan._on_centers
    monkeypatch.setattr(plan, "_on_centers", with_pilot)
    monkeypatch.setattr(ConjugateGradient, "advance", interrupted)
    model = KernelRegressor(Gaussian(1.0), scales=None, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.plan(X, y)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "expansion_")


def test_a_gaussian_process_by_functions_holds_the_memory_budget(monkeypatch):
    given = []

    def noted(source, basis, size, memory=None, **others):
        given.append(memory)
        return EncodedRows(source, basis, size, memory, **others)

    monkeypatch.setattr(loop, "EncodedRows", noted)
    X, y = table()
    process = KernelGaussianProcess(
        Gaussian(1.0), noise=0.1, variance="functions", solver="nystroem", features=Centers(20),
        memory_budget=1_000_000,
    )  # fmt: skip
    process.fit(X, y).predict(X[:3], return_std=True)
    assert given
    assert set(given) == {1_000_000}


def test_eigenpro_makes_no_copies_of_its_kernel_matrix_in_double_precision(monkeypatch):
    monkeypatch.setattr(preconditioner, "TEST_ROWS", 64)
    X, y = table(1_500)
    model = KernelRegressor(Gaussian(1.0), solver=EigenPro(eigenvectors=8), max_passes=1)
    model.set_params(early_stopping=False, memory_budget=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:600], y[:600])
        tracemalloc.start()
        try:
            model.fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 3 * 4 * len(X) ** 2, peak
