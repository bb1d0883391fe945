"""Two-sample test and its witness: whether two samples differ in distribution, and where."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.compute.linear_algebra.products import gram, transposed_product
from bochner.compute.pool import threads
from bochner.compute.random.counter_based import Random
from bochner.data import Batch
from bochner.estimators.automatic.settings import is_auto
from bochner.estimators.inputs.ranges import in_single_precision
from bochner.estimators.inputs.tables import numeric_rows
from bochner.estimators.inputs.validation import is_stream
from bochner.estimators.two_samples.samples import FeaturePair, feature_pairs, sample_sources
from bochner.features import Basis, map_of, prepare
from bochner.kernels import Gaussian, Kernel
from bochner.problem import Expansion
from bochner.validation import require_count, require_jobs, require_one_of, seed_of

Array = NDArray[np.float64]

SAMPLE_ROWS = 128  # of either sample, for the bandwidth
SIGNS = 0x5169  # selects a separate random stream for each seed
FEWEST_PAIRS = 8  # for the normal approximation


class KernelWitness(BaseEstimator):  # type: ignore[misc]
    """The witness function of the maximum mean discrepancy, mean of k(x, .) - mean of k(y, .).

    It is positive where the sample X has a higher density than Y, smoothed by the kernel (Gretton
    et al. 2012, A kernel two-sample test, section 2.3), here in random features.

    Parameters
    ----------
    kernel, size, random_state, n_jobs
        As in `two_sample_test`.

    Attributes
    ----------
    kernel_, expansion_
        The kernel with its bandwidth, and the function.

    See Also
    --------
    two_sample_test : The test whose statistic is the squared norm of this function.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import KernelWitness
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(500, 1)), rng.normal(size=(500, 1)) + 1
    >>> KernelWitness(random_state=0).fit(X, Y).predict([[-1.0], [2.0]]) > 0
    array([ True, False])
    """

    kernel_: Kernel
    expansion_: Expansion
    n_features_in_: int

    def __init__(
        self,
        kernel: Any = "auto",
        size: int = 256,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.size = size
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def of(cls, kernel: Kernel, basis: Basis, weights: Array, columns: int) -> KernelWitness:
        """Return the fitted witness with these weights."""
        witness = cls(kernel, len(weights))
        witness.kernel_, witness.n_features_in_ = kernel, columns
        witness.expansion_ = Expansion(basis, weights[:, None], np.zeros(1))
        return witness

    def fit(self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None) -> Self:
        """Fit to two samples, weighted or not: arrays, sources or iterators of blocks."""
        found = two_sample_test(
            X,
            Y,
            sample_weight_X=sample_weight_X,
            sample_weight_Y=sample_weight_Y,
            kernel=self.kernel,
            size=self.size,
            permutations=1,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        ).witness
        self.kernel_, self.expansion_ = found.kernel_, found.expansion_
        self.n_features_in_ = found.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if not is_stream(X):
            validate_data(self, X, skip_check_array=True)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the witness at rows."""
        check_is_fitted(self)
        X = in_single_precision(numeric_rows(self, X, reset=False, accept_sparse="csr"))
        with threads(self.n_jobs):
            return np.asarray(self.expansion_(X)[:, 0])


@dataclass(frozen=True, eq=False)
class TwoSampleTest:
    """The result of a two-sample test: the maximum mean discrepancy and its p-value.

    Attributes
    ----------
    statistic : float
        |mean of phi over X - mean of phi over Y|^2, the squared maximum mean discrepancy.
    pvalue : float
        The probability of a statistic at least as large if both samples have one distribution.
    method : str
        How the p-value was computed.
    rows : tuple of int
        The numbers of rows.
    witness : KernelWitness
        The function that is larger where X has a higher density: its mean over X exceeds its mean
        over Y by the statistic.

    See Also
    --------
    two_sample_test : The function that returns this record.
    """

    statistic: float
    pvalue: float
    method: str
    rows: tuple[int, int]
    witness: KernelWitness = field(repr=False)


