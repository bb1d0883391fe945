"""CSV files of any size: columns of numbers and of text, checked cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from bochner.compute.text.cells import Markers
from bochner.compute.text.csv import Records, records
from bochner.data.files.blocks import Block, File, Input
from bochner.data.files.chunk import Chunk
from bochner.data.files.csv_rows import Layout, RowReader
from bochner.data.files.dialect import Kind, Wish, told

MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?")


class CsvFile:
    """A table as text, one record a line, fields between delimiters, text in quotes if need be.

    Fields may be quoted by ``"``, a quote inside doubled (RFC 4180); records end with a line feed,
    with or without a carriage return before it. Empty lines are ignored. Numbers are decimals such
    as ``-1.5e3``, with blanks around them; what is not one (hexadecimal, digits grouped by commas,
    infinity) makes its row a bad row, and so do too many or too few fields and text that is not
    UTF-8. Nothing is guessed.

    The first megabyte tells the delimiter, the names and the kinds of the columns. A column holds
    numbers if at most a tenth of its cells there does not; those are bad rows.

    Parameters
    ----------
    file : path or binary stream
        A path that ends in ``.gz`` is unpacked while it is read. A stream can be read once.
    name : str, optional
        What errors call the file; its path if not given.
    delimiter : str
        One character, or "auto": a tab, ``;``, ``|`` or ``,``.
    header : bool or "auto"
        Whether the first record holds names. "auto": yes, unless its fields are numbers; if some
        are and some are not, an error asks. Without names columns are called "0", "1", ...;
        a single one without is "unnamed 0", by its place.
    text : sequence of str
        Columns of text, even if they look like numbers; names of no column are not looked at.
    missing : sequence of str
        Cells that mean that a value is missing, in quotes or not, blanks around them ignored.

    Examples
    --------
    >>> import io
    >>> table = CsvFile(io.BytesIO(b"height,kind\\n1.5,oak\\nNA,ash\\n2,oak\\n"), name="trees.csv")
    >>> table.names, table.kinds
    (('height', 'kind'), ('number', 'text'))
    >>> (chunk,) = table.chunks()
    >>> chunk.numbers[:, 0], chunk.texts[0].vocabulary
    (array([1.5, nan, 2. ]), ('oak', 'ash'))
    """

    def __init__(
        self,
        file: File,
        *,
        name: str | None = None,
        delimiter: str = "auto",
        header: bool | str = "auto",
        text: Sequence[str] = (),
        missing: Sequence[str] = MISSING,
    ) -> None:
        self._markers = Markers(tuple(missing))
        self._input = Input(file, name)
        self._dialect = told(self._input, Wish(delimiter, header, text, self._markers))

    @property
    def name(self) -> str:
        """What errors call the file."""
        return self._input.name

    @property
    def once(self) -> bool:
        """Whether the rows can be read once only, as those of a stream."""
        return self._input.once

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._dialect.names

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind of each column, "number" or "text"."""
        return self._dialect.kinds

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Walk over the rows, with these columns or all; other columns are not looked at.

        A chunk comes from about eight megabytes of text, whatever the number of threads. Its
        numbers and its texts are in the order of `columns`.
        """
        layout = Layout.of(self._dialect, columns)
        return self._walk(RowReader(self.name, layout, self._markers))

    def _walk(self, reader: RowReader) -> Iterator[Chunk]:
        skipped = self._dialect.headers
        for block in self._input.blocks(partial(_split, delimiter=self._dialect.delimiter)):
            rest = Block(block.text, block.records[skipped:])
            skipped = 0
            if len(rest.records):
                yield reader.chunk(rest)


def _split(text: NDArray[np.uint8], line: int, delimiter: int) -> Records:
    return records(text, delimiter, line)
