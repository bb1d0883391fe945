"""RandomBasis: random functions of which any block approximates the kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

from bochner.features.dense_basis import BLOCK, DenseBasis, cuts

SPAN = 16 * BLOCK  # functions whose parameters exist at the same time


class RandomBasis(DenseBasis):
    """A basis of random functions, any block of which approximates the kernel by its gain.

    `atom` consecutive functions, from a multiple of it on, are one draw: times `gain(atom)`, the
    mean of phi(x)'phi(y) over draws is k(x, y). A cosine and a sine of one frequency are two.
    """

    atom: int = 2

    @abstractmethod
    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""

    def holding(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Have the parameters of the functions start, ..., stop - 1 ready in this context."""
        return nullcontext()

    def span(self) -> int:
        """Return how many functions may have their parameters ready, a multiple of `BLOCK`."""
        return SPAN

    def spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Cut the functions into spans, and have the parameters of a span ready for all rows."""
        for first, last in cuts(start, stop, self.span()):
            with self.holding(first, last):
                yield first, last
