"""Random binning features: indicators of the bins of random grids."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.basis import Basis
from bochner.features.binning.binning_basis import BinningBasis, Grid
from bochner.features.feature_map import GrowingFeatureMap
from bochner.kernels import Kernel, Separable
from bochner.kernels.kernel import is_separable, separable
from bochner.validation import is_integer, require_count
from bochner.wording import AdvisedError

FEWEST_GRIDS, FEW_GRIDS, MANY_GRIDS = 8, 64, 512  # if their number is "auto"
FEW_ENTRIES = 24_000_000  # rows times grids times outputs: one or two seconds
ENTRIES_A_SECOND = 5_000_000  # of a time limit, most of which training needs
MANY_ENTRIES = 130_000_000  # with more, a doubling takes minutes and improves little
GRID = 0x6121D  # separates the draws of grids from others of the same seed


@dataclass
class Binning(GrowingFeatureMap, name="binning"):
    """Random binning features of a kernel that is a product over the columns.

    Grid r cuts column j into intervals of a random pitch with a random shift. phi(x) has one entry
    sqrt(k(0) / grids) for each grid, at the bin of x, so that phi(x)'phi(y) is k(0) times the share
    of grids in which x and y are in the same bin, on average k(x, y) (Rahimi and Recht
    2007, Random features for large-scale kernel machines, Algorithm 2; Wu, Yen et al. 2016,
    Algorithm 1, where 1/sqrt(D) should be 1/sqrt(R)).

    Two values of a categorical column have the distance 1: they are in different bins in a share
    1 - k_j(1) of the grids, 1 - exp(-1/bandwidth) for a Laplacian kernel.

    Parameters
    ----------
    grids : int or "auto"
        The number of grids. "auto" starts with 64, or up to 512 for few rows, and doubles them
        while the held-out loss decreases, up to 512 grids and 130 million rows times grids.
    categorical : tuple of int or "auto"
        The columns whose whole numbers are categories. "auto": those columns of a data frame that
        hold text or categories; none of an array.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Binning
    >>> from bochner.kernels import Laplacian
    >>> X = np.array([[0.0, 0.0], [0.5, 0.5]])
    >>> basis = Binning(10_000).build(Laplacian(1.0), ArraySource(X).sample(2), seed=0)
    >>> basis, code = basis.extended(X)
    >>> columns = basis.matrix(code)
    >>> (columns @ columns.T).toarray().round(1)  # the kernel's values are 1 and exp(-1)
    array([[1. , 0.4],
           [0.4, 1. ]])
    """

    kernel_type: ClassVar[Any] = Separable
    basis_type: ClassVar[type[Any]] = BinningBasis
    grids: int | str = "auto"
    categorical: tuple[int, ...] | str = "auto"

    def takes(self, kernel: Kernel) -> bool:
        """Whether the kernel has a distribution of pitches."""
        return is_separable(kernel)

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> BinningBasis:
        """Return a basis of grids without bins."""
        kernel, n_columns = separable(kernel), sample.X.shape[1]
        _require_whole(sample.X, self.categories(n_columns))
        require_count("grids", self.grids, also=("auto",))
        numbers = range(FEW_GRIDS if isinstance(self.grids, str) else int(self.grids))
        grids = self._grids(kernel, n_columns, seed, numbers)
        return BinningBasis(grids, kernel.variance, memory_budget(memory))

    def categories(self, n_columns: int) -> tuple[int, ...]:
        """Return the categorical columns; raise if there is no such column."""
        given: Any = self.categorical
        if isinstance(given, str) and given == "auto":
            return ()
        known = (is_integer(j) and 0 <= j < n_columns for j in given)
        if isinstance(given, str) or not all(known):
            raise ValueError(
                f"categorical must be 'auto' or a tuple of column numbers below {n_columns}; got "
                f"{given!r}."
            )
        return tuple(int(j) for j in given)

    def with_categories(self, columns: tuple[int, ...]) -> Binning:
        """Return the same map with these columns categorical, too."""
        before = () if isinstance(self.categorical, str) else tuple(self.categorical)
        return replace(self, categorical=tuple(sorted({*before, *columns})))

    def initial_basis(
        self, basis: Basis, kernel: Kernel, seed: int, rows: int, seconds: float | None = None
    ) -> BinningBasis:
        """Return the basis with as many grids as take seconds, at least 8, if they are "auto"."""
        assert isinstance(basis, BinningBasis)  # it is what `build` returns
        most = FEW_ENTRIES if seconds is None else min(FEW_ENTRIES, seconds * ENTRIES_A_SECOND)
        while self._may_double(basis, rows, most):
            basis = self._doubled(basis, kernel, seed)
        most = inf if seconds is None else seconds * ENTRIES_A_SECOND
        few = self.grids == "auto"
        while few and len(basis.grids) > FEWEST_GRIDS and len(basis.grids) * rows > most:
            half = basis.grids[: len(basis.grids) // 2]
            basis = BinningBasis(half, basis.variance, basis.memory)
        return basis

    def larger_basis(
        self, basis: Basis, kernel: Kernel, seed: int, rows: int | None = None
    ) -> BinningBasis | None:
        """Return the basis with twice as many grids, None if there are enough."""
        assert isinstance(basis, BinningBasis)  # it is what `build` returns
        may = self._may_double(basis, rows or 0, MANY_ENTRIES)
        return self._doubled(basis, kernel, seed) if may else None

    def _may_double(self, basis: BinningBasis, rows: int, most: float) -> bool:
        twice = 2 * len(basis.grids)
        return self.grids == "auto" and twice <= MANY_GRIDS and twice * rows <= most

    def _doubled(self, basis: BinningBasis, kernel: Kernel, seed: int) -> BinningBasis:
        numbers = range(len(basis.grids), 2 * len(basis.grids))
        return basis.with_grids(self._grids(separable(kernel), basis.n_columns, seed, numbers))

    def _grids(
        self, kernel: Separable, n_columns: int, seed: int, numbers: range
    ) -> tuple[Grid, ...]:
        categorical = self.categories(n_columns)
        return tuple(draw_grid(kernel, n_columns, categorical, seed, r) for r in numbers)

    def numeric_rows(self, X: Any) -> Any:
        """Return rows with numbers of similar distances in place of categories.

        Two random rows differ in a categorical column with probability q = 1 - sum_c p_c^2. Every
        second row gets 2 q, the others 0, so that two rows differ by q on average.
        """
        categorical = self.categories(X.shape[1])
        if not categorical:
            return X
        X = X.toarray() if sp.issparse(X) else np.array(X)
        for j in categorical:
            shares = np.unique(X[:, j], return_counts=True)[1] / len(X)
            X[:, j] = np.arange(len(X)) % 2 * 2 * (1 - np.sum(shares**2))
        return X


def most_entries(rows: int) -> int:
    """Return the maximal number of rows times grids for an "auto" number of grids."""
    return max(FEW_GRIDS * rows, min(MANY_GRIDS * rows, MANY_ENTRIES))


def draw_grid(
    kernel: Separable, n_columns: int, categorical: tuple[int, ...], seed: int, number: int
) -> Grid:
    """Return the random grid of a seed and a number."""
    rng = Random(seed, GRID, number)
    pitches = kernel.pitches(n_columns, 1, rng)[:, 0]
    inverse, shift = 1.0 / pitches, rng.uniform(n_columns)
    multiplier = rng.integers(n_columns) | np.uint64(1)
    for j in categorical:
        # If 0 and 1 are in different intervals, every category is; else the column is ignored.
        if round(inverse[j] - shift[j]) == round(-shift[j]):
            multiplier[j] = 0
        inverse[j], shift[j] = 1.0, 0.0
    return Grid(inverse, shift, multiplier)


def _require_whole(X: Any, categorical: tuple[int, ...]) -> None:
    """Raise if categories are not whole numbers, which would be rounded."""
    for j in categorical:
        column = X[:, [j]].toarray() if sp.issparse(X) else X[:, [j]]
        if (column != np.round(column)).any():
            raise AdvisedError(
                "{columns} is categorical, so it must hold whole numbers; got "
                f"{column[column != np.round(column)][0]!r}.",
                "Encode it first (OrdinalEncoder).",
                "Give categorical={names}.",
                columns=[j],
            )
