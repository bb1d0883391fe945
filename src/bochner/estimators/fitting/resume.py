"""What a fit continues from, on the same rows or on others, and what it refuses to."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.data import Batch, DataSource, RandomAccess
from bochner.estimators.automatic.plan import Plan
from bochner.estimators.automatic.settings import FitSettings, is_auto
from bochner.estimators.fitting.setup import DIGEST_VERSION, FitRecord, Preparation, Setup
from bochner.features import Basis, BinningBasis, CenterBasis, Centers
from bochner.kernels import Precomputed
from bochner.problem import Expansion, Problem
from bochner.solvers import AveragedGradient, EigenPro, Solver, State
from bochner.training.loop import Training, batch_size

HASHED_ROWS, HASHED_BYTES = 16_384, 1 << 20  # at a time, in digests of the first version
MOST_USED = 0.5  # of the bins: a model that uses fewer is saved without the others


def is_same_fit(
    prepared: Preparation, previous: FitRecord, source: DataSource, settings: FitSettings
) -> bool:
    """Whether rows and settings are those of an earlier fit, perhaps by an earlier version."""
    now, before = prepared.digest, previous.digest
    if now is None or before is None:
        return False
    if before.startswith(DIGEST_VERSION):
        return now == before
    return before == first_version_digest(
        source, previous.setup, settings.described(prepared.solver)
    )


def resumed(
    previous: FitRecord,
    solver: Solver[Any],
    problem: Problem,
    same_rows: bool,
    source: DataSource,
) -> Training:
    """Return the record from which an earlier fit continues, on the same rows or on others.

    `source` are the coded rows.
    """
    training = previous.training
    assert training is not None  # the estimator refuses to continue without
    counts = previous.setup.rows_in_bins
    if counts is not None and isinstance(solver, AveragedGradient):
        state = solver.continue_from(problem, previous.expansion, counts)
        return Training(state, batch_size(solver, problem, state), rows=training.rows)
    if isinstance(solver, EigenPro) and not isinstance(training.state, solver.tags.state_type):
        return continued(previous, solver, problem, source)
    require_own_state(solver, training.state)
    if not same_rows:
        return resume_on_new_rows(training, solver, problem)
    training = deepcopy(training)
    if training.rows_dropped:  # what it has dropped of the rows is computed again
        training.state = solver.on_new_rows(problem, training.state)
        training.rows_dropped = False
    return training


def resume_on_new_rows(training: Training, solver: Solver[Any], problem: Problem) -> Training:
    """Return a copy of the record for a first pass over other rows."""
    training = deepcopy(training)
    training.state = solver.on_new_rows(problem, training.state)
    training.pass_ = training.position = 0
    training.state.pass_losses = []
    training.batch_size = batch_size(solver, problem, training.state)
    training.prediction_cache, training.evaluations, training.rows_dropped = None, (), False
    training.last_pass = None
    return training


def without_unused_bins(
    setup: Setup, expansion: Expansion, training: Training | None
) -> dict[str, Any]:
    """Return what is saved in place of the attributes of a finished model with few bins in use.

    The record for resuming is left out: it holds all bins.
    """
    finished = training is not None and training.rows_dropped
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
    if named or (isinstance(features, Centers) and features.takes_every_row):
        raise AttributeError(
            "features='centers' makes all rows centres, but partial_fit sees only some of them. "
            "Give a number of centres, such as features=Centers(1000)."
        )
    if solver.tags.access != "shuffled":
        raise AttributeError(
            f"{type(solver).__name__} makes many passes over all rows, but partial_fit sees some "
            "of them once. Leave solver='auto', or give 'dsg' or 'averaged'."
        )


def streaming_plan(plan: Plan, previous: FitRecord) -> Plan:
    """Return the plan by which `partial_fit` continues an earlier fit, perhaps of another solver.

    Functions at centres are continued by EigenPro.
    """
    solver: Solver[Any] = Solver.resolve(plan.solver)
    training = previous.training
    assert training is not None  # the estimator refuses to continue without
    basis = previous.setup.basis
    if isinstance(training.state, solver.tags.state_type) or not isinstance(basis, CenterBasis):
        return plan
    why = "rows in parts continue the function of an earlier fit at the centres that it has"
    return replace(plan, solver="eigenpro", why=why, cost=None)


def continued(
    previous: FitRecord, solver: EigenPro, problem: Problem, source: DataSource
) -> Training:
    """Return the record in which EigenPro continues from another solver's function."""
    assert previous.training is not None
    solver.check(problem)
    sample = source.sample(solver.sample_rows(problem), problem.seed)
    with single_blas():
        state = solver.continue_from(problem, sample, previous.expansion)
    size = batch_size(solver, problem, state)
    return Training(state, size, rows=previous.training.rows)


def has_row_functions(basis: Basis) -> bool:
    """Whether the functions of a basis are kernel functions at all training rows."""
    return isinstance(basis, CenterBasis) and basis.is_of_rows


def with_fixed_centers(setup: Setup) -> Setup:
    """Return the setup of an earlier fit for rows in parts: training rows stay its centres."""
    basis = setup.basis
    if not isinstance(basis, CenterBasis) or not basis.is_of_rows:
        return setup
    return replace(setup, basis=basis.fixed)


def takes_own_rows(setup: Setup) -> bool:
    """Whether a fit to other rows needs other functions, kernel functions at these rows."""
    features = setup.features
    every_row = isinstance(features, Centers) and features.takes_every_row
    return every_row or has_row_functions(setup.basis)


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
            f"This model was fitted by another solver, so {type(solver).__name__} cannot continue "
            "it. Start a new fit, and give the same solver each time: solver='averaged' for fit "
            "followed by partial_fit on bins."
        )


def require_same_rows(same: bool) -> None:
    """Refuse to resume a checkpoint on other rows, or by other settings, than it was made."""
    if not same:
        raise ValueError(
            "This is a checkpoint of a fit to other rows or with other parameters, which these "
            "cannot resume. Give the same rows in the same order and the same parameters, or fit a "
            "clone of this estimator."
        )


def require_checkpoints(prepared: Preparation) -> None:
    """Refuse to save a fit that no later one could resume."""
    if isinstance(prepared.setup.kernel, Precomputed):
        raise ValueError("Fits to a precomputed kernel have no checkpoints: save the fitted model.")
    if prepared.digest is None:
        raise ValueError(
            "Checkpoints need rows that can be read again; got some that can be read only once. "
            "Leave the checkpoint out of callbacks, or give rows as an array or a file."
        )


def first_version_digest(source: DataSource, setup: Setup, settings: str) -> bytes:
    """Return the digest of rows, coded targets, weights and settings that earlier versions stored.

    All rows are digested where the source has random access, else a sample.
    """
    every_row = isinstance(source, RandomAccess)
    known = repr((source.n_rows, source.n_columns, settings, every_row))
    digest = hashlib.blake2b(known.encode())
    batches = source.batches(HASHED_ROWS) if every_row else [source.sample(HASHED_ROWS, setup.seed)]
    for batch in batches:
        for array in _arrays(batch, setup):
            rows = max(1, HASHED_BYTES // max(1, array.nbytes // len(array)))
            for top in range(0, len(array), rows):
                digest.update(hashlib.blake2b(array[top : top + rows].data).digest())
    return digest.digest()


def _arrays(batch: Batch, setup: Setup) -> list[NDArray[Any]]:
    X = batch.X
    rows = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    coded = setup.targets(batch)
    parts = (part for part in (*rows, coded.y, coded.weight) if part is not None)
    return [np.ascontiguousarray(part) for part in parts if part.size > 0]
