"""Which rows of files are read, told by a hash of their numbers, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random, row_hash

SPLIT = 0x5B117  # keeps these draws apart from those of other rows that are held out
PARTS = 0x9A275  # keeps the order of parts apart from other draws of the same seed


@dataclass(frozen=True)
class Split:
    """One of two parts of a file, of which every row is in exactly one.

    Row i is in the test part if hash(seed, i) < share * 2^64: this depends on nothing but its
    number among the good rows, so both parts of a file can be read at different times.

    Parameters
    ----------
    part : "train" or "test"
    share : float
        The expected share of the rows in the test part, between 0 and 1.
    seed : int

    Examples
    --------
    >>> index = np.arange(10)
    >>> train, test = (Split(part, share=0.3).among(index) for part in ("train", "test"))
    >>> bool((train != test).all())
    True
    """

    part: Literal["train", "test"] = "train"
    share: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.part not in ("train", "test"):
            raise ValueError(f"The part of a split must be 'train' or 'test'; got {self.part!r}.")
        if not 0.0 < self.share < 1.0:
            raise ValueError(
                "The share of the test part must be more than 0 and less than 1; got "
                f"{self.share!r}."
            )

    def among(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these row numbers are in the part."""
        test = row_hash(self.seed ^ SPLIT, index) < np.uint64(int(self.share * 2.0**64))
        return np.asarray(test if self.part == "test" else ~test)


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
