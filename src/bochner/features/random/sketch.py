"""Tensor sketches of polynomial kernels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.fft import next_fast_len, rfft

from bochner.compute.elementwise.sketches import count_sketch, multiply_spectra
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.centring import Centring
from bochner.features.dense_basis import cuts
from bochner.features.feature_map import FeatureMap, checked_size
from bochner.features.random.random_basis import (
    UNIT,
    RandomBasis,
    RandomFunctions,
    WholeUnits,
    require_equal_numbers,
)
from bochner.kernels import Kernel, Polynomial
from bochner.records import require_sound

MOST_BUCKETS = 16_384  # buckets of a sketch that is multiplied
LONGEST = 4096  # buckets of a sketch that is transformed: any part of it costs as much as the whole
NARROW = 64  # columns up to which a product with roots of unity is faster than a transform
CUT = np.uint64(32)  # the high bits of a random integer choose the bucket, the lowest the sign


@dataclass(frozen=True, eq=False)
class Lift:
    """Rows with one more column, scaled so that their inner product to the power `degree` is k.

    The rows are scaled by the root of the amplitude, which scales their sketch by the amplitude.
    """

    kernel: Polynomial
    rows: Centring
    amplitude: float

    def __call__(self, X: Any) -> Any:
        """Return (sqrt(scale) x, sqrt(constant)), times the root of the amplitude."""
        kernel, rows, dtype = self.kernel, self.rows(X), self.rows.dtype
        share = self.amplitude ** (1 / kernel.degree)
        factor, last = (share * sqrt(part) for part in (kernel.factor, kernel.constant))
        if sp.issparse(rows):
            column = sp.csr_array(np.full((rows.shape[0], 1), last, dtype))
            return sp.hstack([rows * dtype.type(factor), column], "csr")
        code = np.empty((len(rows), rows.shape[1] + 1), dtype)
        np.multiply(rows, dtype.type(factor), out=code[:, :-1])
        code[:, -1] = last
        return code


@dataclass(init=False, eq=False, repr=False)
class LiftedBasis(RandomFunctions):
    """Functions of rows that a `Lift` has given one more column."""

    atom = 2
    shape: tuple[int, int]
    lift: Lift

    def __init__(
        self,
        kernel: Polynomial,
        size: int | None,
        rows: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.shape = kernel.degree, rows.n_columns + 1
        buckets = self._buckets(size)
        unit_bytes = self._unit_bytes(buckets, rows.dtype)
        super().__init__(size, rows, seed, unit_bytes, memory, buckets)
        self.lift = Lift(kernel, rows, sqrt(2) * self.amplitude)

    @abstractmethod
    def _buckets(self, size: int | None) -> int:
        """Return the number of buckets of a sketch, which are the functions of a unit."""

    @abstractmethod
    def _unit_bytes(self, buckets: int, dtype: np.dtype[Any]) -> int:
        """Return the memory that the parameters of a unit take."""

    def validate(self) -> None:
        """Check all that follows from the lift and other fields."""
        super().validate()
        parts = self.size, self.rows, self.seed, self.memory
        require_equal_numbers(self, type(self)(self.lift.kernel, *parts))
        equal = self.lift.rows.n_columns == self.rows.n_columns
        require_sound(equal, "its numbers of columns differ")
        require_sound(self.lift.rows.dtype == self.dtype, "its dtypes differ")

    def _validate_unit(self) -> None:
        return  # `validate` compares it

    @property
    def code_columns(self) -> int:
        """The number of columns of a code."""
        return self.n_columns + 1

    def encode(self, X: Any) -> Any:
        """Return the rows with one more column."""
        return self.lift(X)


class SketchBasis(LiftedBasis, WholeUnits):
    """Fourier transforms of tensor sketches, with as many buckets as there are functions.

    More functions than `LONGEST` have several sketches; an infinite basis has sketches of 512.

    The parts of frequency i of a sketch are its functions 2i and 2i + 1, times sqrt(2); the
    lowest and the highest frequency have real parts only, and are the functions 0 and 1.
    """

    def _buckets(self, size: int | None) -> int:
        return UNIT if size is None else min(2 * next_fast_len(-(-size // 2)), LONGEST)

    def _unit_bytes(self, buckets: int, dtype: np.dtype[Any]) -> int:
        return 16 * prod(self.shape)

    def draw(self, rng: Random) -> Any:
        """Return buckets and signs of the columns, by factor."""
        return list(zip(*_hashes(rng, self.shape, self.unit, self.dtype), strict=True))

    def write(self, code: Any, parameters: Any, out: NDArray[Any], first: int) -> None:
        """Write the product of the spectra of the count sketches."""
        place = out[:, first : first + self.unit]
        place[:] = self._spectrum(code, *parameters[0])
        for buckets, signs in parameters[1:]:
            multiply_spectra(out, first, self._spectrum(code, buckets, signs), True)
        place[:, :2] *= self.dtype.type(sqrt(0.5))

    def _spectrum(self, code: Any, buckets: NDArray[np.int64], signs: NDArray[Any]) -> NDArray[Any]:
        """Return the spectrum of a count sketch; the highest frequency goes beside the lowest."""
        parts = rfft(count_sketch(code, buckets, signs, self.unit), axis=1).view(self.dtype)
        parts[:, 1] = parts[:, -2]
        return np.ascontiguousarray(parts[:, :-2])


class RootsBasis(LiftedBasis):
    """The same functions as of `SketchBasis`, for few columns, by matrix products.

    A number in bucket h is that number times exp(-2 pi i h k / buckets) at frequency k, so the
    spectrum of a count sketch is a product of the rows with roots of unity.
    """

    def _buckets(self, size: int | None) -> int:
        return UNIT if size is None else min(size + size % 2, MOST_BUCKETS)

    def _unit_bytes(self, buckets: int, dtype: np.dtype[Any]) -> int:
        return prod(self.shape) * buckets * dtype.itemsize

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return roots of unity, times signs, (factors, columns, functions)."""
        buckets, signs = _hashes(rng, self.shape, self.unit, self.dtype)
        angles = 2 * np.pi / self.unit * np.arange(self.unit)
        turns = buckets[..., None] * np.arange(self.unit // 2) % self.unit
        roots = np.empty((*self.shape, self.unit), self.dtype)
        roots[..., 0::2] = np.cos(angles)[turns]
        roots[..., 1::2] = -np.sin(angles)[turns]
        roots[..., 1] = 1 - 2 * (buckets % 2)
        roots *= signs[..., None]
        return roots

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1, by blocks that stay in the cache."""
        for roots, low, high, place in self.units(start, stop):
            for first, last in cuts(low, high, UNIT):
                values = self._values(code, roots, first // 2 * 2, last + last % 2)
                begin, shift = place + first - low, first % 2
                out[:, begin : begin + last - first] = values[:, shift : shift + last - first]

    def _values(self, code: Any, roots: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        """Return whole pairs of functions."""
        values = code @ roots[0][:, first:last]
        for some in roots[1:, :, first:last]:
            multiply_spectra(values, 0, code @ some, first == 0)
        if first == 0:
            values[:, :2] *= self.dtype.type(sqrt(0.5))
        return values  # type: ignore[no-any-return]


def _hashes(
    rng: Random, shape: tuple[int, int], buckets: int, dtype: np.dtype[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the bucket and the sign of each column, by factor."""
    bits = rng.integers(prod(shape)).reshape(shape)
    places = ((bits >> CUT) % np.uint64(buckets)).astype(np.int64)
    return places, 1 - 2 * (bits & np.uint64(1)).astype(dtype)


@dataclass
class Sketch(FeatureMap, name="tensor_sketch"):
    """The tensor sketch of a polynomial kernel.

    k(x, y) = (u'v)^degree for u = (sqrt(scale) x, sqrt(constant)). A count sketch sends each
    column of u, with a random sign, to a random bucket. The circular convolution of
    `degree` independent ones is a count sketch of the tensor product of u with itself (Pham and
    Pagh 2013, Fast and scalable polynomial kernels via explicit feature maps, Algorithm 1).

    Difference from the paper: features are the real and imaginary parts of the Fourier transform of
    the sketch. The transform is orthogonal, so inner products are the same, and no inverse
    transform is needed. Each feature alone has the kernel as its mean, so any number of them can be
    used. A sketch has as many buckets as there are features, or 512 if these are infinite.

    Parameters
    ----------
    size : int or None
        The number of functions; None means infinitely many.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Sketch
    >>> from bochner.kernels import Polynomial
    >>> X = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> kernel = Polynomial(2, constant=0.0, scale=1.0)
    >>> basis = Sketch(65_536).build(kernel, ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1 and 0.36
    array([[1. , 0.4],
           [0.4, 1. ]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Polynomial
    basis_type: ClassVar[type[Any]] = RandomBasis
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
        polynomial = self._checked_kernel(kernel)
        rows, size = Centring.in_place(sample.X, dtype), checked_size(self.size, 1)
        Basis = RootsBasis if rows.n_columns <= NARROW else SketchBasis
        return Basis(polynomial, size, rows, seed, memory)
