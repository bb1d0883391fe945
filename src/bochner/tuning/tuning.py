"""Tuning: how scales, bandwidth and ridge are searched for."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component
from bochner.tuning.sample import Sample
from bochner.tuning.search import BandwidthSearch, Search
from bochner.tuning.tuned import Stage, Tuned
from bochner.validation import require, require_count

SHARE_OF_TIME = 0.4  # of a fit's limit, that the search may take
LADDER = ((4_000, 16, 2.0, 5), (8_000, 24, 1.0, 4), (16_000, 32, 1.0, 3))


@dataclass(eq=False)
class Tuning(Component, family="tuning", name="search"):
    """A search for one scale per column, a bandwidth and a ridge, on held-out rows.

    Coordinate search with a Laplacian kernel on random binning features: in a round every group of
    columns (a column, or the one-hot columns of a category) is tried with its scale larger and
    smaller, the gains are told by the same held-out rows and grids, and those beyond a standard
    error are taken, together or in part, whichever is best. Every round draws rows, held-out rows
    and grids anew, so that none of them is learned by heart. Rounds begin with few rows and wide
    steps and end with many and narrow ones. Before them, columns with heavy tails are tried as
    logarithms and as ranks. A bandwidth and a ridge for any other kernel are then
    found by exact machines on few rows.

    Learned scales are kept only if they beat the best common bandwidth by more than a standard
    error on a fifth of the rows, which no round has seen.

    Parameters
    ----------
    rows : int
        The most rows of a trial.
    grids : int
        The grids of the last rounds.
    seconds : float
        No round begins after these, nor after 40% of the estimator's `max_seconds`; the verdict,
        the ridge and the relevance come after. The result depends on the speed of the machine, and
        so on threads, only if a search takes that long.
    held_out : "auto", "random", "blocks" or array-like of n_rows groups
        How a quarter of the rows is held out: each on its own, in blocks of consecutive rows (for
        time series), or group by group. "auto": in blocks if consecutive rows are much nearer to
        each other than others, since then a held-out row's neighbours would tell its target.
    patience : int
        So many rounds in a row with a gain below 0.4% of the error end a stage.
    warp : bool
        Whether columns with heavy tails may be seen as logarithms or ranks, where that gains.
    linear_map : bool
        Whether a smooth kernel may see the columns through a full linear map, the root of the
        average gradient outer product, where that beats a scale for each. That is for up to 500
        columns without categories; bins need a scale for each.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.tuning import Sample, Tuning
    >>> X = np.random.default_rng(0).uniform(size=(2000, 5))
    >>> y = np.sin(9 * X[:, :1]) + X[:, 1:2]
    >>> tuned = Tuning().search(Sample.of(X, y, None), seed=0)
    >>> tuned.helped, np.argsort(tuned.scales)[:2]
    (True, array([0, 1]))
    """

    rows: int = 100_000
    grids: int = 32
    seconds: float = 60.0
    held_out: Any = "auto"
    patience: int = 2
    warp: bool = True
    linear_map: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tuning):
            return NotImplemented
        mine, others = self.get_params(), other.get_params()
        return all(np.array_equal(mine[name], others[name]) for name in mine)

    def check(self) -> None:
        """Refuse values out of range."""
        for name in ("rows", "grids", "patience"):
            value, least = getattr(self, name), 100 if name == "rows" else 1
            require_count(f"{name} of Tuning", value, least)
        seconds = self.seconds
        require(isinstance(seconds, Real) and seconds > 0, "seconds of Tuning", seconds, "positive")
        named = isinstance(self.held_out, str)
        if named and self.held_out not in ("auto", "random", "blocks"):
            raise ValueError(
                "held_out of Tuning must be 'auto', 'random', 'blocks' or a group for each row; "
                f"got {self.held_out!r}."
            )

    def groups(self, index: Any, rows: int | None) -> Any:
        """Return what `held_out` says of the rows with these numbers."""
        if isinstance(self.held_out, str):
            return self.held_out
        groups = np.asarray(self.held_out)
        if groups.ndim != 1 or rows is None or len(groups) != rows:
            number = "a stream" if rows is None else f"{rows} rows"
            raise ValueError(
                f"held_out of Tuning must have a group for each row; got the shape {groups.shape} "
                f"for {number}."
            )
        return groups[index]

    def search(self, sample: Sample, seed: int, most_seconds: float | None = None) -> Tuned:
        """Return what was found, the common bandwidth if nothing else is better."""
        self.check()
        began = time.perf_counter()
        end = min(deadline(began, most_seconds), began + self.seconds)
        search = Search(sample, self.patience, seed, end)
        search.run(self._stages())
        return replace(search.tuned(), seconds=time.perf_counter() - began)

    def bandwidth(
        self, sample: Sample, scales: NDArray[np.float64], seed: int, end: float
    ) -> tuple[float, float]:
        """Return the best bandwidth of a Laplacian kernel on columns divided by scales, a ridge."""
        self.check()
        end = min(end, time.perf_counter() + self.seconds)
        return BandwidthSearch(sample, self.patience, seed, end).found(self._stages(), scales)

    def _stages(self) -> list[Stage]:
        ladder = [Stage(*stage) for stage in LADDER] + [Stage(self.rows, self.grids, 0.5, 1)]
        return [stage.within(self.rows, self.grids) for stage in ladder]


def deadline(began: float, most_seconds: float | None) -> float:
    """Return when a search has had its part of a fit's limit."""
    return math.inf if most_seconds is None else began + SHARE_OF_TIME * most_seconds
