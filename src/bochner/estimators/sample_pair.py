"""SamplePair: two samples with their weights, for a machine that tells them apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, check_array

from bochner.compute.random import Random
from bochner.data import ArraySource
from bochner.estimators.setup import in_single_precision

FEWEST_ROWS = 4  # of which some are held out


@dataclass(frozen=True, eq=False)
class SamplePair:
    """Rows x of p with weights w, and rows y of q with weights v."""

    x: NDArray[Any]
    y: NDArray[Any]
    w: NDArray[np.float64]
    v: NDArray[np.float64]

    @classmethod
    def checked(cls, X: Any, Y: Any, w: Any, v: Any) -> SamplePair:
        """Return two samples of finite rows, or refuse them with a sentence."""
        x, y = _rows(X, "X"), _rows(Y, "Y")
        if x.shape[1] != y.shape[1]:
            raise ValueError(
                f"Both samples need the same columns; got {x.shape[1]} of X and {y.shape[1]} of Y."
            )
        return cls(x, y, _weights(w, x, "X"), _weights(v, y, "Y"))

    def __len__(self) -> int:
        return len(self.x) + len(self.y)

    def split(self, share: float, rng: Random) -> tuple[SamplePair, SamplePair]:
        """Return the pair without some rows, and those; both samples are in random order."""
        orders = [rng.permutation(len(rows)) for rows in (self.x, self.y)]
        cuts = [min(max(1, round(share * len(order))), len(order) - 2) for order in orders]
        kept = [order[cut:] for order, cut in zip(orders, cuts, strict=True)]
        held = [order[:cut] for order, cut in zip(orders, cuts, strict=True)]
        for pair in (learned := self._at(*kept), judged := self._at(*held)):
            if not (pair.w.any() and pair.v.any()):
                raise ValueError(
                    "All rows that are held out, or all others, have weight 0. Leave such rows out."
                )
        return learned, judged

    def part(self, rows: int) -> SamplePair:
        """Return the first rows of either sample."""
        some = SamplePair(self.x[:rows], self.y[:rows], self.w[:rows], self.v[:rows])
        return some if some.w.any() and some.v.any() else self

    def stacked(self, rng: Random) -> ArraySource:
        """Return all rows in random order, those of p as +1 and of q as -1, of equal mass."""
        order = rng.permutation(len(self))
        targets = np.concatenate([np.ones(len(self.x)), -np.ones(len(self.y))])
        mass = len(self) / 2
        weight = np.concatenate([mass * self.w / self.w.sum(), mass * self.v / self.v.sum()])
        rows = np.concatenate([self.x, self.y])
        return ArraySource(rows[order], targets[order, None], weight[order])

    def _at(self, ofx: NDArray[np.int64], ofy: NDArray[np.int64]) -> SamplePair:
        return SamplePair(self.x[ofx], self.y[ofy], self.w[ofx], self.v[ofy])


def _rows(given: Any, name: str) -> NDArray[Any]:
    rows = check_array(given, dtype=[np.float64, np.float32], ensure_min_samples=0, input_name=name)
    if len(rows) < FEWEST_ROWS:
        raise ValueError(
            f"The sample {name} needs at least {FEWEST_ROWS} rows, of which some are held out; got "
            f"{len(rows)}."
        )
    return np.asarray(in_single_precision(rows))


def _weights(given: Any, rows: NDArray[Any], name: str) -> NDArray[np.float64]:
    weight = _check_sample_weight(given, rows, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise ValueError(
            f"The weights of {name} are zero for every row. Give at least one row a positive one."
        )
    return np.asarray(weight)
