"""Kernels of transformed rows: divided by scales, some of their columns, or times a matrix."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bochner.compute.blas import single_blas
from bochner.compute.random.counter_based import Random
from bochner.kernels.composite.algebra import part_of, shift_invariant
from bochner.kernels.kernel import (
    Kernel,
    Separable,
    ShiftInvariant,
    Weight,
    constructor,
    is_separable,
    parts,
    separable,
)
from bochner.kernels.prepared import PreparedKernel, PreparedTransform
from bochner.kernels.rows import Array, Rows, centred, checked_rows, divided, mean
from bochner.validation import is_integer
from bochner.wording import AdvisedError

MOST_LISTED = 8  # names in a message


@dataclass
class TransformedRowsKernel(Kernel):
    """A kernel of transformed rows, k(a, b) = kernel(transform(a), transform(b))."""

    kernel: Kernel

    @abstractmethod
    def transform(self, X: Rows) -> Rows:
        """Return the rows that the kernel compares."""

    def resolved(self, X: Rows, rng: Random, weight: Weight = None) -> Self:
        """Return a copy with its kernel resolved on the transformed rows."""
        self.check()
        rows = self.transform(checked_rows(X))
        return replace(self, kernel=self.kernel.resolved(rows, rng, weight))

    def matrix(self, A: Rows, B: Rows) -> Array:
        """Return the kernel's matrix of the transformed rows."""
        left = self.transform(A)
        return self.kernel.matrix(left, left if B is A else self.transform(B))

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the kernel prepared for the transformed rows."""
        return PreparedTransform(self.kernel.prepared(self.transform(B)), self.transform)

    def diagonal(self, A: Rows) -> Array:
        """Return the kernel's diagonal at the transformed rows."""
        return self.kernel.diagonal(self.transform(checked_rows(A)))


# ------------------------------------------------------- column scales


@dataclass
class KernelOfScaledColumns(TransformedRowsKernel):
    """A kernel of rows whose columns are divided by scales."""

    scales: ArrayLike

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.kernel == other.kernel and np.array_equal(self.scales, other.scales)

    @property
    def centred(self) -> bool:
        """Whether the kernel stays the same if all rows are shifted."""
        return self.kernel.centred

    def check(self) -> None:
        """Raise a ValueError if the scales or the kernel cannot be used."""
        require_scales(self.scales)
        part_of(self, self.kernel).check()

    def transform(self, X: Rows) -> Rows:
        """Return the rows divided by the scales."""
        return divided(X, column_scales(self.kernel, self.scales, X.shape[1]))


@dataclass(eq=False)
class GeneralColumnScaled(KernelOfScaledColumns):
    """A kernel of any kind with a scale per column, k(a, b) = kernel(a / scales, b / scales).

    ``kernel.column_scaled(scales)`` makes it unless the kernel is shift-invariant, for which there
    is `ColumnScaled`.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the divided columns.
    scales : array-like of shape (n_columns,)
        Positive numbers.

    Examples
    --------
    >>> from bochner.kernels import FunctionKernel
    >>> kernel = FunctionKernel(lambda A, B: A @ B.T).column_scaled([1.0, 10.0])
    >>> kernel([[1.0, 10.0]], [[1.0, 0.0], [0.0, 20.0]])
    array([[1., 2.]])
    """


@dataclass(eq=False)
class ColumnScaled(ShiftInvariant, Separable, KernelOfScaledColumns):
    """A kernel with a scale per column, k(a, b) = kernel(a / scales, b / scales).

    Automatic relevance determination: a column with a large scale matters little (Rasmussen and
    Williams 2006, Gaussian processes for machine learning, Eq. 5.2). The frequencies are those of
    the kernel divided by the scales. A median bandwidth is taken from the rows divided by the
    scales. `Stretched` is an older name of this class.

    Parameters
    ----------
    kernel : ShiftInvariant
        The kernel of the divided columns.
    scales : array-like of shape (n_columns,)
        Positive numbers.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> kernel = ColumnScaled(Gaussian(1.0), scales=[1.0, 10.0])
    >>> kernel([[0.0, 0.0]], [[1.0, 0.0], [0.0, 10.0]]).round(4)
    array([[0.6065, 0.6065]])
    """

    kernel: ShiftInvariant

    @property
    def variance(self) -> float:
        """The variance of the kernel."""
        return self.kernel.variance

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel and divide by the scales."""
        frequencies = self.kernel.frequencies(n_columns, size, rng)
        return frequencies / column_scales(self.kernel, self.scales, n_columns)[:, None]

    @property
    def has_pitches(self) -> bool:
        """Whether the kernel has them."""
        return is_separable(self.kernel)

    def pitches(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel and multiply by the scales."""
        pitches = separable(self.kernel).pitches(n_columns, size, rng)
        return pitches * column_scales(self.kernel, self.scales, n_columns)[:, None]


