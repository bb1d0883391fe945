"""RadialWave: two-dimensional data that show the rates of doubly stochastic gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.data.source import Stream

BLOCK_ROWS = 8192
HALF_WIDTH = 10.0


class RadialWave(Stream):
    """A damped radial wave with noise.

    y = cos(pi |x| / 2) exp(-pi |x| / 10) + noise e, with x uniform in [-10, 10]^2 and e standard
    normal (Dai et al. 2014, section 7.1). Each block of rows is generated from its number, so the
    source needs the memory of a batch, can be read repeatedly, and a shorter source is the
    beginning of a longer one.

    Parameters
    ----------
    rows : int
        The number of rows.
    noise : float
        The standard deviation of the targets around the truth.
    seed : int
        The seed of the rows.

    Examples
    --------
    >>> source = RadialWave(rows=1_000, noise=0.0)
    >>> batch = next(source.batches(100))
    >>> np.abs(batch.y - RadialWave.truth(batch.X)).max()
    np.float64(0.0)
    """

    def __init__(self, rows: int = 2**20, noise: float = 0.1, seed: int = 0) -> None:
        if rows < 1:
            raise ValueError(f"RadialWave needs at least one row; got rows={rows!r}.")
        if not 0 <= noise < np.inf:
            raise ValueError(f"noise must be a finite number, 0 or more; got {noise!r}.")
        self.rows, self.noise, self.seed = int(rows), float(noise), int(seed)

    @property
    def n_columns(self) -> int:
        """Two: the coordinates."""
        return 2

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.rows

    @staticmethod
    def truth(X: ArrayLike) -> NDArray[np.float64]:
        """Return cos(pi |x| / 2) exp(-pi |x| / 10) at rows."""
        radius = np.linalg.norm(np.asarray(X, dtype=np.float64), axis=1)
        return np.cos(0.5 * np.pi * radius) * np.exp(-0.1 * np.pi * radius)  # type: ignore[no-any-return]

    def pieces(self, size: int, seed: int, pass_: int) -> Iterator[Batch]:
        """Yield the blocks in order; every pass is the same."""
        for number in range(-(-self.rows // BLOCK_ROWS)):
            yield self._block(number)[: self.rows - number * BLOCK_ROWS]

    def sample(self, size: int, seed: int = 0) -> Batch:
        """Return the first rows: all rows are independent."""
        rows = self._peek(size, seed)
        assert rows is not None
        return rows

    def _block(self, number: int) -> Batch:
        rng = Random(self.seed, number)
        X = (HALF_WIDTH * (2.0 * rng.uniform((BLOCK_ROWS, 2)) - 1.0)).astype(np.float32)
        y = self.truth(X) + self.noise * rng.normal(BLOCK_ROWS)
        return Batch(X, y, np.arange(BLOCK_ROWS, dtype=np.int64) + number * BLOCK_ROWS)
