"""What a fit continues from, on the same rows, on others or with more functions; fingerprints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.pool import each_tile
from bochner.data import Batch, DataSource, RandomAccess
from bochner.estimators.automatic.settings import is_auto
from bochner.estimators.fitting.setup import Setup, TrainingData
from bochner.features import Basis, BinningBasis, CenterBasis, Centers
from bochner.kernels import Precomputed
from bochner.problem import Expansion, Problem
from bochner.solvers import Solver, State
from bochner.training.loop import INTERRUPTED, Solution, Training, batch_size, initial_training

HASHED_ROWS = 16_384  # at a time
HASHED_BYTES = 1 << 20  # by one thread
MOST_USED = 0.5  # of the bins: a model that uses fewer is saved without the others


def resume_on_same_rows(training: Training, solver: Solver[Any], problem: Problem) -> Training:
    """Return a copy of the record; what it has dropped of the rows is computed again."""
    training = deepcopy(training)
    if training.forgotten:
        training.state = solver.on_new_rows(problem, training.state)
        training.forgotten = False
    return training


def resume_on_new_rows(training: Training, solver: Solver[Any], problem: Problem) -> Training:
    """Return a copy of the record for a first pass over other rows."""
    training = deepcopy(training)
    training.state = solver.on_new_rows(problem, training.state)
    training.pass_ = training.position = 0
    training.state.pass_losses = []
    training.batch_size = batch_size(solver, problem, training.state)
    training.memo, training.evaluations, training.forgotten = None, (), False
    training.last_pass = None
    return training


def drop_rows(training: Training, solver: Solver[Any], problem: Problem) -> None:
    """Drop what the record holds for each row: a model file should not grow with the data."""
    training.state = solver.on_new_rows(problem, training.state)
    training.memo, training.forgotten = None, True


def without_unused_bins(
    setup: Setup, expansion: Expansion, training: Training | None
) -> dict[str, Any]:
    """Return what is saved in place of the attributes of a finished model with few bins in use.

    The record for resuming is left out: it holds all bins.
    """
    finished = training is not None and training.forgotten
    if not finished or not isinstance(expansion.basis, BinningBasis):
        return {}
    used = np.asarray(expansion.weights.any(axis=1))
    if used.sum() > MOST_USED * len(used):
        return {}
    basis = expansion.basis.restricted(used)
    smaller = replace(expansion, basis=basis, weights=expansion.weights[used])
    setup = replace(setup, basis=basis, rows_in_bins=None)
    return setup.attributes(smaller) | {"_training": None, "_digest": None}


def require_partial_fit(solver: Solver[Any], features: Any) -> None:
    """Refuse to learn from parts of the rows by a solver, or features, that need all of them."""
    features = solver.tags.default_features if is_auto(features) else features
    named = isinstance(features, str) and features == "centers"
    if named or (
        isinstance(features, Centers) and features.size is None and features.given is None
    ):
        raise AttributeError(
            "All rows are to be centres, but partial_fit sees some of them. Give a number of "
            "centres, such as features=Centers(1000)."
        )
    if solver.tags.access != "shuffled":
        raise AttributeError(
            f"{type(solver).__name__} goes through all rows again and again, but partial_fit sees "
            "some of them once. Leave solver='auto', or give 'dsg' or 'averaged'."
        )


def has_row_functions(basis: Basis) -> bool:
    """Whether the functions of a basis are kernel functions at all training rows."""
    return isinstance(basis, CenterBasis) and basis.is_of_rows


def require_fixed_basis(setup: Setup) -> None:
    """Refuse rows in parts where all rows are centres."""
    if has_row_functions(setup.basis):
        raise ValueError(
            "partial_fit sees some of the rows, so they cannot all be centres. Give a number of "
            "centres, such as features=Centers(1000), or features='fourier'."
        )


def require_own_state(solver: Solver[Any], state: State) -> None:
    """Refuse to continue from the state of another solver."""
    if not isinstance(state, solver.tags.state_type):
        raise ValueError(
            f"This model was fitted by another solver, so {type(solver).__name__} cannot go on "
            "with it. Begin anew, and name the same solver each time: solver='averaged' for fit "
            "followed by partial_fit on bins."
        )


def require_same_rows(digest: bytes | None, before: bytes | None) -> None:
    """Refuse to resume a checkpoint on other rows, or by other settings, than it was made."""
    if digest is None or digest != before:
        raise ValueError(
            "This is a checkpoint of a fit to other rows or by other settings, and cannot go on "
            "with these. Give the same rows in the same order and the same parameters, or begin "
            "anew with a clone of this estimator."
        )


def require_checkpoints(digest: bytes | None, setup: Setup) -> None:
    """Refuse to save a fit that no later one could resume."""
    if isinstance(setup.kernel, Precomputed):
        raise ValueError("Fits to a precomputed kernel have no checkpoints: save the fitted model.")
    if digest is None:
        raise ValueError(
            "Checkpoints need rows that can be read again; got some that can be read only once. "
            "Leave the checkpoint out of callbacks, or give rows as an array or a file."
        )


def fingerprint(source: DataSource, setup: Setup, settings: str) -> bytes | None:
    """Return a digest of rows, coded targets, weights and settings, None for rows read only once.

    All rows are digested where the source has random access, else a sample. The two differ: they
    are shuffled in other ways.
    """
    if source.once:
        return None
    every_row = isinstance(source, RandomAccess)
    known = repr((source.n_rows, source.n_columns, settings, every_row))
    digest = hashlib.blake2b(known.encode())
    batches = source.batches(HASHED_ROWS) if every_row else [source.sample(HASHED_ROWS, setup.seed)]
    for batch in batches:
        for array in _arrays(batch, setup):
            digest.update(_digest(np.ascontiguousarray(array)))
    return digest.digest()


def _digest(array: NDArray[Any]) -> bytes:
    """Return the digests of blocks of rows, joined: threads share the blocks."""
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
    """Restore the attributes of an estimator if the block fails."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def training_on_larger_basis(
    training: Training, solver: Solver[Any], data: TrainingData
) -> Training:
    """Return the record for more functions on the same rows, which starts from zero weights.

    Weights of fewer functions are no help: they fit noise that the larger basis would not, so that
    held-out rows end the fit later and with a higher loss.
    """
    larger = initial_training(solver, data.problem, data.source)
    past = {name: getattr(training, name) for name in ("pass_", "step", "rows")}
    return replace(larger, **past, levels=(*training.levels, _best_loss(training)))


