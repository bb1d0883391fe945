"""What the loop, the stopping rules and the callbacks promise."""

import io
import pickle
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from bochner import KernelClassifier, KernelRegressor
from bochner.callbacks import History, ProgressBar
from bochner.compute.interruption import interruptible
from bochner.data import ArraySource, Batch, DataSource
from bochner.features import Fourier
from bochner.kernels import Gaussian
from bochner.losses import Squared
from bochner.problem import Problem
from bochner.solvers import DoublyStochastic, EigenPro
from bochner.solvers.doubly_stochastic import lazy_predictions
from bochner.stopping import NoImprovement, OnePass, Passes, RowLimit, Seconds, Tolerance
from bochner.training.loop import run
from bochner.training.progress import Evaluation, Progress, Reason

quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SOLVERS = [
    DoublyStochastic(step, coordinates, batch_size=100, feature_block=12)
    for step in ("preconditioned", "plain")
    for coordinates in ("new", "uniform", "checked")
]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: f"{s.step}-{s.coordinates}")


def after(step, action):
    """Return a callback that acts once, when so many steps are done."""

    def callback(progress):
        if progress.step == step and progress.reason is None and progress.position > 0:
            action()

    return callback


def interrupt():
    signal.raise_signal(signal.SIGINT)  # to this thread, at once


def losses(model):
    columns = model.history_
    return {name: columns[name] for name in ("step", "rows", "pass_", "loss", "held_out_loss")}


def assert_same_fit(one, two, X):
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert losses(one) == losses(two)
    assert one.n_iter_ == two.n_iter_
    assert one.stopped_because_ == two.stopped_because_


def stopped_by_interrupt(model, X, y):
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=[after(6, interrupt)]).fit(X, y)
    assert model.history_["step"][-1] == 6
    assert model.stopped_because_ == "it was interrupted"
    return model.set_params(callbacks=None)


def stopped_by_time(model, X, y):
    seconds = model.max_seconds
    model.set_params(max_seconds=1e-9).fit(X, y)
    assert model.history_["step"] == [1]
    return model.set_params(max_seconds=seconds)


def stopped_by_passes(model, X, y):
    passes = model.max_passes
    model.set_params(max_passes=2).fit(X, y)
    assert model.n_iter_ == 2
    return model.set_params(max_passes=passes)


@quiet
def test_blas_has_one_thread_in_every_step(monkeypatch):
    seen = []

    def noted(method):
        def call(*arguments):
            info = threadpool_info()
            seen.extend(part["num_threads"] for part in info if part["user_api"] == "blas")
            return method(*arguments)

        return call

    for name in ("init", "advance", "end_pass"):
        monkeypatch.setattr(EigenPro, name, noted(getattr(EigenPro, name)))
    X = np.random.default_rng(0).normal(size=(200, 2))
    with threadpool_limits(2):
        KernelRegressor(solver="eigenpro", max_passes=2, random_state=0).fit(X, X[:, 0] - X[:, 1])
    assert len(seen) > 3
    assert set(seen) == {1}


@quiet
@every_solver
@pytest.mark.parametrize("stop", [stopped_by_interrupt, stopped_by_time, stopped_by_passes])
@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_fit_that_goes_on_is_the_uninterrupted_one(regression, solver, stop, early_stopping):
    X, y = regression
    settings = {"random_state": 0, "max_passes": 4, "tol": 0.0, "early_stopping": early_stopping}
    whole = KernelRegressor(solver=solver, **settings).fit(X, y)
    parts = stop(KernelRegressor(solver=solver, warm_start=True, **settings), X, y)
    assert np.isfinite(parts.predict(X)).all()
    assert_same_fit(whole, parts.fit(X, y), X)


@quiet
def test_a_pickled_fit_goes_on_in_another_process(classes):
    X, y = classes
    settings = {"random_state": 0, "max_passes": 4, "tol": 0.0, "solver": SOLVERS[0]}
    whole = KernelClassifier(**settings).fit(X, y)
    part = stopped_by_interrupt(KernelClassifier(warm_start=True, **settings), X, y)
    assert_same_fit(whole, pickle.loads(pickle.dumps(part)).fit(X, y), X)


@quiet
def test_an_interrupted_fit_can_go_on_without_having_planned_it(regression):
    X, y = regression
    settings = {"random_state": 0, "max_passes": 4, "tol": 0.0, "solver": SOLVERS[0]}
    whole = KernelRegressor(**settings).fit(X, y)
    part = stopped_by_interrupt(KernelRegressor(**settings), X, y)
    assert_same_fit(whole, part.set_params(warm_start=True).fit(X, y), X)


def test_a_converged_fit_has_nothing_to_go_on_for(regression):
    X, y = regression
    model = KernelRegressor(random_state=0, solver=SOLVERS[0], tol=0.1).fit(X, y)
    before = losses(model)
    model.set_params(warm_start=True).fit(X, y)
    assert losses(model) == before
    model.set_params(tol=0.0, max_passes=model.n_iter_ + 2)
    with pytest.warns(ConvergenceWarning, match="passes were done"):
        model.fit(X, y)
    assert model.n_iter_ == before["pass_"][-1] + 3


