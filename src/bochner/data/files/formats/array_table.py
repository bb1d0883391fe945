"""ArrayTable: rows of NumPy arrays saved as .npy or .npz, read in place."""

from __future__ import annotations

import os
import struct
import sys
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bochner.data.batch import NUMBERS
from bochner.data.files.formats.chunk import (
    Chunk,
    Coded,
    UnreadableFile,
    chunk_rows,
    require_few_columns,
    split_by_kind,
)
from bochner.data.files.formats.paths import Stamp
from bochner.data.files.formats.streams import DAMAGED, Bounded, read_into
from bochner.data.storage import drop_pages

LOCAL_HEADER = struct.Struct("<26xHH")  # of a zip member: lengths of name and extra field
LARGEST_ARRAY = 1 << 62  # NumPy refuses arrays of more bytes, even if a dimension is 0
MOST_DIMENSIONS = 32
PIECE = 1 << 24  # bytes that are read at once


class ArrayTable:
    """One .npy file of rows, or a .npz file of rows `X` and further columns such as `y`.

    Columns have the names "0", "1" and so on. Columns of other arrays in a .npz file have the name
    of the array, followed by a dot and a number if there are several. Arrays are memory-mapped;
    compressed ones are read into memory.
    """

    once = False
    named = False
    time_texts: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, path: str) -> None:
        self.name, self.bytes_read, self.stamp = path, 0, Stamp.of(path)
        arrays = archived_arrays(path) if zipfile.is_zipfile(path) else {"X": mapped_array(path)}
        X = arrays.pop(_rows(path, arrays))
        require_few_columns(X.shape[1], path)
        self.columns = {str(j): X[:, j] for j in range(X.shape[1])}
        for name, array in arrays.items():
            self._add(name, array, len(X))
        self.n_rows = len(X)
        self.names = tuple(self.columns)
        self.features = self.names[: X.shape[1]]
        self.kinds = tuple(
            "number" if column.dtype.kind in NUMBERS else "text" for column in self.columns.values()
        )
        single = X.dtype in (np.float32, np.float16)
        self.singles = frozenset(self.features if single else ())
        self.X = X

    def _add(self, name: str, array: NDArray[Any], rows: int) -> None:
        if array.ndim not in (1, 2) or len(array) != rows or array.dtype.kind not in NUMBERS + "U":
            raise UnreadableFile(
                f"{self.name}: array {name!r} must have one number, or text, for each of {rows} "
                f"rows; it has shape {array.shape} and dtype {array.dtype}. Leave it out."
            )
        if array.ndim == 1:
            self.columns[name] = array
        else:
            self.columns |= {f"{name}.{j}": array[:, j] for j in range(array.shape[1])}

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the rows of these columns, numbered from 1."""
        numbers, texts = split_by_kind(self, columns)
        step = chunk_rows(len(numbers) + len(texts))
        for start in range(0, self.n_rows, step):
            self.stamp.require_unchanged()  # reading beyond the end of a mapped file crashes
            rows = slice(start, min(start + step, self.n_rows))
            found = np.empty((rows.stop - start, len(numbers)))
            for place, name in enumerate(numbers):
                found[:, place] = self.columns[name][rows]
            drop_pages(self.X)
            coded = tuple(self._coded(name, rows) for name in texts)
            lines = np.arange(start + 1, rows.stop + 1, dtype=np.int64)
            self.bytes_read = os.path.getsize(self.name) * rows.stop // self.n_rows
            yield Chunk(found, coded, lines, (), 0, numbers, texts)

    def _coded(self, name: str, rows: slice) -> Coded:
        texts = self.columns[name][rows]
        native = np.ascontiguousarray(texts, texts.dtype.newbyteorder("="))
        if native.view(np.uint32).max(initial=0) > sys.maxunicode:
            raise UnreadableFile(
                f"{self.name}: array {name!r} holds text that is not Unicode, so it is damaged. "
                "Save it again."
            )
        words, codes = np.unique(native, return_inverse=True)
        return Coded(codes.astype(np.int64), tuple(map(str, words)))


def _rows(path: str, arrays: dict[str, NDArray[Any]]) -> str:
    """Return the name of the array of rows."""
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    name = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
    if name is None or arrays[name].dtype.kind not in NUMBERS:
        shapes = ", ".join(f"{key}: {a.dtype} {a.shape}" for key, a in arrays.items())
        raise UnreadableFile(
            f"{path} must hold one array of rows and columns of numbers, called X if there are "
            f"others; it has {shapes or 'none'}. Save one array by numpy.save, or X and y by "
            "numpy.savez."
        )
    return name


@dataclass(frozen=True)
class ArrayHeader:
    """What the header of an array says, and where its bytes begin."""

    shape: tuple[int, ...]
    order: Any
    dtype: np.dtype[Any]
    begin: int

    @property
    def n_bytes(self) -> int:
        """The bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize


