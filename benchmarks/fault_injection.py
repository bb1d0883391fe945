"""Make the n-th call to the system fail: open, read, write, synchronise, map, rename.

Files of Python are opened with a raw file that can fail, so that a write within a buffer fails
where the operating system would let it. A write that fails has written half of its bytes before.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

ERRORS = {
    "open": errno.EMFILE,
    "read": errno.EIO,
    "write": errno.ENOSPC,
    "fsync": errno.EIO,
    "mmap": errno.ENOMEM,
    "chmod": errno.EPERM,
    "rename": errno.EACCES,
}


class FailingFile(io.FileIO):
    """A file whose reads and writes may fail."""

    calls: Calls

    def write(self, data: Any) -> int:
        """Write, or write half and fail."""
        view = memoryview(data).cast("B")
        try:
            self.calls.make("write")
        except OSError:
            super().write(view[: len(view) // 2])
            raise
        return super().write(view)

    def readinto(self, room: Any) -> int | None:
        """Read, or fail."""
        self.calls.make("read")
        return super().readinto(room)


class Calls:
    """Counts calls to the system about files in some folders; call `at` fails.

    With `lasting` those after it fail, too, as on a disk that stays full; calls that remove files
    never do.
    """

    def __init__(self, folders: list[Path], at: int = 0, lasting: bool = False) -> None:
        self.folders = tuple(os.path.realpath(folder) for folder in folders)
        self.at, self.lasting = at, lasting
        self.number, self.made, self.failed = 0, Counter[str](), 0
        self._handles: set[int] = set()

    def make(self, what: str) -> None:
        """Count a call, and fail if it is its turn."""
        self.number += 1
        self.made[what] += 1
        if self.number == self.at or (self.lasting and 0 < self.at < self.number):
            self.failed += 1
            raise OSError(ERRORS[what], os.strerror(ERRORS[what]))

    def concern(self, path: Any) -> bool:
        """Whether a path or an open file is in one of the folders."""
        if isinstance(path, int):
            return path in self._handles
        return os.path.realpath(os.fspath(path)).startswith(self.folders)

    def open_handle(self, path: Any, *others: Any, **named: Any) -> int:
        """Stand for `os.open`."""
        if not self.concern(path):
            return REAL_OPEN(path, *others, **named)
        self.make("open")
        handle = REAL_OPEN(path, *others, **named)
        self._handles.add(handle)
        return handle

    def open_file(self, file: Any, mode: str = "r", *others: Any, **named: Any) -> Any:
        """Stand for `open`; an opener calls `os.open`, which counts."""
        if not self.concern(file):
            return REAL_FILE(file, mode, *others, **named)
        opener = named.pop("opener", None)
        if not isinstance(file, int) and opener is None:
            self.make("open")
        raw = FailingFile(file, mode.replace("b", "").replace("t", ""), True, opener)
        raw.calls = self
        self._handles.add(raw.fileno())
        if (others[0] if others else named.pop("buffering", -1)) == 0:
            return raw
        reading, writing = raw.readable(), raw.writable()
        kind = io.BufferedRandom if reading and writing else io.BufferedReader
        buffered = io.BufferedWriter(raw) if writing and not reading else kind(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, **named)

    def about_path(self, what: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Return what stands for a call that takes a path or an open file first."""

        def call(path: Any, *others: Any, **named: Any) -> Any:
            if self.concern(path):
                self.make(what)
            return real(path, *others, **named)

        return call


REAL_OPEN, REAL_FILE = os.open, io.open


@contextmanager
def failing(calls: Calls) -> Iterator[Calls]:
    """Let the calls in this context count, and fail when it is their turn."""
    with (
        patch.object(os, "open", calls.open_handle),
        patch.object(io, "open", calls.open_file),
        patch.object(builtins, "open", calls.open_file),
        patch.object(os, "fsync", calls.about_path("fsync", os.fsync)),
        patch.object(os, "preadv", calls.about_path("read", os.preadv)),
        patch.object(os, "chmod", calls.about_path("chmod", os.chmod)),
        patch.object(os, "replace", calls.about_path("rename", os.replace)),
        patch.object(mmap, "mmap", calls.about_path("mmap", mmap.mmap)),
    ):
        yield calls
