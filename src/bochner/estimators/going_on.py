"""Going on: what makes a second fit the continuation of the first."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data import Batch, DataSource, RandomAccess
from bochner.estimators.setup import Setup
from bochner.loop import Training
from bochner.problem import Problem
from bochner.solvers import Solver

HASHED_ROWS = 16_384  # at a time


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
    training.batch_size = solver.rows_per_batch(problem)
    training.memo, training.evaluations, training.forgotten = None, (), False
    return training


def forget_rows(training: Training, solver: Solver[Any], problem: Problem) -> None:
    """Drop what the record holds for each row: a model file should not grow with the data."""
    training.state = solver.on_new_rows(problem, training.state)
    training.memo, training.forgotten = None, True


def fingerprint(source: DataSource, setup: Setup, settings: str) -> bytes | None:
    """Return a digest by which a second fit tells the same rows and settings from others.

    It is taken from all rows where they are at hand, else from a sample; rows that can be read
    only once are never the same.
    """
    if source.once:
        return None
    digest = hashlib.blake2b(repr((source.n_rows, source.n_columns, settings)).encode())
    at_hand = isinstance(source, RandomAccess)
    walk = source.batches(HASHED_ROWS) if at_hand else [source.sample(HASHED_ROWS, setup.seed)]
    for batch in walk:
        for array in _arrays(batch, setup):
            digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


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