Stretched, GeneralStretched = ColumnScaled, GeneralColumnScaled  # the names of earlier versions


def require_scales(scales: Any) -> None:
    """Raise a ValueError unless the scales are a list of positive numbers."""
    given = np.asarray(scales)
    numbers = given.ndim == 1 and given.dtype.kind in "fiu"
    if not numbers or not np.all(np.isfinite(given) & (given > 0)):
        raise ValueError(
            "The scales of ColumnScaled must be a list of finite positive numbers, one for each "
            f"column; got {scales!r}."
        )


def column_scales(kernel: Kernel, scales: Any, n_columns: int) -> NDArray[np.float64]:
    """Return the scales of `n_columns` columns, or raise a ValueError if there are more or fewer.

    Columns that hold categories for the kernel have the scale 1.
    """
    given = np.array(scales, dtype=np.float64)
    if len(given) != n_columns:
        raise ValueError(
            f"ColumnScaled needs one scale for each of the {n_columns} columns; got "
            f"{len(given)} scales."
        )
    given[list(set(range(n_columns)) - kernel.numeric_columns(n_columns))] = 1.0
    return given


def scales_of_groups(scales: Any, groups: Any) -> NDArray[np.float64]:
    """Return the scale of each column, given those of groups and the group of each column."""
    require_scales(scales)
    given, places = np.asarray(scales, dtype=np.float64), np.asarray(groups)
    whole = places.ndim == 1 and places.dtype.kind in "iu"
    if not whole or np.any((places < 0) | (places >= len(given))):
        raise ValueError(
            "groups must hold the group of each column, a whole number from 0 to "
            f"{len(given) - 1} for {len(given)} scales; got {groups!r}."
        )
    return np.asarray(given[places])


@constructor
def scale_columns(kernel: Kernel, scales: ArrayLike, groups: ArrayLike | None) -> Kernel:
    """Return the kernel with a scale for each column, or for each group of columns."""
    scales = scales if groups is None else scales_of_groups(scales, groups)
    if isinstance(kernel, ShiftInvariant):
        return ColumnScaled(kernel, scales)
    return GeneralColumnScaled(kernel, scales)


# ------------------------------------------------------ chosen columns


