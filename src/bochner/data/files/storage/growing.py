"""Growing: an array in memory while it is small, then in a temporary file read in pieces."""

from __future__ import annotations

import errno
import mmap
import os
import weakref
from tempfile import TemporaryFile, gettempdir
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = slice | NDArray[np.int64]
DROP = getattr(mmap, "MADV_DONTNEED", None)  # where the system has it
DROPPED_ROWS = 64  # are read before their pages are given back; each may bring two megabytes along


class Growing:
    """An array that grows at its end: in memory up to so many bytes, then in a temporary file.

    The file has no name, so that it is gone with the process, however that ends. Its pages are
    given back soon after they were read: else they would count as memory of this process.
    """

    def __init__(self, dtype: Any, most_bytes: int) -> None:
        self.dtype, self.most_bytes = np.dtype(dtype), most_bytes
        self._parts: list[NDArray[Any]] = []
        self._file: Any = None
        self._map: Any = None
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    @property
    def on_disk(self) -> bool:
        """Whether there is a file."""
        return self._file is not None

    def add(self, part: NDArray[Any]) -> None:
        """Put entries at the end."""
        self._rows += len(part)
        self._parts.append(part)
        if self.on_disk or self._rows * self.dtype.itemsize > self.most_bytes:
            self._spill()

    def _spill(self) -> None:
        try:
            if self._file is None:
                self._file = TemporaryFile(prefix="bochner-", buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            for part in self._parts:
                _write(self._file, np.ascontiguousarray(part).view(np.uint8).data)
        except OSError as error:
            raise no_room(error, self._rows * self.dtype.itemsize) from error
        self._parts = []

    def settle(self) -> None:
        """Say that no more entries come."""
        if not self.on_disk:
            joined = np.concatenate(self._parts) if self._parts else np.empty(0, self.dtype)
            self._parts = [joined]
        elif self._rows * self.dtype.itemsize:
            self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def take(self, places: Places) -> NDArray[Any]:
        """Return the entries at these places; in memory, those of a slice are a view."""
        if not self.on_disk:
            return self._parts[0][places]
        if self._map is None:
            return np.empty(0, self.dtype)
        if isinstance(places, slice) and places.step in (None, 1):
            return self._piece(*places.indices(self._rows)[:2])
        if isinstance(places, slice):
            places = np.arange(*places.indices(self._rows))
        whole = np.frombuffer(self._map, self.dtype)
        return gathered(whole, np.asarray(places), self._map)

    def _piece(self, start: int, stop: int) -> NDArray[Any]:
        found = np.empty(max(stop - start, 0), self.dtype)
        if found.nbytes:
            _read(self._file.fileno(), found.view(np.uint8).data, start * self.dtype.itemsize)
        return found

    def close(self) -> None:
        """Give memory and file back."""
        self._parts, self._map = [], None
        if self._file is not None:
            self._file.close()


def gathered(whole: NDArray[Any], places: NDArray[np.int64], pages: Any) -> NDArray[Any]:
    """Return entries of a mapped file, some at a time, each time giving its pages back."""
    found = np.empty((len(places), *whole.shape[1:]), whole.dtype)
    for start in range(0, len(places), DROPPED_ROWS):
        some = slice(start, start + DROPPED_ROWS)
        np.take(whole, places[some], axis=0, out=found[some], mode="wrap")
        if DROP is not None and pages is not None:
            pages.madvise(DROP)
    return found


def no_room(error: OSError, size: int) -> OSError:
    """Return an error that says what to do about a disk that is full."""
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return error
    return OSError(
        error.errno,
        f"The temporary folder {gettempdir()} has no room for the rows, {size / 1e9:.1f} GB of "
        "them so far; nothing is left there. Set the environment variable TMPDIR to a folder on a "
        "larger disk, or give keep='no' to parse the files anew in each pass.",
    )


def _write(file: Any, data: memoryview) -> None:
    while len(data):
        data = data[file.write(data) :]


def _read(number: int, room: memoryview, offset: int) -> None:
    while len(room):
        count = os.preadv(number, [room], offset)
        if count == 0:
            raise OSError("The temporary file of kept rows is shorter than it was. Begin anew.")
        room, offset = room[count:], offset + count
