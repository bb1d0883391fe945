"""Features of additive homogeneous kernels: waves of the logarithms of single columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from bochner.compute.blas import single_blas
from bochner.compute.elementwise.waves import column_waves
from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.basis import Basis
from bochner.features.centring import Centring
from bochner.features.dense_basis import DenseBasis
from bochner.features.feature_map import FeatureMap, checked_size
from bochner.features.random.random_basis import RandomBasis, SeededBasis, require_equal_numbers
from bochner.kernels import Kernel
from bochner.kernels.histogram import Additive
from bochner.kernels.rows import dense
from bochner.records import require_sound

FITTED_ROWS = 64  # of the sample, on whose kernel matrix weights are fitted
MANY = 24  # pairs: with more, fewer steps are tried, since each takes longer
MOST_PAIRS = 64  # pairs: with these the error of smooth signatures is that of rounding
ROUNDING = 1e-14  # an error that no other step can reduce
PAIRS = 256  # of a cosine and a sine that are drawn together; changing it changes every model
LAST = 1 - 2.0**-40  # quantile of the spectrum, which may be unbounded
UNIFORM = 0.1  # share of the probabilities of the columns
STEPS = np.geomspace(0.4, 6.0, 24)  # times 1 / sqrt(frequencies); wide spectra need long ones
# A prior for few or equal rows: the signature K(z), with weights for z = log(x / y) as between
# entries of an exponential distribution.
PRIOR, KNOTS = 0.01, 160
Z = np.linspace(0, 16.0, KNOTS)


class Quadrature(NamedTuple):
    """Frequencies 0, step, 2 step, ..., and the weight of each."""

    frequencies: NDArray[np.float64]
    weights: NDArray[np.float64]


def quadrature(kernel: Additive, rows: NDArray[np.float64], pairs: int) -> Quadrature:
    """Return frequencies j step, j = 0, ..., pairs, and weights w_j >= 0 that suit these rows.

    sum_j w_j cos(j step z) approximates K(z). Vedaldi and Zisserman (2012, section 4.2) take w_j
    from the density at j step (rectangle rule). Here the weights are fitted by non-negative least
    squares to the kernel's values between the rows, and the step is the best of several. With
    non-negative weights the approximate kernel is positive semi-definite.
    """
    factors = STEPS[:: 1 if pairs < MANY else 3] if pairs else STEPS[:1]
    numbers, wanted = np.arange(pairs + 1.0), TargetValues.of(kernel, rows)
    best, least = Quadrature(numbers, np.zeros(pairs + 1)), np.inf
    with single_blas():  # the same bits for any number of threads
        for step in factors / np.sqrt(pairs + 1):
            weights, error = wanted.weights(step * numbers)
            if error < least:
                best, least = Quadrature(step * numbers, weights), error
            if error < ROUNDING:
                break
    return best


@dataclass(frozen=True, eq=False)
class TargetValues:
    """The values that waves approximate: between rows, and at the knots of a prior."""

    roots: NDArray[np.float64]
    logarithms: NDArray[np.float64]
    size: float
    prior: NDArray[np.float64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, kernel: Additive, rows: NDArray[np.float64]) -> TargetValues:
        """Return the values of a kernel; if all rows are zero, those of the prior alone."""
        K, prior = kernel(rows).reshape(-1), PRIOR * np.cosh(Z / 2) ** -2 / np.sqrt(KNOTS)
        size = float(np.linalg.norm(K))
        values = np.concatenate([K / (size or 1.0), kernel.signature(Z) * prior])
        logarithms = np.log(np.maximum(rows, np.finfo(np.float64).tiny))
        return cls(np.sqrt(rows), logarithms, size or 1.0, prior, values)

    def weights(self, frequencies: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return the least squares weights of these frequencies, and the error."""
        waves = np.stack([self.wave(omega) for omega in frequencies], axis=1)
        Q, R = np.linalg.qr(waves)
        weights = _fitted_weights(R, self.values @ Q)
        return weights, float(np.linalg.norm(waves @ weights - self.values))

    def wave(self, omega: float) -> NDArray[np.float64]:
        """Return sum_j sqrt(x_j y_j) cos(omega log(x_j / y_j)) between rows, and cos(omega z)."""
        phases = omega * self.logarithms
        cosines, sines = self.roots * np.cos(phases), self.roots * np.sin(phases)
        between = (cosines @ cosines.T + sines @ sines.T).reshape(-1) / self.size
        return np.concatenate([between, np.cos(omega * Z) * self.prior])


