"""Store: codes of rows in memory or in a temporary file, and blocks that they are made in."""

from __future__ import annotations

import mmap
import shutil
import weakref
from tempfile import TemporaryFile, gettempdir
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

DROP = getattr(mmap, "MADV_DONTNEED", None)  # where the system has it


class CodeBlock:
    """Codes of pieces of a batch, put together; arrays are written where they belong at once."""

    def __init__(self, rows: int) -> None:
        self.rows, self.filled = rows, 0
        self._space: NDArray[Any] | None = None
        self._parts: list[Any] = []

    def add(self, code: Any) -> None:
        """Put a piece's code below the others."""
        if not isinstance(code, np.ndarray):
            self._parts.append(code)
            return
        if self._space is None:
            order: Any = "F" if code.flags.f_contiguous else "C"
            self._space = np.empty((self.rows, *code.shape[1:]), code.dtype, order)
        self._space[self.filled : self.filled + len(code)] = code
        self.filled += len(code)

    def joined(self) -> Any:
        """Return the code of all rows; room that was not needed has never been touched."""
        if self._space is None:
            return sp.vstack(self._parts, format="csr")
        return self._space[: self.filled]


class Store:
    """Arrays in memory up to a number of bytes, then in a temporary file, as far as that goes."""

    def __init__(self, memory: int) -> None:
        self.memory, self.used = memory, 0
        self._file: Any = None

    def put(self, array: Any) -> Any | None:
        """Return the array, a copy of it in the file, or None if there is no room for it."""
        size = array.nbytes if isinstance(array, np.ndarray) else _bytes(array)
        if self.used + size <= self.memory:
            self.used += size
            return array
        if not isinstance(array, np.ndarray) or 2 * size > _free_disk():
            return None
        if self._file is None:
            self._file = TemporaryFile(prefix="bochner-")  # noqa: SIM115 - it outlives this call
            weakref.finalize(self, self._file.close)
        # Some rows of an array whose columns are contiguous are neither: their columns still are.
        columns = array.ndim == 2 and array.strides[0] == array.itemsize
        order: Any = "F" if columns else "C"
        offset = self._file.seek(0, 2)
        for part in array.T if columns else (array,):  # writing to mapped pages would hold them
            self._file.write(np.ascontiguousarray(part).data)
        self._file.flush()
        return np.memmap(self._file, array.dtype, "r+", offset, array.shape, order)


def drop_pages(*arrays: Any) -> None:
    """Give the pages of mapped files back, which else count as memory of this process."""
    for array in arrays:
        if isinstance(array, np.memmap) and DROP is not None:
            array._mmap.madvise(DROP)  # type: ignore[attr-defined]


def packed(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return row numbers, consecutive ones as the first of them without length in memory."""
    if len(index) < 2 or not (np.diff(index) == 1).all():
        return index
    return np.broadcast_to(index[:1].copy(), index.shape)


def unpacked(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row numbers that were packed."""
    return index + np.arange(len(index)) if index.strides == (0,) else index


def fits(size: int, memory: int) -> bool:
    """Whether so many bytes can be kept, in memory or on disk."""
    return size <= memory or 2 * size <= _free_disk()


def _bytes(rows: Any) -> int:
    """Return the bytes of CSR rows."""
    return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)


def _free_disk() -> int:
    return shutil.disk_usage(gettempdir()).free
