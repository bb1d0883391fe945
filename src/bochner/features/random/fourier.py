"""Random Fourier features of shift-invariant kernels and exp(x'y): waves of random directions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial
from math import pi, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.exponential import exponential
from bochner.compute.elementwise.waves import cosine, cosine_sine
from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.centring import Centring
from bochner.features.dense_basis import BLOCK, cuts
from bochner.features.drawings import PAIRS, Drawing, MatrixDrawing
from bochner.features.feature_map import FeatureMap, checked_size
from bochner.features.random.random_basis import (
    UNIT,
    RandomFunctionMap,
    SeededBasis,
    WholeUnits,
    require_equal_numbers,
)
from bochner.kernels import Exponential, Kernel, ShiftInvariant
from bochner.kernels.distances import squared_norms
from bochner.records import require_sound

PHASES = 1  # the child stream of a unit that phases are drawn from
WIDEST = 8 * BLOCK  # functions that are written at once: 8 MiB of a tile
# Writing a wide array by whole rows takes a quarter less time than by blocks. So the phases of up
# to WIDE pairs are computed before the waves, for so few rows that they stay in the L2 cache.
WIDE, WIDE_ROWS, NARROW = 8 * PAIRS, 64, 2 * PAIRS


@dataclass(init=False, eq=False, repr=False)
class WaveBasis(SeededBasis):
    """Waves of the amplitude sqrt(2 variance / size), or sqrt(variance) for an infinite basis.

    `waves` is the number of functions of a frequency: a cosine and a sine, or a cosine alone.
    Frequencies and phases are in turns, that is divided by 2 pi.
    """

    waves: ClassVar[int]
    kernel: ShiftInvariant
    centring: Centring
    drawing: Drawing
    n_columns: int
    amplitude: float
    pairs: int
    width: int = field()

    def __init__(
        self,
        kernel: ShiftInvariant,
        size: int | None,
        centring: Centring,
        drawing: Drawing,
        seed: int,
        *,
        memory: int | None = None,
    ) -> None:
        self.kernel, self.size, self.centring, self.drawing = kernel, size, centring, drawing
        self.n_columns, self.dtype = centring.n_columns, centring.dtype
        self.amplitude = sqrt(kernel.variance * (1 if size is None else 2 / size))
        self.pairs = drawing.pairs(self.n_columns)
        self.width = min(WIDEST, max(BLOCK, self.waves * drawing.together(self.n_columns)))
        unit_bytes = drawing.unit_bytes(self.n_columns, self.dtype)
        super().__init__(seed, self.waves * self.pairs, unit_bytes, memory_budget(memory))

    def validate(self) -> None:
        """Check all that follows from other fields, and the frequencies that are given."""
        self._validate_numbers()
        parts = self.kernel, self.size, self.centring, self.drawing, self.seed
        require_equal_numbers(self, type(self)(*parts, memory=self.memory))
        shape = (self.n_columns, self.pairs)
        for number, unit in self.given.items():
            possible = number >= 0 and isinstance(self.drawing, MatrixDrawing)
            require_sound(possible, "its units are impossible")
            sound = unit.shape == shape and unit.dtype == self.dtype and unit.flags.c_contiguous
            require_sound(sound, "its frequencies have a wrong shape or dtype")

    @property
    def input_columns(self) -> int:
        """The number of columns of a row."""
        return self.centring.input_columns

    @property
    def code_columns(self) -> int:
        """The number of columns of a code."""
        return self.n_columns

    @abstractmethod
    def unit_turns(self, code: Any, unit: Any, first: int, last: int, out: NDArray[Any]) -> None:
        """Write the phases of the waves first, ..., last - 1 of a unit, in turns, into `out`."""

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis, centred unless the sample was sparse."""
        self.kernel.require(X)
        return self.centring(X)

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return sqrt((2 if self.size is None else self.size) / width)

    def turns(self, code: Any, first: int, last: int) -> NDArray[Any]:
        """Return the phases of the frequencies first, ..., last - 1 at some rows, in turns."""
        turns = np.empty((code.shape[0], last - first), self.dtype)
        for begin, end in cuts(first, last, self.pairs):
            number, top = divmod(begin, self.pairs)
            unit, place = self.parameters(number), turns[:, begin - first : end - first]
            self.unit_turns(code, unit, top, top + end - begin, place)
        return turns


