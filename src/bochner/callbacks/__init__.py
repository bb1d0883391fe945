"""Callbacks: functions that are told the progress after every batch and every pass."""

from collections.abc import Callable

from bochner.callbacks.history import History
from bochner.callbacks.keeper import Keeper
from bochner.callbacks.progress_bar import ProgressBar
from bochner.progress import Progress

Callback = Callable[[Progress], None]

__all__ = ["Callback", "History", "Keeper", "Progress", "ProgressBar"]
