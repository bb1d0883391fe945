"""Walk: what the loop goes through, made of what the user gave and of what the solver wants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bochner.data import Batch, DataSource, HeldOut, RandomAccess, mapped, shuffled
from bochner.estimators.automatic.defaults import alpha_for
from bochner.estimators.fitting.setup import Setup
from bochner.estimators.inputs.sources import held_out_rows, split
from bochner.features import Basis, BinningBasis, BinningDiagnostics, Encoded
from bochner.problem import Problem
from bochner.solvers import Solver


@dataclass(frozen=True)
class Walk:
    """The rows in the form that the solver walks through, and the problem that they pose.

    `setup` has the basis with all functions that the rows call for, and the problem the same in
    the form that the solver works with.
    """

    setup: Setup
    problem: Problem
    source: DataSource
    held_out: Batch | None

    @classmethod
    def over(
        cls,
        source: DataSource,
        setup: Setup,
        solver: Solver[Any],
        *,
        alpha: Any,
        intercept: bool,
        early_stopping: bool | str,
        memory: int,
    ) -> Walk:
        """Hold rows out if wanted; shuffle the others, or encode them all."""
        rest = split(source, early_stopping, setup.seed)
        held_out = held_out_rows(rest, setup) if isinstance(rest, HeldOut) else None
        if solver.walks == "shuffled":
            rows = source.n_rows
            posed = setup.problem(alpha_for(alpha, solver, setup.loss, rows), intercept, rows)
            solver.check(posed)
            basis = solver.prepared(posed, memory)
            rest = mapped(shuffled(rest) if isinstance(rest, RandomAccess) else rest, setup)
        else:
            known = source.n_rows
            first = setup.problem(alpha_for(alpha, solver, setup.loss, known), intercept, known)
            rest = _encoded(mapped(source, setup), first, solver, held_out, memory)
            setup, rows, basis = (
                replace(setup, basis=rest.basis.for_prediction),
                rest.n_rows,
                rest.basis,
            )
        problem = setup.problem(alpha_for(alpha, solver, setup.loss, rows), intercept, rows)
        return cls(setup, replace(problem, basis=basis), rest, held_out)

    def on(self, basis: Basis) -> Walk:
        """Return the same walk with a basis that has met the rows."""
        return replace(self, problem=replace(self.problem, basis=basis))

    def counted(self) -> Setup:
        """Return the setup with the number of rows in each bin, if there are bins."""
        encoded, basis = self.source, self.setup.basis
        if not isinstance(encoded, Encoded) or not isinstance(basis, BinningBasis):
            return self.setup
        rows = np.zeros(basis.size, np.int32)
        for batch in encoded.batches(encoded.rows):
            basis.count(batch.X, rows)
        return replace(self.setup, binning=BinningDiagnostics.of(basis, rows), rows_in_bins=rows)


def _encoded(
    source: DataSource, problem: Problem, solver: Solver[Any], held_out: Batch | None, memory: int
) -> Encoded:
    solver.check(problem)
    left_out = None if held_out is None else held_out.index
    basis, rows = solver.prepared(problem, memory), solver.rows_per_batch(problem)
    return Encoded(source, basis, rows, memory, left_out)
