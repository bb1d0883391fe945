"""ProgressBar: passes, loss and speed on one line of the terminal."""

from __future__ import annotations

import math
from typing import Any

from bochner.progress import Progress


class ProgressBar:
    """Draws a bar with rich, on standard error; it closes when the fit ends.

    Parameters
    ----------
    passes : int or None
        Passes that are to be done, for the bar's length; None draws a bar for each pass.
    console : rich.console.Console or None
        Where to draw.
    seconds : float or None
        The most time that the fit may take, to say how much of it is left.

    Examples
    --------
    >>> import io
    >>> from rich.console import Console
    >>> from bochner.progress import Reason
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
            BarColumn(bar_width=20),
            TimeElapsedColumn(table_column=Column(min_width=7)),
            TimeRemainingColumn(table_column=Column(min_width=7)),
            TextColumn("{task.fields[note]}"),  # last: what a narrow terminal cuts off
            console=console,
        )
        bar.start()
        return bar

    def _line(self, progress: Progress) -> dict[str, Any]:
        note = f"{progress.size:,} features  {progress.rows:,} rows"
        if progress.held_out_loss is not None:
            note = f"held out {progress.held_out_loss:.4g}  {note}"
        if not math.isnan(progress.loss):  # sums over rows have none
            note = f"loss {progress.loss:.4g}  {note}"
        if self.seconds is not None:
            note = f"{note}  at most {max(self.seconds - progress.seconds, 0.0):.0f} s left"
        # Between two passes the bar belongs to the one that has ended.
        before = progress.pass_ - (progress.position == 0 < progress.pass_)
        line: dict[str, Any] = {"description": f"pass {before + 1}", "note": note}
        if progress.batches is None:
            return line
        done = progress.pass_ * progress.batches + progress.position
        if self.passes is None:
            first = before * progress.batches
            return line | {"completed": done - first, "total": progress.batches}
        return line | {"completed": done, "total": self.passes * progress.batches}