@dataclass
class OnColumns(TransformedRowsKernel):
    """A kernel of some columns, k(a, b) = kernel(a_columns, b_columns).

    Sums and products of such kernels are kernels of mixed tables. `kernel.on(columns)` makes one.
    Columns may be names if a machine is fitted to a data frame.

    Parameters
    ----------
    kernel : Kernel
        The kernel of the chosen columns, in the order in which they are given.
    columns : int, str, or sequence of them
        The indices of the columns, counted from 0, or their names.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> Gaussian(1.0).on(1)([[0.0, 0.0]], [[9.0, 0.0], [0.0, 1.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    columns: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OnColumns):
            return NotImplemented
        return (self.kernel, _listed(self.columns)) == (other.kernel, _listed(other.columns))

    def check(self) -> None:
        """Raise a ValueError if the columns or the kernel cannot be used."""
        columns = _listed(self.columns)
        known = (isinstance(c, str) or (is_integer(c) and c >= 0) for c in columns)
        if not columns or not all(known):
            raise ValueError(
                "The columns of a kernel must be indices from 0 on or names of a data frame, at "
                f"least one; got {self.columns!r}."
            )
        if len(set(columns)) < len(columns):
            raise ValueError(
                f"The columns of a kernel must differ; got {self.columns!r}. Give each of them "
                "once."
            )
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"OnColumns needs a kernel of its columns; got {self.kernel!r}.")
        self.kernel.check()

    def numeric_columns(self, n_columns: int) -> frozenset[int]:
        """Return the chosen columns that are numbers for the kernel."""
        indices = self._indices(n_columns)
        return frozenset(int(indices[j]) for j in self.kernel.numeric_columns(len(indices)))

    def require(self, X: Rows) -> None:
        """Raise a ValueError if the kernel is not defined for the chosen columns."""
        try:
            self.kernel.require(self.transform(X))
        except AdvisedError as error:
            columns = self._indices(X.shape[1])[list(error.columns)].tolist()
            raise AdvisedError(error.fault, *error.advice, columns) from error
        except ValueError as error:
            raise ValueError(
                f"{error} Columns are counted among those of this kernel, {self.columns!r}."
            ) from error

    def transform(self, X: Rows) -> Rows:
        """Return the chosen columns."""
        indices = self._indices(X.shape[1])
        return X.tocsr()[:, indices] if sp.issparse(X) else np.take(X, indices, axis=1)

    def _indices(self, n_columns: int) -> NDArray[np.int64]:
        columns = _listed(self.columns)
        if names := [c for c in columns if isinstance(c, str)]:
            raise ValueError(_unknown(names, []))
        if max(columns) >= n_columns:
            raise ValueError(
                f"This kernel needs the columns {self.columns!r}, counted from 0; got rows of "
                f"{n_columns} columns. Give indices below {n_columns}."
            )
        return np.array(columns, np.int64)


@dataclass(eq=False)
class ShiftInvariantOnColumns(OnColumns, ShiftInvariant):
    """A shift-invariant kernel of some columns; its frequencies are 0 at the others.

    Parameters
    ----------
    kernel : ShiftInvariant
        The kernel of the chosen columns, in the order in which they are given.
    columns : int, str, or sequence of them
        The indices of the columns, counted from 0, or their names.

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
        indices, out = self._indices(n_columns), np.zeros((n_columns, size))
        out[indices] = shift_invariant(self.kernel).frequencies(len(indices), size, rng)
        return out


@constructor
def on_columns(kernel: Kernel, columns: Any) -> OnColumns:
    """Return the kernel of some columns."""
    kind = ShiftInvariantOnColumns if isinstance(kernel, ShiftInvariant) else OnColumns
    return kind(kernel, columns)


@constructor
def with_column_indices(kernel: Kernel, names: Collection[Any] | None) -> Kernel:
    """Return a copy in which columns given by name are indices into `names`."""
    if not isinstance(kernel, OnColumns):
        inner = {name: with_column_indices(part, names) for name, part in parts(kernel).items()}
        return replace(kernel, **inner) if inner else kernel  # type: ignore[type-var]
    known = {} if names is None else {name: index for index, name in enumerate(names)}
    columns = _listed(kernel.columns)
    if missing := [c for c in columns if isinstance(c, str) and c not in known]:
        raise ValueError(_unknown(missing, list(known)))
    indices = tuple(known[c] if isinstance(c, str) else c for c in columns)
    return replace(kernel, kernel=with_column_indices(kernel.kernel, None), columns=indices)


def _listed(columns: Any) -> tuple[Any, ...]:
    alone = isinstance(columns, str) or not isinstance(columns, Iterable)
    return (columns,) if alone else tuple(columns)


def _unknown(missing: list[Any], known: list[Any]) -> str:
    """Return a message about column names that are not among the known ones."""
    names = ", ".join(map(repr, missing))
    if not known:
        return (
            f"This kernel needs a data frame that has the columns {names}; here columns have no "
            "names. Fit a machine to a data frame, or give the indices of the columns."
        )
    more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
    return (
        f"This kernel needs columns that are not there: {names}. There are "
        f"{', '.join(map(repr, known[:MOST_LISTED]))}{more}."
    )


# ---------------------------------------------------------- linear map