def two_sample_test(
    X: Any,
    Y: Any,
    *,
    sample_weight_X: Any = None,
    sample_weight_Y: Any = None,
    kernel: Any = "auto",
    size: int = 256,
    method: str = "permutation",
    permutations: int = 499,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> TwoSampleTest:
    r"""Test by the maximum mean discrepancy in random features, in one pass over both samples.

    The statistic is |mean of phi(x) - mean of phi(y)|^2 (Gretton, Borgwardt, Rasch, Schoelkopf and
    Smola 2012, A kernel two-sample test, Eq. 5; Zhao and Meng 2015, FastMMD, for random features).
    Rows of equal position form pairs with z = phi(x) - phi(y).

    Parameters
    ----------
    X, Y : array-like, source or iterator of blocks
        Two samples with the same columns.
    sample_weight_X, sample_weight_Y : array-like or None, default=None
        Weights of the rows; those of blocks are part of the blocks. For "permutation" only.
    kernel : str or Kernel, default="auto"
        A kernel with random features. "auto": Gaussian with the median distance between rows of
        both samples as bandwidth.
    size : int, default=256
        The number of random features; more features detect more kinds of differences. The number
        of Fourier features is even.
    method : "permutation" or "normal", default="permutation"
        How the p-value is computed.
    permutations : int, default=499
        The number of permutations; the smallest p-value is 1 / (permutations + 1).
    random_state : int, RandomState, Generator or None, default=None
        Determines the features, the sample for the bandwidth and the permutations.
    n_jobs : int or None, default=None
        The number of threads; None means all cores. The result does not depend on it.

    Returns
    -------
    TwoSampleTest
        The statistic, the p-value and the witness function.

    See Also
    --------
    KernelWitness : Where two samples differ.
    DensityRatio : The ratio of their densities.

    Notes
    -----
    "permutation" exchanges x and y of each pair at random, each with its weight. The level is exact
    if rows with their weights have one distribution in both samples; rows without a partner are not
    exchanged. "normal": with the mean a and the covariance S of z over every other pair, and its
    mean b over the other pairs, sqrt(pairs / 2) a'b / sqrt(b'S b) is asymptotically normal under
    the null hypothesis (Shekhar, Kim and Ramdas 2022, A permutation-free kernel two-sample test,
    section 2); rows without a partner are not used.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) + [0.5, 0.0]
    >>> two_sample_test(X, Y, random_state=0).pvalue
    0.002
    """
    require_count("size", size)
    require_count("permutations", permutations)
    require_jobs(n_jobs)
    require_one_of("method", method, ("permutation", "normal"))
    x, y = sample_sources(X, Y, sample_weight_X, sample_weight_Y)
    seed = seed_of(random_state)
    with threads(n_jobs):
        some = [source.sample(SAMPLE_ROWS, seed) for source in (x, y)]
        samples = Batch.join([replace(batch, weight=None) for batch in some])
        chosen = Gaussian(multiplier=1.0) if is_auto(kernel) else Kernel.resolve(kernel)
        resolved, basis = prepare(chosen, map_of(chosen, size), samples, seed)
        size = basis.end(None)
        null: _Permutations | _NormalApproximation = _NormalApproximation(size)
        if method == "permutation":
            leaving, coming = np.zeros((2, permutations, size + 1))
            null = _Permutations(leaving, coming, Random(seed, SIGNS))
        sums = _Sums(np.zeros((2, size)))
        for pair in feature_pairs(x, y, basis):
            sums.add(pair)
            null.add(pair)
    found = sums.difference()
    witness = KernelWitness.of(resolved, basis, found, x.n_columns)
    statistic = float(found @ found)
    return TwoSampleTest(statistic, null.pvalue(sums), method, tuple(sums.rows), witness)  # type: ignore[arg-type]


@dataclass
class _Sums:
    """Weighted sums of the features of both samples, and of the weights."""

    totals: Array
    total_weights: Array = field(default_factory=lambda: np.zeros(2))
    rows: list[int] = field(default_factory=lambda: [0, 0])

    def add(self, pair: FeaturePair) -> None:
        for side, (features, weight) in enumerate(((pair.x, pair.w), (pair.y, pair.v))):
            self.totals[side] += _total(features, weight)
            self.total_weights[side] += len(features) if weight is None else weight.sum()
            self.rows[side] += len(features)

    def difference(self) -> Array:
        """Return mean of phi(x) - mean of phi(y)."""
        if min(self.rows) < 2:
            raise ValueError(
                "Both samples need two rows at least; got {} and {}.".format(*self.rows)
            )
        if not self.total_weights.all():
            raise ValueError("All rows of a sample have weight 0. Give some a positive weight.")
        x, y = self.totals / self.total_weights[:, None]
        return np.asarray(x - y)


@dataclass
class _Permutations:
    """Sums over the exchanged pairs of each permutation: of rows from X, and of rows from Y.

    Each row has a sum of features and, in the last column, of weights. Without weights, `leaving`
    stores the difference of both, which is all that is needed.
    """

    leaving: Array
    coming: Array
    rng: Random

    def add(self, pair: FeaturePair) -> None:
        size, dtype = len(self.leaving), np.float64 if pair.is_weighted else np.float32
        exchanged = _bits(self.rng, pair.shared, size).astype(dtype)
        if not pair.is_weighted:
            self.leaving[:, :-1] += transposed_product(pair.difference, exchanged).T
            return
        for taken, rows in zip((self.leaving, self.coming), pair.weighted(), strict=True):
            taken += transposed_product(rows, exchanged).T

    def pvalue(self, sums: _Sums) -> float:
        """Return the share of permutations, the identity included, with as large a statistic.

        Weights are divided by the mean weight of their sample, so that both samples count equally.
        """
        found, rows = sums.difference(), np.array(sums.rows, np.float64)
        units = sums.total_weights / rows
        taken = self.leaving / units[0] - self.coming / units[1]
        total_weights = rows[0] - taken[:, -1], rows[1] + taken[:, -1]
        # After an exchange a sample may have weight 0.
        known = (np.minimum(*total_weights) > 0)[:, None]
        (x, y), features = sums.totals / units[:, None], taken[:, :-1]
        means = [
            np.divide(total, weight[:, None], out=np.zeros_like(features), where=known)
            for total, weight in zip((x - features, y + features), total_weights, strict=True)
        ]
        others = np.square(means[0] - means[1]).sum(axis=1)
        # Sums of the same rows in another order may be smaller by rounding.
        as_far = ~known[:, 0] | (others >= (found @ found) * (1 - 1e-6))
        return float((1 + as_far.sum()) / (len(others) + 1))


@dataclass
class _NormalApproximation:
    """Sums of z over even and odd pairs, and of its squares over the even ones."""

    size: int

    def __post_init__(self) -> None:
        self.pairs, self.totals = [0, 0], np.zeros((2, self.size))
        self.squares = np.zeros((self.size, self.size))

    def add(self, pair: FeaturePair) -> None:
        if pair.is_weighted:
            raise ValueError("method='normal' takes no weights. Choose method='permutation'.")
        z = pair.difference
        for side in (0, 1):
            self.totals[side] += z[side::2].sum(axis=0, dtype=np.float64)
            self.pairs[side] += len(z[side::2])
        if len(z):
            self.squares += gram(np.ascontiguousarray(z[::2]))

    def pvalue(self, sums: _Sums) -> float:
        if min(self.pairs) < FEWEST_PAIRS:
            raise ValueError(
                f"method='normal' needs {2 * FEWEST_PAIRS} rows of each sample; got "
                "{} and {}. Choose method='permutation'.".format(*sums.rows)
            )
        a, b = (total / pairs for total, pairs in zip(self.totals, self.pairs, strict=True))
        variance = b @ self.squares @ b / self.pairs[0] - (a @ b) ** 2
        if variance <= 0.0:
            return 1.0
        return float(stats.norm.sf((a @ b) * np.sqrt(self.pairs[0] / variance)))


def _total(features: NDArray[Any], weight: Array | None) -> Array:
    """Return the weighted sum of the rows."""
    if weight is None:
        return np.asarray(features.sum(axis=0, dtype=np.float64))
    return transposed_product(features.astype(np.float64), weight[:, None])[:, 0]


def _bits(rng: Random, rows: int, columns: int) -> NDArray[np.uint8]:
    """Return random zeros and ones, (rows, columns)."""
    words = rng.integers(rows * -(-columns // 64)).reshape(rows, -1)
    return np.unpackbits(words.astype("<u8").view(np.uint8), axis=1)[:, :columns]
