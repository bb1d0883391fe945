"""History: the progress as columns."""

from __future__ import annotations

from bochner.progress import Progress

COLUMNS = ("pass_", "step", "rows", "seconds", "loss", "held_out_loss", "size")


class History:
    """Keeps one line a batch; `columns` maps a name to the list of its values.

    >>> history = History()
    >>> history(Progress(pass_=0, position=1, batches=4, step=1, rows=64, seconds=0.1, loss=0.7))
    >>> history.columns["loss"]
    [0.7]
    """

    def __init__(self) -> None:
        self.columns: dict[str, list[float | int | None]] = {name: [] for name in COLUMNS}

    def __call__(self, progress: Progress) -> None:
        """Add a line, unless the step is there already (a pass has ended, nothing has moved)."""
        steps = self.columns["step"]
        if steps and steps[-1] == progress.step:
            self.columns["held_out_loss"][-1] = progress.held_out_loss
            return
        for name, values in self.columns.items():
            values.append(getattr(progress, name))
