"""Order: in which order the parts of files are read in a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bochner.compute.random.counter_based import Random

PARTS = 0x9A275  # keeps the order of parts apart from other draws of the same seed


@dataclass(frozen=True)
class Order:
    """Numbers of parts in the order in which they are read, and the rows that each begins with.

    A start is the number of a row among all good ones, and among those of a split.
    """

    numbers: Sequence[int]
    starts: Sequence[tuple[int, int]]


class Ordering(Protocol):
    """Says in which order a pass reads the parts, None for their own."""

    def __call__(self, seed: int, pass_: int) -> Order | None:
        """Return the order of a pass."""


def as_they_stand(seed: int, pass_: int) -> None:
    """Read the parts as they stand in the files."""


@dataclass(frozen=True)
class Mixed:
    """A new order of parts in each pass, a pure function of (seed, pass)."""

    starts: Sequence[tuple[int, int]]

    def __call__(self, seed: int, pass_: int) -> Order:
        """Return the parts in a random order."""
        return Order(Random(seed, PARTS, pass_).permutation(len(self.starts)).tolist(), self.starts)
