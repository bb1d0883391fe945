"""BinningBasis: the indicator functions of the bins that contain rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.bins.fingerprints import (
    FURTHEST,
    BinTable,
    Columns,
    fingerprints,
    require_spread,
)
from bochner.compute.bins.sums import gather, scatter, tally
from bochner.compute.pool import each_tile
from bochner.features.basis import Basis, GrowingBasis
from bochner.features.centring import MOST_FUNCTIONS, checked_columns
from bochner.records import Validated, require_sound
from bochner.wording import AdvisedError

ENCODED_ROWS = 16_384  # at a time, so that a grid's table stays in the cache


@dataclass(frozen=True)
class Grid(Validated):
    """A random grid: row x is in interval round(x_j * inverse_j - shift_j) of column j.

    The fingerprint of a bin is the sum over the columns of these numbers times `multiplier`, modulo
    2^64; a column with multiplier 0 is ignored.
    """

    inverse: NDArray[np.float64]
    shift: NDArray[np.float64]
    multiplier: NDArray[np.uint64]

    def validate(self) -> None:
        """Check the dtypes."""
        numbers = self.inverse.dtype == self.shift.dtype == np.float64
        require_sound(numbers and self.multiplier.dtype == np.uint64, "its dtypes are wrong")


@dataclass(init=False, eq=False, repr=False)
class BinningBasis(GrowingBasis):
    """Functions sqrt(variance / grids) * [x is in bin b of grid r], for bins that contain rows.

    The functions are numbered by grid, within a grid in the order of the first rows of their bins.
    A code is an int32 array (rows, grids) of bin numbers within the grids, -1 for an unknown bin,
    stored by grid. A basis is immutable: `extended` returns a larger one, which shares its tables;
    `counts` says how many bins of each table belong to this one, all by default. `memory` is the
    number of bytes that the bins of a stream of rows may take.
    """

    grids: tuple[Grid, ...]
    variance: float
    memory: int
    known: list[NDArray[np.uint64]]  # fingerprints of the bins by grid: stored for the tables

    def __init__(
        self,
        grids: tuple[Grid, ...],
        variance: float,
        memory: int,
        tables: tuple[BinTable, ...] | None = None,
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        self.grids, self.variance, self.memory = grids, variance, memory
        self.tables = tuple(BinTable() for _ in grids) if tables is None else tables
        sizes = [len(table) for table in self.tables] if counts is None else counts
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.height = sqrt(variance / len(grids))

    def validate(self) -> None:
        """Check that all grids have the same columns."""
        columns = (self.n_columns,)
        for grid in self.grids:
            equal = grid.inverse.shape == grid.shift.shape == grid.multiplier.shape == columns
            require_sound(equal, "its grids differ in columns")
        require_sound(self.n_columns > 0 and self.size < MOST_FUNCTIONS, "its size is impossible")

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of bins."""
        return int(self.starts[-1])

    @property
    def n_columns(self) -> int:
        """The number of columns that rows have."""
        return len(self.grids[0].inverse)

    @property
    def input_columns(self) -> int:
        """The number of columns of a row."""
        return self.n_columns

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of bins of each grid."""
        return np.diff(self.starts)

    def encode(self, X: Any) -> NDArray[np.int32]:
        """Return the number of each row's bin in each grid, -1 for unknown bins."""
        counts = self.counts
        return self._encoded(X, lambda r, prints: self.tables[r].find(prints, int(counts[r])))

    def extended(
        self, X: Any, most: int | None = None, *, known: NDArray[np.int32] | None = None
    ) -> tuple[BinningBasis, NDArray[np.int32]]:
        """Return the basis with the bins of these rows added, and the rows encoded.

        Each grid gets at most `most` bins; rows in other bins get -1. `known` is the code of the
        rows in the first grids, which have all bins of these rows already.
        """
        pairs = zip(self.tables, self.counts, strict=True)
        # A table with more bins belongs to another basis, perhaps of a fit that failed.
        tables = tuple(t if len(t) == n else BinTable(t.fingerprints(int(n))) for t, n in pairs)
        code = self._encoded(X, lambda r, prints: tables[r].admit(prints, most), known)
        return BinningBasis(self.grids, self.variance, self.memory, tables), code

    def release_spare_memory(self) -> None:
        """Free the memory that the tables have reserved for more bins."""
        each_tile(lambda r, _: self.tables[r].shrink(), len(self.tables), 1)

    def evaluate(
        self, code: NDArray[np.int32], weights: NDArray[Any], start: int = 0
    ) -> NDArray[np.float64]:
        """Return the sum of the weights of each row's bins times the height, in float64."""
        if len(weights) < self.size:
            full = np.zeros((self.size, weights.shape[1]), weights.dtype)
            full[start : start + len(weights)] = weights
            weights = full
        return self.height * gather(code.T, self.starts, weights)

    def project(
        self, code: NDArray[np.int32], G: NDArray[Any], start: int = 0, stop: int | None = None
    ) -> NDArray[Any]:
        """Return the sums of G over the rows of each bin times the height, in the dtype of G."""
        total = np.zeros((self.size, G.shape[1]), G.dtype)
        self.add_projection(code, G, total)
        return total[start : self.end(stop)]

    def add_projection(self, code: NDArray[np.int32], G: NDArray[Any], total: NDArray[Any]) -> None:
        """Add the sums of G over the rows of each bin, times the height, to `total`."""
        scatter(code.T, self.starts, G.astype(np.float64, copy=False), total, self.height)

    def squares(
        self, code: NDArray[np.int32], weight: NDArray[Any] | None, total: NDArray[Any]
    ) -> None:
        """Add the weight of the rows of each bin times the squared height to `total`."""
        weight = np.ones(len(code)) if weight is None else weight
        scatter(code.T, self.starts, weight[:, None], total[:, None], self.height**2)

    def count(self, code: NDArray[np.int32], total: NDArray[np.int32]) -> None:
        """Add the number of rows in each bin to `total`."""
        tally(code.T, self.starts, total)

    def embed_weights(self, weights: NDArray[Any], before: Basis) -> NDArray[Any]:
        """Return the weights of an earlier basis, scaled so that the function is the same."""
        assert isinstance(before, BinningBasis)  # solvers pass their earlier basis
        if np.array_equal(self.starts, before.starts):
            return weights
        out = np.zeros((self.size, *weights.shape[1:]), weights.dtype)
        for r in range(len(before.grids)):
            old = weights[before.starts[r] : before.starts[r + 1]]
            out[self.starts[r] : self.starts[r] + len(old)] = old
        out *= before.height / self.height
        return out

    def with_grids(self, grids: tuple[Grid, ...]) -> BinningBasis:
        """Return the basis with more grids, which have no bins yet."""
        tables = self.tables + tuple(BinTable() for _ in grids)
        counts = np.concatenate([self.counts, np.zeros(len(grids), np.int64)])
        return BinningBasis(self.grids + grids, self.variance, self.memory, tables, counts)

    def restricted(self, kept: NDArray[np.bool_]) -> BinningBasis:
        """Return the basis with a subset of its functions, in the same order."""
        tables = []
        for r, table in enumerate(self.tables):
            known = table.fingerprints(int(self.counts[r]))
            tables.append(BinTable(known[kept[self.starts[r] : self.starts[r + 1]]]))
        return BinningBasis(self.grids, self.variance, self.memory, tuple(tables))

    def matrix(self, code: NDArray[np.int32]) -> sp.csr_array:
        """Return Phi at encoded rows as a sparse matrix; unknown bins are left out.

        Its indices are int32 if they fit, since scikit-learn's liblinear takes no others.
        """
        known = code >= 0
        index = np.int32 if max(self.size, code.size) <= np.iinfo(np.int32).max else np.int64
        pointers = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(index)
        columns = (code + self.starts[:-1].astype(index))[known]
        values = np.full(len(columns), self.height)
        shape = (len(code), self.size)
        return sp.csr_array((values, columns, pointers), shape=shape)

    def columns(self, code: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return Phi at encoded rows as a dense array, (rows, bins)."""
        return np.asarray(self.matrix(code).toarray())

    @cached_property
    def _furthest(self) -> NDArray[np.float64]:
        """The largest number in each column whose bin is exact in double precision."""
        return np.asarray(FURTHEST / np.max([grid.inverse for grid in self.grids], axis=0))

    def _encoded(
        self, X: Any, number: Any, known: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        """Return a code by number(grid, fingerprints); that of the first grids may be known."""
        X = self._checked(X)
        code = np.empty((len(self.grids), X.shape[0]), np.int32)
        first = 0 if known is None else known.shape[1]
        if known is not None:
            code[:first] = known.T
        for top in range(0, X.shape[0], ENCODED_ROWS):
            columns = Columns.of(X[top : top + ENCODED_ROWS])

            def fill(new: int, _: int, columns: Columns = columns, top: int = top) -> None:
                r = first + new
                grid = self.grids[r]
                prints = fingerprints(columns, grid.inverse, grid.shift, grid.multiplier)
                code[r, top : top + columns.n_rows] = number(r, prints)

            each_tile(fill, len(self.grids) - first, 1)
        return code.T

    def _checked(self, X: Any) -> Any:
        X = checked_columns(X, self.n_columns)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        self._require_near(X)
        return X

    def _require_near(self, X: Any) -> None:
        """Raise a ValueError if a number is so large that its bin is not exact."""
        if X.shape[0] == 0:
            return
        largest = abs(X).max(axis=0)
        largest = largest.toarray().ravel() if sp.issparse(largest) else np.asarray(largest)
        if (largest < self._furthest).all():
            return
        j = int(np.argmax(~(largest < self._furthest)))
        raise AdvisedError(
            f"{{columns}} must have numbers below {self._furthest[j]:g}, since its bins are too "
            f"narrow to be distinguished beyond; got {largest[j]:g}.",
            "Scale the columns (scale='range'), or choose a larger bandwidth.",
            columns=[j],
        )

    def __getstate__(self) -> dict[str, Any]:
        counts = self.counts
        known = [table.fingerprints(int(n)) for table, n in zip(self.tables, counts, strict=True)]
        kept = {name: getattr(self, name) for name in ("grids", "variance", "memory")}
        return kept | {"known": known}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for known in state["known"]:
            require_spread(known)
        tables = tuple(BinTable(known) for known in state["known"])
        BinningBasis.__init__(self, state["grids"], state["variance"], state["memory"], tables)


@dataclass(frozen=True)
class BinningDiagnostics:
    """Diagnostics of random binning features (Wu, Yen et al. 2016).

    Parameters
    ----------
    bins, grids : int
        D, the number of columns, and R, the number of grids.
    kappa : float
        The mean over the grids of 1 / (largest share of rows in one bin), Definition 1 and
        Eq. (10): the larger, the faster the convergence, O(1 / (kappa R)).

    Examples
    --------
    >>> diagnostics = BinningDiagnostics(bins=1_001, grids=11, kappa=20.0)
    >>> diagnostics.bins_per_grid, diagnostics.speedup(threads=11)
    (91.0, 10.0)
    """

    bins: int
    grids: int
    kappa: float

    @classmethod
    def of(cls, basis: BinningBasis, counts: NDArray[Any]) -> BinningDiagnostics:
        """Return the diagnostics of a basis, given the number of rows in each bin."""
        grids = [counts[a:b] for a, b in pairwise(basis.starts) if a < b]
        kappas = [float(rows.sum(dtype=np.float64) / max(rows.max(), 1)) for rows in grids]
        return cls(basis.size, len(basis.grids), float(np.mean(kappas)) if kappas else 0.0)

    @property
    def bins_per_grid(self) -> float:
        """D / R."""
        return self.bins / self.grids

    @property
    def collision_probability(self) -> float:
        """The mean share of rows in a bin, Eq. (9): every row has one bin in each grid, so R/D."""
        return self.grids / max(self.bins, 1)

    def speedup(self, threads: int) -> float:
        """Return the speed-up of parallel coordinate descent that Eq. (29) promises."""
        if self.bins < 2:
            return 1.0
        return threads / (1 + (self.grids - 1) * (threads - 1) / (self.bins - 1))
