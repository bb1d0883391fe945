"""RowStatistics: what one pass over the rows of a source learns for all that follows."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.data.source import DataSource, RandomAccess
from bochner.data.transforms.scaling import Moments, MomentSums
from bochner.data.transforms.transform import learning_batches
from bochner.data.weights import rows_left_out

DIGESTED_ROWS = 16_384  # of a stream


def distinct_labels(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted labels and their numbers of rows; refuse labels that cannot be sorted."""
    try:
        return np.unique(y, return_counts=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in y.ravel().tolist()})
        raise ValueError(
            f"Labels must be of one kind, such as text or whole numbers; got {', '.join(kinds)}. "
            "Convert them, for instance by y.astype(str), and drop rows without a label."
        ) from error


class LabelCounts:
    """The labels of the rows, and the number of rows of each, or their weight if rows have some."""

    def __init__(self) -> None:
        self._counts: Counter[Any] = Counter()
        self._are_objects = False

    def add(self, batch: Batch) -> None:
        """Count the labels of a batch."""
        if batch.y is None:
            raise ValueError("A classifier needs labels: give y, or blocks (X, y).")
        labels, numbers = distinct_labels(batch.y)
        self._are_objects |= labels.dtype == object
        if batch.weight is not None:
            numbers = np.bincount(
                np.searchsorted(labels, np.ravel(batch.y)), batch.weight, len(labels)
            )
        self._counts.update(dict(zip(labels, numbers.tolist(), strict=True)))

    def sorted(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the labels in order, objects if some are, and their numbers of rows or weights."""
        known = list(self._counts)
        labels = np.unique(np.array(known, object if self._are_objects else None))
        return labels, np.array([self._counts[label] for label in labels])


class RowDigest:
    """A digest of rows, targets and weights, the same for batches of any sizes.

    Targets are digested as double precision numbers or as text, so that labels of another dtype
    count as the same.
    """

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}

    def add(self, batch: Batch) -> None:
        """Digest the rows of a batch."""
        X = batch.X
        parts = {"dense": X}
        if sp.issparse(X):
            parts = {"values": X.data, "columns": X.indices, "lengths": np.diff(X.indptr)}
        parts |= {"y": _as_bytes(batch.y), "weight": batch.weight}
        for name, part in parts.items():
            if part is not None and part.size > 0:
                digest = self._parts.setdefault(name, hashlib.blake2b())
                digest.update(np.ascontiguousarray(part).data)

    def digest(self) -> bytes:
        """Return the digest of all parts."""
        parts = [(name, part.digest()) for name, part in sorted(self._parts.items())]
        return hashlib.blake2b(repr(parts).encode()).digest()


def _as_bytes(y: NDArray[Any] | None) -> NDArray[Any] | None:
    if y is None or y.dtype.kind in "biuf":
        return None if y is None else y.astype(np.float64, copy=False)
    text = "".join(f"{label}\0" for label in y.ravel().tolist())
    return np.frombuffer(text.encode(), np.uint8)


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """The labels, the moments of the columns, and a digest of the rows of a source.

    All that is wanted is learned in one pass, which is made when the first of them is read. For a
    source that can be read once, the moments are those of a sample.

    Parameters
    ----------
    source : DataSource
    wants_labels, wants_moments, wants_digest : bool
        What the pass learns.

    Examples
    --------
    >>> from bochner.data import ArraySource
    >>> source = ArraySource(np.array([[1.0], [3.0]]), np.array(["oak", "ash"]))
    >>> rows = RowStatistics(source, wants_labels=True, wants_moments=True)
    >>> rows.labels[0].tolist(), rows.moments.mean
    (['ash', 'oak'], array([2.]))
    """

    source: DataSource
    wants_labels: bool = False
    wants_moments: bool = False
    wants_digest: bool = False

    @property
    def labels(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The labels in order, those of rows of weight 0 included, and their rows or weights."""
        return self._pass[0].sorted()

    @property
    def moments(self) -> Moments:
        """The moments of the columns."""
        return self._pass[1].total()

    @cached_property
    def digest(self) -> bytes | None:
        """A digest of the rows, None if it is not wanted or if they can be read only once.

        It is of all rows where the source has random access, else of a sample, which takes no
        pass. The two differ for equal rows: they are shuffled in different ways.
        """
        source = self.source
        if source.once or not self.wants_digest:
            return None
        every_row = isinstance(source, RandomAccess)
        rows = self._pass[2] if every_row else RowDigest()
        if not every_row:
            rows.add(source.sample(DIGESTED_ROWS))
        known = repr((source.n_rows, source.n_columns, every_row, rows.digest()))
        return hashlib.blake2b(known.encode()).digest()

    @cached_property
    def total_weight(self) -> float | None:
        """The sum of the weights, None if there are none or if it cannot be known."""
        source = self.source
        if source.once or self.first_row.weight is None:
            return None
        return float(sum(batch.weights.sum() for batch in source.batches(DIGESTED_ROWS)))

    @cached_property
    def first_row(self) -> Batch:
        """One row, for the form of the targets."""
        return self.source.sample(1)

    @cached_property
    def _pass(self) -> tuple[LabelCounts, MomentSums, RowDigest]:
        labels, moments, digest = LabelCounts(), MomentSums(), RowDigest()
        for batch in learning_batches(self.source):
            if self.wants_labels:
                labels.add(batch)
            if self.wants_moments:
                moments.add(batch)
            if self.wants_digest:
                digest.add(batch)
        for batch in rows_left_out(self.source) if self.wants_labels else ():
            labels.add(replace(batch, weight=np.zeros(len(batch))))
        return labels, moments, digest
