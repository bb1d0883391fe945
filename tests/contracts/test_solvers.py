"""What every solver promises: each solver in the registry, on all features it takes, and each law.

A solver that is registered is tested with no change here. One that cannot keep a law stands in
EXCEPTIONS with the reason; an exception that is no longer needed fails.
"""

import pickle
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import bochner
from bochner import Checkpoint, KernelRegressor
from bochner.data import ArraySource, IteratorSource, prefetched
from bochner.data.batch import make_batch
from bochner.features import Centers, KernelBasis, NystroemFeatures
from bochner.kernels import Gaussian, Polynomial
from bochner.losses import Loss, Multinomial, Regression, SmoothedAbsolute
from bochner.problem import Problem
from bochner.solvers import DoublyStochastic, EigenPro, PlainStep, Preconditioned, Solver
from bochner.stopping import Passes, Solved
from bochner.training.loop import run
from contracts.solver_cases import (
    CASES,
    FEATURES,
    N_ROWS,
    SOLVERS,
    Case,
    bits,
    kept,
    labels,
    table,
    takes,
    values,
)

in_small_batches = pytest.mark.usefixtures("small_batches")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WHOLE = 10_000  # rows of a batch: all that there are
MANY_ROWS = {"bins": 1_100}  # more than a tile, which one thread works on; others 520

LONGER_STEPS = (
    "a row of weight 3 makes one step of three times the length instead of three steps, which is "
    "the same in the limit of short steps (tests/laws/test_averaged_gradient.py)"
)
MORE_CENTRES = (
    "the penalty is on the coefficients at the centres: repeated rows are further centres, which "
    "is another problem"
)
SHARED_STEPS = "the length of a step on a block of functions is found for all outputs together"
EXCEPTIONS = {
    ("averaged", "memory"): "the number of bins that are kept follows the budget (most_bins)",
    ("averaged", "weights"): LONGER_STEPS,
    ("averaged", "weighted batches"): LONGER_STEPS,
    ("cdsg", "outputs"): SHARED_STEPS,
    ("cg on centres", "weights"): MORE_CENTRES,
    ("dsg", "outputs"): SHARED_STEPS,
    ("newton on centres", "weights"): MORE_CENTRES,
    ("smo", "outputs"): "the absolute loss weights each output by its deviation, for one alpha",
    ("udsg", "outputs"): SHARED_STEPS,
}

LAWS: set[str] = set()
BUGS = (TypeError, bochner.ModelFileError)


def law(name: str, applies_to: Sequence[Case] = CASES) -> pytest.MarkDecorator:
    """Apply a law to every case; it must fail where an exception is made."""
    LAWS.add(name)
    cases = []
    for case in applies_to:
        reasons = [EXCEPTIONS.get((who, name)) for who in (case.name, str(case))]
        reason = next(filter(None, reasons), None)
        fails = pytest.mark.xfail(strict=True, reason=str(reason), raises=(AssertionError, *BUGS))
        cases.append(pytest.param(case, id=str(case), marks=[fails] if reason else []))
    return pytest.mark.parametrize("case", cases)


def distance(one: np.ndarray, two: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(one - two))))


def assert_same_fit(one: Any, two: Any, X: np.ndarray) -> None:
    np.testing.assert_array_equal(values(one, X), values(two, X))
    for name in one.history_.keys() - {"seconds"}:
        assert one.history_[name] == two.history_[name], name
    assert (one.n_iter_, one.stopped_because_) == (two.n_iter_, two.stopped_because_)


@pytest.mark.parametrize("name", sorted(Solver.registry))
def test_every_registered_solver_is_in_the_table(name):
    assert any(case.name == name for case in CASES)


both_batches = pytest.mark.parametrize("batches", ["small batches", "whole batches"])


