"""Random Fourier features: waves whose frequencies are drawn from the spectral measure."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.memory import memory_budget
from bochner.compute.random import Random
from bochner.compute.turns import cosine_sine
from bochner.data.batch import Batch
from bochner.features.centring import Centring
from bochner.features.dense_basis import cuts
from bochner.features.feature_map import FeatureMap
from bochner.features.seeded_basis import SeededBasis
from bochner.kernels import Kernel, ShiftInvariant

PAIRS = 256  # of a cosine and a sine that are drawn together; changing it changes every model

# Writing a wide array row by row, from end to end, takes a quarter less time than block by block.
# So the phases of up to WIDE pairs are made before the waves, of so few rows that the phases stay
# in the L2 cache; narrow blocks stay in it whatever the number of rows.
WIDE, WIDE_ROWS, NARROW = 8 * PAIRS, 64, 2 * PAIRS


@dataclass
class Fourier(FeatureMap, name="fourier"):
    """Random Fourier features of a shift-invariant kernel.

    phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), cos(omega_2'x), ...) with
    omega_j drawn from the spectral measure of k, so that E phi(x)'phi(y) = k(x - y) (Rahimi and
    Recht 2007, Random features for large-scale kernel machines, Algorithm 1). The cosine and the
    sine of a frequency have a smaller variance than two cosines of random phase (Sutherland and
    Schneider 2015, On the error of random Fourier features).

    Parameters
    ----------
    size : int or None
        The number of functions, even: a cosine and a sine for each frequency. None means that
        there is no end to them; then they are scaled by sqrt(k(0)) alone, and a solver divides by
        the number that it takes. A smaller size is a prefix of a larger one up to the scale.

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

    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> FourierBasis:
        """Return the basis; the rows are moved so that the mean of the sample is at 0.

        The kernel does not see such a shift, and small phases are exact ones. Sparse rows stay
        where they are, since a shift would fill them.
        """
        kernel, size = _checked_kernel(kernel), _checked_size(self.size)
        return FourierBasis(kernel, size, Centring.at_mean(sample.X, dtype), seed, memory)


class FourierBasis(SeededBasis):
    """The waves a cos(omega_j'(x - centre)) and a sin(omega_j'(x - centre)), side by side.

    Function 2j is the cosine and 2j + 1 the sine of frequency j, whose number alone, with the
    seed, determines it. The amplitude a is sqrt(2 variance / size), or sqrt(variance) if endless.
    """

    def __init__(
        self,
        kernel: ShiftInvariant,
        size: int | None,
        centring: Centring,
        seed: int,
        memory: int | None = None,
    ) -> None:
        self.kernel, self.size, self.centring = kernel, size, centring
        self.n_columns, self.dtype = centring.n_columns, centring.dtype
        self.amplitude = sqrt(kernel.variance * (1 if size is None else 2 / size))
        unit_bytes = self.n_columns * PAIRS * self.dtype.itemsize
        super().__init__(seed, 2 * PAIRS, unit_bytes, memory_budget(memory))

    def encode(self, X: Any) -> Any:
        """Return the rows in the dtype of the basis, centred unless the sample was sparse."""
        return self.centring(X)

    def draw(self, rng: Random) -> NDArray[Any]:
        """Return the frequencies of a unit in turns, (n_columns, PAIRS)."""
        frequencies = self.kernel.frequencies(self.n_columns, PAIRS, rng) / (2 * pi)
        return np.ascontiguousarray(frequencies, dtype=self.dtype)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the waves start, ..., stop - 1; half pairs at the ends are cut off."""
        first, last = start // 2, -(-stop // 2)
        if start % 2 == 0 and stop % 2 == 0:
            self._fill_pairs(code, first, last, out)
        else:
            whole = np.empty((code.shape[0], 2 * (last - first)), self.dtype)
            self._fill_pairs(code, first, last, whole)
            out[:] = whole[:, start - 2 * first : stop - 2 * first]

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return sqrt((2 if self.size is None else self.size) / width)

    def _fill_pairs(self, code: Any, first: int, last: int, out: NDArray[Any]) -> None:
        for begin, end in cuts(first, last, WIDE):
            height = code.shape[0] if end - begin <= NARROW else WIDE_ROWS
            for top in range(0, code.shape[0], height):
                turns = self._turns(code[top : top + height], begin, end)
                place = out[top : top + height]
                cosine_sine(turns, place, self.amplitude, 2 * (begin - first))

    def _turns(self, code: Any, first: int, last: int) -> NDArray[Any]:
        """Return the phases of the frequencies first, ..., last - 1 at some rows."""
        turns = np.empty((code.shape[0], last - first), self.dtype)
        for begin, end in cuts(first, last, PAIRS):
            unit = begin // PAIRS
            frequencies = self.parameters(unit)[:, begin - unit * PAIRS : end - unit * PAIRS]
            place = turns[:, begin - first : end - first]
            if sp.issparse(code):
                place[:] = code @ frequencies
            else:
                np.matmul(code, frequencies, out=place)
        return turns


def _checked_size(size: Any) -> int | None:
    if size is None:
        return None
    if isinstance(size, Integral) and int(size) >= 2 and int(size) % 2 == 0:
        return int(size)
    raise ValueError(
        "Fourier features come in pairs of a cosine and a sine: size must be an even number from 2 "
        f"on, or None for an endless basis; got {size!r}."
    )


def _checked_kernel(kernel: Kernel) -> ShiftInvariant:
    if isinstance(kernel, ShiftInvariant):
        return kernel
    known = (
        name for name, recipe in Kernel.registry.items() if isinstance(recipe(), ShiftInvariant)
    )
    raise ValueError(
        "Fourier features exist for shift-invariant kernels, such as "
        f"{', '.join(repr(name) for name in sorted(known))}; got {kernel!r}."
    )
