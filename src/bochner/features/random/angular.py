"""Random features of kernels of an angle: zonal harmonics and rectified neurons."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.sketches import place_columns
from bochner.compute.random.counter_based import Random
from bochner.features.centring import Centring
from bochner.features.random.maclaurin import Degrees, DegreesBasis
from bochner.features.random.random_basis import UNIT, RandomFunctionMap, WholeUnits
from bochner.kernels import ArcCosine, Zonal
from bochner.kernels.angular import directions, harmonics, legendre, lengths
from bochner.kernels.rows import fill_product


@dataclass(frozen=True, eq=False)
class Poles:
    """The functions of a unit: points of the sphere, descending degrees, positions, heights."""

    points: NDArray[Any]
    degrees: NDArray[np.int64]
    places: NDArray[np.int64]
    heights: NDArray[Any]


@dataclass(init=False, eq=False, repr=False)
class HarmonicsBasis(DegreesBasis):
    """Legendre polynomials of the cosines of the angles to random points."""

    def __init__(
        self, kernel: Zonal, size: int | None, rows: Centring, seed: int, memory: int | None = None
    ) -> None:
        coefficients = np.asarray(kernel.coefficients, np.float64)
        self.law = Degrees(coefficients / coefficients.sum())
        counts = [harmonics(rows.n_columns, degree) for degree in range(len(coefficients))]
        self.heights = np.sqrt(coefficients.sum() * np.array(counts, np.float64))
        super().__init__(size, rows, seed, UNIT * rows.n_columns * rows.dtype.itemsize, memory)

    def encode(self, X: Any) -> Any:
        """Return the directions of the rows."""
        return directions(self.rows(X))

    def draw(self, rng: Random) -> Poles:
        """Return points, uniform on the sphere, and degrees."""
        degrees, places = self.law.draw(rng)
        normal = rng.normal((self.n_columns, UNIT))
        points = (normal / np.linalg.norm(normal, axis=0)).astype(self.dtype)
        heights = self.amplitude * self.heights[degrees]
        return Poles(points, degrees, places, heights.astype(self.dtype))

    def write(self, code: Any, parameters: Poles, out: NDArray[Any], first: int) -> None:
        """Write polynomials of the cosines; rows of zeros give 0."""
        cosines, degrees = code @ parameters.points, parameters.degrees
        values = np.zeros((code.shape[0], UNIT), self.dtype)
        polynomials = islice(legendre(cosines, self.n_columns), int(degrees[0]) + 1)
        for degree, polynomial in enumerate(polynomials):
            begin, end = (int((degrees > least).sum()) for least in (degree, degree - 1))
            values[:, begin:end] = polynomial[:, begin:end]
        values[lengths(code) == 0] = 0
        place_columns(values, parameters.places, parameters.heights, out, first)


@dataclass
class Harmonics(RandomFunctionMap, name="harmonics"):
    """Zonal harmonics at random points of the sphere, for kernels of the angle alone.

    For k(x, y) = sum_l c_l P_l(x'y) a function draws a degree l with probability in proportion to
    c_l and a point w of the sphere: phi(x) = sqrt(sum(c) N_l) P_l(w'x), where N_l is the number of
    harmonics of that degree. By the addition theorem E P_l(w'x) P_l(w'y) = P_l(x'y) / N_l, so that
    E phi(x) phi(y) = k(x, y) (Mueller 1966, Spherical harmonics).

    Parameters
    ----------
    size : int or None
        The number of functions; None means infinitely many.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Harmonics
    >>> from bochner.kernels import Zonal
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> basis = Harmonics(65_536).build(Zonal([0.5, 0.5]), ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1 and 1/2
    array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Zonal
    basis_type: ClassVar[type[Any]] = HarmonicsBasis


@dataclass(init=False, eq=False, repr=False)
class RectifiedBasis(WholeUnits):
    """Steps, ramps or squared ramps of projections to normal vectors."""

    order: int

    def __init__(
        self,
        kernel: ArcCosine,
        size: int | None,
        rows: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.order = kernel.order
        super().__init__(size, rows, seed, UNIT * rows.n_columns * rows.dtype.itemsize, memory)

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis."""
        return self.rows(X)

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return normal vectors, (n_columns, UNIT), scaled so that ramps have their amplitude."""
        length = (sqrt(2) * self.amplitude) ** (1 / self.order) if self.order else 1.0
        return (length * rng.normal((self.n_columns, UNIT))).astype(self.dtype)

    def write(self, code: Any, parameters: Any, out: NDArray[Any], first: int) -> None:
        """Write rectified projections."""
        place = out[:, first : first + UNIT]
        fill_product(code, parameters, place)
        if self.order == 0:
            np.heaviside(place, 0, out=place)
            place *= self.dtype.type(sqrt(2) * self.amplitude)
        else:
            np.maximum(place, 0, out=place)
        if self.order == 2:
            np.square(place, out=place)


@dataclass
class Rectified(RandomFunctionMap, name="rectified"):
    """Random rectified features of an arc-cosine kernel.

    phi_j(x) = sqrt(2 / size) h(w_j'x) with normal w_j and h(t) = 1 for t > 0, max(t, 0) or
    max(t, 0)^2, by the order of the kernel, so that E phi(x)'phi(y) = k(x, y) (Cho and Saul 2009,
    Kernel methods for deep learning, Eq. 1).

    Parameters
    ----------
    size : int or None
        The number of functions; None means infinitely many.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Rectified
    >>> from bochner.kernels import ArcCosine
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> basis = Rectified(65_536).build(ArcCosine(0), ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1 and 1/2
    array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = ArcCosine
    basis_type: ClassVar[type[Any]] = RectifiedBasis