def _fitted_weights(R: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return non-negative least squares weights, of the lower half if all do not converge."""
    try:
        return np.asarray(nnls(R, target, maxiter=100 * len(R))[0])
    except RuntimeError:  # frequencies so close that the system is singular to rounding
        half = R.shape[1] // 2
        return np.append(_fitted_weights(R[:, :half], target), np.zeros(R.shape[1] - half))


@dataclass(frozen=True, eq=False)
class Waves:
    """Waves: their columns, and their turns, shifts and amplitudes in the dtype of the rows."""

    columns: NDArray[np.int64]
    numbers: NDArray[Any]
    tiny: Any

    @classmethod
    def of(cls, table: NDArray[np.float64], dtype: np.dtype[Any]) -> Waves:
        """Return the waves of a table of columns, turns, shifts and amplitudes."""
        numbers = np.array(table[1:], dtype, order="C")
        return cls(table[0].astype(np.int64), numbers, np.finfo(dtype).tiny)

    def __getitem__(self, some: slice) -> Waves:
        """Return a slice of the waves."""
        numbers = np.ascontiguousarray(self.numbers[:, some])
        return Waves(self.columns[some], numbers, self.tiny)

    def write(self, code: Any, out: NDArray[Any]) -> None:
        """Write the waves at rows; an entry 0 gives 0."""
        rows = np.ascontiguousarray(dense(code))
        roots, logarithms = np.sqrt(rows), np.maximum(rows, self.tiny)
        np.log(logarithms, out=logarithms)
        columns, numbers = np.array(self.columns), np.array(self.numbers)  # not read-only
        column_waves(logarithms, roots, columns, numbers, out)


@dataclass(init=False, eq=False, repr=False)
class AdditiveBasis(DenseBasis):
    """The waves a_f sqrt(x_c) cos(2 pi (t_f log x_c - s_f)) of a table.

    Column f of `waves` holds the number c of a column, the frequency t in turns (multiples of
    2 pi), the shift s and the amplitude a.
    """

    size: int
    dtype: np.dtype[Any]
    kernel: Additive
    rows: Centring
    waves: Waves

    def __init__(self, kernel: Additive, rows: Centring, waves: NDArray[np.float64]) -> None:
        self.kernel, self.rows = kernel, rows
        self.size, self.dtype = waves.shape[1], rows.dtype
        self.waves = Waves.of(waves, rows.dtype)

    def validate(self) -> None:
        """Check that each function has a wave of one of the columns."""
        waves, columns = self.waves, self.rows.n_columns
        require_sound(waves.columns.shape == (self.size,), "waves and functions differ in number")
        require_sound(waves.columns.dtype == np.int64, "its columns are no whole numbers")
        require_sound(waves.numbers.shape == (3, self.size), "its waves have a wrong shape")
        require_sound(waves.numbers.flags.c_contiguous, "its waves are transposed")
        require_sound(waves.numbers.dtype == self.dtype == self.rows.dtype, "its dtypes differ")
        within = bool(((waves.columns >= 0) & (waves.columns < columns)).all())
        require_sound(within and self.size > 0, "a wave has a column that does not exist")

    @property
    def input_columns(self) -> int:
        """The number of columns of a row."""
        return self.rows.input_columns

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis; raise if entries are negative."""
        return _non_negative_rows(self.kernel, self.rows(X))

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the waves start, ..., stop - 1."""
        whole = start == 0 and stop == self.size
        (self.waves if whole else self.waves[start:stop]).write(code, out)


@dataclass(init=False, eq=False, repr=False)
class RandomAdditiveBasis(SeededBasis):
    """Waves of random columns and frequencies, a cosine and a sine side by side.

    A column c is drawn with probability p_c and a frequency from the spectrum; the amplitude is
    sqrt(2 / (size p_c)), or sqrt(1 / p_c) for an infinite basis. The pairs of a unit are drawn from
    256 strata of columns and frequencies, one from each, in random order.
    """

    kernel: Additive
    rows: Centring
    chances: NDArray[Any]
    scale: float

    def __init__(
        self,
        kernel: Additive,
        rows: Centring,
        chances: NDArray[np.float64],
        size: int | None,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.kernel, self.rows, self.chances, self.size = kernel, rows, chances, size
        self.dtype, self.scale = rows.dtype, 1.0 if size is None else 2 / size
        super().__init__(seed, 2 * PAIRS, 4 * 2 * PAIRS * 8, memory_budget(memory))

    def validate(self) -> None:
        """Check the probabilities of the columns, and all that follows from the other fields."""
        super().validate()
        chances = self.chances
        fits = chances.shape == (self.rows.n_columns,)
        require_sound(fits, "probabilities and columns differ in number")
        possible = bool((chances > 0).all()) and chances.sum() < np.inf
        require_sound(possible, "its probabilities are impossible")
        parts = self.kernel, self.rows, chances, self.size, self.seed, self.memory
        require_equal_numbers(self, RandomAdditiveBasis(*parts))

    @property
    def input_columns(self) -> int:
        """The number of columns of a row."""
        return self.rows.input_columns

    @property
    def code_columns(self) -> int:
        """The number of columns of a code."""
        return self.rows.n_columns

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis; raise if entries are negative."""
        return _non_negative_rows(self.kernel, self.rows(X))

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return columns, turns, shifts and amplitudes, (4, 2 PAIRS)."""
        places = (rng.permutation(PAIRS) + rng.uniform(PAIRS)) / PAIRS
        ends = np.cumsum(self.chances) / self.chances.sum()
        columns = np.searchsorted(ends[:-1], places, side="right")
        within = 1 - (ends[columns] - places) / self.chances[columns]
        turns = self.kernel.quantiles(np.clip(within, 0, LAST)) / (2 * pi)
        heights = np.sqrt(self.scale / self.chances[columns])
        shifts = np.tile([0.0, 0.25], PAIRS)
        columns, turns, heights = (np.repeat(each, 2) for each in (columns, turns, heights))
        return np.stack([columns, turns, shifts, heights])

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the waves start, ..., stop - 1."""
        units = self.units(start, stop)
        if parts := [waves[:, first:last] for waves, first, last, _ in units]:
            Waves.of(np.concatenate(parts, axis=1), self.dtype).write(code, out)


def _non_negative_rows(kernel: Additive, rows: Any) -> Any:
    kernel.require(rows)
    return rows


@dataclass
class AdditiveHomogeneous(FeatureMap, name="additive_homogeneous"):
    """Features of an additive homogeneous kernel, sum_j sqrt(x_j y_j) K(log(x_j / y_j)).

    K(z) = E cos(omega z) over the kernel's spectrum, so sqrt(x_j) cos(omega log x_j) and
    sqrt(x_j) sin(omega log x_j) are its features (Vedaldi and Zisserman 2012, Efficient additive
    kernels via explicit feature maps, Eq. 10). With a function or more for each column, all
    columns take the same few frequencies, 0 among them, with weights of least squares on the sample
    (`quadrature`); columns that are larger in the sample may have a pair more. Else
    columns are drawn in proportion to their means, and frequencies from the spectrum, in strata:
    these features are unbiased, and there may be infinitely many.

    Parameters
    ----------
    size : int or None
        The number of functions; one less if half a pair is left, and at most 129 for each column,
        with which smooth kernels are exact to rounding. None means infinitely many.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import AdditiveHomogeneous
    >>> from bochner.kernels import ChiSquared
    >>> X = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> basis = AdditiveHomogeneous(10).build(ChiSquared(), ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(2)  # the kernel's values are 1 and 0.8095
    array([[1.  , 0.81],
           [0.81, 1.  ]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Additive
    size: int | None = None

    @property
    def basis_type(self) -> type[Any]:  # type: ignore[override]
        """The type of the basis: random functions if infinite, else sampled frequencies."""
        return RandomBasis if self.size is None else DenseBasis

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> Basis:
        """Return the basis: sampled frequencies if there are enough functions, else random."""
        additive, size = self._checked_kernel(kernel), checked_size(self.size, 1)
        rows = Centring.in_place(sample.X, dtype)
        additive.require(sample.X)
        if size is not None and size >= rows.n_columns:
            return AdditiveBasis(additive, rows, _sampled(additive, sample.X, size))
        chances = _chances(_means(sample.X))
        return RandomAdditiveBasis(additive, rows, chances, _paired(size), seed, memory)


def _sampled(kernel: Additive, X: Any, size: int) -> NDArray[np.float64]:
    """Return columns, turns, shifts and amplitudes of all waves, frequency by frequency."""
    rows, every = _some(X), np.arange(X.shape[1])
    least, more = divmod(min((size - len(every)) // 2, MOST_PAIRS * len(every)), len(every))
    larger = np.sort(np.argsort(-_means(X), kind="stable")[:more])
    smaller = np.setdiff1d(every, larger)
    frequencies, weights = np.zeros((2, least + 2, len(every)))
    for columns, pairs in ((smaller, least), (larger, least + 1)):
        if len(columns):
            found = quadrature(kernel, rows[:, columns], pairs)
            frequencies[: pairs + 1, columns] = found.frequencies[:, None]
            weights[: pairs + 1, columns] = found.weights[:, None]
    waves = []
    for j in range(least + 2):
        columns = every if j <= least else larger
        turns, heights = frequencies[j, columns] / (2 * pi), np.sqrt(weights[j, columns])
        for shift in (0.0, 0.25)[: 1 if j == 0 else 2]:
            waves.append(np.stack([columns, turns, np.full(len(columns), shift), heights]))
    return np.concatenate(waves, axis=1)


def _paired(size: int | None) -> int | None:
    """Return the size without half a pair, since a cosine without its sine is biased."""
    if size == 1:
        raise ValueError(
            "AdditiveHomogeneous needs at least two functions for several columns, a cosine and a "
            "sine; got size=1. Take size=2 or more."
        )
    return None if size is None else size - size % 2


def _some(X: Any) -> NDArray[np.float64]:
    """Return a few rows, evenly spaced in the sample."""
    places = np.linspace(0, X.shape[0] - 1, min(FITTED_ROWS, X.shape[0])).astype(np.int64)
    return np.asarray(dense(X[places]), np.float64)


def _means(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.mean(axis=0, dtype=np.float64)).reshape(-1)


def _chances(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the columns, in proportion to their part in k(x, x)."""
    known = means / means.sum() if means.sum() > 0 else np.full(len(means), 1 / len(means))
    return (1 - UNIFORM) * known + UNIFORM / len(means)
