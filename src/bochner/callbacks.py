"""Callbacks: functions called with the progress after every batch and every pass."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from bochner.training.progress import Progress

__all__ = ["Callback", "CheckpointCallback", "History", "Keeper", "Progress", "ProgressBar"]

Callback = Callable[[Progress], None]
BAR, BESIDE = 10, 38  # characters of the bar, and of all that is beside the facts
COLUMNS = ("pass_", "step", "rows", "seconds", "loss", "held_out_loss", "size")


class History:
    """Records one line per batch; `columns` maps a name to the list of its values.

    >>> history = History()
    >>> history(Progress(pass_=0, position=1, batches=4, step=1, rows=64, seconds=0.1, loss=0.7))
    >>> history.columns["loss"]
    [0.7]
    """

    def __init__(self) -> None:
        self.columns: dict[str, list[float | int | None]] = {name: [] for name in COLUMNS}

    def __call__(self, progress: Progress) -> None:
        """Add a line; a call at the end of a pass completes the losses of the last one."""
        steps = self.columns["step"]
        if progress.step == 0:
            return
        if not steps or steps[-1] != progress.step:
            for name, values in self.columns.items():
                values.append(getattr(progress, name))
        self.columns["loss"][-1] = None if math.isnan(progress.loss) else progress.loss
        self.columns["held_out_loss"][-1] = progress.held_out_loss


class CheckpointCallback(ABC):
    """A callback that gets the partly fitted estimator, to save it.

    Estimators that cannot resume a fit call it as any other callback: it raises ValueError.
    """

    @abstractmethod
    def keep(self, progress: Progress, unfinished: Callable[[], Any]) -> None:
        """Take the progress; `unfinished` returns a model whose next `fit` continues from here."""

    def __call__(self, progress: Progress) -> None:
        """Raise ValueError: there is no estimator that can be resumed."""
        raise ValueError(
            f"{type(self).__name__} is for fit of KernelClassifier, KernelRegressor, "
            "KernelQuantileRegressor and KernelNoveltyDetector, which can resume. "
            "Leave it out of callbacks, and save the model once it is fitted."
        )


Keeper = CheckpointCallback  # the name in earlier versions


class ProgressBar:
    """Draws a progress bar with rich, on standard error, until the fit ends.

    Parameters
    ----------
    passes : int or None
        The number of passes, for the length of the bar; None draws a bar for each pass.
    console : rich.console.Console or None
        Where to draw.
    seconds : float or None
        The time limit of the fit, to show how much of it is left.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from bochner.training.progress import Reason
    >>> bar = ProgressBar(console=Console(file=io.StringIO(), width=80))
    >>> bar(Progress(0, 4, 4, 4, 256, 0.1, loss=0.5, reason=Reason("all rows were seen", True)))
    >>> "loss 0.5" in bar.console.file.getvalue()
    True
    """

    def __init__(
        self, passes: int | None = None, console: Any = None, seconds: float | None = None
    ) -> None:
        self.passes = passes
        self.console = console
        self.seconds = seconds
        self._bar: Any = None

    def __call__(self, progress: Progress) -> None:
        """Draw the bar at this progress."""
        if self._bar is None:
            self._bar = self._open()
            self._task = self._bar.add_task("fit", total=None, note="")
        self._bar.update(self._task, **self._line(progress))
        if progress.reason is not None:
            self._bar.stop()
            self._bar = None

    def _open(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
        from rich.table import Column

        console = self.console or Console(stderr=True)
        bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(bar_width=BAR),
            TimeElapsedColumn(table_column=Column(min_width=7)),
            TimeRemainingColumn(table_column=Column(min_width=7)),
            TextColumn("{task.fields[note]}"),
            console=console,
        )
        bar.start()
        return bar

    def _line(self, progress: Progress) -> dict[str, Any]:
        note = "  ".join(_fitting(self._facts(progress), self._bar.console.width - BESIDE))
        # Between two passes the bar shows the one that has ended.
        before = progress.pass_ - (progress.position == 0 < progress.pass_)
        line: dict[str, Any] = {"description": f"pass {before + 1}", "note": note}
        if progress.batches is None:
            return line
        done = progress.pass_ * progress.batches + progress.position
        if self.passes is None:
            first = before * progress.batches
            return line | {"completed": done - first, "total": progress.batches}
        return line | {"completed": done, "total": self.passes * progress.batches}

    def _facts(self, progress: Progress) -> list[str]:
        """Return what there is to say, the most important first."""
        facts = [] if math.isnan(progress.loss) else [f"loss {progress.loss:.4g}"]
        if progress.held_out_loss is not None:
            facts.append(f"held out {progress.held_out_loss:.4g}")
        if self.seconds is not None:
            facts.append(f"{max(self.seconds - progress.seconds, 0.0):.0f} s left")
        return [*facts, f"{progress.size:,} features", f"{progress.rows:,} rows"]


def _fitting(facts: list[str], width: int) -> list[str]:
    """Return the first facts that fit into a line."""
    lengths = accumulate(len(fact) + 2 for fact in facts)
    return [fact for fact, length in zip(facts, lengths, strict=True) if length <= width]
