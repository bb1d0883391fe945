"""Features of additive homogeneous kernels: waves of the logarithms of single columns."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.features.additive_basis import AdditiveBasis, RandomAdditiveBasis
from bochner.features.basis import Basis
from bochner.features.centring import Centring
from bochner.features.dense_basis import DenseBasis
from bochner.features.feature_map import FeatureMap
from bochner.features.random_basis import RandomBasis
from bochner.features.sizes import checked_size
from bochner.features.spectral_quadrature import MOST, ROWS, quadrature
from bochner.kernels import Kernel
from bochner.kernels.histogram import Additive
from bochner.kernels.rows import dense

UNSEEN = 0.1  # of the draws are spread evenly over the columns, whatever the sample says


@dataclass
class AdditiveHomogeneous(FeatureMap, name="additive_homogeneous"):
    """Features of an additive homogeneous kernel, sum_j sqrt(x_j y_j) K(log(x_j / y_j)).

    K(z) = E cos(omega z) over the kernel's spectrum, so sqrt(x_j) cos(omega log x_j) and
    sqrt(x_j) sin(omega log x_j) are its features (Vedaldi and Zisserman 2012, Efficient additive
    kernels via explicit feature maps, Eq. 10). With a function or more for each column, all
    columns take the same few frequencies, 0 among them, with weights of least squares on the sample
    (`spectral_quadrature.py`); columns that are larger in the sample may have a pair more. Else
    columns are drawn in proportion to their means and frequencies from the spectrum, in strata:
    unbiased, and endless.

    Parameters
    ----------
    size : int or None
        The number of functions; one less if half a pair is left, and at most 129 for each column,
        with which smooth kernels are exact to rounding. None means that there is no end to them.

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
        """What it makes: any block will do if they are endless, sampled frequencies are a whole."""
        return RandomBasis if self.size is None else DenseBasis

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> Basis:
        """Return the basis: sampled frequencies if there is room for all columns, else drawn."""
        additive, size = self.required(kernel), checked_size(self.size, 1)
        rows = Centring.in_place(sample.X, dtype)
        additive.require(sample.X)
        if size is not None and size >= rows.n_columns:
            return AdditiveBasis(additive, rows, _sampled(additive, sample.X, size))
        chances = _chances(_means(sample.X))
        return RandomAdditiveBasis(additive, rows, chances, _paired(size), seed, memory)


def _sampled(kernel: Additive, X: Any, size: int) -> NDArray[np.float64]:
    """Return columns, turns, shifts and amplitudes of all waves, frequency by frequency."""
    rows, every = _some(X), np.arange(X.shape[1])
    least, more = divmod(min((size - len(every)) // 2, MOST * len(every)), len(every))
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
    """Return the size without half a pair: a cosine without its sine is biased."""
    if size == 1:
        raise ValueError(
            "AdditiveHomogeneous needs a function for each column, or two at least, a cosine and a "
            "sine, of columns that are drawn; got size=1 and more columns. Take size=2 or more."
        )
    return None if size is None else size - size % 2


def _some(X: Any) -> NDArray[np.float64]:
    """Return a few rows from all over the sample."""
    places = np.linspace(0, X.shape[0] - 1, min(ROWS, X.shape[0])).astype(np.int64)
    return np.asarray(dense(X[places]), np.float64)


def _means(X: Any) -> NDArray[np.float64]:
    return np.asarray(X.mean(axis=0, dtype=np.float64)).reshape(-1)


def _chances(means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how likely a column is to be drawn: in proportion to its part in k(x, x)."""
    known = means / means.sum() if means.sum() > 0 else np.full(len(means), 1 / len(means))
    return (1 - UNSEEN) * known + UNSEEN / len(means)
