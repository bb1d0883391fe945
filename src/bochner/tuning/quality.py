"""Quality: what a search and a fit do at each level, from the fastest to the most thorough."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from bochner.tuning.search import Stage


@dataclass(frozen=True)
class Quality:
    """The numbers of one level; those of level 3 are the defaults.

    Parameters
    ----------
    stages : tuple of Stage
        The rounds of a search on many rows before the last one, which takes all rows of a sample.
    searches : int
        The number of searches on many rows; the kernel is the mean of theirs.
    compares_kernels : bool
        Whether the Gaussian kernel is tried beside the Laplacian.
    few_rows : tuple of pairs of int
        Rows and iterations of a search by leave-one-out errors.
    subsets : int
        The number of further searches of this kind, each on a random part of the rows: two thirds,
        at most as many as in the first stage.
    seconds : float
        The expected time of the training on bins that bounds the number of grids. If it is finite,
        the grids are not doubled later.
    """

    stages: tuple[Stage, ...] = (
        Stage(4_000, 16, 2.0, 5),
        Stage(8_000, 24, 1.0, 4),
        Stage(16_000, 32, 1.0, 3),
    )
    searches: int = 2
    compares_kernels: bool = True
    few_rows: tuple[tuple[int, int], ...] = ((500, 40), (1_000, 15))
    subsets: int = 0
    seconds: float = inf

    @property
    def rounds(self) -> int:
        """The largest number of rounds of a search, the last one included."""
        return sum(stage.rounds for stage in self.stages) + 1

    @property
    def grows(self) -> bool:
        """Whether grids are doubled while the held-out loss falls."""
        return self.seconds == inf


QUALITIES = {
    1: Quality(
        stages=(Stage(2_000, 16, 2.0, 2),),
        searches=1,
        compares_kernels=False,
        few_rows=((300, 15),),
        seconds=0.5,
    ),
    2: Quality(
        stages=(Stage(4_000, 16, 2.0, 4), Stage(8_000, 24, 1.0, 1)),
        searches=1,
        few_rows=((500, 20),),
        seconds=2.0,
    ),
    3: Quality(),
    4: Quality(searches=4, few_rows=((500, 40), (1_000, 30)), subsets=2),
    5: Quality(searches=8, few_rows=((1_000, 40), (2_000, 20)), subsets=4),
}
