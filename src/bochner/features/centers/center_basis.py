"""CenterBasis: the functions k(x, c) of a row x for centres c."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.linear_algebra.cholesky import jittered_cholesky, solve
from bochner.compute.linear_algebra.products import add_column_products, add_row_products
from bochner.compute.memory import memory_budget
from bochner.compute.pool import each_tile
from bochner.data.batch import Batch
from bochner.features.centers.kernel_matrix import RowCache, kernel_matrix
from bochner.features.centring import MOST_FUNCTIONS, Centring
from bochner.features.codes.kept_columns import KernelRows
from bochner.features.dense_basis import BLOCK, TILE_ROWS, DenseBasis, cuts
from bochner.kernels import Kernel, PreparedKernel
from bochner.kernels.rows import dense
from bochner.records import require_sound

MOST_LOST = 1e-4  # of the function's deviation: more rounding is visible between close rows
ROUNDING = 1e-7  # of kernel values, relative to k(x, x)
MOST_ROWS = 1 << 40


class KernelBasis(DenseBasis):
    """Functions of kernel values at centres, in single or double precision.

    Where the kernel matrix of the centres has a low rank (few columns in a linear kernel, a wide
    Gaussian), a smooth function can have weights that are thousands of times larger than itself.
    Sums in single precision then leave some of the rounding.
    """

    @abstractmethod
    def in_double(self) -> Self:
        """Return the same functions in double precision."""

    @abstractmethod
    def code_of_centers(self, numbers: NDArray[np.int64]) -> Any:
        """Return the code of the centres of these numbers."""

    @property
    @abstractmethod
    def n_centers(self) -> int:
        """The number of centres whose code is known."""

    @property
    def double(self) -> Self:
        """The same functions in double precision, which are kept."""
        if self._double is None:
            self._double = self.in_double()
        return self._double

    _double: Self | None = None

    def loses_digits(self, weights: NDArray[Any]) -> bool:
        """Whether sums with these weights differ much from those in double precision.

        Both are computed at some of the centres.
        """
        if self.dtype == np.float64 or self.n_centers == 0:
            return False
        numbers = np.unique(np.linspace(0, self.n_centers - 1, TILE_ROWS).astype(np.int64))
        single, double = (
            basis.evaluate(basis.code_of_centers(numbers), weights).astype(np.float64)
            for basis in (self, self.in_double())
        )
        lost = np.sqrt(np.mean(np.square(single - double), axis=0))
        return bool((lost > MOST_LOST * double.std(axis=0)).any())


@dataclass(init=False, eq=False, repr=False)
class CenterBasis(KernelBasis):
    """The functions phi_j(x) = k(x, c_j) of centres c_j.

    `index` has the row numbers of the centres, None if they are not training rows. If all training
    rows are centres the basis is `complete`: the functional gradient of a loss is in its span, and
    the kernel matrix is stored if it fits into `memory` bytes.
    """

    few_outputs = 32
    size: int
    dtype: np.dtype[Any]
    kernel: Kernel
    centring: Centring
    complete: bool
    memory: int
    index: NDArray[np.int64] | None
    centers: Any

    def __init__(
        self,
        kernel: Kernel,
        centers: Any,
        centring: Centring,
        index: NDArray[np.int64] | None = None,
        complete: bool = False,
        memory: int | None = None,
    ) -> None:
        self.kernel, self.centring, self.index = kernel, centring, index
        kernel.require(centers)
        self.centers = centring(centers)
        self.size, self.dtype, self.complete = centers.shape[0], centring.dtype, complete
        self.memory = memory_budget(memory)
        self.clear_cache()

    def clear_cache(self) -> None:
        """Free what can be computed again."""
        self._matrix: NDArray[Any] | None = None
        self._numbers: NDArray[np.int64] | None = None
        self._against: PreparedKernel | None = None
        self._factor: NDArray[np.float64] | None = None
        self._rows: RowCache | None = None
        self._double: CenterBasis | None = None

    def validate(self) -> None:
        """Check that centres, their row numbers and the centring have the same shapes."""
        centers, index = self.centers, self.index
        kinds = np.ndarray | sp.csr_array | sp.csr_matrix
        require_sound(isinstance(centers, kinds), "its centres are no array")
        table = centers.ndim == 2 and centers.dtype == self.dtype
        require_sound(table, "its centres are no matrix of its dtype")
        ordered = not isinstance(centers, np.ndarray) or centers.flags.c_contiguous
        require_sound(ordered, "its centres are transposed")
        require_sound(self.centring.dtype == self.dtype, "its dtypes differ")
        fits = centers.shape[1] == self.centring.n_columns
        require_sound(fits, "its centres have another number of columns")
        self._validate_count()
        require_sound(0 < self.size < MOST_FUNCTIONS and self.memory >= 0, "its size is impossible")
        require_sound(not self.is_of_rows or index is not None, "its centres have no row numbers")
        if index is not None:
            numbers = index.shape == (self.size,) and index.dtype == np.int64
            require_sound(numbers, "it needs a row number for each of its centres")
            possible = index.min() >= 0 and index.max() < MOST_ROWS
            require_sound(possible, "its row numbers are impossible")

    def _validate_count(self) -> None:
        require_sound(self.centers.shape[0] == self.size, "its size is not its number of centres")

    @property
    def input_columns(self) -> int:
        """The number of columns of a row."""
        return self.centring.input_columns

    @property
    def is_of_rows(self) -> bool:
        """Whether all training rows are centres."""
        return self.complete

    @property
    def keeps_matrix(self) -> bool:
        """Whether the kernel matrix of all training rows fits into `memory`."""
        return self.complete and self.dtype.itemsize * self.size**2 <= self.memory

    def encode(self, X: Any) -> Any:
        """Return the centred rows in the dtype of the basis."""
        code = self.centring(X)
        self.kernel.require(X)
        return code

    def encode_batch(self, batch: Batch) -> Any:
        """Return the code of a batch: rows of the stored kernel matrix if all are centres."""
        if not self.keeps_matrix:
            return self.encode(batch.X)
        numbers = self.numbers(batch.index)
        return self.encode(batch.X) if (numbers < 0).any() else KernelRows(self.matrix, numbers)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write k(x, c_j) for j = start, ..., stop - 1."""
        if isinstance(code, KernelRows):
            code.fill(start, out)
        else:
            self.against.fill(code, start, stop, out)

    def columns(
        self, code: Any, start: int = 0, stop: int | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return k(x_i, c_j) for j = start, ..., stop - 1; threads share rows and columns."""
        if out is not None:
            return super().columns(code, start, stop, out)
        rows, pieces = code.shape[0], list(cuts(start, self.end(stop), BLOCK))
        values = np.empty((rows, self.end(stop) - start), self.dtype)

        def write(number: int, _: int) -> None:
            tile, place = divmod(number, len(pieces))
            (begin, end), top = pieces[place], tile * TILE_ROWS
            part = values[:, begin - start : end - start]
            self._write(code, begin, end, part, top, min(top + TILE_ROWS, rows))

        each_tile(write, len(pieces) * -(-rows // TILE_ROWS), 1)
        return values

    def project(
        self, code: Any, G: NDArray[Any], start: int = 0, stop: int | None = None
    ) -> NDArray[Any]:
        """Return sum_i k(x_i, c_j) G_i; stored values are not copied."""
        if not isinstance(code, KernelRows) or G.shape[1] > self.few_outputs:
            return super().project(code, G, start, stop)
        values = np.ascontiguousarray(G, self.dtype)
        pieces = list(cuts(start, self.end(stop), BLOCK))
        out = np.empty((self.end(stop) - start, G.shape[1]), self.dtype)

        def fill(place: int, _: int) -> None:
            begin, end = pieces[place]
            total = np.zeros((end - begin, G.shape[1]))
            for top in range(0, len(values), TILE_ROWS):
                part = np.zeros((G.shape[1], end - begin), self.dtype)
                rows = slice(top, top + TILE_ROWS)
                add_column_products(code.matrix, code.numbers[rows], begin, values[rows], part)
                total += part.T
            out[begin - start : end - start] = total

        each_tile(fill, len(pieces), 1)
        return out

    def add_products(
        self, tile: Any, begin: int, end: int, weights: NDArray[Any], out: NDArray[np.float64]
    ) -> None:
        """Add the products of a tile's rows with the weights, (outputs, functions), of a block."""
        if isinstance(tile, KernelRows):
            add_row_products(tile.matrix, tile.numbers[: len(out)], begin, weights, out)
        else:
            super().add_products(tile, begin, end, weights, out)

    def pairs(self, batch: Batch) -> NDArray[np.float64]:
        """Return k between rows."""
        return np.asarray(self.kernel.matrix(code := self.encode(batch.X), code), np.float64)

    def at(self, centers: Any) -> CenterBasis:
        """Return the basis of other centres, given by their code."""
        other = copy(self)
        other.centers, other.size = centers, centers.shape[0]
        other.index, other.complete = None, False
        other.clear_cache()
        return other

    @property
    def fixed(self) -> CenterBasis:
        """The same functions, whose centres stay if other rows follow."""
        return self.at(self.centers)

    @property
    def n_centers(self) -> int:
        """The number of centres."""
        return self.size

    def code_of_centers(self, numbers: NDArray[np.int64]) -> Any:
        """Return the code of the centres of these numbers."""
        return self.centers[numbers]

    def in_double(self) -> Self:
        """Return the same functions in double precision, at the same centres."""
        other = copy(self)
        other.dtype = np.dtype(np.float64)
        other.centring, other.centers = self._exact_codes(other.dtype)
        other.clear_cache()
        return other

    @property
    def is_factorized(self) -> bool:
        """Whether the factor that `solved` needs is known."""
        return self._factor is not None

    def _exact_codes(self, dtype: np.dtype[Any]) -> tuple[Centring, Any]:
        """Return centring and centres in this dtype, without a shift of categories.

        Codes that were shifted in another precision would differ from all others.
        """
        centring, centers = replace(self.centring, dtype=dtype), self.centers.astype(dtype)
        numbers = self.kernel.numeric_columns(centring.n_columns)
        places = sorted(set(range(centring.n_columns)) - numbers)
        if centring.centre is None or not places:
            return centring, centers
        centre = centring.centre.copy()
        centers[:, places] = np.rint(centers[:, places] + centre[places])
        centre[places] = 0.0
        return replace(centring, centre=centre), centers

    def solved(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of the function in the span that has these values at the centres."""
        if self._factor is None:
            matrix = self.columns(self.centers).astype(np.float64)
            self._factor = jittered_cholesky(matrix, ROUNDING)[0]
        return solve(self._factor, values)

    def numbers(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the centre of each row number, -1 for rows that are no centres."""
        if self._numbers is None:
            self._numbers = _inverse(self.index)
        known = index < len(self._numbers)
        return np.where(known, self._numbers[np.where(known, index, 0)], -1)

    @property
    def matrix(self) -> NDArray[Any]:
        """The kernel matrix of the centres."""
        if self._matrix is None:
            self._matrix = kernel_matrix(self, self.centers)
        return self._matrix

    @property
    def exact_rows(self) -> RowCache:
        """The rows of the kernel matrix of the centres in double precision."""
        if self._rows is None:
            self._rows = RowCache(self.double, self.double.centers, self.memory)
        return self._rows

    @property
    def against(self) -> PreparedKernel:
        """The kernel prepared for the centres."""
        if self._against is None:
            self._against = self.kernel.prepared(self.centers)
        return self._against

    def __deepcopy__(self, memo: Any) -> CenterBasis:
        return self  # only caches change

    def __getstate__(self) -> dict[str, Any]:
        computed = ("_matrix", "_numbers", "_against", "_factor", "_rows", "_double")
        return {name: value for name, value in vars(self).items() if name not in computed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.clear_cache()


def _inverse(index: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the position of each row number in `index`, -1 for numbers that it lacks."""
    if index is None or len(index) == 0:
        return np.full(1, -1, np.int64)
    places = np.full(int(index.max()) + 1, -1, np.int64)
    places[index] = np.arange(len(index))
    return places


class PrecomputedBasis(CenterBasis):
    """phi_j(x) is the column of row x that belongs to centre j, a training row."""

    def _validate_count(self) -> None:
        return  # a file holds the numbers of the centres, not their rows

    def loses_digits(self, weights: NDArray[Any]) -> bool:
        """Return False: the values are the user's, as precise as they are given."""
        return False

    @property
    def is_of_rows(self) -> bool:
        """True for any centres: the columns belong to the training rows."""
        return True

    @property
    def keeps_matrix(self) -> bool:
        """False: the rows are the kernel matrix."""
        return False

    def encode(self, X: Any) -> NDArray[Any]:
        """Return the kernel values, dense."""
        return dense(self.centring(X))

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Copy the columns of the centres start, ..., stop - 1."""
        assert self.index is not None  # centres are training rows
        np.take(code, self.index[start:stop], axis=1, out=out, mode="clip")

    def pairs(self, batch: Batch) -> NDArray[np.float64]:
        """Return k between training rows."""
        return np.asarray(self.encode(batch.X)[:, batch.index], np.float64)

    def at(self, centers: Any) -> CenterBasis:
        """Raise: values at other centres are unknown."""
        raise ValueError(
            "Temporary centres need a kernel that can be evaluated; got a precomputed one. Give "
            "features='centers' (all rows), or solver='nystroem' for fewer."
        )

    def __getstate__(self) -> dict[str, Any]:
        # A prediction needs the numbers of the centres, not their rows.
        return super().__getstate__() | {"centers": self.centers[:0]}
