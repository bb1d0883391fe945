"""Random features of exponentiated and semigroup kernels: waves of mapped rows, exponentials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.pool import each_tile
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.centring import CENTRED_ROWS, Centring
from bochner.features.feature_map import FeatureMap
from bochner.features.random.additive import AdditiveBasis, AdditiveHomogeneous
from bochner.features.random.fourier import Fourier, WaveBasis
from bochner.features.random.random_basis import (
    UNIT,
    RandomBasis,
    RandomFunctionMap,
    RandomFunctions,
)
from bochner.kernels import Gaussian, Hellinger, Intersection, Kernel, Laplacian, ShiftInvariant
from bochner.kernels.exponentiated import Exponentiated, Secant, Semigroup, SkewedChiSquared
from bochner.kernels.rows import dense, fill_product

PAIRS = 2  # positive frequencies for each column in the features of an additive kernel
HIGHEST = 1e30  # rate, so that its product with an entry is finite in single precision


class RowMap(ABC):
    """A map of rows to dense rows; a dataclass, so that model files can hold it."""

    @abstractmethod
    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the mapped rows."""


@dataclass(frozen=True)
class Unmapped(RowMap):
    """The identity."""

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the rows, dense."""
        return dense(X)


@dataclass(frozen=True)
class Roots(RowMap):
    """The square roots of the entries."""

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the roots."""
        return np.asarray(np.sqrt(dense(X)))


@dataclass(frozen=True)
class Logarithms(RowMap):
    """The logarithms of entries to which a kernel has added its skewness."""

    kernel: SkewedChiSquared

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the logarithms."""
        return self.kernel.logarithms(X)


@dataclass(frozen=True, eq=False)
class AdditiveFeatures(RowMap):
    """The features of an additive kernel."""

    basis: AdditiveBasis

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the features."""
        return self.basis.columns(self.basis.encode(X))


