"""What "auto" stands for, and that a plan says what a fit then does."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bochner import KernelClassifier, KernelRegressor
from bochner.estimators.automatic.plan import Costs, PlanInputs, make_plan
from bochner.estimators.automatic.settings import default_loss
from bochner.estimators.fitting import fit
from bochner.features import Binning, BinningBasis, CenterBasis, Centers, Fourier, FourierBasis
from bochner.kernels import Gaussian, Laplacian, Precomputed
from bochner.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Quantile,
    Softmax,
    Squared,
    SquaredEpsilonInsensitive,
)
from bochner.solvers import AveragedGradient, CoordinateDescent, Solver

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
GIGABYTE = 10**9


def untouched():
    raise AssertionError("Nothing was to be fitted.")


def situation(rows=1_000_000, columns=20, memory=12 * GIGABYTE, **changes):
    costs = None if rows is None else Costs(rows, columns, 4, memory)
    usual = PlanInputs(costs, False, False, Gaussian(1.0), Squared, untouched)
    return replace(usual, **changes)


def method(features="auto", solver="auto", **changes):
    plan = make_plan(features, solver, situation(**changes))
    return plan.features, plan.solver


def test_few_rows_are_solved_exactly():
    assert method(rows=2_000) == ("centers", "direct")
    assert method(rows=2_000, loss=Softmax) == ("centers", "nystroem")
    assert method(rows=2_000, kernel=Laplacian(1.0)) == ("centers", "direct")


def test_some_rows_are_all_centres_if_that_gains():
    some = {"rows": 60_000, "memory": 64 * GIGABYTE}
    assert method(**some, gain=lambda: 0.5) == ("centers", "eigenpro")
    assert method(**some, gain=lambda: 0.01) == (Centers(5_000), "nystroem")
    assert method(**some, gain=lambda: -0.2) == (Centers(5_000), "nystroem")


def test_fewer_rows_than_some_centres_cost_are_all_centres_without_a_trial():
    assert method(rows=4_000) == ("centers", "eigenpro")


def test_a_million_rows_are_too_many_for_a_function_at_each():
    assert method() in [("fourier", "dsg"), (Centers(5_000), "nystroem")]
    assert method(seconds=1e9, gain=lambda: 0.5) == ("centers", "eigenpro")
    assert method(seconds=1e3) == (Centers(5_000), "nystroem")
    assert method(seconds=1.0) == ("fourier", "dsg")
    assert method(kernel=Laplacian(1.0)) == ("binning", "cg")
    assert method(kernel=Laplacian(1.0), loss=Softmax) == ("binning", "newton")


def test_time_and_memory_decide():
    assert method(rows=20_000, gain=lambda: 0.5, seconds=1e-3) == ("fourier", "dsg")
    quick = situation(rows=50_000, memory=64 * GIGABYTE, gain=lambda: 0.5)
    seconds = 2 * quick.costs.eigenpro().seconds
    assert make_plan("auto", "auto", replace(quick, seconds=seconds)).solver == "eigenpro"
    small = situation(rows=50_000, columns=500, memory=GIGABYTE, gain=lambda: 0.5, seconds=seconds)
    assert make_plan("auto", "auto", small).solver != "eigenpro"


def test_a_matrix_that_does_not_fit_is_not_to_be_factorised():
    assert method(rows=2_000, memory=10**6) == ("centers", "eigenpro")
    assert method("centers", rows=2_000, memory=10**6) == ("centers", "eigenpro")
    X, y = rows()
    model = KernelRegressor(memory_budget=1000, max_passes=2, random_state=0).fit(X, y)
    assert model.plan_.solver == "eigenpro"


def test_streams_nonsmooth_losses_and_categories_have_a_method_each():
    assert method(rows=None) == ("fourier", "dsg")
    assert method(rows=2_000, once=True) == ("fourier", "dsg")
    assert method(rows=2_000, loss=Hinge) == ("centers", "smo")
    assert method(rows=200_000, loss=Hinge) == ("fourier", "dsg")
    assert method(categories=True) == ("binning", "cg")
    assert method(categories=True, loss=Hinge) == ("binning", "averaged")
    assert method(categories=True, rows=None, once=True) == ("binning", "averaged")


def test_smoothed_losses_are_solved_by_whole_passes():
    for loss in (Absolute, EpsilonInsensitive, Huber, Quantile):
        assert method(rows=2_000, loss=loss) == ("centers", "smo")
        assert method(rows=60_000, loss=loss, seconds=1e9) == (Centers(5_000), "nystroem")
        assert method(kernel=Laplacian(1.0), loss=loss) == ("binning", CoordinateDescent("l2"))
        assert method(Binning(32), loss=loss) == (Binning(32), CoordinateDescent("l2"))
        assert method(Binning(32), loss=loss, once=True) == (Binning(32), "averaged")
        assert method(rows=None, loss=loss) == ("fourier", "dsg")
    assert method("binning", loss=SquaredEpsilonInsensitive) == ("binning", "newton")


def test_of_a_kernel_without_a_formula_only_centres_are_known():
    assert method(rows=2_000, kernel=Precomputed()) == ("centers", "direct")
    assert method(kernel=Precomputed()) == ("centers", "eigenpro")


def test_features_that_were_given_have_their_solver():
    assert method("fourier") == ("fourier", "dsg")
    assert method(Binning(32)) == (Binning(32), "cg")
    assert method("binning", loss=Softmax) == ("binning", "newton")
    assert method(Centers(100)) == (Centers(100), "nystroem")
    assert method(Centers(100), once=True) == (Centers(100), "eigenpro")
    assert method("centers") == ("centers", "eigenpro")
    assert method("centers", rows=500) == ("centers", "direct")


@pytest.mark.parametrize(
    ("solver", "home"),
    [("dsg", "fourier"), ("cg", "binning"), ("direct", "centers"), ("nystroem", Centers(5_000))],
)
def test_a_solver_that_was_given_has_its_features(solver, home):
    assert method(solver=solver) == (home, solver)


METHODS = ["direct", "eigenpro", "nystroem", "binning", "doubly_stochastic"]


def cost(name, rows=50_000, columns=50, memory=0, outputs=4):
    costs = Costs(rows, columns, outputs, memory)
    return getattr(costs, name)(*{"nystroem": (1_000,), "binning": (64,)}.get(name, ()))


@pytest.mark.parametrize("name", METHODS)
def test_costs_grow_with_the_rows_and_columns_and_fall_with_threads(name):
    once, seconds = cost(name), cost(name).seconds
    assert cost(name, rows=50_000_000).seconds > seconds > 0
    assert cost(name, rows=500_000).bytes >= once.bytes >= 0
    assert cost(name, columns=500).seconds > seconds
    assert once.by(4).seconds == pytest.approx(once.by(1).seconds / 4)


@pytest.mark.parametrize("name", ["eigenpro", "nystroem"])
def test_memory_for_kernel_values_saves_time(name):
    much = cost(name, memory=100 * GIGABYTE)
    assert much.seconds < cost(name).seconds
    assert much.bytes > cost(name).bytes


def rows(n_rows=200):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    return X, np.sin(2 * X[:, 0])


CASES = {
    "few numbers": (KernelRegressor(), "direct", CenterBasis, "squared"),
    "few labels": (KernelClassifier(), "direct", CenterBasis, "squared"),
    "few labels by softmax": (KernelClassifier(loss="softmax"), "nystroem", CenterBasis, "softmax"),
    "hinge": (KernelClassifier(loss="hinge"), "smo", CenterBasis, "hinge"),
    "bins": (KernelRegressor(features=Binning(8)), "cg", BinningBasis, "squared"),
    "bins of labels": (KernelClassifier(features=Binning(8)), "cg", BinningBasis, "squared"),
    "waves": (KernelClassifier(features="fourier"), "dsg", FourierBasis, "softmax"),
    "named": (KernelRegressor(solver="eigenpro"), "eigenpro", CenterBasis, "squared"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fit_does_what_the_plan_says(case):
    model, solver, basis, loss = CASES[case]
    X, y = rows()
    model, y = clone(model), y > 0 if isinstance(model, KernelClassifier) else y
    plan = model.plan(X, y)
    assert (plan.solver, plan.loss) == (solver, loss)
    model.set_params(random_state=0).fit(X, y)
    assert model.plan_ == plan == model.plan(X, y)
    assert type(model.expansion_.basis) is basis
    assert isinstance(model._training.state, Solver.resolve(solver).tags.state_type)


def test_columns_of_text_and_streams_are_planned_as_they_are_fitted():
    X, y = rows()
    table = pd.DataFrame({"x": X[:, 0], "tree": np.where(X[:, 1] > 0, "ash", "oak")})
    model = KernelRegressor(random_state=0)
    assert model.plan(table, y).features == "centers"
    assert model.fit(table, y).plan_.solver == "direct"
    bins = KernelRegressor("laplacian", random_state=0)
    assert bins.plan(table, y).features == "binning"
    assert bins.fit(table, y).plan_.solver == "cg"
    blocks = [(X[:100], y[:100]), (X[100:], y[100:])]
    plan = model.plan(iter(blocks))
    assert (plan.features, plan.solver, plan.cost) == ("fourier", "dsg", None)
    assert model.fit(iter(blocks)).plan_ == plan
    assert model.partial_fit(X, y).plan_.solver == "dsg"


def test_a_failed_fit_leaves_the_plan_of_the_one_before():
    X, y = rows()
    model = KernelRegressor(random_state=0).fit(X, y)
    plan = model.plan_
    with pytest.raises(ValueError, match="minimum"):
        model.set_params(solver="eigenpro").fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="eigenvectors"):
        model.set_params(solver__eigenvectors=-1).fit(X, y)
    assert model.plan_ == plan


@pytest.mark.parametrize(
    "model",
    [
        KernelRegressor(),
        KernelRegressor(solver="eigenpro"),
        KernelRegressor(features=Centers(given=np.zeros((50, 3)))),
        KernelRegressor(features="binning"),
        KernelRegressor(features="fourier"),
        KernelRegressor(features=Centers(), solver="direct"),
        KernelRegressor(solver="nystroem"),
    ],
    ids=lambda model: f"{model.solver}-{str(model.features)[:20]}",
)
def test_a_plan_is_a_paragraph_on_solver_features_time_and_memory(model):
    plan = model.plan(*rows())
    text = str(plan)
    assert "\n" not in text
    assert f"Solver {plan.solver} on features " in text
    assert "expected to take about" in text
    assert text.endswith(("MB of memory beside the data.", "GB of memory beside the data."))


def test_a_plan_tells_long_times_and_large_memory():
    plan = make_plan("centers", "direct", situation(rows=100_000))
    assert "minutes" in str(plan)
    assert "1.6e+02 GB" in str(plan) or "160 GB" in str(plan)


def test_a_plan_changes_and_fits_nothing(monkeypatch):
    X, y = rows()
    for model in (KernelRegressor(), KernelRegressor(random_state=0).fit(X, y)):
        before = dict(vars(model))
        with monkeypatch.context() as patched:
            patched.setattr(KernelRegressor, "fit", lambda *_: untouched())
            model.plan(X[:, :2], y)
        assert vars(model) == before


def test_a_nonsmooth_loss_and_a_kernel_without_frequencies_go_together_in_the_dual():
    assert method(rows=2_000, loss=Hinge, kernel=Precomputed()) == ("centers", "smo")


def test_a_plan_refuses_what_a_fit_refuses():
    X, y = rows()
    for model, message in (
        (KernelRegressor(alpha=-1.0), "alpha"),
        (KernelRegressor(features="wavelet"), "features must be one of"),
        (KernelRegressor(solver="sgd"), "solver must be one of"),
        (KernelRegressor("precomputed"), "square"),
    ):
        with pytest.raises(ValueError, match=message):
            model.plan(X, y)


def test_a_loss_goes_with_its_solver_by_name_or_component():
    assert default_loss("auto", "averaged") == default_loss("auto", AveragedGradient()) == "softmax"
    assert default_loss("auto", "dsg") == "softmax"
    assert default_loss("auto", "cg") == default_loss("auto", "eigenpro") == "squared"
    assert default_loss("logistic", "cg") == "logistic"


@pytest.fixture
def small_trials(monkeypatch):
    for name, size in (("PILOT_ROWS", 600), ("FEW_CENTERS", 5), ("MANY_CENTERS", 60)):
        monkeypatch.setattr(fit, name, size)


def gain_of_centers(model, source):
    return model._new_fit(source, classes=None).gain_of_centers()


def wavy(frequency):
    X = np.random.default_rng(0).uniform(size=(700, 1))
    return X, np.sin(frequency * X[:, 0])


@pytest.mark.parametrize("Machine", [KernelRegressor, KernelClassifier])
def test_a_trial_tells_whether_more_centres_gain(small_trials, Machine):
    from bochner.data import ArraySource

    gains = []
    for frequency in (1.0, 60.0):
        X, y = wavy(frequency)
        y = y if Machine is KernelRegressor else np.where(y > 0.5, "up", "down")
        y = y + 0.1 * np.random.default_rng(1).normal(size=700) if y.dtype.kind == "f" else y
        machine = Machine(Gaussian(0.02 if frequency > 1 else 1.0))
        gains.append(gain_of_centers(machine, ArraySource(X, y)))
    assert gains[0] < 0.1 < 0.3 < gains[1]


def test_a_trial_on_one_value_gains_nothing(small_trials):
    from bochner.data import ArraySource

    X, _ = wavy(1.0)
    assert gain_of_centers(KernelRegressor(), ArraySource(X, np.ones(700))) == 0.0


def test_a_trial_is_silent(small_trials, capsys):
    from bochner.data import ArraySource

    seen = []
    model = KernelRegressor(callbacks=[seen.append], verbose=True, max_seconds=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gain_of_centers(model, ArraySource(*wavy(3.0)))
    assert not seen
    assert capsys.readouterr() == ("", "")


def test_fourier_features_with_an_end_are_planned_without_a_guess_at_other_solvers():
    assert make_plan(Fourier(64), "cg", situation()).cost is None
    assert make_plan(Fourier(64), "dsg", situation()).cost is not None


def test_the_choice_does_not_depend_on_the_number_of_threads():
    X, y = np.random.default_rng(0).normal(size=(4_000, 3)), np.arange(4_000.0)
    one, four = (KernelRegressor(n_jobs=jobs).plan(X, y) for jobs in (1, 4))
    assert (one.features, one.solver) == (four.features, four.solver)
    assert one.cost.seconds == pytest.approx(4 * four.cost.seconds)


def test_kernels_made_of_kernels_go_to_bins_only_if_their_parts_can():
    costs = Costs(3_000_000, 10, 1, 10**9)
    for kernel, bins in ((2 * Gaussian(1.0), False), (2 * Laplacian(1.0), True)):
        situation = PlanInputs(costs, False, False, kernel, Squared, lambda: 0.0)
        assert (make_plan("auto", "auto", situation).features == "binning") is bins


def test_a_plan_says_whether_its_time_includes_a_search():
    X, y = rows(4_000)
    plain, searching = (KernelRegressor("laplacian", scales=s).plan(X, y) for s in (None, "learn"))
    assert "the search included" in str(searching)
    assert "search" not in str(plain)


def test_rows_that_are_mostly_equal_to_others_are_not_for_steps_by_rows():
    rng = np.random.default_rng(0)
    few, many = (rng.integers(levels, size=(3_100, 6)).astype(float) for levels in (2, 9))
    y = rng.normal(size=3_100)
    machine = KernelRegressor("gaussian", random_state=0)
    assert machine.plan(many, y).solver == "eigenpro"
    for rows in (few, sp.csr_array(few)):
        plan = machine.plan(rows, y)
        assert plan.solver == "nystroem"
        assert "equal to others" in plan.why
