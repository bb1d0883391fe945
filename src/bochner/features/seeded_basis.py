"""SeededBasis: random functions that are drawn from their numbers, without end."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any, Self

from bochner.compute.pool import each_tile
from bochner.compute.random.counter_based import Random
from bochner.features.dense_basis import BLOCK
from bochner.features.random_basis import RandomBasis

SPAN = 32  # units whose parameters exist at the same time, if there is memory for them


class SeededBasis(RandomBasis):
    """A basis of random functions; the parameters of unit i are drawn from `Random(seed, i)`.

    A unit is `unit` consecutive functions, whatever blocks a solver works with. Parameters are
    kept while they fit into `memory` bytes and drawn again beyond: the bits are the same. In some
    units `given` parameters may take the place of drawn ones.
    """

    def __init__(self, seed: int, unit: int, unit_bytes: int, memory: int) -> None:
        self.seed, self.unit, self.unit_bytes, self.memory = seed, unit, unit_bytes, memory
        self.given: dict[int, Any] = {}
        self._begin()

    @abstractmethod
    def draw(self, rng: Random) -> Any:
        """Return the parameters of the unit to which this stream of random numbers belongs."""

    def parameters(self, number: int) -> Any:
        """Return the parameters of a unit."""
        kept = self.given.get(number, self._kept.get(number))
        return self._drawn(number) if kept is None else kept

    def with_given(self, given: dict[int, Any]) -> Self:
        """Return the same functions but for units whose parameters are given.

        Both share what they keep.
        """
        other = object.__new__(type(self))
        vars(other).update(vars(self) | {"given": given})
        return other

    def holding(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Have the parameters of the functions start, ..., stop - 1 ready in this context."""
        return self._held(range(start // self.unit, -(-stop // self.unit)))

    def span(self) -> int:
        """Return as many functions as fit into the memory, within bounds."""
        whole = max(1, BLOCK // self.unit)  # a span holds whole blocks, so sums do not depend on it
        units = max(1, min(SPAN, self.memory // self.unit_bytes) // whole) * whole
        return units * self.unit

    @contextmanager
    def _held(self, numbers: range) -> Iterator[None]:
        with self._lock:
            self._holders.update(numbers)
        try:
            known = self._kept.keys() | self.given.keys()
            missing = [number for number in numbers if number not in known]
            each_tile(lambda i, _: self._keep(missing[i]), len(missing), 1)
            yield
        finally:
            self._let_go(numbers)

    def _keep(self, number: int) -> None:
        self._kept[number] = self._drawn(number)

    def _drawn(self, number: int) -> Any:
        return self.draw(Random(self.seed, number))

    def _let_go(self, numbers: range) -> None:
        with self._lock:
            self._holders.subtract(numbers)
            for number in numbers:
                fits = (number + 1) * self.unit_bytes <= self.memory
                if self._holders[number] == 0 and not fits:
                    self._kept.pop(number, None)

    def _begin(self) -> None:
        self._kept: dict[int, Any] = {}
        self._holders: Counter[int] = Counter()  # how many calls are working on a unit now
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_kept", "_holders", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()
