"""Kernels of categories, which are equal or not."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.elementwise.pairwise_sums import Term
from bochner.compute.random.counter_based import Random
from bochner.kernels.histogram import PreparedSums
from bochner.kernels.kernel import ShiftInvariant
from bochner.kernels.prepared import PreparedFunction, PreparedKernel
from bochner.kernels.rows import Array, Rows
from bochner.validation import is_number
from bochner.wording import AdvisedError

LARGEST_CODE = 2**20


class Categorical(ShiftInvariant):
    """A kernel of the number of columns in which two rows of categories differ, 1 where none does.

    Categories are integers, which encode the text of a data frame. On integers the function that is
    1 for equal and 0 for different ones is shift-invariant: it is E cos(omega (a - b)) for omega
    uniform in [0, 2 pi) (Bochner's theorem on the group of integers). So random Fourier features
    are hashes of the categories, and sums and products with other shift-invariant kernels have
    features, too. Numbers above 2^20 are refused: in single precision their phases have few
    digits after the point, and some coincide.
    """

    @property
    def variance(self) -> float:
        """The value of equal rows, which is 1."""
        return 1.0

    @abstractmethod
    def values(self, unequal: Array, n_columns: int) -> None:
        """Replace the numbers of columns that differ by kernel values."""

    def numeric_columns(self, n_columns: int) -> frozenset[int]:
        """Return no columns: all are categories."""
        return frozenset()

    def require(self, X: Rows) -> None:
        """Raise a ValueError if a number is not an integer, or above 2^20."""
        values = X.data if sp.issparse(X) else X
        if np.abs(values).max(initial=0) > LARGEST_CODE:
            raise AdvisedError(
                f"{type(self).__name__} compares categories, which must be whole numbers up to "
                f"{LARGEST_CODE:,}; got {values.flat[np.abs(values).argmax()]:,.0f}.",
                "Number them from 0 on (OrdinalEncoder), or give text in a data frame.",
                "Name the columns of categories by categorical=['...'], or choose another kernel.",
            )
        if not (values == np.rint(values)).all():
            found = values[values != np.rint(values)][0]
            raise AdvisedError(
                f"{type(self).__name__} compares categories, which must be whole numbers; got "
                f"{found:g}.",
                "Give text in a data frame, encode the column (OrdinalEncoder), or choose the "
                "columns that hold categories: kernel.on(columns).",
                "Name the columns of categories by categorical=['...'], or choose another kernel.",
            )

    def prepared(self, B: Rows) -> PreparedKernel:
        """Return k(., B) with the transpose of B."""
        unequal = PreparedSums.of(Term.UNEQUAL, B)
        return PreparedFunction(unequal, partial(self.values, n_columns=B.shape[1]))


@dataclass
class Delta(Categorical, name="delta"):
    """The kernel of equal categories, k(a, b) = prod_j (1 if a_j = b_j else other).

    With other = 0 it is 1 for equal rows and 0 for all others; with other between 0 and 1 it is
    other^(number of columns that differ), the Laplacian of Hamming's distance (Aitchison and Aitken
    1976, Multivariate binary discrimination by the kernel method).

    Parameters
    ----------
    other : float
        The factor of a column in which the rows differ, from 0 to less than 1.

    Examples
    --------
    >>> Delta(other=0.5)([[1, 2]], [[1, 2], [1, 3], [4, 4]])
    array([[1.  , 0.5 , 0.25]])
    """

    other: float = 0.0

    def check(self) -> None:
        """Raise a ValueError unless `other` lies in [0, 1)."""
        if not (is_number(self.other) and 0 <= self.other < 1):
            raise ValueError(
                "The value `other` of Delta, for categories that differ, must be a number from 0 "
                f"to less than 1; got {self.other!r}. At 1 all rows would be equal."
            )

    def values(self, unequal: Array, n_columns: int) -> None:
        """Take `other` to the power of the number of columns that differ."""
        np.power(unequal.dtype.type(self.other), unequal, out=unequal)

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw each uniformly from [0, 2 pi), or 0 with probability `other`."""
        turns = rng.uniform((n_columns, size))
        return 2 * np.pi * turns * (rng.uniform((n_columns, size)) >= self.other)


@dataclass
class Overlap(Categorical, name="overlap"):
    """The share of columns in which categories are equal, k(a, b) = mean_j (1 if a_j = b_j else 0).

    Examples
    --------
    >>> Overlap()([[1, 2]], [[1, 2], [1, 3], [4, 4]])
    array([[1. , 0.5, 0. ]])
    """

    def values(self, unequal: Array, n_columns: int) -> None:
        """Take 1 minus the share of columns that differ."""
        unequal *= unequal.dtype.type(-1 / max(n_columns, 1))
        unequal += 1

    def frequencies(self, n_columns: int, size: int, rng: Random) -> NDArray[np.float64]:
        """Draw uniformly from [0, 2 pi) for one random column, 0 for the others."""
        out, columns = np.zeros((n_columns, size)), rng.integers(size) % np.uint64(n_columns)
        out[columns.astype(np.int64), np.arange(size)] = 2 * np.pi * rng.uniform(size)
        return out