def larger_setup(
    data: TrainingData, solution: Solution, tol: float, most_seconds: float | None, since: float
) -> Setup | None:
    """Return a setup with a larger basis if the last growth was worth it and time is left.

    The last growth started `since` seconds after the fit; the next, twice as large, takes twice as
    long.
    """
    training, seconds = solution.training, solution.progress.seconds
    if data.held_out is None or not solution.reason.converged:
        return None
    if most_seconds is not None and seconds + 2 * (seconds - since) > most_seconds:
        return None
    if training.levels and _best_loss(training) > (1 - tol) * training.levels[-1]:
        return None
    return data.setup.with_larger_basis(data.problem.rows)


def solution_without_growth(before: Solution, after: Solution) -> Solution:
    """Return the solution with fewer functions, after more did not help or were interrupted.

    A growth that did not help is not tried again.
    """
    if after.reason is INTERRUPTED:
        return replace(before, reason=INTERRUPTED)
    before.training.levels += (_best_loss(before.training),)
    return before


def has_improved(before: Training, after: Training) -> bool:
    """Whether the best loss on held-out rows is lower after a growth than before it."""
    return _best_loss(after) < _best_loss(before)


def _best_loss(training: Training) -> float:
    return min((evaluation.loss for evaluation in training.evaluations), default=np.inf)
