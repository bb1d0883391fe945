"""Random Maclaurin features: products of random signs for each power of the inner product."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.sketches import place_columns
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.centring import Centring
from bochner.features.feature_map import FeatureMap, checked_size
from bochner.features.random.random_basis import UNIT, RandomBasis, WholeUnits
from bochner.kernels import Kernel, PowerSeries
from bochner.kernels.inner_product import median_square
from bochner.records import Validated, require_sound

MISSING = 1e-6  # share of k(x, x) at the median row that omitted powers may have
MOST_DEGREES = 4096
LAWS = ("proportional", "geometric")


@dataclass(frozen=True, eq=False)
class Degrees(Validated):
    """Probabilities of the degrees 0, 1, 2, ...

    The functions of a unit have their degrees by systematic sampling (Madow and Madow 1944, On the
    theory of systematic sampling): each degree occurs in proportion to its probability, up to one
    function. The degree of a single function has these probabilities, and units differ less than
    with independent degrees.
    """

    probabilities: NDArray[np.float64]

    def validate(self) -> None:
        """Check that the probabilities are a list of non-negative numbers."""
        chances = self.probabilities
        some = chances.ndim == 1 and 0 < len(chances) <= MOST_DEGREES
        require_sound(some, "its number of degrees is impossible")
        possible = bool((chances >= 0).all()) and 0 < chances.sum() < np.inf
        require_sound(possible, "its probabilities are impossible")

    def draw(self, rng: Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the degrees of a unit, descending, and their positions among its functions."""
        ends = np.cumsum(self.probabilities)
        marks = (np.arange(UNIT) + rng.uniform(1)) / UNIT
        rising = np.searchsorted(ends / ends[-1], marks, side="right")
        return rising[::-1].astype(np.int64), rng.permutation(UNIT)

    @property
    def mean(self) -> float:
        """The mean degree."""
        return float(self.probabilities @ np.arange(len(self.probabilities)))


@dataclass
class Maclaurin(FeatureMap, name="maclaurin"):
    """Random Maclaurin features of a kernel that is a power series of the inner product.

    For k(x, y) = sum_n a_n (x'y)^n a function draws a degree n with probability p_n and n vectors
    of random signs: phi(x) = sqrt(a_n / p_n) prod_i s_i'x, so that E phi(x) phi(y) = k(x, y) (Kar
    and Karnick 2012, Random feature maps for dot product kernels, Algorithm 1).

    Parameters
    ----------
    size : int or None
        The number of functions; None means infinitely many.
    degrees : "proportional" or "geometric"
        The distribution of the degrees: p_n in proportion to a_n r^2n, the part of the term in
        k(x, x) at rows of the median length r; or to 2^-n, as in the paper, among the terms of the
        kernel. The first has the smaller variance.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Maclaurin
    >>> from bochner.kernels import Exponential
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> basis = Maclaurin(65_536).build(Exponential(1.0), ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are e and 1
    array([[2.7, 1. ],
           [1. , 2.7]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = PowerSeries
    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None
    degrees: str = "proportional"

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> MaclaurinBasis:
        """Return the basis; the median length of a row is that of the sample."""
        series = self._checked_kernel(kernel)
        length = sqrt(median_square(sample.X, sample.weight))
        rows = Centring.in_place(sample.X, dtype)
        parts = parts_of(series, length)
        law = self._law(parts)
        return MaclaurinBasis(parts, law, length, checked_size(self.size, 1), rows, seed, memory)

    def _law(self, parts: NDArray[np.float64]) -> Degrees:
        if self.degrees not in LAWS:
            names = " or ".join(map(repr, LAWS))
            raise ValueError(f"degrees of Maclaurin must be {names}; got {self.degrees!r}.")
        weights = parts if self.degrees == "proportional" else _halves(parts > 0)
        return Degrees(weights / weights.sum())


@dataclass(frozen=True, eq=False)
class Products:
    """The functions of a unit: signs of their factors, their positions and their heights.

    Functions are sorted by descending degree, so factor i belongs to the first of them.
    """

    signs: list[NDArray[Any]]
    places: NDArray[np.int64]
    heights: NDArray[Any]


@dataclass(init=False, eq=False, repr=False)
class DegreesBasis(WholeUnits):
    """Functions of random degrees: `heights` has the factor of each degree."""

    law: Degrees
    heights: NDArray[Any]

    def validate(self) -> None:
        """Check that each degree has a height."""
        super().validate()
        degrees = self.law.probabilities.shape
        require_sound(self.heights.shape == degrees, "heights and degrees differ in number")


@dataclass(init=False, eq=False, repr=False)
class MaclaurinBasis(DegreesBasis):
    """Products of projections to random signs, of rows divided by `length`.

    `parts` are the terms of the kernel at rows of that length, `law` the probabilities of degrees.
    """

    length: float

    def __init__(
        self,
        parts: NDArray[np.float64],
        law: Degrees,
        length: float,
        size: int | None,
        rows: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.law, self.length = law, length
        drawn = law.probabilities > 0
        self.heights = np.zeros(len(parts))
        self.heights[drawn] = np.sqrt(parts[drawn] / law.probabilities[drawn])
        numbers = rows.n_columns * law.mean + 1
        super().__init__(size, rows, seed, int(UNIT * numbers) * rows.dtype.itemsize, memory)

    def encode(self, X: Any) -> Any:
        """Return the rows divided by the length."""
        return self.rows(X) * self.dtype.type(1 / self.length)

    def draw(self, rng: Random) -> Products:
        """Return degrees and signs of a unit."""
        degrees, places = self.law.draw(rng)
        widths = [int((degrees > factor).sum()) for factor in range(degrees[0])]
        signs = [_signs((self.n_columns, width), rng, self.dtype) for width in widths]
        heights = self.amplitude * self.heights[degrees]
        return Products(signs, places, heights.astype(self.dtype))

    def write(self, code: Any, parameters: Products, out: NDArray[Any], first: int) -> None:
        """Write products of projections."""
        values = np.ones((code.shape[0], UNIT), self.dtype)
        for signs in parameters.signs:
            values[:, : signs.shape[1]] *= code @ signs
        place_columns(values, parameters.places, parameters.heights, out, first)


def parts_of(kernel: PowerSeries, length: float) -> NDArray[np.float64]:
    """Return the terms of the kernel at rows of a length; raise if terms are missing."""
    value = np.array([length**2])
    with np.errstate(over="ignore", invalid="ignore"):  # the comparison below is then False
        kernel.evaluate(value)
        parts = np.exp(kernel.log_parts(length))
        if (1 - MISSING) * value[0] < parts.sum() < np.inf:
            return np.asarray(parts, np.float64)
    raise ValueError(
        f"Random Maclaurin features of {kernel!r} have powers below {len(parts)} of the inner "
        f"product, whose sum must be k(x, x) at rows of the median length {length:.3g}; it is "
        f"{parts.sum():.3g} of {value[0]:.3g}. Scale the rows or change the kernel so that its "
        "values are near 1; Exponential needs a larger bandwidth."
    )


def _halves(present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return 2^-n for the n-th present degree and those after it, 0 for degrees that are absent."""
    powers = 0.5 ** np.maximum(np.arange(len(present)) - np.argmax(present), 0)
    return np.where(present, powers, 0.0)


def _signs(shape: tuple[int, int], rng: Random, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return random signs, one from each bit of the stream."""
    words = rng.integers(-(-prod(shape) // 64)).astype("<u8")  # the same on every machine
    bits = np.unpackbits(words.view(np.uint8), count=prod(shape), bitorder="little")
    return (2 * bits.astype(dtype) - 1).reshape(shape)
