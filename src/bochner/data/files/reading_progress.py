"""ReadingProgress: how far the first pass over files has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ReadingProgress:
    """Bytes and rows that were read, and the time it took.

    Parameters
    ----------
    bytes_read : int
    bytes_total : int or None
        None where nobody knows, as of standard input.
    rows : int
    seconds : float
    """

    bytes_read: int
    bytes_total: int | None
    rows: int
    seconds: float


Progress = Callable[[ReadingProgress], None]
