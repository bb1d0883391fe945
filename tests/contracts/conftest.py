"""Fixtures of the laws on solvers."""

import pytest

from contracts.solver_cases import BATCH, Case


@pytest.fixture
def small_batches(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut a pass into several batches where the solver has no parameter for it."""
    if not hasattr(case.solver, "batch_size"):
        monkeypatch.setattr(
            type(case.solver), "rows_per_batch", lambda self, problem, state=None: BATCH
        )
