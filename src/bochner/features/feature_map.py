"""FeatureMap: builds a basis that approximates a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from re import sub
from typing import Any, ClassVar, get_args

import numpy as np

from bochner.component import Component
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.data.transforms.scaling import Scaling
from bochner.features.basis import Basis
from bochner.kernels import Kernel
from bochner.kernels.kernel import parts
from bochner.validation import is_integer
from bochner.wording import AdvisedError

SAMPLE_ROWS = 4096  # for defaults that depend on data
# Feature maps by type of kernel, callables of the size; subclasses inherit the map.
MAPS: dict[type[Any], Any] = {}


class FeatureMap(Component, ABC, family="features"):
    """Hyperparameters of functions phi with phi(x)'phi(y) ~ k(x, y) for a kernel k.

    `kernel_type` is the type of kernels that it takes, `basis_type` the type that it builds.
    """

    kernel_type: ClassVar[Any] = Kernel
    basis_type: ClassVar[type[Any]] = Basis

    @abstractmethod
    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> Basis:
        """Return the basis for a kernel, whose defaults are set, and a sample of rows.

        `memory` is the number of bytes for caches; None means half of the free memory.
        """

    def takes(self, kernel: Kernel) -> bool:
        """Whether these features exist for a kernel."""
        return isinstance(kernel, self.kernel_type)

    def sample_rows(self, rows: int | None) -> int:
        """Return how many rows `build` needs to see of `rows`, None if that number is unknown."""
        return SAMPLE_ROWS

    def scaled(self, scaling: Scaling) -> FeatureMap:
        """Return the same map for scaled rows."""
        return self

    def _checked_kernel(self, kernel: Kernel) -> Any:
        """Return the kernel; raise if these features do not exist for it."""
        if isinstance(kernel, self.kernel_type):
            return kernel
        known = _kernel_names(lambda kernel: isinstance(kernel, self.kernel_type))
        raise ValueError(
            f"{type(self).__name__} features exist for {_in_words(self.kernel_type)} kernels"
            f"{', such as ' if known else ''}{known}; got {kernel!r}. Choose such a kernel, or "
            "other features: 'random' are those that belong to a kernel, 'centers' take any."
        )


class GrowingFeatureMap(FeatureMap):
    """Features that take categorical columns, and whose basis may grow during a fit."""

    @abstractmethod
    def categories(self, n_columns: int) -> tuple[int, ...]:
        """Return which of `n_columns` columns are categorical."""

    @abstractmethod
    def with_categories(self, columns: tuple[int, ...]) -> GrowingFeatureMap:
        """Return the same map with these columns categorical, too."""

    @abstractmethod
    def numeric_rows(self, X: Any) -> Any:
        """Return rows with numbers in place of categories, for distances between rows."""

    @abstractmethod
    def initial_basis(
        self, basis: Basis, kernel: Kernel, seed: int, rows: int, seconds: float | None = None
    ) -> Basis:
        """Return the basis that a fit starts with, for `rows` rows times outputs.

        It is small enough for a fit of at most `seconds`.
        """

    @abstractmethod
    def larger_basis(
        self, basis: Basis, kernel: Kernel, seed: int, rows: int | None = None
    ) -> Basis | None:
        """Return a larger basis of the same kind to continue with; None if there is none."""


def categories_of(features: FeatureMap, n_columns: int) -> tuple[int, ...]:
    """Return which of `n_columns` columns a feature map takes as categorical."""
    return features.categories(n_columns) if isinstance(features, GrowingFeatureMap) else ()


def numeric_rows(features: FeatureMap, X: Any) -> Any:
    """Return rows in which distances have a meaning, for the default of a bandwidth."""
    return features.numeric_rows(X) if isinstance(features, GrowingFeatureMap) else X


def for_categories(features: FeatureMap, columns: tuple[int, ...]) -> FeatureMap:
    """Return the map for rows with these categorical columns; raise if it takes only numbers."""
    if isinstance(features, GrowingFeatureMap):
        return features.with_categories(columns)
    raise AdvisedError(
        f"{type(features).__name__} features need columns of numbers. {{columns}}: text or "
        "categories.",
        "Encode them first (OneHotEncoder), or use features='binning', which takes them as they "
        "are, or a kernel that compares them: Delta().on(columns).",
        "Give features='binning' and no solver of other features, which takes them as they are, or "
        "leave them out: drop={names}.",
        columns,
    )


def _kernel_names(accepted: Callable[[Kernel], bool]) -> str:
    """Return the names of the registered kernels that a function accepts."""
    factories = sorted(Kernel.registry.items())
    return ", ".join(repr(name) for name, factory in factories if accepted(factory()))


def _in_words(kinds: Any) -> str:
    """Return "shift-invariant" for ShiftInvariant; the types of a union are joined by "or"."""
    names = [kind.__name__ for kind in get_args(kinds) or (kinds,)]
    return " or ".join(sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower() for name in names)


def prepare(
    kernel: Any,
    features: Any,
    sample: Batch,
    seed: int,
    dtype: Any = np.float32,
    memory: int | None = None,
) -> tuple[Kernel, Basis]:
    """Return the kernel with defaults from the sample, and its basis."""
    features = FeatureMap.resolve(features)
    rows = numeric_rows(features, sample.X)
    kernel = Kernel.resolve(kernel).resolved(rows, Random(seed), sample.weight)
    return kernel, features.build(kernel, sample, seed, dtype, memory)


def has_map(kernel: Kernel) -> bool:
    """Whether a kernel and all its parts have random features."""
    return _known(kernel) is not None and all(map(has_map, parts(kernel).values()))


def map_of(kernel: Kernel, size: int | None = None) -> FeatureMap:
    """Return the feature map of a kernel; raise if it has none."""
    if (known := _known(kernel)) is not None:
        return known(size)  # type: ignore[no-any-return]
    centers = "kernel functions at centres (features='centers')."
    raise AdvisedError(
        "Random features exist for these kernels and for combinations of them: "
        f"{_kernel_names(has_map)}; got {kernel!r}.",
        f"Give its features as a RandomProcess, or take {centers}",
        f"Take one of these, or {centers}",
    )


def map_name(kernel: Kernel) -> str:
    """Return the name of the feature map of a kernel, "random" for maps without a name."""
    known = _known(kernel)
    return next((name for name, map_ in FeatureMap.registry.items() if map_ is known), "random")


def _known(kernel: Kernel) -> Any:
    return next((MAPS[base] for base in type(kernel).__mro__ if base in MAPS), None)


def checked_size(size: Any, atom: int) -> int | None:
    """Return a checked number of functions, a multiple of `atom`, or None for infinitely many."""
    if size is None:
        return None
    if is_integer(size) and size >= atom and size % atom == 0:
        return int(size)
    kinds = {1: "a whole number from 1 on", 2: "an even number, since functions come in pairs"}
    kind = kinds.get(atom, f"a multiple of {atom}, which are drawn together")
    raise ValueError(f"size must be {kind}, or None for infinitely many functions; got {size!r}.")


def whole_draws(size: Any, atom: int) -> int | None:
    """Return the largest multiple of `atom` up to a size, or None for infinitely many."""
    most = checked_size(size, 1)
    if most is None or most >= atom:
        return None if most is None else most // atom * atom
    raise ValueError(
        f"These features are drawn {atom} at a time, so size must be at least {atom}; got {size!r}."
    )
