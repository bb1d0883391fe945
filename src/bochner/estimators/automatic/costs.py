"""Costs: about how long each method takes and how much memory, before it has begun.

The constants were measured on cores with AVX2 and 256-bit registers; they are for orders of
magnitude and for comparing methods, not for setting a clock. `max_seconds` is for that.
"""

from __future__ import annotations

from dataclasses import dataclass

NANOSECOND = 1e-9
THREADS = 2
MULTIPLY = 0.025  # nanoseconds of a multiplication in a product of matrices, single precision
MULTIPLY_DOUBLE = 0.055
PROFILE = 0.7  # of a kernel's value, given the distance
KEPT = 1.0  # of a kept value, with all outputs
GRID_ENTRY = 25.0  # of a row in a grid: bin number and a few products
FEATURE = 1.5  # of a feature and a row in a doubly stochastic step
TRIAL_ENTRY = 20.0  # of a row in a grid: bin number and backfitting
EIGENPRO_PASSES, NYSTROEM_PASSES, SGD_STEPS, SEARCH_ROUNDS = 10, 12, 100, 20


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes."""

    seconds: float
    bytes: int

    def __add__(self, other: Cost) -> Cost:
        """Return what one takes after the other."""
        return Cost(self.seconds + other.seconds, max(self.bytes, other.bytes))

    def by(self, threads: int) -> Cost:
        """Return the cost if so many threads share the work."""
        return Cost(self.seconds * THREADS / threads, self.bytes)


@dataclass(frozen=True)
class Costs:
    """What methods take on so many rows, columns and outputs, by two threads.

    Choices are made by these, so that they do not depend on the number of threads.
    Memory that is not there makes kernel values be computed in each pass instead of once.
    """

    rows: int
    columns: int
    outputs: int
    memory: int

    def direct(self) -> Cost:
        """Return the cost of a Cholesky factor of the kernel matrix in double precision."""
        n = self.rows
        matrix = n**2 * (MULTIPLY_DOUBLE * self.columns + 2 * PROFILE)
        return self._cost(matrix + MULTIPLY_DOUBLE * n**3 / 3, 16 * n**2)

    def eigenpro(self) -> Cost:
        """Return the cost of passes with all rows as centres."""
        pairs = float(self.rows**2)
        if 4 * pairs <= self.memory:
            work = 0.5 * self._value * pairs + EIGENPRO_PASSES * self._kept * pairs
            return self._cost(work, int(4 * pairs))
        return self._cost(EIGENPRO_PASSES * (self._value + self._kept) * pairs, 0)

    def nystroem(self, centers: int) -> Cost:
        """Return the cost of passes with so many centres, and of two Cholesky factors."""
        pairs = float(self.rows * centers)
        kept = 4 * pairs + 12 * centers**2 <= self.memory
        passes = 1 if kept else NYSTROEM_PASSES
        work = passes * self._value * pairs + NYSTROEM_PASSES * self._kept * pairs
        work += (MULTIPLY_DOUBLE + 2 * MULTIPLY) * centers**3 / 3
        return self._cost(work, int(4 * pairs * kept) + 12 * centers**2)

    def binning(self, grids: int) -> Cost:
        """Return the cost of bins and of products with them."""
        entries = float(self.rows * grids)
        work = entries * (GRID_ENTRY * self.outputs**0.5 + 0.5 * self.columns)
        return self._cost(work, int(4.5 * entries))

    def search(self) -> Cost:
        """Return the cost of a search for scales: rounds of two trials a column."""
        trials = SEARCH_ROUNDS * 2 * min(self.columns, 128)
        entries = 16.0 * min(self.rows, 20_000)
        return self._cost(trials * entries * TRIAL_ENTRY, int(40 * entries))

    def doubly_stochastic(self) -> Cost:
        """Return the cost of a hundred steps, or of two passes if those are more."""
        steps = max(SGD_STEPS, 2 * self.rows // 16_384)
        work = steps * 16_384 * 1024 * (FEATURE + MULTIPLY * (self.columns + 2048))
        return self._cost(work, 16 * self.rows * self.outputs)

    @property
    def _value(self) -> float:
        """Nanoseconds for a value of the kernel."""
        return MULTIPLY * self.columns + PROFILE

    @property
    def _kept(self) -> float:
        """Nanoseconds for the product of a kept value with the weights of all outputs."""
        return KEPT + MULTIPLY * self.outputs

    def _cost(self, nanoseconds: float, memory: int) -> Cost:
        return Cost(NANOSECOND * nanoseconds / THREADS, memory)
