"""Watching: what is on the screen while a model is fitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bochner.callbacks import Callback, Progress, ProgressBar
from bochner.cli.screen import Screen

READY = "Getting ready: scales, features, held-out rows ..."


@contextmanager
def watched(screen: Screen, seconds: float | None) -> Iterator[list[Callback]]:
    """Give callbacks that draw a bar; until the first batch a word that something happens."""
    if screen.quiet:
        yield []
        return
    console = screen.console
    with console.status(READY) as waiting:
        yield [_Ready(waiting), ProgressBar(console=console, seconds=seconds)]


class _Ready:
    """Ends the waiting at the first progress: two moving lines would be in each other's way."""

    def __init__(self, waiting: Any) -> None:
        self.waiting = waiting

    def __call__(self, progress: Progress) -> None:
        self.waiting.stop()
