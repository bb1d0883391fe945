"""Plan: which method "auto" stands for, what it takes, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bochner.data.storage import fits
from bochner.estimators.automatic.costs import Cost, Costs
from bochner.estimators.automatic.defaults import is_auto
from bochner.features import (
    Binning,
    Centers,
    DenseBasis,
    FeatureMap,
    RandomBasis,
    has_map,
    map_name,
)
from bochner.features.binning.binning import most_entries
from bochner.kernels import Kernel, ShiftInvariant, is_random, is_separable
from bochner.losses import Quadratic, RoundedAbsolute, Smooth
from bochner.solvers import CoordinateDescent, Direct, EigenPro, Solver

PATIENCE = 120.0  # seconds that an exact machine may take if there is an approximate one
FEW_ROWS = 3_000
CENTERS = 5_000
GRIDS = 64
WORTH = 0.2  # of the loss: a smaller gain is not worth a kernel function at each row


@dataclass(frozen=True)
class Situation:
    """What the choice depends on: the rows, the kernel, the loss, memory and time.

    `costs` is None for streams whose length nobody knows, `once` says that rows can be read only
    once, `categories` that columns hold text; `gain` finds out on a sample by what share four times
    as many centres lower the loss. An exact machine may take so many `seconds`. `scaled` says that
    a scale for each column is learned, `judged` that held-out rows end the fit, `given` that the
    kernel is not one that bins may replace by theirs.
    """

    costs: Costs | None
    once: bool
    categories: bool
    kernel: Kernel
    loss: type[Any]
    gain: Callable[[], float]
    seconds: float = PATIENCE
    scaled: bool = False
    judged: bool = False
    given: bool = False

    @property
    def rows(self) -> int | None:
        """The number of rows, None if nobody knows."""
        return None if self.costs is None else self.costs.rows

    @property
    def suits_bins(self) -> bool:
        """Whether bins take the kernel, or may choose one."""
        return not self.given or is_separable(self.kernel)

    def require_features(self) -> None:
        """Refuse a loss with kinks for kernels without random features: no solver takes both."""
        if has_map(self.kernel):
            return
        raise ValueError(
            f"The loss {self.loss.__name__} has kinks, which only the doubly stochastic solver "
            f"takes, and that needs a kernel with random features; got {self.kernel!r}. Choose a "
            "smooth loss, such as 'squared_hinge', or another kernel."
        )

    def require_bins(self) -> None:
        """Refuse text that a kernel takes for numbers where no bins can help."""
        if self.suits_bins:
            return
        raise ValueError(
            f"This kernel takes columns of text for numbers: {self.kernel!r}. Let it see the "
            "others, kernel.on([...]), and those of text by Delta().on([...]), or take "
            "kernel='laplacian', for which bins take text as it is."
        )


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

    @property
    def seconds(self) -> float:
        """The expected time, none where that is not known."""
        return 0.0 if self.cost is None else self.cost.seconds

    def __str__(self) -> str:
        text = f"Solver {_named(self.solver)} on features {_named(self.features)}: {self.why}."
        if self.cost is None:
            return text
        return (
            f"{text} It is expected to take about {_duration(self.cost.seconds)} and "
            f"{_amount(self.cost.bytes)} of memory beside the data."
        )


def planned(features: Any, solver: Any, situation: Situation) -> Plan:
    """Return what "auto" stands for, in the features, in the solver or in both."""
    if not is_auto(solver):
        home = _home(solver, situation) if is_auto(features) else features
        return Plan(home, solver, "so it was asked for", _cost(home, solver, situation.costs))
    if not is_auto(features):
        chosen = _solver_for(FeatureMap.resolve(features), situation)
        why = "this solver suits the features that were given"
        return Plan(features, chosen, why, _cost(features, chosen, situation.costs))
    return _method(situation)


def _home(solver: Any, situation: Situation) -> Any:
    """Return the features that a solver is made for, random ones being those of the kernel."""
    by: Solver[Any] = Solver.resolve(solver)
    home = by.home(situation.rows)
    if home == "binning" and not situation.suits_bins:
        return "nystroem" if issubclass(DenseBasis, by.basis_type) else home
    return map_name(situation.kernel) if home == "fourier" else home


def _cost(features: Any, solver: Any, costs: Costs | None) -> Cost | None:
    """Return what a method takes that was not chosen here, None where that is not known."""
    on: FeatureMap = FeatureMap.resolve(features)
    by: Solver[Any] = Solver.resolve(solver)
    if costs is None:
        return None
    if isinstance(on, Binning):
        return costs.binning(on.grids if isinstance(on.grids, int) else GRIDS)
    if isinstance(on, Centers):
        return _cost_on_centers(on, by, costs)
    return costs.doubly_stochastic() if by.home(None) == "fourier" else None


def _cost_on_centers(centers: Centers, solver: Solver[Any], costs: Costs) -> Cost:
    if isinstance(solver, Direct):
        return costs.direct()
    if isinstance(solver, EigenPro) and centers.size is None and centers.given is None:
        return costs.eigenpro()
    return costs.nystroem(centers.count(costs.rows))


def _solver_for(features: FeatureMap, situation: Situation) -> Any:
    """Return the solver that suits features: whole passes where rows can be read again."""
    smooth, quadratic = (issubclass(situation.loss, kind) for kind in (Smooth, Quadratic))
    if isinstance(features, Binning):
        if situation.once or not smooth:
            return "averaged"
        absolute = issubclass(situation.loss, RoundedAbsolute)
        if (quadratic or absolute) and situation.judged and _bins_fit(situation.costs):
            return "backfitting"
        if absolute:
            return CoordinateDescent("l2")
        return "cg" if quadratic else "newton"
    if issubclass(features.basis_type, RandomBasis):
        return "dsg"
    if not isinstance(features, Centers) and not situation.once:
        return "cg" if quadratic else "newton"
    if not isinstance(features, Centers):
        return "eigenpro"
    if situation.once or (features.size is None and not _few(situation)):
        return "eigenpro"
    return "direct" if features.size is None and quadratic else "nystroem"


def _method(situation: Situation) -> Plan:
    """Return the first method, from the exact to the approximate, that is fast enough."""
    costs, kernel = situation.costs, situation.kernel
    if situation.categories:
        situation.require_bins()
        return _on_bins(situation, "some columns hold categories, which bins take as they are")
    if costs is None or situation.once:
        return Plan(map_name(kernel), "dsg", "the rows come as a stream, of which none is kept")
    if not issubclass(situation.loss, Smooth):
        situation.require_features()
        return Plan(map_name(kernel), "dsg", "the loss has kinks", costs.doubly_stochastic())
    if _few(situation):
        return _on_few_rows(situation, costs)
    if is_random(kernel) and has_map(kernel):
        why = "the kernel is known by random functions"
        return Plan("random", "dsg", why, costs.doubly_stochastic())
    if not isinstance(kernel, ShiftInvariant):
        return _on_values(situation, costs)
    if situation.scaled and is_separable(kernel):
        return _on_bins(situation, "a scale for each column is learned, which bins take as it is")
    if costs.eigenpro().seconds <= situation.seconds:
        return _on_centers(situation, costs)
    many = f"{costs.rows:,} rows are too many for a kernel function at each of them"
    if is_separable(kernel):
        return _on_bins(situation, f"{many}, and the kernel is a product over the columns")
    if costs.nystroem(CENTERS).seconds <= situation.seconds:
        return Plan(Centers(CENTERS), "nystroem", many, costs.nystroem(CENTERS))
    return Plan("fourier", "dsg", many, costs.doubly_stochastic())


def _on_values(situation: Situation, costs: Costs) -> Plan:
    """Return a kernel function at each row, at some, or random features: the first fast enough."""
    kernel, many = (
        situation.kernel,
        f"{costs.rows:,} rows are too many for a kernel function at each",
    )
    why = f"{costs.rows:,} rows are not too many for a kernel function at each of them"
    plans = [Plan("centers", "eigenpro", why, costs.eigenpro())]
    if not kernel.precomputed:
        plans.append(Plan(Centers(CENTERS), "nystroem", many, costs.nystroem(CENTERS)))
    if has_map(kernel):
        plans.append(Plan(map_name(kernel), "dsg", many, costs.doubly_stochastic()))
    fast = (plan for plan in plans if plan.seconds <= situation.seconds)
    return next(fast, min(plans, key=lambda plan: plan.seconds))


def _on_centers(situation: Situation, costs: Costs) -> Plan:
    """Return a kernel function at each row, or at some if more would gain little."""
    all_rows, some = costs.eigenpro(), costs.nystroem(CENTERS)
    if issubclass(situation.loss, RoundedAbsolute):
        why = "the loss has kinks, which whole passes take better than single steps"
        return Plan(Centers(min(CENTERS, costs.rows)), "nystroem", why, some)
    if all_rows.seconds <= some.seconds:
        why = f"{costs.rows:,} rows are not too many for a kernel function at each of them"
        return Plan("centers", "eigenpro", why, all_rows)
    gain = situation.gain()
    told = f"on a sample, four times as many centres lower the loss by {max(gain, 0.0):.0%}"
    if gain > WORTH:
        return Plan("centers", "eigenpro", f"{told}, so all rows are to be centres", all_rows)
    return Plan(Centers(CENTERS), "nystroem", f"{told}, so some rows are enough", some)


def _few(situation: Situation) -> bool:
    """Whether the kernel matrix can be factorised, in time and in memory."""
    costs = situation.costs
    return costs is not None and costs.rows <= FEW_ROWS and costs.direct().bytes <= costs.memory


def _on_few_rows(situation: Situation, costs: Costs) -> Plan:
    why = f"{costs.rows:,} rows are few enough for the exact machine"
    if issubclass(situation.loss, Quadratic):
        return Plan("centers", "direct", why, costs.direct())
    return Plan("centers", "nystroem", why, costs.nystroem(costs.rows))


def _bins_fit(costs: Costs | None) -> bool:
    """Whether the rows' bins can be kept, with as many grids as there may be."""
    return costs is not None and fits(4 * most_entries(costs.rows), costs.memory)


def _on_bins(situation: Situation, why: str) -> Plan:
    solver = _solver_for(Binning(), situation)
    costs = situation.costs
    if costs is None:
        return Plan("binning", solver, why)
    cost = costs.binning(GRIDS)
    return Plan("binning", solver, why, cost + costs.search() if situation.scaled else cost)


def _named(component: Any) -> str:
    return component if isinstance(component, str) else " ".join(repr(component).split())


def _amount(size: int) -> str:
    return f"{size / 1e9:.2g} GB" if size >= 1e8 else f"{max(size, 1e6) / 1e6:.0f} MB"


def _duration(seconds: float) -> str:
    if seconds < 1.5:
        return "a second"
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"
