"""ArrayTable: rows of saved NumPy arrays, read in place."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
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
from bochner.data.files.formats.saved_arrays import archived_arrays, mapped_array
from bochner.data.storage import drop_pages


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
