"""Checkpoint: a callback that saves a fit while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bochner.callbacks import CheckpointCallback, Progress
from bochner.persist.files import Path, save
from bochner.training.loop import INTERRUPTED


@dataclass
class Checkpoint(CheckpointCallback):
    """A callback that saves the model at regular intervals, and when the fit is interrupted.

    The file is a model file. `load` returns a model that predicts with what it has learned so far.
    Its next `fit` to the same rows resumes the training, and the result is the same in every bit as
    that of a fit without interruption. Files hold no callbacks: set new ones before you resume. The
    result of a search for scales is in the file; a fit that is killed during the search starts
    again.

    Parameters
    ----------
    path : str or path
        The file to write; each checkpoint replaces the one before.
    seconds : float
        The time between checkpoints; 0 saves after every batch.
    summary : dict or None
        Plain values to add to the header, as in `save`.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import bochner
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> path = os.path.join(tempfile.mkdtemp(), "fit.checkpoint")
    >>> model = bochner.KernelRegressor(random_state=0, callbacks=[bochner.Checkpoint(path, 0)])
    >>> model = model.fit(X, X.sum(axis=1))
    >>> bochner.read_header(path).unfinished
    True
    >>> resumed = bochner.load(path).fit(X, X.sum(axis=1))
    >>> bool((resumed.predict(X) == model.predict(X)).all())
    True
    """

    path: Path
    seconds: float = 60.0
    summary: dict[str, Any] | None = None
    _last: float = field(default_factory=time.monotonic, init=False, repr=False, compare=False)

    def keep(self, progress: Progress, unfinished: Callable[[], Any]) -> None:
        """Save the model once `seconds` have passed, or if the fit is interrupted."""
        ended = progress.reason is not None and progress.reason is not INTERRUPTED
        is_time = time.monotonic() - self._last >= self.seconds
        if ended or not (is_time or progress.reason is INTERRUPTED):
            return
        save(unfinished(), self.path, summary=self.summary)
        self._last = time.monotonic()
