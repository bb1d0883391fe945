"""Plan: which method "auto" stands for, what it takes, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bochner.estimators.choices import is_auto
from bochner.estimators.costs import Cost, Costs
from bochner.features import Binning, Centers, FeatureMap
from bochner.kernels import Kernel, Separable, ShiftInvariant
from bochner.losses import Quadratic, Smooth
from bochner.solvers import Solver

FEW_ROWS = 3_000
CENTERS = 5_000
GRIDS = 64
PATIENCE = 120.0  # seconds that an exact machine may take if there is an approximate one


@dataclass(frozen=True)
class Situation:
    """What the choice depends on: the rows, the kernel, the loss, memory and time.

    `costs` is None for streams whose length nobody knows, `once` says that rows can be read only
    once, `categories` that columns hold text. An exact machine may take so many `seconds`.
    """

    costs: Costs | None
    once: bool
    categories: bool
    kernel: Kernel
    loss: type[Any]
    seconds: float = PATIENCE

    @property
    def rows(self) -> int | None:
        """The number of rows, None if nobody knows."""
        return None if self.costs is None else self.costs.rows


@dataclass(frozen=True)
class Plan:
    """Features, solver and loss, the reason for them, and what they are expected to take.

    `str(plan)` is a paragraph.
    """

    features: Any
    solver: Any
    why: str
    cost: Cost | None = None
    loss: Any = None

    def __str__(self) -> str:
        solver = self.solver if isinstance(self.solver, str) else repr(self.solver)
        features = self.features if isinstance(self.features, str) else repr(self.features)
        text = f"Solver {solver} on features {features}: {self.why}."
        if self.cost is None:
            return text
        return (
            f"{text} It is expected to take about {_duration(self.cost.seconds)} and "
            f"{self.cost.bytes / 1e9:.2g} GB of memory beside the data."
        )


def planned(features: Any, solver: Any, situation: Situation) -> Plan:
    """Return what "auto" stands for, in the features, in the solver or in both."""
    if not is_auto(solver):
        home = Solver.resolve(solver).home(situation.rows) if is_auto(features) else features
        return Plan(home, solver, "so it was asked for")
    if not is_auto(features):
        chosen = _solver_for(FeatureMap.resolve(features), situation)
        return Plan(features, chosen, "this solver suits the features that were given")
    return _method(situation)


def _solver_for(features: FeatureMap, situation: Situation) -> str:
    """Return the solver that suits features: whole passes where rows can be read again."""
    smooth, quadratic = (issubclass(situation.loss, kind) for kind in (Smooth, Quadratic))
    if isinstance(features, Binning):
        if situation.once or not smooth:
            return "averaged"
        return "cg" if quadratic else "newton"
    if not isinstance(features, Centers):
        return "dsg"
    if situation.once or (features.size is None and not _few(situation)):
        return "eigenpro"
    return "direct" if features.size is None and quadratic else "nystroem"


def _method(situation: Situation) -> Plan:
    """Return the first method, from the exact to the approximate, that is fast enough."""
    costs, kernel = situation.costs, situation.kernel
    if situation.categories:
        return _on_bins(situation, "some columns hold categories, which bins take as they are")
    if costs is None or situation.once:
        return Plan("fourier", "dsg", "the rows come as a stream, of which none is kept")
    if not issubclass(situation.loss, Smooth):
        return Plan("fourier", "dsg", "the loss has kinks", costs.doubly_stochastic())
    if _few(situation):
        return _on_few_rows(situation, costs)
    only = not isinstance(kernel, ShiftInvariant)  # nothing else is known of it than its values
    if only or costs.eigenpro().seconds <= situation.seconds:
        why = f"{costs.rows:,} rows are not too many for a kernel function at each of them"
        return Plan("centers", "eigenpro", why, costs.eigenpro())
    many = f"{costs.rows:,} rows are too many for a kernel function at each of them"
    if isinstance(kernel, Separable):
        return _on_bins(situation, f"{many}, and the kernel is a product over the columns")
    if costs.nystroem(CENTERS).seconds <= situation.seconds:
        return Plan(Centers(CENTERS), "nystroem", many, costs.nystroem(CENTERS))
    return Plan("fourier", "dsg", many, costs.doubly_stochastic())


def _few(situation: Situation) -> bool:
    return situation.costs is not None and situation.costs.rows <= FEW_ROWS


def _on_few_rows(situation: Situation, costs: Costs) -> Plan:
    why = f"{costs.rows:,} rows are few enough for the exact machine"
    if issubclass(situation.loss, Quadratic):
        return Plan("centers", "direct", why, costs.direct())
    return Plan("centers", "nystroem", why, costs.nystroem(costs.rows))


def _on_bins(situation: Situation, why: str) -> Plan:
    solver = _solver_for(Binning(), situation)
    cost = None if situation.costs is None else situation.costs.binning(GRIDS)
    return Plan("binning", solver, why, cost)


def _duration(seconds: float) -> str:
    if seconds < 1.5:
        return "a second"
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
