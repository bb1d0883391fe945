"""Files of sparse rows in the form of SVMlight and LIBSVM: label index:value index:value ..."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bochner.compute.text.csv import Records, records
from bochner.compute.text.svmlight import pairs
from bochner.data.files.blocks import File, Input
from bochner.data.files.chunk import SparseChunk
from bochner.data.files.svmlight_rows import SparseReader


class SvmlightFile:
    """Sparse rows as text, one a line: ``label index:value index:value ... # comment``.

    Indices must increase within a row. Query numbers (``qid:3``) and comments are ignored. Rows
    with several labels are bad rows.

    Parameters
    ----------
    file : path or binary stream
        A path that ends in ``.gz`` is unpacked while it is read. A stream can be read once.
    name : str, optional
        What errors call the file; its path if not given.
    zero_based : bool or "auto"
        Whether the first column is called 0, and not 1. "auto": if an index 0 stands in the first
        megabyte. An index 0 further on makes its row a bad row.

    Examples
    --------
    >>> import io
    >>> rows = SvmlightFile(io.BytesIO(b"+1 1:0.5 3:2\\n-1 2:1.5 # a comment\\n"))
    >>> (chunk,) = rows.chunks()
    >>> chunk.labels
    array([ 1., -1.])
    >>> chunk.matrix(3).toarray()
    array([[0.5, 0. , 2. ],
           [0. , 1.5, 0. ]])
    """

    def __init__(
        self, file: File, *, name: str | None = None, zero_based: bool | str = "auto"
    ) -> None:
        if zero_based not in ("auto", True, False):
            raise ValueError(f'zero_based must be "auto", True or False; got {zero_based!r}.')
        self._input = Input(file, name)
        zero = self._input.look(_has_zero)
        self.zero_based = zero if zero_based == "auto" else bool(zero_based)

    @property
    def name(self) -> str:
        """What errors call the file."""
        return self._input.name

    @property
    def once(self) -> bool:
        """Whether the rows can be read once only, as those of a stream."""
        return self._input.once

    def chunks(self) -> Iterator[SparseChunk]:
        """Walk over the rows. A chunk comes from about eight megabytes of text."""
        reader = SparseReader(self.name, 0 if self.zero_based else 1)
        for block in self._input.blocks(_lines):
            chunk = reader.chunk(block)
            if len(chunk) or chunk.n_bad:
                yield chunk


def _lines(text: NDArray[np.uint8], line: int) -> Records:
    return records(text, None, line)


def _has_zero(text: NDArray[np.uint8]) -> bool | None:
    """Return whether an index is 0, None if no line ends in the text."""
    lines = records(text, None, 1)
    return bool((pairs(text, lines, 0).indices == 0).any()) if len(lines) else None
