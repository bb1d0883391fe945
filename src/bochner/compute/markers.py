"""Markers: the cells of a table in text that mean "missing"."""

from __future__ import annotations

import numpy as np


class Markers:
    """Cells that mean "missing": `signs` one after the other, the k-th ending at `ends[k]`.

    `first` says which bytes a marker can begin with.
    """

    def __init__(self, markers: tuple[str, ...]) -> None:
        encoded = [marker.strip(" \t").encode() for marker in markers]
        self.words = frozenset(encoded)
        self.signs = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
        self.ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
        self.first = np.zeros(257, np.bool_)
        self.first[[word[0] if word else 256 for word in encoded]] = True