@dataclass
class WaveMap(FeatureMap):
    """A map to waves, `basis_type`, whose frequencies a `drawing` draws.

    Parameters
    ----------
    size : int or None
        The number of functions; None means infinitely many.
    drawing : str or Drawing
        How frequencies are drawn.
    """

    kernel_type: ClassVar[Any] = ShiftInvariant
    basis_type: ClassVar[type[Any]] = WaveBasis
    size: int | None = None
    drawing: str | Drawing = "plain"

    def takes(self, kernel: Kernel) -> bool:
        """Whether the drawing can draw the frequencies of the kernel."""
        return isinstance(kernel, ShiftInvariant) and Drawing.resolve(self.drawing).takes(kernel)

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> WaveBasis:
        """Return the basis; the mean of the sample is subtracted from rows.

        The kernel does not depend on a shift, and small phases have small rounding errors. Sparse
        rows are not shifted, since a shift makes them dense.
        """
        known, size = self._checked_kernel(kernel), checked_size(self.size, self.basis_type.atom)
        drawing = Drawing.resolve(self.drawing)
        drawing.check(known, sample.X.shape[1])
        centring = Centring.at_mean(sample.X, dtype, sample.weight)
        return self.basis_type(known, size, centring, drawing, seed, memory=memory)  # type: ignore[no-any-return]


