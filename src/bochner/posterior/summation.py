"""Summation: one pass that adds rows to sums, told and ended as the passes of the loop are."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from bochner.data import Batch, DataSource
from bochner.features import Basis
from bochner.posterior.feature_posterior import FeatureSums, extended, require_few_features
from bochner.posterior.watch import Watch
from bochner.training.interruption import closed_at_the_end, interruptible
from bochner.training.loop import FAILED, INTERRUPTED
from bochner.training.progress import Progress, Reason

BATCH_NUMBERS, BATCH_ROWS = 2**23, (256, 8_192)  # features of a batch; its fewest and most rows
ALL_SEEN = Reason("the rows were gone through once", converged=True)
NOTHING_YET = Progress(0, 0, None, step=0, rows=0, seconds=0.0, loss=math.nan)


@dataclass
class Summation:
    """Sums over the rows that a pass has met, and the basis, whose bins grow with them.

    Its progress knows no loss: a closed form has no function before the end. A pass that time or
    a Ctrl-C ends leaves the sums over the rows that it has met, which are a posterior, too.
    """

    basis: Basis
    sums: FeatureSums | None
    watch: Watch
    progress: Progress = NOTHING_YET
    _began: float = field(default_factory=time.perf_counter)

    def walk(self, source: DataSource, seed: int) -> FeatureSums:
        """Go through the rows once and return the sums."""
        require_few_features(self.basis.size)
        if self.sums is not None:  # they are added to in place, and the rows may turn out to be bad
            self.sums = replace(self.sums, gram=self.sums.gram.copy())
        size, rows = rows_per_batch(self.basis), source.n_rows
        self.progress = replace(self.progress, batches=None if rows is None else -(-rows // size))
        batches = source.batches(size, seed)
        with interruptible() as interrupted, self._last_word_on_error(), closed_at_the_end(batches):
            reason = self._through(batches, interrupted)
            if self.sums is None:
                raise ValueError("A Gaussian process needs at least one row; got none.")
        self._tell(reason=reason)
        self.watch.ended(self.progress)
        return self.sums

    def _through(self, batches: Iterator[Batch], interrupted: threading.Event) -> Reason:
        """Return why the pass ended: time is looked at where a batch is left to be taken."""
        for batch in batches:
            up = self.watch.time_is_up
            reason = None if up is None or self.sums is None else up(self._now())
            if reason is not None:
                return reason
            if len(batch) > 0:
                self._take(batch)
            if interrupted.is_set():
                return INTERRUPTED
        self.progress = replace(self.progress, pass_=self.progress.pass_ + 1, position=0)
        return INTERRUPTED if interrupted.is_set() else ALL_SEEN

    def _take(self, batch: Batch) -> None:
        assert batch.y is not None  # targets are coded
        if self.sums is None:
            self.sums = FeatureSums.empty(self.basis.end(None), batch.y.mean(axis=0))
        larger, Z = extended(self.basis, batch.X)
        self.sums, self.basis = self.sums.grown(larger, self.basis).added(Z, batch), larger
        self._tell(
            position=self.progress.position + 1,
            step=self.progress.step + 1,
            rows=self.progress.rows + len(batch),
            size=self.basis.end(None),
        )

    def _now(self, **changes: Any) -> Progress:
        began = self._began if self.watch.began is None else self.watch.began
        return replace(self.progress, seconds=time.perf_counter() - began, **changes)

    def _tell(self, **changes: Any) -> None:
        self.progress = self._now(**changes)
        for callback in self.watch.callbacks:
            callback(self.progress)

    @contextmanager
    def _last_word_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            progress = self._now(reason=FAILED)
            for callback in self.watch.callbacks:
                with suppress(Exception):  # the first error is the one to be heard
                    callback(progress)
            raise


def rows_per_batch(basis: Basis) -> int:
    """Return how many rows a batch has: those whose features fit into some memory."""
    fewest, most = BATCH_ROWS
    return max(fewest, min(BATCH_NUMBERS // max(basis.size or 1, 1), most))