@dataclass
class HistogramFourier(FeatureMap, name="histogram_fourier"):
    """Random Fourier features of histograms, after a map that makes the kernel shift-invariant.

    An exponentiated kernel is the Gaussian of an additive one's distance |psi(x) - psi(y)|, so its
    features are those of the Gaussian at the features psi of the additive one (Sreekanth, Vedaldi,
    Jawahar and Zisserman 2010, Generalized RBF feature maps for efficient detection). For chi
    squared and Jensen-Shannon psi has 5 functions for each column, and the mean of phi(x)'phi(y) is
    the kernel up to the error of psi, up to 0.01. It is the kernel itself for Hellinger,
    where psi are the roots; for the intersection, which gives the Laplacian kernel of the rows;
    and for the skewed chi squared kernel, which is shift-invariant in log(x + c) (Li, Ionescu and
    Sminchisescu 2010).

    Parameters
    ----------
    size : int or None
        The number of functions, even; None means infinitely many.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import HistogramFourier
    >>> from bochner.kernels import Exponentiated
    >>> X = np.array([[0.5, 0.5], [0.9, 0.1]])
    >>> kernel, sample = Exponentiated(bandwidth=0.5), ArraySource(X).sample(2)
    >>> basis = HistogramFourier(10_000).build(kernel, sample, seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1 and 0.467
    array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Exponentiated | SkewedChiSquared
    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> WaveBasis:
        """Return Fourier features of the mapped rows."""
        inner, mapped = _parts(self._checked_kernel(kernel), sample, dtype)
        rows = Centring.in_place(sample.X, dtype)
        kernel.require(rows(sample.X))
        seen = replace(sample, X=mapped(rows(sample.X)))
        basis = Fourier(self.size).build(inner, seen, seed, dtype, memory)
        basis.centring = MappedCentring(
            basis.n_columns, basis.centring.centre, rows.dtype, kernel, rows, mapped
        )
        return basis


@dataclass(frozen=True, eq=False)
class MappedCentring(Centring):
    """Maps rows, and then subtracts the mean of a mapped sample."""

    kernel: Kernel
    rows: Centring
    mapped: RowMap

    @property
    def input_columns(self) -> int:
        """The number of columns of the rows before they are mapped."""
        return self.rows.n_columns

    def __call__(self, X: Any) -> Any:
        """Return the mapped rows; raise if the kernel does not take them."""
        rows = self.rows(X)
        self.kernel.require(rows)
        out = np.empty((rows.shape[0], self.n_columns), self.dtype)
        centre = np.zeros(1) if self.centre is None else self.centre

        def write(top: int, bottom: int) -> None:
            np.subtract(self.mapped(rows[top:bottom]), centre.astype(self.dtype), out[top:bottom])

        each_tile(write, len(out), CENTRED_ROWS)
        return out


def _parts(
    kernel: Exponentiated | SkewedChiSquared, sample: Batch, dtype: Any
) -> tuple[ShiftInvariant, RowMap]:
    """Return the shift-invariant kernel and the map of rows that it applies to."""
    if isinstance(kernel, SkewedChiSquared):
        return Secant(), Logarithms(kernel)
    bandwidth = float(kernel.bandwidth)
    if isinstance(kernel.kernel, Intersection):
        return Laplacian(2 * bandwidth**2), Unmapped()
    if isinstance(kernel.kernel, Hellinger):
        return Gaussian(bandwidth), Roots()
    size = (2 * PAIRS + 1) * sample.X.shape[1]
    additive = AdditiveHomogeneous(size).build(kernel.kernel, sample, 0, dtype)
    assert isinstance(additive, AdditiveBasis)  # it has functions for all columns
    return Gaussian(bandwidth), AdditiveFeatures(additive)


@dataclass(init=False, eq=False, repr=False)
class RandomLaplaceBasis(RandomFunctions):
    """The functions exp(-omega_j'x), times sqrt(1 / size) unless infinite."""

    kernel: Semigroup

    def __init__(
        self,
        kernel: Semigroup,
        size: int | None,
        rows: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.kernel, unit_bytes = kernel, rows.n_columns * UNIT * rows.dtype.itemsize
        super().__init__(size, rows, seed, unit_bytes, memory)

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis; raise if entries are negative."""
        rows = self.rows(X)
        self.kernel.require(rows)
        return rows

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return the negative rates of a unit, (n_columns, UNIT)."""
        rates = np.minimum(self.kernel.rates(self.rows.n_columns, UNIT, rng), HIGHEST)
        return np.ascontiguousarray(-rates, dtype=self.dtype)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1."""
        for rates, first, last, place in self.units(start, stop):
            fill_product(code, rates[:, first:last], out[:, place : place + last - first])
        exponential(out)
        out *= self.dtype.type(self.amplitude)


@dataclass
class RandomLaplace(RandomFunctionMap, name="random_laplace"):
    """Random Laplace features of a semigroup kernel.

    phi(x) = (exp(-omega_1'x), exp(-omega_2'x), ...) / sqrt(size) with omega_j drawn from the
    kernel's measure, so that E phi(x)'phi(y) = E exp(-omega'(x + y)) = k(x + y) (Yang, Sindhwani,
    Fan, Avron and Mahoney 2014, Random Laplace feature maps for semigroup kernels on histograms).

    Parameters
    ----------
    size : int or None
        The number of functions. None means infinitely many, which are not divided: a solver
        divides by the number that it uses. A smaller size is a prefix of a larger one up to the
        scale.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import RandomLaplace
    >>> from bochner.kernels import ReciprocalSemigroup
    >>> X = np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> sample = ArraySource(X).sample(2)
    >>> basis = RandomLaplace(10_000).build(ReciprocalSemigroup(1.0), sample, seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 0.25, 0.2667 and 0.3333
    array([[0.2, 0.3],
           [0.3, 0.3]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Semigroup
    basis_type: ClassVar[type[Any]] = RandomLaplaceBasis
