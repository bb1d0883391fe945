"""Arrays that stay in memory within a budget and go to an unnamed temporary file beyond it.

A file without a name is removed when the process ends, even if it is killed. Pages of a mapped file
count as memory of the process until `drop_pages` returns them to the system.
"""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryFile, gettempdir
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Places = slice | NDArray[np.int64]
DONTNEED = getattr(mmap, "MADV_DONTNEED", None)  # not on every system
GATHERED_ROWS = 64  # read before pages are dropped; each row may bring in two megabytes


class SpillFile:
    """An unnamed temporary file that arrays are appended to."""

    def __init__(self) -> None:
        self._file: Any = TemporaryFile(prefix="bochner-", buffering=0)  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self.size = 0

    def append(self, array: NDArray[Any]) -> int:
        """Write the array at the end and return its offset."""
        offset, data = self.size, np.ascontiguousarray(array)
        _write(self._file, data.reshape(-1).view(np.uint8).data)
        self.size += data.nbytes
        return offset

    def read(self, offset: int, out: NDArray[Any]) -> None:
        """Fill a contiguous array with the bytes from `offset` on, without mapping pages."""
        room = out.view(np.uint8).data
        while len(room):
            count = os.preadv(self._file.fileno(), [room], offset)
            if count == 0:
                raise OSError("The temporary file of stored rows has become shorter. Start again.")
            room, offset = room[count:], offset + count

    def mapped(
        self, dtype: Any, shape: tuple[int, ...], offset: int, order: Literal["C", "F"], mode: Any
    ) -> NDArray[Any]:
        """Return an array of the file, mapped into memory."""
        return np.memmap(self._file, dtype, mode, offset, shape, order)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def _write(file: Any, data: memoryview) -> None:
    while len(data):
        data = data[file.write(data) :]


class GrowingArray:
    """A 1-d array that grows at its end: in memory up to `most_bytes`, then in a file."""

    def __init__(self, dtype: Any, most_bytes: int) -> None:
        self.dtype, self.most_bytes = np.dtype(dtype), most_bytes
        self._parts: list[NDArray[Any]] = []
        self._file: SpillFile | None = None
        self._mapped: NDArray[Any] = np.empty(0, self.dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, part: NDArray[Any]) -> None:
        """Put entries at the end."""
        self._length += len(part)
        self._parts.append(part)
        if self._file is not None or self._length * self.dtype.itemsize > self.most_bytes:
            self._spill()

    def _spill(self) -> None:
        with temporary_file_errors(self._bytes):
            if self._file is None:
                self._file = SpillFile()
            for part in self._parts:
                self._file.append(part)
        self._parts = []

    def finish(self) -> None:
        """Prepare for reading, after the last entry."""
        if self._file is None:
            joined = np.concatenate(self._parts) if self._parts else np.empty(0, self.dtype)
            self._parts = [joined]
        elif self._bytes:
            with temporary_file_errors(self._bytes):
                self._mapped = self._file.mapped(self.dtype, (self._length,), 0, "C", "r")

    @property
    def _bytes(self) -> int:
        return self._length * int(self.dtype.itemsize)

    def take(self, places: Places) -> NDArray[Any]:
        """Return the entries at these places; a slice of an array in memory is a view."""
        if self._file is None:
            return self._parts[0][places]
        if isinstance(places, slice):
            start, stop, step = places.indices(self._length)
            if step == 1:
                found = np.empty(max(stop - start, 0), self.dtype)
                with temporary_file_errors(self._bytes):
                    self._file.read(start * self.dtype.itemsize, found)
                return found
            places = np.arange(start, stop, step)
        return gather_rows(self._mapped, np.asarray(places))

    def close(self) -> None:
        """Release memory and file."""
        self._parts, self._mapped = [], np.empty(0, self.dtype)
        if self._file is not None:
            self._file.close()


