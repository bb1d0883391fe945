"""Interruption: a Ctrl-C that waits for the end of a batch, and iterators that end early."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C into an event, to be checked between batches; raise at the second.

    So no step is cut in half, and no result is lost. Only the main thread gets signals: in other
    threads the event is never set.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # the process ignores Ctrl-C, or code outside Python handles it
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
def closed_at_the_end(iterator: Iterator[Any]) -> Iterator[None]:
    """Close a generator that may end early: it may hold a file or a thread."""
    try:
        yield
    finally:
        if isinstance(iterator, Generator):
            iterator.close()
