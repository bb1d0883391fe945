"""Checkpoint: a fit that is saved while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bochner.callbacks import CheckpointCallback, Progress
from bochner.persist.files import Path, save
from bochner.training.loop import FAILED, INTERRUPTED


@dataclass
class Checkpoint(CheckpointCallback):
    """A callback that saves the model every so many seconds, and when a fit is interrupted.

    The file is a model file: `load` gives a model that predicts by what it has learned so far, and
    whose next `fit`, to the same rows, goes on from there to the same bits as if it had never been
    interrupted. Give it new callbacks before: those are not in files. What a search for scales has
    found is in the file; a fit that is killed while it searches begins anew.

    Parameters
    ----------
    path : str or path
        Where to; each checkpoint takes the place of the one before as a whole.
    seconds : float
        The time from one checkpoint to the next; 0 is one after every batch.
    summary : dict or None
        Kept in the header, as by `save`.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import bochner
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> path = os.path.join(tempfile.mkdtemp(), "fit.checkpoint")
    >>> model = bochner.KernelRegressor(random_state=0, callbacks=[bochner.Checkpoint(path, 0)])
    >>> model = model.fit(X, X[:, 0])
    >>> bochner.read_header(path).unfinished
    True
    >>> resumed = bochner.load(path).fit(X, X[:, 0])
    >>> bool((resumed.predict(X) == model.predict(X)).all())
    True
    """

    path: Path
    seconds: float = 60.0
    summary: dict[str, Any] | None = None
    _last: float = field(default_factory=time.monotonic, init=False, repr=False, compare=False)

    def keep(self, progress: Progress, unfinished: Callable[[], Any]) -> None:
        """Save the model if it is time to, or if the fit is being interrupted."""
        ended = progress.reason is not None and progress.reason is not INTERRUPTED
        due = time.monotonic() - self._last >= self.seconds
        if ended or progress.reason is FAILED or not (due or progress.reason is INTERRUPTED):
            return
        save(unfinished(), self.path, summary=self.summary)
        self._last = time.monotonic()
