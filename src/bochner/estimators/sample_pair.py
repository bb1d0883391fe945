"""SamplePair: two samples with their weights, for a machine that tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource, Batch, DataSource, mapped
from bochner.estimators.samples import (
    array_sample,
    require_alike,
    require_one_form,
    two_samples,
)

FEWEST_ROWS = 4  # of which some are held out


@dataclass(frozen=True, eq=False)
class SamplePair:
    """Rows x of p and rows y of q, both with weights."""

    x: Batch
    y: Batch

    @classmethod
    def checked(cls, X: Any, Y: Any, w: Any, v: Any) -> SamplePair:
        """Return two samples of finite rows, or refuse them with a sentence."""
        x, y = array_sample(X, w, "X"), array_sample(Y, v, "Y")
        return cls(_weighed(x.rows), _weighed(y.rows)).required()

    def required(self) -> SamplePair:
        """Return the pair if both samples are alike, have some rows and some weight."""
        require_alike(self.x.X.shape[1], self.y.X.shape[1])
        for name, rows in (("X", self.x), ("Y", self.y)):
            if len(rows) < FEWEST_ROWS:
                raise ValueError(
                    f"The sample {name} needs at least {FEWEST_ROWS} rows, of which some are held "
                    f"out; got {len(rows)}."
                )
            if not _weight(rows).any():
                raise ValueError(
                    f"The weights of {name} are zero for every row. Give at least one row a "
                    "positive one."
                )
        require_one_form(self.x.X, self.y.X)
        return self

    def __len__(self) -> int:
        return len(self.x) + len(self.y)

    @property
    def weighs(self) -> bool:
        """Whether both samples have rows with a positive weight."""
        return bool(_weight(self.x).any() and _weight(self.y).any())

    def split(self, share: float, rng: Random) -> tuple[SamplePair, SamplePair]:
        """Return the pair without some rows, and those; both samples are in random order."""
        orders = [rng.permutation(len(rows)) for rows in (self.x, self.y)]
        cuts = [min(max(1, round(share * len(order))), len(order) - 2) for order in orders]
        kept = [order[cut:] for order, cut in zip(orders, cuts, strict=True)]
        held = [order[:cut] for order, cut in zip(orders, cuts, strict=True)]
        learned, judged = (SamplePair(self.x[a], self.y[b]) for a, b in (kept, held))
        if not (learned.weighs and judged.weighs):
            raise ValueError(
                "All rows that are held out, or all others, have weight 0. Leave such rows out."
            )
        return learned, judged

    def part(self, rows: int) -> SamplePair:
        """Return the first rows of either sample."""
        some = SamplePair(self.x[:rows], self.y[:rows])
        return some if some.weighs else self

    def joined(self, other: SamplePair) -> SamplePair:
        """Return the rows of both pairs."""
        return SamplePair(Batch.join([self.x, other.x]), Batch.join([self.y, other.y]))

    def labelled(self) -> Batch:
        """Return all rows, those of p as +1 and of q as -1, of equal mass."""
        mass = len(self) / 2
        parts = []
        for rows, label in ((self.x, 1.0), (self.y, -1.0)):
            weight = _weight(rows)
            targets = np.full((len(rows), 1), label)
            weight = mass * weight / (weight.sum() or 1.0)
            parts.append(replace(rows, y=targets, weight=weight))
        return Batch.join(parts)

    def stacked(self, rng: Random) -> ArraySource:
        """Return the labelled rows in random order."""
        rows = self.labelled()[rng.permutation(len(self))]
        return ArraySource(rows.X, rows.y, rows.weight)


def two_sources(X: Any, Y: Any, w: Any, v: Any) -> tuple[DataSource, DataSource]:
    """Return two samples, streams or not, as sources of finite rows with weights."""
    x, y = (_with_weights(source) for source in two_samples(X, Y, w, v))
    return x, y


def _with_weights(source: DataSource) -> DataSource:
    if isinstance(source, ArraySource):
        rows = _weighed(source.rows)
        return ArraySource(rows.X, None, rows.weight)
    return mapped(source, _weighed)


def _weighed(rows: Batch) -> Batch:
    return rows if rows.weight is not None else replace(rows, weight=np.ones(len(rows)))


def _weight(rows: Batch) -> NDArray[np.float64]:
    assert rows.weight is not None  # the border has seen to that
    return rows.weight