@quiet
def test_a_warm_start_on_other_rows_learns_them_too(regression):
    X, y = regression
    model = KernelRegressor(random_state=0, warm_start=True, max_passes=3, solver=SOLVERS[0])
    model.fit(X[:200], y[:200])
    assert model.fit(X[200:], y[200:]).n_iter_ == 3
    assert model.history_["step"] == list(range(1, 13))
    assert model.score(X, y) > 0.8


def test_a_second_interrupt_is_raised_at_once(regression):
    def twice():
        interrupt()
        interrupt()

    model = KernelRegressor(callbacks=[after(1, twice)], solver=SOLVERS[0])
    with pytest.raises(KeyboardInterrupt):
        model.fit(*regression)
    assert not hasattr(model, "expansion_")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@quiet
def test_an_interrupt_after_the_last_batch_is_heard(regression):
    def callback(progress):
        if progress.pass_ == 2 and progress.reason is None:
            interrupt()

    model = KernelRegressor(max_passes=2, callbacks=[callback], solver=SOLVERS[0])
    with pytest.raises(KeyboardInterrupt):
        model.fit(*regression)
    assert model.n_iter_ == 2


def test_signals_are_left_alone_in_other_threads():
    seen = []

    def work():
        with interruptible() as asked:
            seen.append((asked.is_set(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, signal.default_int_handler)]


@every_solver
def test_predictions_that_are_kept_equal_fresh_ones(regression, solver, monkeypatch):
    monkeypatch.setattr(lazy_predictions, "CALL", 0)  # keeping pays off for small data too
    X, y = regression
    y = y[:, None]
    sample = ArraySource(X, y).sample(400)
    basis = Fourier().build(Gaussian(1.0), sample, seed=0)
    kept, fresh = (
        run(
            solver,
            Problem(basis, Squared(), 1e-4, outputs=1, rows=rows),
            ArraySource(X, y),
            stop=Passes(4),
        ).expansion(X)
        for rows in (len(X), None)
    )
    np.testing.assert_allclose(kept, fresh, atol=2e-3)
    assert np.mean((kept - y) ** 2) < 0.5 * np.mean(y**2)


def progress(**changes):
    start = {"pass_": 0, "position": 0, "batches": 4, "step": 0, "rows": 0, "seconds": 0.0}
    return Progress(**start | {"loss": 1.0} | changes)


def test_rules_are_combined_by_or():
    rule = Passes(2) | Seconds(10.0) | RowLimit(1_000)
    assert rule(progress()) is None
    assert "2 passes" in str(rule(progress(pass_=2)))
    assert "10 seconds" in str(rule(progress(seconds=10.0)))
    assert "1,024 rows" in str(rule(progress(rows=1_024)))


def test_one_pass_is_all_there_is_to_do():
    assert OnePass(3)(progress(pass_=3, position=7)) is None
    assert OnePass(3)(progress(pass_=4)).converged


def test_tolerance_waits_for_some_passes_without_gain():
    rule = Tolerance(0.01, patience=2)

    def after(*losses, **changes):
        return rule(progress(**{"batches": 16, "pass_losses": losses} | changes))

    assert after(1.0, 0.5) is None
    assert after(1.0, 0.5, 0.6, 0.4) is None
    assert after(1.0, 0.5, 0.6, 0.495).converged
    assert after(1.0, 0.5, 0.6, 0.495, position=1) is None


def test_tolerance_counts_many_passes_where_a_pass_is_one_step():
    rule = Tolerance(0.01, patience=2)
    assert rule(progress(batches=1, pass_losses=(1.0, *[0.5] * 32))) is None
    assert rule(progress(batches=1, pass_losses=(1.0, *[0.5] * 33))).converged


def test_no_improvement_waits_for_some_looks_without_gain():
    def evaluated(*values):
        return progress(evaluations=tuple(Evaluation(k, k, v) for k, v in enumerate(values)))

    rule = NoImprovement(patience=2, tol=0.01)
    assert rule(evaluated(1.0, 1.0)) is None
    assert rule(evaluated(1.0, 1.1, 0.9)) is None
    assert rule(evaluated(1.0, 1.1, 0.995)).converged


def test_an_unfinished_fit_says_how_far_it_is(regression):
    model = KernelRegressor(random_state=0, max_passes=2, solver=SOLVERS[0])
    with pytest.warns(
        ConvergenceWarning, match=r"2 passes.*fell by 0\.\d+.*Raise max_passes"
    ) as seen:
        model.fit(*regression)
    assert seen[0].filename == __file__


@quiet
def test_a_function_is_told_every_batch_every_pass_and_the_end(regression):
    seen = []
    KernelRegressor(max_passes=2, tol=0.0, callbacks=[seen.append], solver=SOLVERS[0]).fit(
        *regression
    )
    assert [p.position for p in seen] == [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 0]
    assert [p.reason is None for p in seen] == [True] * 10 + [False]
    assert [p.passes for p in seen][:5] == [0.25, 0.5, 0.75, 1.0, 1.0]


@quiet
def test_a_callback_can_evaluate_the_function_learned_so_far(regression):
    X, y = regression
    errors = []

    def evaluate(progress):
        errors.append(np.mean((progress.expansion()(X)[:, 0] - y) ** 2))

    model = KernelRegressor(max_passes=3, callbacks=[evaluate], solver=SOLVERS[0]).fit(X, y)
    assert len(set(errors)) > 6
    assert errors[-1] == pytest.approx(np.mean((model.predict(X) - y) ** 2), rel=1e-5)


@quiet
def test_history_has_one_line_a_batch(regression):
    history = History()
    model = KernelRegressor(max_passes=2, tol=0.0, callbacks=[history], solver=SOLVERS[0])
    model.fit(*regression)
    assert history.columns == model.history_
    assert history.columns["step"] == list(range(1, 9))
    assert history.columns["rows"][-1] == 800


@quiet
@pytest.mark.parametrize("passes", [None, 2])
def test_the_progress_bar_draws_and_closes(regression, passes):
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    bar = ProgressBar(passes, console=console)
    KernelRegressor(max_passes=2, callbacks=[bar], solver=SOLVERS[0]).fit(*regression)
    text = console.file.getvalue()
    assert "pass 2" in text
    assert "features" in text
    assert "\x1b[?25h" in text  # the cursor is shown again


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_progress_bar_says_what_fits_into_a_line(width):
    console = Console(file=io.StringIO(), width=width)
    bar = ProgressBar(console=console, seconds=20)
    look = (Evaluation(6, 12_345_678, 0.12345),)
    at = Progress(10, 4, 4, 44, 12_345_678, 1.0, 0.5, size=476_779, evaluations=look)
    bar(replace(at, reason=Reason("it was told to", True)))
    line = console.file.getvalue().strip()
    assert line.startswith("pass 11 ━━━━━━━━━━ ")
    assert "loss 0.5  held out 0.1235  19 s left" in line
    assert "…" not in line
    assert ("12,345,678 rows" in line) == (width == 140)


def test_the_progress_bar_closes_when_the_fit_fails(regression):
    def fail():
        raise RuntimeError("no more")

    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    model = KernelRegressor(callbacks=[after(2, fail), ProgressBar(console=console)])
    with pytest.raises(RuntimeError, match="no more"):
        model.set_params(solver=SOLVERS[0]).fit(*regression)
    assert "\x1b[?25h" in console.file.getvalue()


@quiet
def test_verbose_draws_on_standard_error(regression, capsys):
    KernelRegressor(max_passes=1, verbose=True, solver=SOLVERS[0]).fit(*regression)
    captured = capsys.readouterr()
    assert "pass" in captured.err
    assert captured.out == ""


class Opened(DataSource):
    """A source that says when a walk through it was closed."""

    n_columns, n_rows = 1, None

    def __init__(self):
        self.closed, self.walks = 0, []

    def batches(self, size, seed=0, pass_=0, start=0):
        self.walks.append(self.walk(size))  # so that it is not closed for want of an owner
        return self.walks[-1]

    def walk(self, size):
        try:
            while True:
                yield self.sample(size)
        finally:
            self.closed += 1

    def sample(self, size, seed=0):
        X = np.linspace(0, 1, 64)[:, None]
        return Batch(X, X, np.arange(64))


def test_a_walk_that_is_given_up_is_closed():
    source = Opened()
    basis = Fourier().build(Gaussian(1.0), source.sample(64), seed=0)
    run(SOLVERS[0], Problem(basis, Squared(), 1e-4, outputs=1), source, stop=RowLimit(200))
    assert source.closed == 1


def test_a_diverging_fit_is_refused_with_advice(regression, monkeypatch):
    monkeypatch.setattr(
        "bochner.solvers.doubly_stochastic.doubly_stochastic.safe_step", lambda *_: 1e9
    )
    model = KernelRegressor(solver=SOLVERS[3], random_state=0, max_passes=500)
    with pytest.raises(FloatingPointError, match="scale='standard'"), np.errstate(all="ignore"):
        model.fit(*regression)
    assert not hasattr(model, "expansion_")


@quiet
@pytest.mark.parametrize("solver", ["direct", "nystroem", "cg", "newton"])
def test_history_has_the_loss_at_the_end_of_a_pass_and_none_before_it_is_known(regression, solver):
    ends = []
    features = Fourier(64) if solver in ("cg", "newton") else "auto"
    model = KernelRegressor(
        Gaussian(2.0),
        features=features,
        solver=solver,
        max_passes=2,
        random_state=0,
        callbacks=[lambda progress: ends.append((progress.step, progress.loss))],
    ).fit(*regression)
    last = dict(ends)
    for step, loss in zip(model.history_["step"], model.history_["loss"], strict=True):
        assert loss == last[step] or (loss is None and np.isnan(last[step]))
    assert model.history_["loss"][-1] > 0
