"""Interruption: a Ctrl-C that waits for the end of a batch, and walks that end early."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event that is looked at between batches; the second is raised.

    A step is thus never cut in half, and what was learned is never lost. Only the main thread
    gets signals: elsewhere the event is never set.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # the process ignores Ctrl-C, or somebody outside Python has it
        yield asked
        return

    def ask(number: int, frame: Any) -> None:
        if asked.is_set():
            before(number, frame)
        asked.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def closed_at_the_end(walk: Iterator[Any]) -> Iterator[None]:
    """Close a walk that may be given up half-way: it may hold a file or a thread."""
    try:
        yield
    finally:
        if isinstance(walk, Generator):
            walk.close()