@dataclass
class Mapped(ShiftInvariant, TransformedRowsKernel):
    """A kernel of rows times a matrix, k(a, b) = kernel(a M, b M) with M = directions.

    Mapped rows have a column for each direction. A Euclidean kernel then has the metric M M', since
    |(a - b) M|^2 = (a - b) M M' (a - b)'. In recursive feature machines M M' is the average
    gradient outer product of the previous model (Radhakrishnan, Beaglehole, Pandit and Belkin 2024,
    Mechanism for feature learning in neural networks and backpropagation-free machine learning
    models). `ColumnScaled` is the case M = diag(1 / scales). The frequencies are M times those of
    the kernel. A median bandwidth is taken from the mapped rows, which are dense even if the rows
    are sparse.

    Parameters
    ----------
    kernel : ShiftInvariant
        The kernel of the mapped rows.
    directions : array-like of shape (n_columns, n_directions)
        The matrix M: finite numbers, not all zero.

    Examples
    --------
    >>> from bochner.kernels import Gaussian
    >>> kernel = Mapped(Gaussian(1.0), directions=[[1.0], [1.0]])
    >>> kernel([[0.0, 0.0]], [[1.0, 0.0], [1.0, -1.0]]).round(4)
    array([[0.6065, 1.    ]])
    """

    kernel: ShiftInvariant
    directions: ArrayLike

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapped):
            return NotImplemented
        return self.kernel == other.kernel and np.array_equal(self.directions, other.directions)

    @property
    def variance(self) -> float:
        """The variance of the kernel."""
        return self.kernel.variance

    def check(self) -> None:
        """Raise a ValueError if the directions or the kernel cannot be used."""
        directions = np.asarray(self.directions)
        if directions.ndim != 2 or directions.dtype.kind not in "fiu":
            raise ValueError(
                "The directions of Mapped must be a matrix of real numbers, (columns, directions); "
                f"got an array of shape {directions.shape} and dtype {directions.dtype}. Use "
                "directions.reshape(-1, 1) for one direction, ColumnScaled for a scale per column."
            )
        if not np.all(np.isfinite(directions)):
            raise ValueError(
                "The directions of Mapped must be finite; got "
                f"{np.sum(~np.isfinite(directions))} numbers that are NaN or infinite. Replace "
                "them, by 0 if a direction does not use a column."
            )
        if not np.any(directions):
            raise ValueError(
                "The directions of Mapped must not all be zero, which makes all rows equal; got "
                f"zeros of shape {directions.shape}. Give at least one number that is not 0."
            )
        shift_invariant(self.kernel).check()

    def numeric_columns(self, n_columns: int) -> frozenset[int]:
        """Return all columns: directions mix them."""
        return frozenset(range(n_columns))

    def require(self, X: Rows) -> None:
        """Raise a ValueError if the kernel is not defined for the mapped rows."""
        self.kernel.require(self.transform(X))

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the kernel prepared for the mapped rows.

        They are centred here: sparse rows are not centred before, but dense ones have to be.
        """
        mapped = self.transform(B)
        centre = mean(mapped)
        matrix = self._matrix(B.shape[1], B.dtype)
        transform = partial(_map_and_centre, matrix=matrix, centre=centre)
        return PreparedTransform(self.kernel.prepared(centred(mapped, centre)), transform)

    def transform(self, X: Rows) -> Array:
        """Return the rows times the matrix."""
        matrix = self._matrix(X.shape[1], X.dtype)
        with single_blas():
            return X @ matrix  # type: ignore[no-any-return]

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw from the kernel, for the directions, and multiply by the matrix."""
        matrix = self._matrix(n_columns, np.float64)
        frequencies = self.kernel.frequencies(matrix.shape[1], size, rng)
        with single_blas():  # the same bits for any number of threads
            return matrix @ frequencies

    def _matrix(self, n_columns: int, dtype: DTypeLike) -> NDArray[Any]:
        matrix = np.asarray(self.directions, dtype=dtype)
        if len(matrix) != n_columns:
            raise ValueError(
                f"Mapped needs directions with one row for each of the {n_columns} columns; got "
                f"{len(matrix)} rows. If a row is a direction, give the transpose."
            )
        return matrix


def _map_and_centre(X: Rows, matrix: Array, centre: Array | None) -> Rows:
    return centred(X @ matrix, centre)
