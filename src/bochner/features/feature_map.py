"""FeatureMap: a recipe that turns a kernel into a basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from re import sub
from typing import Any, ClassVar, get_args

import numpy as np

from bochner.component import Component
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.data.scaling import Scaling
from bochner.features.basis import Basis
from bochner.kernels import Kernel

SAMPLE_ROWS = 4096  # from which data-dependent defaults are taken


class FeatureMap(Component, ABC, family="features"):
    """A recipe for functions phi whose products approximate a kernel, phi(x)'phi(y) ~ k(x, y).

    `kernel_type` says which kernels it is made for, `basis_type` what it makes of them.
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
        """Return the basis for a kernel without open defaults, given rows that stand for all.

        `memory` is the number of bytes that may be spent on what could be computed again; None
        means half of what is free.
        """

    def takes(self, kernel: Kernel) -> bool:
        """Whether there are such features of a kernel."""
        return isinstance(kernel, self.kernel_type)

    def required(self, kernel: Kernel) -> Any:
        """Return the kernel, or refuse one that these features are not made for."""
        if isinstance(kernel, self.kernel_type):
            return kernel
        recipes = {name: recipe() for name, recipe in Kernel.registry.items()}
        known = sorted(name for name in recipes if isinstance(recipes[name], self.kernel_type))
        some = f", such as {', '.join(map(repr, known))}" if known else ""
        raise ValueError(
            f"{type(self).__name__} features exist for {_spoken(self.kernel_type)} kernels{some}; "
            f"got {kernel!r}. Choose such a kernel, or other features: 'random' are those that "
            "belong to a kernel, 'centers' take any."
        )

    def categories(self, n_columns: int) -> tuple[int, ...]:
        """Return those of so many columns that hold categories, none by default."""
        return ()

    def for_categories(self, columns: tuple[int, ...]) -> FeatureMap:
        """Return the same map for rows of which some columns hold categories, if it can do that."""
        raise ValueError(
            f"{type(self).__name__} features need columns of numbers; got columns of text or "
            f"categories, {', '.join(map(str, columns))}. Encode them first (OneHotEncoder), or "
            "use features='binning', which takes them as they are, or a kernel that compares them: "
            "Delta().on(columns)."
        )

    def sample_rows(self, rows: int | None) -> int:
        """Return how many of so many rows (None: nobody knows) `build` wants to see."""
        return SAMPLE_ROWS

    def scaled(self, scaling: Scaling) -> FeatureMap:
        """Return the same map for rows that have been scaled."""
        return self

    def begun(
        self, basis: Basis, kernel: Kernel, seed: int, rows: int, seconds: float | None = None
    ) -> Basis:
        """Return the basis for a fit to so many rows, times outputs, in at most these seconds."""
        return basis

    def grown(
        self, basis: Basis, kernel: Kernel, seed: int, rows: int | None = None
    ) -> Basis | None:
        """Return a larger basis of the same kind to go on with; None if it is to stay as it is."""
        return None

    def as_numbers(self, X: Any) -> Any:
        """Return rows between which distances mean something: those of the data as they are."""
        return X


def _spoken(kinds: Any) -> str:
    """Return ShiftInvariant as "shift-invariant", and a union with an "or" in it."""
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
    """Return the kernel with its defaults taken from the sample, and the basis made from it."""
    features = FeatureMap.resolve(features)
    kernel = Kernel.resolve(kernel).resolved(features.as_numbers(sample.X), Random(seed))
    return kernel, features.build(kernel, sample, seed, dtype, memory)
