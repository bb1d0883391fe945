"""Tuning: the search for scales, a bandwidth and a ridge."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component
from bochner.compute.interruption import abandonable, after
from bochner.compute.random.counter_based import Random
from bochner.tuning.quality import QUALITIES, Quality
from bochner.tuning.sample import Sample
from bochner.tuning.search import BandwidthSearch, Search, Stage, Tuned
from bochner.validation import is_number, require, require_count

# Shares of a fit's time limit: after the first no round begins, after the second the search ends.
SHARE_OF_ROUNDS, SHARE_OF_TIME = 0.2, 0.35
SEARCHES = 0x5EAC4E5  # random stream of the seeds of further searches


@dataclass(eq=False)
class Tuning(Component, family="tuning", name="search"):
    """A search for one scale per column, a bandwidth and a ridge, on held-out rows.

    A coordinate search with a Laplacian kernel on random binning features. A round tries a larger
    and a smaller scale for each group of columns (a column, or the one-hot columns of a category),
    all on the same held-out rows and grids. It applies those changes that lower the error by more
    than a standard error, all or the best part of them, whichever is best. Every round draws new
    rows, held-out rows and grids, which prevents overfitting. The first rounds use few rows and
    large steps, the last many rows and small steps. Before them, columns with heavy tails are
    tried as logarithms and as ranks. For any other kernel, exact fits on few rows then find a
    bandwidth and a ridge.

    The learned scales are used only if their error is lower than that of the best common bandwidth
    by more than a standard error, on a fifth of the rows that no round has used.

    Parameters
    ----------
    rows : int
        The maximal number of rows of a trial.
    grids : int
        The number of grids in the last rounds.
    seconds : float
        No round of a search begins after this time, nor after a fifth of the estimator's
        `max_seconds`; the final comparison, the ridge and the relevance follow, and are
        left out after 35% of `max_seconds`. Only if the search reaches this limit does the
        result depend on the speed of the computer and the number of threads.
    held_out : "auto", "random", "blocks" or array-like of n_rows groups
        How a quarter of the rows is held out: at random, in blocks of consecutive rows (for time
        series), or in groups. "auto": in blocks if consecutive rows are much nearer to each other
        than random rows, at random otherwise.
    patience : int
        A stage ends after this many consecutive rounds that lower the error by less than 0.4%.
    warp : bool
        Whether to replace columns with heavy tails by logarithms or ranks where that lowers the
        error.
    share : float
        For kernel="auto" on bins and targets that are numbers, the share of the columns in a grid:
        the kernel is the mean of Laplacian kernels of random subsets of the columns (see `Anova`).
        1 is the Laplacian kernel, as for classes, which gain nothing.
    searches : int or "auto"
        The number of searches, each on other draws of rows and grids. The kernel is the mean of
        theirs. "auto": by the estimator's `quality`. For a given kernel, and on centres, there is
        one.
    linear_map : bool
        Whether a smooth kernel may use a full linear map of the columns, the square root of the
        average gradient outer product, where its error is lower than with scales. For up to 500
        columns without categories; bins need scales.

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
    share: float = 0.7
    searches: int | str = "auto"
    linear_map: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tuning):
            return NotImplemented
        mine, others = self.get_params(), other.get_params()
        return all(np.array_equal(mine[name], others[name]) for name in mine)

    def check(self) -> None:
        """Raise a ValueError for parameters out of range."""
        for name in ("rows", "grids", "patience"):
            value, least = getattr(self, name), 100 if name == "rows" else 1
            require_count(f"{name} of Tuning", value, least)
        require_count("searches of Tuning", self.searches, also=("auto",))
        sound = is_number(self.share) and 0 < self.share <= 1
        require(sound, "share of Tuning", self.share, "a number above 0 and at most 1")
        seconds = self.seconds
        require(isinstance(seconds, Real) and seconds > 0, "seconds of Tuning", seconds, "positive")
        named = isinstance(self.held_out, str)
        if named and self.held_out not in ("auto", "random", "blocks"):
            raise ValueError(
                "held_out of Tuning must be 'auto', 'random', 'blocks' or a group for each row; "
                f"got {self.held_out!r}."
            )

    def groups(self, index: Any, rows: int | None) -> Any:
        """Return `held_out` for the rows with these indices."""
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

    def count(self, quality: Quality) -> int:
        """Return the number of searches."""
        return quality.searches if isinstance(self.searches, str) else self.searches

    def search(
        self,
        sample: Sample,
        seed: int,
        most_seconds: float | None = None,
        quality: Quality = QUALITIES[3],
    ) -> Tuned:
        """Return the scales, those of the common bandwidth if no others are better."""
        self.check()
        began = time.perf_counter()
        end = min(deadline(began, most_seconds, SHARE_OF_ROUNDS), began + self.seconds)
        search = Search(sample, self.patience, seed, end)
        with abandonable(after(deadline(began, most_seconds))) as attempt:
            search.run(self._stages(quality))
            found = search.tuned()
        if attempt.abandoned:
            found = search.unfinished()
        share = self.share if sample.scores is None else 1.0
        return replace(found, seconds=time.perf_counter() - began, share=share)

    def search_again(
        self,
        sample: Sample,
        first: Tuned,
        seed: int,
        end: float = math.inf,
        quality: Quality = QUALITIES[3],
    ) -> list[Tuned]:
        """Return the first result and those of further searches, which end at the time `end`.

        The first search has chosen which columns are logarithms or ranks.
        """
        results, numbers = [first], range(1, self.count(quality))
        sample = sample.warped(first.warping) if numbers else sample
        for number in numbers:
            with abandonable(after(end)) as attempt:
                seed_here = int(Random(seed, SEARCHES, number).integers(1)[0] >> 1)
                found = self.search(sample, seed_here, None, quality)
            if attempt.abandoned:
                break
            results.append(replace(found, warping=first.warping))
        return results

    def bandwidth(
        self, sample: Sample, scales: NDArray[np.float64], seed: int, end: float
    ) -> tuple[float, float]:
        """Return bandwidth and ridge of a Laplacian kernel on columns divided by scales."""
        self.check()
        end = min(end, time.perf_counter() + self.seconds)
        stages = self._stages(QUALITIES[3])
        return BandwidthSearch(sample, self.patience, seed, end).find(stages, scales)

    def _stages(self, quality: Quality) -> list[Stage]:
        stages = [*quality.stages, Stage(self.rows, self.grids, 0.5, 1)]
        return [stage.within(self.rows, self.grids) for stage in stages]


def deadline(began: float, most_seconds: float | None, share: float = SHARE_OF_TIME) -> float:
    """Return the time at which a search has used its share of a fit's time limit."""
    return math.inf if most_seconds is None else began + share * most_seconds
