"""Which kernels, features, solvers, losses and machines go together, read from their types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bochner.features import FeatureMap, RandomBasis, has_map
from bochner.kernels import Kernel
from bochner.losses import Loss, Margin, Multinomial, OneClass, Quantile, Regression, Squared
from bochner.solvers import DoublyStochastic, Solver

WITH_A_SIZE = "with a size"


@dataclass(frozen=True)
class Machine:
    """What a machine takes: kernels, kinds of losses, and the kind of its solvers."""

    kernels: Callable[[Kernel], bool]
    losses: Any
    solvers: type[Any]


def _any(kernel: Kernel) -> bool:
    return True


def _at_any_rows(kernel: Kernel) -> bool:
    return not kernel.precomputed


# Without a solver there is a closed form.
MACHINES: dict[str, Machine] = {
    "KernelClassifier": Machine(_any, Margin | Multinomial, Solver),
    "KernelRegressor": Machine(_any, Regression, Solver),
    "KernelQuantileRegressor": Machine(_any, Quantile, Solver),
    "KernelGaussianProcess": Machine(_at_any_rows, Squared, Solver),
    "KernelNoveltyDetector": Machine(has_map, OneClass, DoublyStochastic),
    "DensityRatio": Machine(_at_any_rows, (), DoublyStochastic),
    "two_sample_test": Machine(has_map, (), type(None)),
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
        needed = Solver.resolve(name).basis_type
        if issubclass(map_.basis_type, needed):
            found[name] = WITH_A_SIZE if endless and not issubclass(needed, RandomBasis) else "yes"
    return found


def losses_of(machine: str, solver: str) -> list[str]:
    """Return the names of the losses with which a machine takes a solver."""
    by: Solver[Any] = Solver.resolve(solver)
    known = MACHINES[machine]
    if not isinstance(by, known.solvers):
        return []
    kinds = {name: type(Loss.resolve(name)) for name in sorted(Loss.registry)}
    kinds |= {"one_class": OneClass} if known.losses is OneClass else {}
    taken = {name: kind for name, kind in kinds.items() if issubclass(kind, known.losses)}
    return [name for name, kind in taken.items() if issubclass(kind, by.loss_type)]


def machines_with(kernel: Kernel) -> list[str]:
    """Return the machines that take a kernel, with the features that they choose themselves."""
    return [name for name, machine in MACHINES.items() if machine.kernels(kernel)]
