"""ArrayTable: rows of saved NumPy arrays, read in place."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from bochner.data.batch import NUMBERS
from bochner.data.files.formats.chunk import Chunk, Coded, UnreadableFile, chunk_rows, split_by_kind
from bochner.data.files.formats.paths import Stamp
from bochner.data.storage import drop_pages

LOCAL_HEADER = struct.Struct("<26xHH")  # of a zip member: lengths of name and extra field


class ArrayTable:
    """One .npy file of rows, or a .npz file of rows `X` and further columns such as `y`.

    Columns have the names "0", "1" and so on. Columns of other arrays in a .npz file have the name
    of the array, followed by a dot and a number if there are several. Arrays are memory-mapped;
    compressed ones are read into memory.
    """

    once = False
    named = False

    def __init__(self, path: str) -> None:
        self.name, self.bytes_read, self.stamp = path, 0, Stamp.of(path)
        arrays = _archived(path) if zipfile.is_zipfile(path) else {"X": _mapped(path, 0)}
        X = arrays.pop(_rows(path, arrays))
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
            coded = tuple(_coded(self.columns[name][rows]) for name in texts)
            lines = np.arange(start + 1, rows.stop + 1, dtype=np.int64)
            self.bytes_read = os.path.getsize(self.name) * rows.stop // self.n_rows
            yield Chunk(found, coded, lines, (), 0, numbers, texts)


def _rows(path: str, arrays: dict[str, NDArray[Any]]) -> str:
    """Return the name of the array of rows."""
    tables = [name for name, array in arrays.items() if array.ndim == 2]
    name = "X" if "X" in tables else tables[0] if len(tables) == 1 else None
    if name is None or arrays[name].dtype.kind not in NUMBERS:
        shapes = ", ".join(f"{key}: {a.dtype} {a.shape}" for key, a in arrays.items())
        raise UnreadableFile(
            f"{path} must hold one array of rows and columns of numbers, called X if there are "
            f"others; it has {shapes or 'none'}. Save one by np.save, or by np.savez(X=, y=)."
        )
    return name


def _mapped(path: str, offset: int) -> NDArray[Any]:
    """Return the array at an offset of a file, memory-mapped."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
            begin = file.tell()
    except ValueError as error:
        raise UnreadableFile(f"{path} is not a file of numpy.save: {error}") from error
    if dtype.hasobject:
        raise UnreadableFile(f"{path} holds Python objects, which are not read. Save numbers.")
    if 0 in shape:
        return np.empty(shape, dtype)
    try:
        return np.memmap(path, dtype, "r", begin, shape, "F" if fortran else "C")
    except ValueError as error:  # the file is shorter than its header says
        raise UnreadableFile(f"{path} is truncated: {error}. Save it again.") from error


def _archived(path: str) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if info.compress_type == zipfile.ZIP_STORED:
                arrays[name] = _mapped(path, _begin(path, info))
            else:
                with archive.open(info) as member:
                    arrays[name] = npy.read_array(member, allow_pickle=False)
    return arrays


def _begin(path: str, info: zipfile.ZipInfo) -> int:
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        name, extras = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
    return info.header_offset + LOCAL_HEADER.size + int(name) + int(extras)


def _coded(texts: NDArray[Any]) -> Coded:
    words, codes = np.unique(texts, return_inverse=True)
    return Coded(codes.astype(np.int64), tuple(map(str, words)))
