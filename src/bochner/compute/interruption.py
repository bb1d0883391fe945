"""Interruption of long work: abandoned between two tiles, or ended by Ctrl-C after a batch."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

# Work that ends soon after it should is completed: a small batch is never cut, one of large tiles
# only after a second.
MORE_CHECKS, MORE_SECONDS = 32, 0.2
FEWEST_CHECKS, MOST_SECONDS = 2, 0.8


class Abandoned(BaseException):
    """Work was abandoned between two tiles; `attempt` is what ends with it."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__("the work was abandoned")
        self.attempt = attempt


@dataclass(eq=False)
class Attempt:
    """Work that is abandoned soon after `should_end` says so, and whether it was.

    `checks` counts the checks since then, and `since` is the time of the first of them.
    """

    should_end: Callable[[], bool]
    checks: int = 0
    since: float = 0.0
    abandoned: bool = False

    def check(self) -> None:
        """Raise `Abandoned` if the work should end and does not end soon."""
        if not self.should_end():
            return
        now = time.perf_counter()
        if self.checks == 0:
            self.since = now
        self.checks += 1
        passed = now - self.since
        many = self.checks > MORE_CHECKS and passed > MORE_SECONDS
        if many or (self.checks > FEWEST_CHECKS and passed > MOST_SECONDS):
            raise Abandoned(self)


_attempts: ContextVar[tuple[Attempt, ...]] = ContextVar("attempts", default=())


@contextmanager
def abandonable(should_end: Callable[[], bool]) -> Iterator[Attempt]:
    """Leave this context early, between two tiles, once the work in it should end.

    `should_end` is called often, by several threads. What the work was writing to is half done.

    >>> with abandonable(lambda: True) as attempt:
    ...     while True:
    ...         check_interruption()
    >>> attempt.abandoned
    True
    """
    attempt = Attempt(should_end)
    token = _attempts.set((*_attempts.get(), attempt))
    try:
        yield attempt
    except Abandoned as error:
        if error.attempt is not attempt:
            raise
        attempt.abandoned = True
    finally:
        _attempts.reset(token)


@contextmanager
def completed() -> Iterator[None]:
    """Complete the work in this context, whatever surrounds it."""
    token = _attempts.set(())
    try:
        yield
    finally:
        _attempts.reset(token)


def check_interruption() -> None:
    """Raise `Abandoned` if the work around this call is to be abandoned."""
    for attempt in _attempts.get():
        attempt.check()


def after(end: float) -> Callable[[], bool]:
    """Return whether a time, by `time.perf_counter`, has passed, as a function."""
    return lambda: time.perf_counter() > end


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
