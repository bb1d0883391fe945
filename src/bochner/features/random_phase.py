"""Random Fourier features with one cosine of random phase for each frequency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.compute.elementwise.waves import cosine
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.centring import Centring
from bochner.features.dense_basis import cuts
from bochner.features.drawings import Drawing
from bochner.features.feature_map import FeatureMap
from bochner.features.random_basis import RandomBasis
from bochner.features.sizes import checked_size
from bochner.features.wave_basis import WaveBasis
from bochner.kernels import Kernel, ShiftInvariant

PHASES = 1  # the path, below that of the unit, of the numbers that are phases


@dataclass
class RandomPhase(FeatureMap, name="random_phase"):
    """Cosines of random phase, one for each frequency.

    phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x + b_1), cos(omega_2'x + b_2), ...) with omega_j
    drawn from the spectral measure of k and b_j uniform in [0, 2 pi) (Rahimi and Recht 2007, Random
    features for large-scale kernel machines). There are twice as many frequencies as of `Fourier`
    features, but phi(x)'phi(x) is not k(0), and the error is mostly larger (Sutherland and
    Schneider 2015, On the error of random Fourier features).

    Parameters
    ----------
    size : int or None
        The number of functions; None means that there is no end to them.
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

    kernel_type: ClassVar[Any] = ShiftInvariant
    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None
    drawing: str | Drawing = "plain"

    def takes(self, kernel: Kernel) -> bool:
        """Whether the kernel has frequencies that can be drawn in this way."""
        return isinstance(kernel, ShiftInvariant) and Drawing.resolve(self.drawing).takes(kernel)

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> PhaseBasis:
        """Return the basis; the rows are moved so that the mean of the sample is at 0."""
        waved, size = self.required(kernel), checked_size(self.size, 1)
        drawing = Drawing.resolve(self.drawing)
        drawing.check(waved, sample.X.shape[1])
        centring = Centring.at_mean(sample.X, dtype)
        return PhaseBasis(waved, size, centring, drawing, seed, memory=memory)


class PhaseBasis(WaveBasis):
    """The waves a cos(omega_j'(x - centre) + b_j).

    The amplitude a is sqrt(2 variance / size), or sqrt(variance) if endless.
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
