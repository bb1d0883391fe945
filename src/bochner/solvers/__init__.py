"""Solvers: what moves the weights, and their policies."""

from bochner.solvers.averaged_gradient import AveragedGradient
from bochner.solvers.backfitting import Backfitting
from bochner.solvers.conjugate_gradient import ConjugateGradient
from bochner.solvers.coordinate_descent import CoordinateDescent
from bochner.solvers.coordinates import Checked, Coordinates, New, Uniform
from bochner.solvers.direct import Direct
from bochner.solvers.doubly_stochastic import DoublyStochastic
from bochner.solvers.eigenpro import EigenPro
from bochner.solvers.newton import Newton
from bochner.solvers.nystroem import Nystroem
from bochner.solvers.refinement import Refinement
from bochner.solvers.solver import Memo, Solver, State
from bochner.solvers.step_rules import Plain, Preconditioned, StepRule

__all__ = [
    "AveragedGradient",
    "Backfitting",
    "Checked",
    "ConjugateGradient",
    "CoordinateDescent",
    "Coordinates",
    "Direct",
    "DoublyStochastic",
    "EigenPro",
    "Memo",
    "New",
    "Newton",
    "Nystroem",
    "Plain",
    "Preconditioned",
    "Refinement",
    "Solver",
    "State",
    "StepRule",
    "Uniform",
]
