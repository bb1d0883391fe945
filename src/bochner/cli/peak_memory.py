"""Peak memory: the most that this process had resident while something ran."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SAMPLED = 0.02  # seconds between two looks
STATUS = Path("/proc/self/status")


class Peak:
    """The most bytes, None where the system does not tell."""

    def __init__(self) -> None:
        self.bytes: int | None = None

    def look(self) -> None:
        """Look at how much is resident now."""
        now = resident()
        if now is not None:
            self.bytes = max(self.bytes or 0, now)


def resident() -> int | None:
    """Return the resident bytes of this process, files that are mapped left out; Linux only."""
    try:
        text = STATUS.read_text()
        return int(text.split("RssAnon:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return None


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Watch memory from another thread while something runs.

    >>> with peak_memory() as peak:
    ...     block = bytearray(1_000_000)
    >>> peak.bytes is None or peak.bytes > 1_000_000
    True
    """
    peak, done = Peak(), threading.Event()
    peak.look()

    def watch() -> None:
        while not done.wait(SAMPLED):
            peak.look()

    thread = threading.Thread(target=watch, name="bochner-peak-memory", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
        peak.look()
