"""OnColumns: a kernel that sees some of the columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import Kernel, ShiftInvariant, shift_invariant
from bochner.kernels.prepared import Against
from bochner.kernels.rows import Array, Rows, checked_rows

MOST_LISTED = 8  # names in a message


@dataclass
class OnColumns(Kernel):
    """A kernel of some columns, k(a, b) = kernel(a_columns, b_columns).

    Sums and products of such kernels are kernels of mixed tables. `kernel.on(columns)` makes one.
    Where a machine is fitted to a data frame, columns may be names.

    Parameters
    ----------
    kernel : Kernel
        The kernel that sees the chosen columns, in the order in which they were given.
    columns : int, str, or sequence of them
        The places of the columns, counted from 0, or their names.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> Gaussian(1.0).on(1)([[0.0, 0.0]], [[9.0, 0.0], [0.0, 1.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    kernel: Kernel
    columns: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OnColumns):
            return NotImplemented
        same = self.kernel == other.kernel
        return same and _listed(self.columns) == _listed(other.columns)

    def check(self) -> None:
        """Raise a ValueError if the columns or the kernel cannot be used."""
        columns = _listed(self.columns)
        if not columns or not all(_is_place(c) or isinstance(c, str) for c in columns):
            raise ValueError(
                "The columns of a kernel must be places from 0 on or names of a data frame, at "
                f"least one; got {self.columns!r}."
            )
        if len(set(columns)) < len(columns):
            raise ValueError(
                f"A kernel must see each of its columns once; got {self.columns!r}. Drop what is "
                "there twice."
            )
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"Columns are chosen for a kernel; got {self.kernel!r}.")
        self.kernel.check()

    def placed(self, names: Collection[Any] | None) -> Self:
        """Return a copy whose columns are numbers; names are looked up among these."""
        known = {} if names is None else {name: place for place, name in enumerate(names)}
        columns = _listed(self.columns)
        missing = [c for c in columns if isinstance(c, str) and c not in known]
        if missing:
            raise ValueError(_unknown(missing, list(known)))
        places = tuple(known[c] if isinstance(c, str) else c for c in columns)
        return replace(self, kernel=self.kernel.placed(None), columns=places)

    def measured(self, n_columns: int) -> frozenset[int]:
        """Return those of the chosen columns that the kernel takes for numbers."""
        places = self._places(n_columns)
        return frozenset(int(places[j]) for j in self.kernel.measured(len(places)))

    def require(self, X: Rows) -> None:
        """Refuse rows that the kernel refuses."""
        try:
            self.kernel.require(self.seen(X))
        except ValueError as error:
            seen = "Columns are counted among those that this kernel sees"
            raise ValueError(f"{error} {seen}, {self.columns!r}.") from error

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy with its kernel resolved on the chosen columns."""
        self.check()
        return replace(self, kernel=self.kernel.resolved(self.seen(checked_rows(X)), rng))

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return the kernel's matrix of the chosen columns."""
        left = self.seen(A)
        return self.kernel.matrix(left, left if B is A else self.seen(B))

    def tile(self, A: Rows, B: Rows) -> Array:
        """Return the kernel's tile of the chosen columns."""
        return self.kernel.tile(self.seen(A), self.seen(B))

    def against(self, B: Rows) -> Against:
        """Return k(., B) with the kernel prepared for the chosen columns."""
        return Chosen(self.kernel.against(self.seen(B)), self._places(B.shape[1]))

    def diagonal(self, A: Rows) -> Array:
        """Return the kernel's diagonal."""
        return self.kernel.diagonal(self.seen(checked_rows(A)))

    def seen(self, X: Rows) -> Rows:
        """Return rows as the kernel sees them."""
        return chosen(X, self._places(X.shape[1]))

    def _places(self, n_columns: int) -> NDArray[np.int64]:
        columns = _listed(self.columns)
        names = [c for c in columns if isinstance(c, str)]
        if names:
            raise ValueError(_unknown(names, []))
        if max(columns) >= n_columns:
            raise ValueError(
                f"This kernel sees the columns {self.columns!r}, counted from 0; got rows of "
                f"{n_columns} columns. Give places below {n_columns}."
            )
        return np.array(columns, np.int64)


@dataclass(eq=False)
class ShiftInvariantOnColumns(OnColumns, ShiftInvariant):
    """A shift-invariant kernel of some columns; its frequencies are 0 at the others.

    Parameters
    ----------
    kernel : ShiftInvariant
        The kernel that sees the chosen columns, in the order in which they were given.
    columns : int, str, or sequence of them
        The places of the columns, counted from 0, or their names.

    Examples
    --------
    >>> from bochner.kernels import Gaussian, Laplacian
    >>> kernel = Gaussian(1.0).on(0) * Laplacian(1.0).on(1)
    >>> kernel([[0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]).round(4)
    array([[0.6065, 0.3679]])
    """

    def check(self) -> None:
        """Raise a ValueError if the columns or the kernel cannot be used."""
        shift_invariant(self.kernel)
        super().check()

    @property
    def variance(self) -> float:
        """The variance of the kernel."""
        return shift_invariant(self.kernel).variance

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel for the chosen columns."""
        places, out = self._places(n_columns), np.zeros((n_columns, size))
        out[places] = shift_invariant(self.kernel).frequencies(len(places), size, rng)
        return out


@dataclass(frozen=True, eq=False)
class Chosen(Against):
    """The values of a kernel at some columns of rows; its centres have no others."""

    values: Against
    places: NDArray[np.int64]

    def fill(self, A: Rows, start: int, stop: int, out: Array) -> None:
        """Write the values at the chosen columns."""
        self.values.fill(chosen(A, self.places), start, stop, out)


def chosen(X: Rows, places: NDArray[np.int64]) -> Rows:
    """Return some columns, side by side."""
    return X.tocsr()[:, places] if sp.issparse(X) else np.take(X, places, axis=1)


def _listed(columns: Any) -> tuple[Any, ...]:
    alone = isinstance(columns, str) or not isinstance(columns, Iterable)
    return (columns,) if alone else tuple(columns)


def _is_place(column: Any) -> bool:
    return isinstance(column, Integral) and not isinstance(column, bool) and int(column) >= 0


def _unknown(missing: list[Any], known: list[Any]) -> str:
    names = ", ".join(map(repr, missing))
    if not known:
        return (
            f"This kernel sees columns by their names, {names}, which a machine looks up in the "
            "data frame that it is fitted to; here there are none. Fit a machine to a data frame, "
            "or give the places of the columns."
        )
    more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
    return (
        f"This kernel sees columns that are not there: {names}. There are "
        f"{', '.join(map(repr, known[:MOST_LISTED]))}{more}."
    )
