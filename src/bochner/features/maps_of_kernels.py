"""Which random features belong to which kind of kernel: a table that modules fill."""

from __future__ import annotations

from typing import Any

from bochner.features.feature_map import FeatureMap
from bochner.kernels import Kernel

# The map of each kind of kernel, a callable of the size; the nearest base class counts.
MAPS: dict[type[Any], Any] = {}


def has_map(kernel: Kernel) -> bool:
    """Whether random features are known of a kernel, and of all that it is made of."""
    parts = [value for value in vars(kernel).values() if isinstance(value, Kernel)]
    return _known(kernel) is not None and all(map(has_map, parts))


def map_of(kernel: Kernel, size: int | None = None) -> FeatureMap:
    """Return the map that belongs to a kernel, or refuse one that has none."""
    if (known := _known(kernel)) is not None:
        return known(size)  # type: ignore[no-any-return]
    recipes = {name: recipe() for name, recipe in Kernel.registry.items()}
    names = ", ".join(repr(name) for name in sorted(recipes) if has_map(recipes[name]))
    raise ValueError(
        f"No random features are known of {kernel!r}; these kernels have some, and what is made of "
        f"them: {names}. Give its features as a RandomProcess; kernel functions at centres "
        "(features='centers') need none."
    )


def map_name(kernel: Kernel) -> str:
    """Return the name of the features of a kernel: "random" finds those that have none."""
    known = _known(kernel)
    return next((name for name, map_ in FeatureMap.registry.items() if map_ is known), "random")


def _known(kernel: Kernel) -> Any:
    return next((MAPS[base] for base in type(kernel).__mro__ if base in MAPS), None)
