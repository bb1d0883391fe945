"""Going on: what makes a second fit the continuation of the first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.callbacks import Callback
from bochner.compute.pool import each_tile
from bochner.data import Batch, DataSource, RandomAccess
from bochner.estimators.automatic.defaults import is_auto
from bochner.estimators.fitting.setup import Setup
from bochner.estimators.fitting.training_data import Walk
from bochner.features import BinningBasis, CenterBasis, Centers
from bochner.problem import Problem
from bochner.solvers import Solver, State
from bochner.stopping import OnePass
from bochner.training.loop import INTERRUPTED, Solution, Training, batch_size, begun, run

HASHED_ROWS = 16_384  # at a time
HASHED_BYTES = 1 << 20  # by one thread
MOST_USED = 0.5  # of the bins: a model that uses fewer is made smaller when it is saved


def on_the_same_rows(training: Training, solver: Solver[Any], problem: Problem) -> Training:
    """Return a copy of the record; what it has forgotten of the rows is found out again."""
    training = deepcopy(training)
    if training.forgotten:
        training.state = solver.on_new_rows(problem, training.state)
        training.forgotten = False
    return training


def on_new_rows(training: Training, solver: Solver[Any], problem: Problem) -> Training:
    """Return a copy of the record for a first pass over other rows."""
    training = deepcopy(training)
    training.state = solver.on_new_rows(problem, training.state)
    training.pass_ = training.position = 0
    training.state.pass_losses = []
    training.batch_size = batch_size(solver, problem, training.state)
    training.memo, training.evaluations, training.forgotten = None, (), False
    training.last_pass = None
    return training


def on_larger_basis(training: Training, solver: Solver[Any], walk: Walk) -> Training:
    """Return the record for more functions on the same rows, which begins with no weights.

    Those of fewer functions are no help: they fit noise that the larger basis would not, and rows
    that are held out end the fit later and with a higher loss.
    """
    larger = begun(solver, walk.problem, walk.source)
    past = {name: getattr(training, name) for name in ("pass_", "step", "rows")}
    return replace(larger, **past, levels=(*training.levels, _best(training)))


def grown(
    walk: Walk, solution: Solution, tol: float, most_seconds: float | None, since: float
) -> Setup | None:
    """Return a setup with a larger basis if the last growth was worth it and there is time for it.

    The last one began `since` seconds after the fit did; the next, twice as large, will take twice
    as long.
    """
    training, seconds = solution.training, solution.progress.seconds
    if walk.held_out is None or not solution.reason.converged:
        return None
    if most_seconds is not None and seconds + 2 * (seconds - since) > most_seconds:
        return None
    if training.levels and _best(training) > (1 - tol) * training.levels[-1]:
        return None
    return walk.setup.grown(walk.problem.rows)


def gained(before: Training, after: Training) -> bool:
    """Whether held-out rows lose less after a growth than before it."""
    return _best(after) < _best(before)


def kept(before: Solution, after: Solution) -> Solution:
    """Return what was learned with fewer functions, after more were no better or not done.

    What is no better is not to be tried again.
    """
    if after.reason is INTERRUPTED:
        return replace(before, reason=INTERRUPTED)
    before.training.levels += (_best(before.training),)
    return before


def _best(training: Training) -> float:
    return min((evaluation.loss for evaluation in training.evaluations), default=np.inf)


def last_pass(
    solver: Solver[Any], walk: Walk, solution: Solution, callbacks: Iterable[Callback]
) -> Solution:
    """Go on from the best function for one pass through all rows, the held-out ones included.

    A pass that was interrupted is gone on with, one that has been made is not repeated.
    """
    training = solution.training
    if training.last_pass is None:
        training.state = solver.at_best(walk.problem, training.state)
        training.position, training.last_pass = 0, training.pass_
    last = run(
        solver,
        walk.problem,
        walk.source,
        stop=OnePass(training.last_pass),
        callbacks=callbacks,
        training=training,
    )
    return last if last.reason is INTERRUPTED else replace(last, reason=solution.reason)


def require_steps(solver: Solver[Any], features: Any) -> None:
    """Refuse to learn from rows as they come by a solver, or features, that need all of them."""
    features = solver.home(None) if is_auto(features) else features
    named = isinstance(features, str) and features == "centers"
    if named or (
        isinstance(features, Centers) and features.size is None and features.given is None
    ):
        raise AttributeError(
            "All rows are to be centres, but partial_fit sees some of them. Give a number of "
            "centres, such as features=Centers(1000)."
        )
    if solver.walks != "shuffled":
        raise AttributeError(
            f"{type(solver).__name__} goes through all rows again and again, but partial_fit sees "
            "some of them once. Leave solver='auto', or give 'dsg' or 'averaged'."
        )


def require_stream(solver: Solver[Any], setup: Setup) -> None:
    """Refuse rows in parts where all rows are centres."""
    if isinstance(setup.basis, CenterBasis) and setup.basis.is_of_rows:
        raise ValueError(
            "partial_fit sees some of the rows, so they cannot all be centres. Give a number of "
            "centres, such as features=Centers(1000), or features='fourier'."
        )


def require_own(solver: Solver[Any], state: State) -> None:
    """Refuse to go on from what another solver has left."""
    if not isinstance(state, solver.state_type):
        raise ValueError(
            f"This model was fitted by another solver, so {type(solver).__name__} cannot go on "
            "with it. Begin anew, and name the same solver each time: solver='averaged' for fit "
            "followed by partial_fit on bins."
        )


def require_same_rows(digest: bytes | None, before: bytes | None) -> None:
    """Refuse to go on with a checkpoint on other rows, or by other settings, than it was made."""
    if digest is None or digest != before:
        raise ValueError(
            "This is a checkpoint of a fit to other rows or by other settings, and cannot go on "
            "with these. Give the same rows in the same order and the same parameters, or begin "
            "anew with a clone of this estimator."
        )


def without_unused_bins(estimator: Any) -> dict[str, Any]:
    """Return what a pickle holds instead of the attributes of a model with few bins in use.

    The record for going on is left out: it knows all bins. A fit that has not ended keeps both.
    """
    training, expansion = (estimator.__dict__.get(name) for name in ("_training", "expansion_"))
    ended = training is not None and training.forgotten
    if not ended or not isinstance(expansion.basis, BinningBasis):
        return {}
    used = expansion.weights.any(axis=1)
    if used.sum() > MOST_USED * len(used):
        return {}
    basis = expansion.basis.restricted(used)
    smaller = replace(expansion, basis=basis, weights=expansion.weights[used])
    setup: Setup = replace(estimator._setup, basis=basis, rows_in_bins=None)
    return setup.attributes(smaller) | {"_training": None, "_digest": None}


def forget_rows(training: Training, solver: Solver[Any], problem: Problem) -> None:
    """Drop what the record holds for each row: a model file should not grow with the data."""
    training.state = solver.on_new_rows(problem, training.state)
    training.memo, training.forgotten = None, True


def fingerprint(source: DataSource, setup: Setup, settings: str) -> bytes | None:
    """Return a digest by which a second fit tells the same rows and settings from others.

    It is taken from all rows where they are at hand, else from a sample, and these two differ:
    they are shuffled in other ways. Rows that can be read only once are never the same.
    """
    if source.once:
        return None
    at_hand = isinstance(source, RandomAccess)
    known = repr((source.n_rows, source.n_columns, settings, at_hand))
    digest = hashlib.blake2b(known.encode())
    walk = source.batches(HASHED_ROWS) if at_hand else [source.sample(HASHED_ROWS, setup.seed)]
    for batch in walk:
        for array in _arrays(batch, setup):
            digest.update(_digest(np.ascontiguousarray(array)))
    return digest.digest()


def _digest(array: NDArray[Any]) -> bytes:
    """Return the digests of some rows of an array at a time, all of them together."""
    rows = max(1, HASHED_BYTES // max(1, array.nbytes // len(array)))
    found = [b""] * -(-len(array) // rows)

    def work(top: int, bottom: int) -> None:
        found[top // rows] = hashlib.blake2b(array[top:bottom].data).digest()

    each_tile(work, len(array), rows)
    return b"".join(found)


def _arrays(batch: Batch, setup: Setup) -> list[NDArray[Any]]:
    X = batch.X
    rows = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    coded = setup.targets(batch)
    return [part for part in (*rows, coded.y, coded.weight) if part is not None and part.size > 0]


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Give an estimator its attributes back if what happens inside fails."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
