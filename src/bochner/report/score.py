"""Score: a number that says how good predictions are, and which way is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Score:
    """A named number, and whether a lower or a higher one is better.

    Parameters
    ----------
    name : str
    value : float
    better : "lower" or "higher"

    Examples
    --------
    >>> Score("accuracy", 0.9, "higher").beats(Score("accuracy", 0.8, "higher"))
    True
    """

    name: str
    value: float
    better: Literal["lower", "higher"] = "lower"

    @property
    def rank(self) -> float:
        """A number that is lower for a better score; infinite for one that is not a number."""
        if math.isnan(self.value):
            return math.inf
        return self.value if self.better == "lower" else -self.value

    def beats(self, other: Score) -> bool:
        """Whether this score is the better one of two of the same name."""
        return self.rank < other.rank

    def __str__(self) -> str:
        return f"{self.value:.4g}"


def best(scores: Sequence[Score]) -> Score | None:
    """Return the best of scores of the same name, None of none."""
    return min(scores, key=lambda score: score.rank, default=None)
