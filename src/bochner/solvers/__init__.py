"""Solvers: what moves the weights, and their policies."""

from bochner.solvers.coordinates import Checked, Coordinates, New, Uniform
from bochner.solvers.doubly_stochastic import DoublyStochastic
from bochner.solvers.solver import Memo, Solver, State
from bochner.solvers.step_rules import Plain, Preconditioned, StepRule

__all__ = [
    "Checked",
    "Coordinates",
    "DoublyStochastic",
    "Memo",
    "New",
    "Plain",
    "Preconditioned",
    "Solver",
    "State",
    "StepRule",
    "Uniform",
]
