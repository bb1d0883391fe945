"""Which kernels, features, solvers, losses and machines go together, read from their types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bochner.compute.random.counter_based import Random
from bochner.features import FeatureMap, RandomBasis, has_map
from bochner.kernels import Kernel, Precomputed
from bochner.losses import Loss, Margin, Multinomial, OneClass, Quantile, Regression, Squared
from bochner.solvers import Solver

WITH_A_SIZE = "with a size"


@dataclass(frozen=True)
class Machine:
    """What a machine takes: kernels, kinds of losses, and solvers if not all of them."""

    kernels: Callable[[Kernel], bool]
    losses: Any
    solvers: tuple[str, ...] | None = None


def _any(kernel: Kernel) -> bool:
    return True


def _at_any_rows(kernel: Kernel) -> bool:
    return not isinstance(kernel, Precomputed)


# The last three ask for no loss and no solver.
MACHINES: dict[str, Machine] = {
    "KernelClassifier": Machine(_any, Margin | Multinomial),
    "KernelRegressor": Machine(_any, Regression),
    "KernelQuantileRegressor": Machine(_any, Quantile),
    "KernelGaussianProcess": Machine(_at_any_rows, Squared),
    "KernelNoveltyDetector": Machine(has_map, OneClass, ("dsg",)),
    "DensityRatio": Machine(_at_any_rows, (), ()),
    "two_sample_test": Machine(has_map, (), ()),
    "KernelWitness": Machine(has_map, (), ()),
}


def features_of(kernel: Kernel) -> list[str]:
    """Return the names of the features that there are of a kernel without open defaults."""
    names = sorted(FeatureMap.registry)
    return [name for name in names if FeatureMap.resolve(name).takes(kernel)]


def solvers_on(features: str) -> dict[str, str]:
    """Return the solvers that take features; "with a size" for those that need an end of them."""
    map_: FeatureMap = FeatureMap.resolve(features)
    endless = getattr(map_, "size", 0) is None and issubclass(map_.basis_type, RandomBasis)
    found = {}
    for name in sorted(Solver.registry):
        needed = Solver.resolve(name).tags.basis_type
        if issubclass(map_.basis_type, needed):
            found[name] = WITH_A_SIZE if endless and not issubclass(needed, RandomBasis) else "yes"
    return found


def solvers_with(kernel: Kernel) -> list[str]:
    """Return the solvers that take some features of a kernel."""
    return sorted({solver for name in features_of(kernel) for solver in solvers_on(name)})


def losses_of(machine: str, solver: str) -> list[str]:
    """Return the names of the losses with which a machine takes a solver."""
    by: Solver[Any] = Solver.resolve(solver)
    known = MACHINES[machine]
    if known.solvers is not None and solver not in known.solvers:
        return []
    kinds = {name: type(Loss.resolve(name)) for name in sorted(Loss.registry)}
    kinds |= {"one_class": OneClass} if known.losses is OneClass else {}
    taken = {name: kind for name, kind in kinds.items() if issubclass(kind, known.losses)}
    return [name for name, kind in taken.items() if issubclass(kind, by.tags.loss_type)]


def machines_with(kernel: Kernel) -> list[str]:
    """Return the machines that take a kernel, with the features that they choose themselves."""
    return [name for name, machine in MACHINES.items() if machine.kernels(kernel)]


def tables() -> str:
    """Return all of it as tables in Markdown."""
    return "\n\n".join([_of_kernels(), _of_features(), _of_machines()]) + "\n"


def _of_kernels() -> str:
    lines = []
    for name, kernel in sorted(_settled().items()):
        features, machines = features_of(kernel), machines_with(kernel)
        solvers = solvers_with(kernel)
        all_of_them = len(machines) == len(MACHINES)
        cells = _listed(features), _listed(solvers), "all" if all_of_them else _listed(machines)
        lines.append([f"`{name}`", *cells])
    return _table(["kernel", "features", "solvers", "machines"], lines)


def _of_features() -> str:
    solvers, lines = sorted(Solver.registry), []
    for name in sorted(FeatureMap.registry):
        said = solvers_on(name)
        lines.append([f"`{name}`", *(said.get(solver, "") for solver in solvers)])
    return _table(["features", *(f"`{solver}`" for solver in solvers)], lines)


def _of_machines() -> str:
    machines = [name for name, machine in MACHINES.items() if machine.losses]
    lines = [
        [f"`{solver}`", *(_listed(losses_of(machine, solver)) for machine in machines)]
        for solver in sorted(Solver.registry)
    ]
    return _table(["solver", *(f"`{machine}`" for machine in machines)], lines)


def _settled() -> dict[str, Kernel]:
    """Return the kernels of this library that have names, their open numbers being those of 1."""
    kernels = {name: Kernel.resolve(name) for name in Kernel.registry}
    ours = {n: k for n, k in kernels.items() if type(k).__module__.startswith("bochner.")}
    return {name: kernel.resolved(np.eye(2), Random(0)) for name, kernel in ours.items()}


def _listed(names: list[str]) -> str:
    return ", ".join(names)


def _table(titles: list[str], lines: list[list[str]]) -> str:
    rows = [titles, ["---"] * len(titles), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