def machines_with(
    batches: str, case: Case, request: pytest.FixtureRequest
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Machines that see a few rows in several batches, or many in one.

    Only a batch of many rows is shared by several threads.
    """
    if batches == "small batches":
        request.getfixturevalue("small_batches")
        yield from case.machines()
        return
    rows = MANY_ROWS.get(case.features, 520)
    X, y = table(rows)
    for model, target in ((case.regressor(), y), (case.classifier(), labels(y))):
        if hasattr(model.solver, "batch_size"):
            model.set_params(solver__batch_size=rows, max_passes=2)
        yield model, X, target


@law("threads")
@both_batches
def test_the_number_of_threads_changes_no_bit(case, batches, request):
    for model, X, y in machines_with(batches, case, request):
        expected = bits(clone(model).set_params(n_jobs=1).fit(X, y), X)
        for n_jobs in (2, 4):
            other = clone(model).set_params(n_jobs=n_jobs).fit(X, y)
            np.testing.assert_array_equal(bits(other, X), expected)


@law("memory")
@both_batches
def test_a_smaller_memory_budget_changes_no_bit_or_is_refused(case, batches, request):
    for model, X, y in machines_with(batches, case, request):
        expected = bits(clone(model).set_params(memory_budget="1GB").fit(X, y), X)
        smaller = [
            fit_within(budget, model, X, y)
            for budget in (0, "4kB" if batches == "small batches" else "1MB")
        ]
        if all(found is None for found in smaller):
            smaller = [fit_within("13MB", model, X, y)]
            assert smaller[0] is not None
        for found in smaller:
            if found is not None:
                np.testing.assert_array_equal(found, expected)


def fit_within(budget: Any, model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return the predictions of a fit, or None if it is refused for want of memory."""
    try:
        return bits(clone(model).set_params(memory_budget=budget).fit(X, y), X)
    except ValueError as error:
        if "memory_budget" in str(error):
            return None
        raise


def blocks(X: np.ndarray, y: np.ndarray, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(X[a : a + size], y[a : a + size]) for a in range(0, len(X), size)]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@law("formats")
@in_small_batches
def test_rows_of_arrays_and_files_give_the_same_bits(case, tmp_path):
    X, y = table()
    fits = {
        name: case.regressor().fit(*given()).predict(X)
        for name, given in kept(X, y, tmp_path).items()
    }
    for name, predicted in fits.items():
        np.testing.assert_array_equal(predicted, fits["array"], name)


STREAMS = {
    "read again": lambda X, y, size: IteratorSource(blocks(X, y, size)),
    "read ahead": lambda X, y, size: prefetched(IteratorSource(blocks(X, y, size))),
    "read once": lambda X, y, size: iter(blocks(X, y, size)),
}


@law("chunks")
@pytest.mark.parametrize("form", STREAMS)
def test_the_blocks_of_a_stream_change_no_bit_or_it_is_refused(case, form):
    X, y = table()

    def outcome(size: int) -> Any:
        try:
            return case.regressor().fit(STREAMS[form](X, y, size)).predict(X)
        except ValueError as error:
            return str(error)

    expected = outcome(N_ROWS)
    for size in (7, 100):
        np.testing.assert_array_equal(outcome(size), expected)


class Copies:
    """Keeps the checkpoint that was written last, after each batch."""

    def __init__(self, path: Path) -> None:
        self.path, self.files, self.positions = path, [], []

    def __call__(self, progress: Any) -> None:
        if progress.reason is None:
            self.files.append(self.path.read_bytes())
            self.positions.append(progress.position)


@law("checkpoint")
@in_small_batches
def test_a_fit_continues_from_any_checkpoint_to_the_same_bits(case, tmp_path):
    path = tmp_path / "checkpoint"
    for (model, X, y), early_stopping in zip(case.machines(), (True, False), strict=True):
        model.set_params(early_stopping=early_stopping)
        copies = Copies(path)
        whole = clone(model).set_params(callbacks=[Checkpoint(path, 0), copies]).fit(X, y)
        last = len(copies.files) - 1
        middle = max(i for i, position in enumerate(copies.positions) if position > 0)
        for number in {last // 3, middle, last}:
            path.write_bytes(copies.files[number])
            part = bochner.load(path)
            assert np.isfinite(values(part, X)).all()
            assert_same_fit(part.fit(X, y), whole, X)


@law("more passes")
@in_small_batches
@pytest.mark.parametrize("early_stopping", [False, True])
def test_more_passes_are_those_of_one_fit(case, early_stopping):
    for model, X, y in case.machines(early_stopping=early_stopping, tol=0.0):
        if hasattr(model.solver, "tol"):
            model.set_params(solver__tol=1e-9)
        whole = clone(model).set_params(max_passes=6).fit(X, y)
        part = clone(model).set_params(max_passes=2, warm_start=True).fit(X, y)
        part = pickle.loads(pickle.dumps(part))
        assert part.n_iter_ == min(2, whole.n_iter_)
        part.set_params(max_passes=6)
        assert_same_fit(part.fit(X, y), whole, X)


def contradicting() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every row twice, with opposite targets; the first has three times the weight of the second.

    Rows on one side of the origin have twice the weight of those on the other.
    """
    X, y = (part[: N_ROWS // 2] for part in table())
    weight = np.outer([3, 1], 1 + (X[:, 2] > 0)).ravel()
    return np.vstack([X, X]), np.concatenate([y, -y]), weight


def forms(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[tuple[Any, ...], ...]:
    """Rows with weights, repeated rows, and rows without weights."""
    return (X, y, weight), (np.repeat(X, weight, axis=0), np.repeat(y, weight)), (X, y)


def repeatable(case: Case) -> Any:
    """The solver, set so that a row of weight 3 has the effect of three rows.

    A pass is one batch, and neither the functions of a block, nor eigenvectors, nor the length of
    a step depend on the number of rows. (By default the noise of a step is that of the effective
    number of rows, and the longest plain step that of rows without weights.)
    """
    solver = clone(SOLVERS[case.name])
    if isinstance(solver, DoublyStochastic):
        step = PlainStep(0.1) if solver.step == "plain" else Preconditioned(1e-2, caution=0.0)
        return solver.set_params(batch_size=WHOLE, feature_block=16, step=step)
    if isinstance(solver, EigenPro):
        few = 8 if solver.eigenvectors == "auto" else solver.eigenvectors
        return solver.set_params(batch_size=WHOLE, eigenvectors=few)
    return solver.set_params(tol=1e-6) if hasattr(solver, "tol") else solver


def posed(case: Case, X: np.ndarray, alpha: float) -> Problem:
    """The regression of a case; if it has some centres, they do not depend on the rows."""
    model = case.regressor(**same_centres(case))
    basis = model.features.build(model.kernel, ArraySource(X).sample(len(X)), seed=0)
    return Problem(basis, Loss.resolve(model.loss), alpha, outputs=1, rows=len(X))


def same_centres(case: Case) -> dict[str, Any]:
    some = case.features == "some centres"
    return {"features": Centers(given=contradicting()[0][:40])} if some else {}


BY_PASSES = [
    case
    for case in CASES
    if case.solver.tags.evaluates == "passes" and not hasattr(case.solver, "batch_size")
]


@law("loss", BY_PASSES)
def test_the_loss_of_the_last_pass_is_that_of_the_training_rows(case):
    settings = {"alpha": 1e-2, "max_passes": 100, "solver": clone(case.solver)}
    for model, X, y in case.machines(**settings):
        if hasattr(model.solver, "tol"):
            model.set_params(solver__tol=1e-6)
        weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
        loss = model.fit(X, y, weight).loss_
        loss = replace(loss, width=1e-9) if isinstance(loss, SmoothedAbsolute) else loss
        targets = y[:, None] if isinstance(model, KernelRegressor) else coded(y, model)
        losses = loss.value(targets, values(model, X).reshape(targets.shape))
        mean = np.average(losses, weights=weight)
        assert model.history_["loss"][-1] == pytest.approx(mean, rel=1e-3)


def coded(y: np.ndarray, model: Any) -> np.ndarray:
    """The targets of a loss for labels: 1 for the class, else 0, or -1 for losses of margins."""
    chosen = (y[:, None] == model.classes_).astype(float)
    return chosen if isinstance(model.loss_, Multinomial) else 2 * chosen - 1


@law("weights")
def test_weights_are_repetitions_up_to_rounding(case):
    solver, points = repeatable(case), contradicting()[0]
    stop = Solved() | Passes(400 if solver.tags.evaluates == "passes" else 30)

    def learned(X, y, weight=None):
        source = ArraySource(X, y[:, None], weight)
        return run(solver, posed(case, X, alpha=1e-2), source, stop=stop).expansion(points)

    weighted, repeated, plain = (learned(*form) for form in forms(*contradicting()))
    assert distance(weighted, repeated) < 1e-3 * distance(plain, repeated)


STOCHASTIC = [case for case in CASES if SOLVERS[case.name].tags.access == "shuffled"]
# Where all rows are centres, repeated rows are other functions.
OF_ANY_ROWS = [case for case in STOCHASTIC if case.features != "centres"]


@law("weighted batches", OF_ANY_ROWS)
def test_batches_with_weights_move_the_function_like_batches_of_repeated_rows(case):
    X, y, weight = contradicting()
    solver, problem = repeatable(case), replace(posed(case, X, alpha=0.0), rows=int(weight.sum()))
    first = solver.init(problem, make_batch(X, y[:, None], weight))
    numbers = np.arange(len(X)) % 4  # of the batches

    def moved(rows, targets, row_weight=None):
        state, whole = deepcopy(first), make_batch(rows, targets[:, None], row_weight)
        batches = numbers if len(rows) == len(X) else np.repeat(numbers, weight)
        for number in range(4):
            state = solver.advance(problem, state, whole[batches == number])
        return solver.expansion(problem, state)(X)

    weighted, repeated, plain = (moved(*form) for form in forms(X, y, weight))
    assert distance(weighted, repeated) < 1e-4 * distance(plain, repeated)


@law("weights in the mean", STOCHASTIC)
def test_default_steps_follow_the_weights_in_the_mean_over_seeds(case):
    X, y, weight = contradicting()
    seeds = 12 if case.features == "endless waves" else 4  # for the waves are drawn, too
    points, target = X[: N_ROWS // 2], y[: N_ROWS // 2]

    def learned(*form):
        models = (
            case.regressor(alpha=1e-2, max_passes=30, random_state=seed, **same_centres(case))
            for seed in range(seeds)
        )
        return np.mean([model.fit(*form).predict(points) @ target for model in models])

    weighted, repeated, plain = (learned(*form) for form in forms(X, y, weight))
    assert abs(plain) < 0.25 * repeated
    assert abs(weighted - repeated) < 0.25 * repeated


LOW_RANK = {
    "linear": Polynomial(1),
    "cubic": Polynomial(3),
    "wide": Gaussian(20.0),
    "very wide": Gaussian(100.0),
}
# A function of bins is constant in a cell of the grids, and jumps at its border.
SMOOTH = [case for case in CASES if case.features != "bins"]


@law("close rows", SMOOTH)
@pytest.mark.parametrize("kernel", LOW_RANK)
def test_close_rows_have_close_predictions_even_where_the_kernel_has_a_low_rank(case, kernel):
    X, y = table()
    points = np.random.default_rng(1).uniform(-1, 1, size=(500, 3))
    maps = [FEATURES[case.features]]
    if case.features == "waves" and issubclass(KernelBasis, case.solver.tags.basis_type):
        maps.append(NystroemFeatures(100))
    for features in (one for one in maps if one.takes(LOW_RANK[kernel])):
        settings = {"kernel": LOW_RANK[kernel], "features": features, "alpha": 1e-9}
        model = case.regressor(**settings, max_passes=20).fit(X, y)
        for rows in (points, points.astype(np.float32)):
            moved = model.predict(rows + rows.dtype.type(1e-6))
            assert np.abs(moved - model.predict(rows)).max() <= 1e-3 * y.std()


@pytest.mark.parametrize("solver", ["nystroem", "direct", "smo", "eigenpro"])
def test_a_linear_kernel_gives_a_linear_function(solver):
    X, y = table()
    loss = "absolute" if solver == "smo" else "squared"
    settings = {"loss": loss, "features": "centers", "alpha": 1e-8, "max_passes": 50}
    model = KernelRegressor(Polynomial(1), solver=solver, **settings, random_state=0).fit(X, y)
    one, two = np.random.default_rng(1).normal(size=(2, 200, 3))
    between = model.predict((one + two) / 2)
    ends = (model.predict(one) + model.predict(two)) / 2
    np.testing.assert_allclose(between, ends, rtol=0, atol=1e-5 * y.std())


@law("sparse rows")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_learned_like_dense_ones(case, dtype):
    X, y = table()
    X = np.where(np.abs(X) < 0.5, 0.0, X).astype(dtype)
    S = sp.csr_array(X)
    dense, sparse = case.converged().fit(X, y), case.converged().fit(S, y)
    assert dense.predict(X).dtype == sparse.predict(S).dtype == dtype
    assert distance(dense.predict(X), sparse.predict(S)) < 1e-3
    assert distance(dense.predict(X), dense.predict(S)) < 1e-5


@law("outputs")
def test_several_outputs_are_several_regressions(case):
    X, y = table()
    Y = np.column_stack([y, 3 * y - 1, np.cos(X[:, 2])])
    together = case.converged().fit(X, Y).predict(X)
    assert together.shape == Y.shape
    for column, target in zip(together.T, Y.T, strict=True):
        alone = case.converged().fit(X, target).predict(X)
        assert distance(column, alone) < 1e-3 * np.std(target)


@law("rows")
@in_small_batches
def test_the_history_counts_every_row_once_a_pass(case):
    X, y = table()
    model = case.regressor().fit(X, y)
    assert model.history_["rows"][-1] == model.n_iter_ * N_ROWS


@law("a column")
def test_a_column_of_targets_gives_a_column_of_the_same_bits(case):
    X, y = table()
    flat, column = (case.regressor().fit(X, target).predict(X) for target in (y, y[:, None]))
    assert column.shape == (N_ROWS, 1)
    np.testing.assert_array_equal(flat, column[:, 0])


@pytest.mark.parametrize("name", SOLVERS)
def test_features_that_a_solver_does_not_take_are_refused_by_a_sentence(name):
    X, y = table()
    for features in FEATURES:
        if not takes(name, features):
            with pytest.raises(ValueError, match=r"needs .*; got .*\. (Give|Choose) ") as error:
                Case(name, features).regressor().fit(X, y)
            assert str(error.value).endswith(".")


@pytest.mark.parametrize("name", SOLVERS)
def test_losses_that_a_solver_does_not_take_are_refused_by_a_sentence(name):
    X, y = table()
    case = next(case for case in CASES if case.name == name)
    kind = type(SOLVERS[name]).__name__
    for loss in sorted(Loss.registry):
        instance = Loss.resolve(loss)
        if not isinstance(instance, SOLVERS[name].tags.loss_type):
            values = isinstance(instance, Regression)
            make, target = (case.regressor, y) if values else (case.classifier, labels(y))
            said = rf"{kind} needs a .*; got {type(instance).__name__}\. Choose another"
            with pytest.raises(ValueError, match=said):
                make(loss=loss).fit(X, target)


def test_exceptions_name_solvers_and_laws_that_there_are():
    known = {name for case in CASES for name in (case.name, str(case))}
    assert {who for who, _ in EXCEPTIONS} <= known
    assert {what for _, what in EXCEPTIONS} <= LAWS
    assert all(reason.strip() for reason in EXCEPTIONS.values())
