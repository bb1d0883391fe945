"""Leverage: random features resampled by their ridge leverage scores."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from bochner.compute.blas import single_blas
from bochner.compute.linear_algebra.products import gram, transposed_product
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.basis import WrappedBasis
from bochner.features.dense_basis import BLOCK
from bochner.features.drawings import MatrixDrawing
from bochner.features.feature_map import FeatureMap, whole_draws
from bochner.features.random.fourier import FourierBasis
from bochner.features.random.random_basis import RandomBasis
from bochner.kernels import Kernel
from bochner.records import require_sound
from bochner.validation import require_count, require_positive

WINDOW = 512  # functions of the other basis that are evaluated at a time
LEVERAGE = 0x1E7E2  # separates these draws from others of the same seed
UNIFORM = 0.5  # share of the probabilities: weights are at most sqrt(1 / UNIFORM)
FEATURES = 4  # for each degree of freedom
SMALLEST = 1e-8  # ridge, relative to the mean of k(x, x): less is rounding
BISECTIONS = 60
LAST_DRAW = 1 << 26
TINY = float(np.finfo(np.float64).tiny)


@dataclass(init=False, eq=False, repr=False)
class SelectedBasis(WrappedBasis, RandomBasis):
    """The functions scales_j phi_j(x) of the draws `chosen`, in ascending order, of a basis.

    An atom of the other basis is chosen as a whole.
    """

    size: int
    dtype: np.dtype[Any]
    inner: RandomBasis
    chosen: NDArray[np.int64]
    atom: int = field()
    scales: NDArray[Any]

    def __init__(
        self, inner: RandomBasis, chosen: NDArray[np.int64], scales: NDArray[np.float64]
    ) -> None:
        self.inner, self.chosen, self.atom, self.dtype = inner, chosen, inner.atom, inner.dtype
        self.scales, self.size = scales.astype(self.dtype), inner.atom * len(chosen)

    def validate(self) -> None:
        """Check that the other basis has the chosen draws, and that each has a scale."""
        chosen, inner = self.chosen, self.inner
        some = chosen.ndim == 1 and len(chosen) > 0 and chosen.dtype == np.int64
        require_sound(some, "it has no draws")
        ascending = bool((np.diff(chosen) >= 0).all()) and chosen[0] >= 0
        require_sound(ascending, "its draws are not in ascending order")
        last = LAST_DRAW if inner.size is None else -(-inner.size // inner.atom)
        require_sound(chosen[-1] < min(last, LAST_DRAW), "its inner basis lacks some draws")
        require_sound(self.scales.shape[:1] == chosen.shape, "scales and draws differ in number")
        fits = self.atom == inner.atom and self.size == inner.atom * len(chosen)
        require_sound(fits, "its size is wrong")
        require_sound(self.dtype == inner.dtype == self.scales.dtype, "its dtypes differ")

    @property
    def code_columns(self) -> int:
        """The number of columns of a code."""
        return self.inner.code_columns

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1."""
        first, last = start // self.atom, -(-stop // self.atom)
        chosen = self.chosen[first:last]
        whole = np.empty((code.shape[0], len(chosen), self.atom), self.dtype)
        windows = chosen // max(1, WINDOW // self.atom)
        for window in np.unique(windows):
            places = np.flatnonzero(windows == window)
            whole[:, places] = self._draws(code, chosen[places])
        whole *= self.scales[first:last, None]
        flat = whole.reshape(code.shape[0], -1)
        out[:] = flat[:, start - first * self.atom : stop - first * self.atom]

    def span(self) -> int:
        """Return the span of the other basis, reduced by the draws that are not chosen."""
        between = (int(self.chosen[-1]) + 1) / len(self.chosen)
        return max(BLOCK, int(self.inner.span() / between) // BLOCK * BLOCK)

    def holding(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Keep the parameters from the first to the last of these draws in this context."""
        chosen = self.chosen[start // self.atom : -(-stop // self.atom)]
        ends = (int(chosen[0]), int(chosen[-1]) + 1) if len(chosen) else (0, 0)
        return self.inner.holding(ends[0] * self.atom, ends[1] * self.atom)

    def _draws(self, code: Any, chosen: NDArray[np.int64]) -> NDArray[Any]:
        """Return draws with neighbouring numbers, (rows, draws, atom)."""
        low, high = int(chosen[0]), int(chosen[-1]) + 1
        block = np.empty((code.shape[0], (high - low) * self.atom), self.dtype)
        self.inner.fill(code, low * self.atom, high * self.atom, block)
        return block.reshape(code.shape[0], high - low, self.atom)[:, chosen - low]


def selected(
    basis: RandomBasis, chosen: NDArray[np.int64], scales: NDArray[np.float64]
) -> SelectedBasis:
    """Return some draws of a basis; Fourier frequencies are copied, so no others are evaluated."""
    if not isinstance(basis, FourierBasis) or not isinstance(basis.drawing, MatrixDrawing):
        return SelectedBasis(basis, chosen, scales)
    size = basis.pairs
    with basis.holding(2 * int(chosen[0]), 2 * int(chosen[-1]) + 2):
        gathered = [basis.parameters(int(j) // size)[:, int(j) % size] for j in chosen]
    units = range(-(-len(gathered) // size))
    given = {i: _unit(gathered[i * size : (i + 1) * size], size) for i in units}
    return SelectedBasis(basis.with_given(given), np.arange(len(chosen)), scales)


def _unit(frequencies: list[NDArray[Any]], size: int) -> NDArray[Any]:
    """Return a unit of frequencies, padded with zeros."""
    some = np.stack(frequencies, axis=1)
    return np.ascontiguousarray(np.pad(some, ((0, 0), (0, size - some.shape[1]))))


@dataclass
class Leverage(FeatureMap, name="leverage"):
    r"""Random features resampled by their ridge leverage scores.

    `inner` draws a pool of features z_j, scaled so that K ~ Z Z' on n rows. Feature j has the score

        l_j = z_j'(Z Z' + n ridge I)^-1 z_j,      sum_j l_j = degrees of freedom at the ridge,

    and is taken with probability p_j = l_j / sum l, in `size` draws, with the weight
    1 / sqrt(size p_j), so the mean of phi(x)'phi(y) is that of the pool. For ridge regression, as
    many features as the degrees of freedom, times a logarithm, are then enough; with plain ones
    many more may be needed (Li, Ton, Oglic and Sejdinovic 2019, Towards a unified analysis of
    random Fourier features, Algorithm 1; Avron et al. 2017, Random Fourier features for kernel
    ridge regression: approximation bounds and statistical guarantees).

    Differences from the papers: scores are computed on a sample of rows; a cosine and a sine of one
    frequency are one draw; half of the probability is uniform, so the kernel is approximated almost
    as well as by plain features; sampling is systematic, so few features repeat, and a repeated
    feature is stored once with a larger weight. So there may be fewer features than `size`.

    Parameters
    ----------
    inner : str or FeatureMap
        The features of the pool: "random" for those that belong to the kernel, or a map whose size
        is None.
    size : int
        The number of features.
    pool : int
        The size of the pool, in multiples of `size`.
    ridge : float or "auto"
        The ridge of the scores, relative to the mean loss: alpha of the estimator. With "auto", the
        degrees of freedom are a quarter of `size`.
    rows : int
        Rows of the sample on which scores are computed.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Leverage
    >>> from bochner.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> basis = Leverage(size=256).build(Gaussian(1.0), ArraySource(X).sample(500), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> bool(np.abs(columns @ columns.T - Gaussian(1.0)(X)).mean() < 0.1)
    True
    """

    basis_type: ClassVar[type[Any]] = RandomBasis
    inner: FeatureMap | str = "random"
    size: int = 1024
    pool: int = 8
    ridge: float | str = "auto"
    rows: int = 1024

    def takes(self, kernel: Kernel) -> bool:
        """Whether `inner` has features of the kernel."""
        return FeatureMap.resolve(self.inner).takes(kernel)  # type: ignore[no-any-return]

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> SelectedBasis:
        """Return the basis of the features that are sampled from the pool."""
        self._check()
        features: FeatureMap = FeatureMap.resolve(self.inner)
        basis = _infinite(features.build(kernel, sample, seed, dtype, memory))
        draws = (whole_draws(self.size, basis.atom) or 0) // basis.atom
        width = self.pool * draws * basis.atom
        some = sample[:: -(-len(sample) // self.rows)]
        Z = basis.gain(width) * basis.columns(basis.encode(some.X), 0, width)
        scores = self._scores(Z).reshape(-1, basis.atom).sum(axis=1)
        chances = (1 - UNIFORM) * scores / max(scores.sum(), TINY) + UNIFORM / len(scores)
        chances /= chances.sum()
        chosen, times = _systematic(chances, draws, Random(seed, LEVERAGE))
        scales = basis.gain(width) * np.sqrt(times / (draws * chances[chosen]))
        return selected(basis, chosen, scales)

    def _scores(self, Z: NDArray[Any]) -> NDArray[np.float64]:
        """Return the ridge leverage scores of the columns of Z."""
        with single_blas():
            values, vectors = eigh(gram(np.ascontiguousarray(Z.T)))
        values, mean = np.maximum(values, 0.0), max(float(np.mean(values)), TINY)
        ridge = self._ridge(values / len(Z)) if self.ridge == "auto" else float(self.ridge)
        ridge = max(ridge, SMALLEST * mean)
        along = transposed_product(vectors.astype(Z.dtype), Z)
        return (1 / (values + len(Z) * ridge)) @ np.square(along)  # type: ignore[no-any-return]

    def _ridge(self, values: NDArray[np.float64]) -> float:
        """Return the ridge with size / FEATURES degrees of freedom, by bisection."""
        low, high = 0.0, float(values.sum())
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            degrees = float(np.sum(values / (values + max(middle, TINY))))
            low, high = (middle, high) if degrees > self.size / FEATURES else (low, middle)
        return high

    def _check(self) -> None:
        for name in ("size", "pool", "rows"):
            require_count(f"{name} of Leverage", getattr(self, name))
        require_positive("ridge of Leverage", self.ridge, also=("auto",))


def _systematic(
    chances: NDArray[np.float64], draws: int, rng: Random
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return what is sampled, in ascending order, and how often, on average chances * draws.

    Systematic sampling: equidistant points on the cumulative sum, the first at random (Madow 1949).
    """
    places = (np.arange(draws) + rng.uniform(1)) / draws * chances.sum()
    found = np.minimum(np.searchsorted(np.cumsum(chances), places), len(chances) - 1)
    return np.unique(found, return_counts=True)


def _infinite(basis: Any) -> RandomBasis:
    if isinstance(basis, RandomBasis) and basis.size is None:
        return basis
    raise ValueError(
        "Leverage needs infinitely many random features to choose from; got a "
        f"{type(basis).__name__} of {basis.size} functions. Give a map of random features with "
        "size=None, such as inner=Fourier()."
    )