class FourierBasis(WaveBasis):
    """The waves a cos(omega_j'(x - centre)) and a sin(omega_j'(x - centre)), side by side.

    Function 2j is the cosine and 2j + 1 the sine of frequency j, whose number alone, with the
    seed, determines it. The amplitude a is sqrt(2 variance / size), or sqrt(variance) if infinite.
    """

    waves: ClassVar[int] = 2

    def draw(self, rng: Random) -> Any:
        """Return the frequencies of a unit, in turns."""
        return self.drawing.draw(self.kernel, self.n_columns, rng, self.dtype)

    def unit_turns(self, code: Any, unit: Any, first: int, last: int, out: NDArray[Any]) -> None:
        """Write omega_j'x / (2 pi)."""
        self.drawing.turns(code, unit, first, last, out)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the waves start, ..., stop - 1; pairs that are cut are computed whole."""
        first, last = start // 2, -(-stop // 2)
        if start % 2 == 0 and stop % 2 == 0:
            self._fill_pairs(code, first, last, out)
        else:
            whole = np.empty((code.shape[0], 2 * (last - first)), self.dtype)
            self._fill_pairs(code, first, last, whole)
            out[:] = whole[:, start - 2 * first : stop - 2 * first]

    def _fill_pairs(self, code: Any, first: int, last: int, out: NDArray[Any]) -> None:
        for begin, end in cuts(first, last, max(WIDE, self.width // 2)):
            height = code.shape[0] if end - begin <= NARROW else WIDE_ROWS
            for top in range(0, code.shape[0], height):
                turns = self.turns(code[top : top + height], begin, end)
                place = out[top : top + height]
                cosine_sine(turns, place, self.amplitude, 2 * (begin - first))


@dataclass
class Fourier(WaveMap, name="fourier"):
    """Random Fourier features of a shift-invariant kernel.

    phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), cos(omega_2'x), ...) with
    omega_j drawn from the spectral measure of k, so that E phi(x)'phi(y) = k(x - y) (Rahimi and
    Recht 2007, Random features for large-scale kernel machines, Algorithm 1). The cosine and the
    sine of a frequency have a smaller variance than two cosines of random phase (Sutherland and
    Schneider 2015, On the error of random Fourier features).

    Parameters
    ----------
    size : int or None
        The number of functions, even: a cosine and a sine for each frequency. None means infinitely
        many, which are scaled by sqrt(k(0)) alone: a solver divides by the number that it uses.
        A smaller size is a prefix of a larger one up to the scale.
    drawing : str or Drawing
        How frequencies are drawn: "plain" independently; "orthogonal" with a smaller error;
        "quasi_monte_carlo" with a smaller error for few columns;
        "fastfood" and "structured_orthogonal" faster for hundreds of columns and more. Each of
        these is also the name of an infinite feature map, as in ``features="orthogonal"``.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Fourier
    >>> from bochner.kernels import Gaussian
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> basis = Fourier(10_000).build(Gaussian(1.0), ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1 and exp(-1)
    array([[1. , 0.4],
           [0.4, 1. ]], dtype=float32)
    """

    basis_type: ClassVar[type[Any]] = FourierBasis


for name in ("orthogonal", "quasi_monte_carlo", "fastfood", "structured_orthogonal"):
    FeatureMap.register(name, partial(Fourier, drawing=name))


class PhaseBasis(WaveBasis):
    """The waves a cos(omega_j'(x - centre) + b_j).

    The amplitude a is sqrt(2 variance / size), or sqrt(variance) if infinite.
    """

    waves: ClassVar[int] = 1
    atom = 1

    def draw(self, rng: Random) -> Any:
        """Return the frequencies and the phases of a unit, in turns."""
        phases = rng.child(PHASES).uniform(self.pairs).astype(self.dtype)
        return self.drawing.draw(self.kernel, self.n_columns, rng, self.dtype), phases

    def unit_turns(self, code: Any, unit: Any, first: int, last: int, out: NDArray[Any]) -> None:
        """Write (omega_j'x + b_j) / (2 pi)."""
        frequencies, phases = unit
        self.drawing.turns(code, frequencies, first, last, out)
        out += phases[first:last]

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the waves start, ..., stop - 1."""
        for begin, end in cuts(start, stop, self.pairs):
            cosine(self.turns(code, begin, end), out, self.amplitude, begin - start)


@dataclass
class RandomPhase(WaveMap, name="random_phase"):
    """Cosines of random phase, one for each frequency.

    phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x + b_1), cos(omega_2'x + b_2), ...) with omega_j
    drawn from the spectral measure of k and b_j uniform in [0, 2 pi) (Rahimi and Recht 2007, Random
    features for large-scale kernel machines). There are twice as many frequencies as of `Fourier`
    features, but phi(x)'phi(x) is not k(0), and the error is mostly larger (Sutherland and
    Schneider 2015, On the error of random Fourier features).

    Parameters
    ----------
    size : int or None
        The number of functions; None means infinitely many.
    drawing : str or Drawing
        How frequencies are drawn, as for `Fourier`.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import RandomPhase
    >>> from bochner.kernels import Gaussian
    >>> X = np.array([[0.0, 0.0], [1.5, 1.5]])
    >>> basis = RandomPhase(50_000).build(Gaussian(1.0), ArraySource(X).sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are 1 and 0.105
    array([[1. , 0.1],
           [0.1, 1. ]], dtype=float32)
    """

    basis_type: ClassVar[type[Any]] = PhaseBasis


@dataclass(init=False, eq=False, repr=False)
class ExponentialFourierBasis(WholeUnits):
    """Cosines and sines side by side, times exp(|x|^2 / 2), of rows divided by the bandwidth."""

    atom = 2
    bandwidth: float

    def __init__(
        self,
        kernel: Exponential,
        size: int | None,
        rows: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.bandwidth = kernel.length
        unit_bytes = UNIT // 2 * rows.n_columns * rows.dtype.itemsize
        super().__init__(size, rows, seed, unit_bytes, memory)

    def encode(self, X: Any) -> Any:
        """Return the rows divided by the bandwidth."""
        return self.rows(X) * self.dtype.type(1 / self.bandwidth)

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return normal frequencies in turns, (n_columns, UNIT / 2)."""
        return (rng.normal((self.n_columns, UNIT // 2)) / (2 * pi)).astype(self.dtype)

    def write(self, code: Any, parameters: Any, out: NDArray[Any], first: int) -> None:
        """Write waves and multiply them by the rows' factors."""
        turns = np.ascontiguousarray(code @ parameters)
        cosine_sine(turns, out, sqrt(2) * self.amplitude, first)
        out[:, first : first + UNIT] *= exponential(squared_norms(code) / 2)[:, None]


@dataclass
class ExponentialFourier(RandomFunctionMap, name="exponential_fourier"):
    """Random Fourier features of the exponential kernel.

    With b the bandwidth, exp(x'y / b^2) = exp(|x|^2 / 2b^2) exp(|y|^2 / 2b^2) exp(-|x - y|^2 /
    2b^2), and the last factor is a Gaussian kernel: phi(x) = sqrt(2 / size) exp(|x|^2 / 2b^2)
    (cos(w_1'x), sin(w_1'x), ...) with w_j normal of standard deviation 1 / b (Rahimi and Recht
    2007, Random features for large-scale kernel machines; Choromanski et al. 2021, Rethinking
    attention with performers, section 2.3). k(x, x) is exact.

    Parameters
    ----------
    size : int or None
        The number of functions, even: a cosine and a sine for each frequency. None means
        infinitely many.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import ExponentialFourier
    >>> from bochner.kernels import Exponential
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> source = ArraySource(X)
    >>> basis = ExponentialFourier(65_536).build(Exponential(1.0), source.sample(2), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> (columns @ columns.T).round(1)  # the kernel's values are e and 1
    array([[2.7, 1. ],
           [1. , 2.7]], dtype=float32)
    """

    kernel_type: ClassVar[Any] = Exponential
    basis_type: ClassVar[type[Any]] = ExponentialFourierBasis
