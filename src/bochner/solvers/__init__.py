"""Solvers: the methods that fit the weights, and their policies."""

from bochner.solvers.binning.averaged_gradient import AveragedGradient
from bochner.solvers.binning.backfitting import Backfitting
from bochner.solvers.binning.coordinate_descent import CoordinateDescent
from bochner.solvers.doubly_stochastic.coordinates import Checked, Coordinates, New, Uniform
from bochner.solvers.doubly_stochastic.doubly_stochastic import DoublyStochastic
from bochner.solvers.doubly_stochastic.refinement import Refinement
from bochner.solvers.doubly_stochastic.step_rules import Plain, PlainStep, Preconditioned, StepRule
from bochner.solvers.eigenpro.eigenpro import EigenPro
from bochner.solvers.passes.conjugate_gradient import ConjugateGradient
from bochner.solvers.passes.direct import Direct
from bochner.solvers.passes.newton import Newton
from bochner.solvers.passes.nystroem import Nystroem
from bochner.solvers.passes.smo import SMO
from bochner.solvers.solver import Memo, PredictionCache, SamplingSolver, Solver, SolverTags, State

__all__ = [
    "SMO",
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
    "PlainStep",
    "Preconditioned",
    "PredictionCache",
    "Refinement",
    "SamplingSolver",
    "Solver",
    "SolverTags",
    "State",
    "StepRule",
    "Uniform",
]
