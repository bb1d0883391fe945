"""Which rows of files are read, by a hash of their numbers, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random, row_hash

SPLIT = 0x5B117  # separates this hash from that of other held-out rows
PARTS = 0x9A275  # separates these random numbers from others of the same seed


@dataclass(frozen=True)
class Split:
    """The train or the test part of a file; every row is in exactly one of them.

    Row i is in the test part if hash(seed, i) < share * 2^64. This depends only on its number among
    the valid rows, so both parts can be read at different times.

    Parameters
    ----------
    part : "train" or "test"
    share : float
        The expected fraction of rows in the test part, between 0 and 1.
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
class PartOrder:
    """The order in which parts are read, and the first row numbers of each part.

    A start is a pair: the row number among all valid rows, and among those of the split.
    """

    numbers: Sequence[int]
    starts: Sequence[tuple[int, int]]


class Ordering(Protocol):
    """A rule for the order of parts in each pass; None means file order."""

    def __call__(self, seed: int, pass_: int) -> PartOrder | None:
        """Return the order of a pass."""


def file_order(seed: int, pass_: int) -> None:
    """Read the parts in the order of the files."""


@dataclass(frozen=True)
class RandomPartOrder:
    """A new random order of parts in each pass, a pure function of (seed, pass)."""

    starts: Sequence[tuple[int, int]]

    def __call__(self, seed: int, pass_: int) -> PartOrder:
        """Return the parts in a random order."""
        return PartOrder(
            Random(seed, PARTS, pass_).permutation(len(self.starts)).tolist(), self.starts
        )
