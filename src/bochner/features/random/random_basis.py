"""Bases of random functions, any block of which approximates the kernel."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from math import isclose, sqrt
from threading import Lock
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bochner.compute.memory import memory_budget
from bochner.compute.pool import each_tile
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.basis import Basis
from bochner.features.centring import MOST_FUNCTIONS, Centring
from bochner.features.dense_basis import BLOCK, DenseBasis, cuts
from bochner.features.feature_map import FeatureMap, checked_size
from bochner.kernels import Kernel
from bochner.records import require_sound

UNITS_AT_ONCE = 32  # units whose parameters are in memory at the same time, at most
UNIT = 512  # functions that are drawn together; changing it changes every model
SPAN = 16 * BLOCK  # functions whose parameters are in memory at the same time


class RandomBasis(DenseBasis):
    """A basis of random functions, any block of which, times its gain, approximates the kernel.

    The functions n atom, ..., n atom + atom - 1 are one draw: times `gain(atom)`, the mean of
    phi(x)'phi(y) over draws is k(x, y). The cosine and the sine of a frequency are a draw of two.
    """

    atom: int = 2

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel.

        By default all functions together approximate it, or a draw of an infinite basis.
        """
        return sqrt((self.atom if self.size is None else self.size) / width)

    @property
    @abstractmethod
    def code_columns(self) -> int:
        """The number of columns of a code."""

    def holding(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Keep the parameters of the functions start, ..., stop - 1 in memory in this context."""
        return nullcontext()

    def span(self) -> int:
        """Return how many functions may have their parameters in memory, a multiple of `BLOCK`."""
        return SPAN

    def spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Cut the functions into spans, and keep the parameters of a span for all rows."""
        for first, last in cuts(start, stop, self.span()):
            with self.holding(first, last):
                yield first, last


@dataclass(init=False, eq=False, repr=False)
class SeededBasis(RandomBasis):
    """A basis of random functions; the parameters of unit i are drawn from `Random(seed, i)`.

    A unit is `unit` consecutive functions. The parameters of the first units that fit into `memory`
    bytes stay in memory, others are drawn again when needed: the results are the same. `given`
    parameters of a unit replace the random ones.
    """

    size: int | None
    dtype: np.dtype[Any]
    seed: int
    unit: int
    unit_bytes: int
    memory: int
    given: dict[int, NDArray[Any]]

    def __init__(self, seed: int, unit: int, unit_bytes: int, memory: int) -> None:
        self.seed, self.unit, self.unit_bytes, self.memory = seed, unit, unit_bytes, memory
        self.given = {}
        self._clear()

    def validate(self) -> None:
        """Check that the numbers are possible, and that no unit has given parameters."""
        self._validate_numbers()
        require_sound(not self.given, "it has given parameters")

    def _validate_numbers(self) -> None:
        require_sound(self.size is None or 0 < self.size < MOST_FUNCTIONS, "its size is impossible")
        require_sound(self.unit > 0 and self.unit_bytes > 0, "its units are impossible")
        require_sound(self.memory >= 0, "its memory is negative")

    @abstractmethod
    def draw(self, rng: Random) -> Any:
        """Return the parameters of a unit from its stream of random numbers."""

    def parameters(self, number: int) -> Any:
        """Return the parameters of a unit."""
        kept = self.given.get(number, self._kept.get(number))
        return self._drawn(number) if kept is None else kept

    def units(self, start: int, stop: int) -> Iterator[tuple[Any, int, int, int]]:
        """Yield parameters, first, last and place of each unit with functions in the range.

        Its functions first, ..., last - 1 belong in the columns place, place + 1, ... of an array
        of the functions start, ..., stop - 1.
        """
        for begin, end in cuts(start, stop, self.unit):
            number, first = divmod(begin, self.unit)
            yield self.parameters(number), first, first + end - begin, begin - start

    def with_given(self, given: dict[int, Any]) -> Self:
        """Return the same basis with given parameters of some units; both share their caches."""
        other = object.__new__(type(self))
        vars(other).update(vars(self) | {"given": given})
        return other

    def holding(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Keep the parameters of the functions start, ..., stop - 1 in memory in this context."""
        return self._held(range(start // self.unit, -(-stop // self.unit)))

    def span(self) -> int:
        """Return as many functions as fit into `memory`, at least a block."""
        whole = max(1, BLOCK // self.unit)  # whole blocks, so that sums do not depend on spans
        units = max(1, min(UNITS_AT_ONCE, self.memory // self.unit_bytes) // whole) * whole
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

    def _clear(self) -> None:
        self._kept: dict[int, Any] = {}
        self._holders: Counter[int] = Counter()  # number of calls that use a unit
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("_kept", "_holders", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._clear()


@dataclass(init=False, eq=False, repr=False)
class RandomFunctions(SeededBasis):
    """Random functions phi_j with E phi_j(x) phi_j(y) = k(x, y) / size.

    The functions of an infinite basis are not divided: their `amplitude` is 1, not sqrt(1 / size).
    """

    atom = 1
    rows: Centring
    n_columns: int
    amplitude: float

    def __init__(
        self,
        size: int | None,
        rows: Centring,
        seed: int,
        unit_bytes: int,
        memory: int | None,
        unit: int = UNIT,
    ) -> None:
        self.size, self.rows = size, rows
        self.n_columns, self.dtype = rows.n_columns, rows.dtype
        self.amplitude = 1.0 if size is None else sqrt(1 / size)
        super().__init__(seed, unit, unit_bytes, memory_budget(memory))

    def validate(self) -> None:
        """Check the amplitude, and that rows and basis have the same columns and dtype."""
        super().validate()
        amplitude = 1.0 if self.size is None else self.size**-0.5
        require_sound(isclose(self.amplitude, amplitude, rel_tol=1e-9), "its amplitude is wrong")
        require_sound(self.n_columns == self.rows.n_columns, "its numbers of columns differ")
        require_sound(self.dtype == self.rows.dtype, "its dtypes differ")
        self._validate_unit()

    def _validate_unit(self) -> None:
        require_sound(self.unit == UNIT, "its units are impossible")

    @property
    def input_columns(self) -> int:
        """The number of columns of a row."""
        return self.rows.input_columns

    @property
    def code_columns(self) -> int:
        """The number of columns of a code."""
        return self.n_columns

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return sqrt((1 if self.size is None else self.size) / width)


@dataclass
class RandomFunctionMap(FeatureMap):
    """A map to `RandomFunctions` of rows that are not centred, `basis_type`, which takes a kernel.

    Parameters
    ----------
    size : int or None
        The number of functions; None means infinitely many.
    """

    basis_type: ClassVar[type[Any]] = RandomFunctions
    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> RandomFunctions:
        """Return the basis."""
        known, size = self._checked_kernel(kernel), checked_size(self.size, self.basis_type.atom)
        rows = Centring.in_place(sample.X, dtype)
        return self.basis_type(known, size, rows, seed, memory)  # type: ignore[no-any-return]


class WholeUnits(RandomFunctions):
    """Random functions that are computed by whole units."""

    @abstractmethod
    def write(self, code: Any, parameters: Any, out: NDArray[Any], first: int) -> None:
        """Write all functions of a unit into the columns first, first + 1, ... of `out`."""

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1; a unit that is cut is computed whole."""
        for parameters, first, last, place in self.units(start, stop):
            if last - first == self.unit:
                self.write(code, parameters, out, place)
                continue
            whole = np.empty((code.shape[0], self.unit), self.dtype)
            self.write(code, parameters, whole, 0)
            out[:, place : place + last - first] = whole[:, first:last]


def require_equal_numbers(basis: Basis, expected: Basis) -> None:
    """Raise unless a basis has the numbers, tuples and dtype of one built from the same fields."""
    for name, wanted in vars(expected).items():
        found = getattr(basis, name, None)
        if isinstance(wanted, float):
            equal = isinstance(found, int | float) and isclose(found, wanted, rel_tol=1e-9)
        else:
            equal = not isinstance(wanted, int | tuple | np.dtype) or found == wanted
        require_sound(equal, f"its {name} is wrong")