def mapped_array(path: str, offset: int = 0) -> NDArray[Any]:
    """Return the array at an offset of a file, memory-mapped."""
    with open(path, "rb") as file:
        file.seek(offset)
        header = _header(file, path)
        size = os.fstat(file.fileno()).st_size
    if header.n_bytes > size - header.begin:
        raise _truncated(path, header, size - header.begin)
    if header.n_bytes == 0:
        return np.empty(header.shape, header.dtype)
    return np.memmap(path, header.dtype, "r", header.begin, header.shape, header.order)


def archived_arrays(path: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz file by their names; compressed ones are read into memory."""
    with _undamaged(path), zipfile.ZipFile(path) as archive:
        return {
            info.filename.removesuffix(".npy"): _member(archive, info, path)
            for info in archive.infolist()
        }


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: str) -> NDArray[Any]:
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
        return mapped_array(path, _begin(path, info))
    with archive.open(info) as member:
        header = _header(member, path)
        stream = Bounded(member, path, os.path.getsize(path))
        found = bytearray()
        while len(found) < header.n_bytes:  # memory grows with what there is, not what is claimed
            piece = bytearray(min(PIECE, header.n_bytes - len(found)))
            count = read_into(stream, memoryview(piece))
            found += memoryview(piece)[:count]
            if count < len(piece):
                raise _truncated(path, header, len(found))
    flat = np.frombuffer(found, header.dtype) if found else np.empty(0, header.dtype)
    return flat.reshape(header.shape, order=header.order)


def _begin(path: str, info: zipfile.ZipInfo) -> int:
    """Return where the bytes of a member begin that is not compressed."""
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        name, extras = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return info.header_offset + LOCAL_HEADER.size + int(name) + int(extras)


def _header(file: Any, path: str) -> ArrayHeader:
    with _undamaged(path):
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        try:
            with warnings.catch_warnings(action="ignore"):  # of headers that Python 2 wrote
                shape, fortran, dtype = read(file)
        except Exception as error:  # any that Python's own parser has
            reason = str(error).partition("\n")[0][:100] or type(error).__name__
            raise UnreadableFile(
                f"{path} is not a file of numpy.save: its header is damaged ({reason}). Save it "
                "again."
            ) from error
    if dtype.hasobject:
        raise UnreadableFile(f"{path} holds Python objects, which are not read. Save numbers.")
    n_bytes = prod(n or 1 for n in shape) * dtype.itemsize
    possible = min(shape, default=0) >= 0 and n_bytes < LARGEST_ARRAY
    if not possible or dtype.itemsize == 0 or len(shape) > MOST_DIMENSIONS:
        raise UnreadableFile(
            f"{path} must hold an array of rows and columns of numbers; its header says "
            f"{str(dtype)[:40]} {str(shape)[:80]}. Save one by numpy.save."
        )
    return ArrayHeader(shape, "F" if fortran else "C", dtype, file.tell())


def _truncated(path: str, header: ArrayHeader, there: int) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is truncated: its header says {header.dtype} {header.shape}, which takes "
        f"{header.n_bytes:,} bytes, but it has {max(there, 0):,}. Save it again."
    )


@contextmanager
def _undamaged(path: str) -> Iterator[None]:
    """Raise an UnreadableFile in place of the errors of NumPy and of zip archives."""
    try:
        yield
    except UnreadableFile:
        raise
    except (*DAMAGED, ValueError, struct.error, RuntimeError, KeyError) as error:
        raise _not_saved(path, error) from error
    except OSError as error:
        if error.filename is not None:
            raise  # the system's, about the file itself
        raise _not_saved(path, error) from error


def _not_saved(path: str, error: Exception) -> UnreadableFile:
    return UnreadableFile(
        f"{path} is not a complete file of numpy.save or numpy.savez: {error}. Save it again."
    )