class ArrayStore:
    """Arrays in memory up to `memory` bytes in all, then in a file while the disk has room."""

    def __init__(self, memory: int) -> None:
        self.memory, self.used = memory, 0
        self._file: SpillFile | None = None
        self._disk_failed = False

    def put(self, array: Any) -> Any | None:
        """Return the array, a mapped copy of it, or None if neither memory nor disk has room."""
        dense = isinstance(array, np.ndarray)
        parts = (array,) if dense else (array.data, array.indices, array.indptr)
        size = sum(part.nbytes for part in parts)
        if self.used + size <= self.memory:
            self.used += size
            return array
        if not dense or self._disk_failed or 2 * size > _free_disk():
            return None
        try:
            return self._mapped_copy(array)
        except OSError:  # others fill the disk, too: what the file has so far is still good
            self._disk_failed = True
            return None

    def _mapped_copy(self, array: NDArray[Any]) -> NDArray[Any]:
        if self._file is None:
            self._file = SpillFile()
        # A slice of rows of a Fortran-ordered array is not contiguous, but its columns are.
        by_columns = array.ndim == 2 and array.strides[0] == array.itemsize
        offset = self._file.size
        for part in array.T if by_columns else (array,):  # writing through a map would hold pages
            self._file.append(part)
        order: Literal["C", "F"] = "F" if by_columns else "C"
        return self._file.mapped(array.dtype, array.shape, offset, order, "r+")


class RowBuffer:
    """Arrays or CSR matrices stacked by rows; dense ones are copied into one array at once."""

    def __init__(self, rows: int) -> None:
        self.rows, self.filled = rows, 0
        self._space: NDArray[Any] | None = None
        self._parts: list[Any] = []

    def append(self, part: Any) -> None:
        """Put rows below the others."""
        if not isinstance(part, np.ndarray):
            self._parts.append(part)
            return
        if self._space is None:
            order: Any = "F" if part.flags.f_contiguous else "C"
            self._space = np.empty((self.rows, *part.shape[1:]), part.dtype, order)
        self._space[self.filled : self.filled + len(part)] = part
        self.filled += len(part)

    def joined(self) -> Any:
        """Return all rows, contiguous by rows or columns as the parts were."""
        if self._space is None:
            return sp.vstack(self._parts, format="csr")
        rows = self._space[: self.filled]
        return rows if rows.flags.forc else rows.copy(order="K")


def drop_pages(*arrays: Any) -> None:
    """Return the pages of mapped files to the system; other arrays are ignored."""
    for array in arrays:
        if isinstance(array, np.memmap) and DONTNEED is not None:
            array._mmap.madvise(DONTNEED)  # type: ignore[attr-defined]


def gather_rows(array: NDArray[Any], places: NDArray[np.int64]) -> NDArray[Any]:
    """Return a copy of the rows at these places, dropping mapped pages every few rows."""
    found = np.empty((len(places), *array.shape[1:]), array.dtype)
    for start in range(0, len(places), GATHERED_ROWS):
        some = slice(start, start + GATHERED_ROWS)
        np.take(array, places[some], axis=0, out=found[some], mode="wrap")
        drop_pages(array)
    return found


def packed(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return row numbers; consecutive ones as the first of them, repeated without memory."""
    if len(index) < 2 or not (np.diff(index) == 1).all():
        return index
    return np.broadcast_to(index[:1].copy(), index.shape)


def unpacked(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row numbers that `packed` was given."""
    return index + np.arange(len(index)) if index.strides == (0,) else index


def fits(size: int, memory: int) -> bool:
    """Whether `size` bytes can be stored, in memory or on disk."""
    return size <= memory or 2 * size <= _free_disk()


@contextmanager
def temporary_file_errors(size: int) -> Iterator[None]:
    """Say what to do if the temporary file of rows cannot be written or read."""
    try:
        yield
    except OSError as error:
        raise _with_remedy(error, size) from error


def _with_remedy(error: OSError, size: int) -> OSError:
    folder = gettempdir()
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        fault = f"has no room for the rows, {size / 1e9:.1f} GB so far; they were removed"
    elif error.errno is not None:
        fault = f"does not keep the rows: {os.strerror(error.errno)}"
    else:
        return error
    return OSError(
        error.errno,
        f"The temporary folder {folder} {fault}. Set the environment variable TMPDIR to a folder "
        "on another disk with more room, or give keep='no' to parse the files again in each pass.",
    )


def _free_disk() -> int:
    return shutil.disk_usage(gettempdir()).free
