"""Columns of text become codes and a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bochner.compute.text.cells import Markers, codes
from bochner.data.files.chunk import Coded
from bochner.data.files.dialect import content


@dataclass(frozen=True)
class Column:
    """A column of text: row i holds words[codes[i]]."""

    codes: NDArray[np.int64]
    words: list[bytes]

    @classmethod
    def of(
        cls, text: NDArray[np.uint8], starts: NDArray[np.int32], stops: NDArray[np.int32]
    ) -> Column:
        """Return the column of the cells text[start:stop]."""
        starts, stops = np.ascontiguousarray(starts), np.ascontiguousarray(stops)
        rows, firsts = codes(text, starts, stops)
        return cls(rows, [content(text, starts[k], stops[k]) for k in firsts])

    @property
    def foreign(self) -> NDArray[np.bool_]:
        """The rows that do not hold UTF-8."""
        return np.array([_text(word) is None for word in self.words], np.bool_)[self.codes]

    def decoded(self, markers: Markers) -> Coded:
        """Return the column with missing values, and with equal texts told by one code.

        Two cells may be different bytes and equal texts: one in quotes, with a quote in it.
        """
        vocabulary: dict[str, int] = {}
        places = [
            -1
            if word.strip(b" \t") in markers.words
            else vocabulary.setdefault(word.decode(), len(vocabulary))
            for word in self.words
        ]
        return Coded(np.array(places, np.int64)[self.codes], tuple(vocabulary))


def _text(word: bytes) -> str | None:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return None
