"""Vocabulary: the texts of a column, numbered as they are met and sorted at the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bochner.data.files.formats.chunk import Coded
from bochner.data.files.schema.schema import MISSING_TEXT

MOST = 100_000  # different texts; more are names, not categories


class Vocabulary:
    """Texts of one column by number; what is missing is a text of that name.

    Parameters
    ----------
    column : str
        For errors.
    known : sequence of str or None
        The categories that there are: others get their number, as one beyond. None means that
        texts are numbered as they are met.
    """

    def __init__(self, column: str, known: Sequence[str] | None = None) -> None:
        self.column, self.open = column, known is None
        self.places = {text: place for place, text in enumerate(known or ())}
        self._beyond = len(self.places)
        self._numeric = known is not None and all(_as_number(text) == text for text in known)

    def codes(self, coded: Coded) -> NDArray[np.int64]:
        """Return the numbers of texts that were numbered in another way."""
        number = np.empty(len(coded.vocabulary) + 1, np.int64)
        occurring = np.flatnonzero(np.bincount(coded.codes + 1, minlength=len(number)))
        for place in occurring.tolist():  # 0 stands for what is missing
            number[place] = self._place(coded.vocabulary[place - 1] if place else MISSING_TEXT)
        return number[coded.codes + 1]

    def _place(self, text: str) -> int:
        if not self.open:
            meant = (_as_number(text) if self._numeric else None) or text
            return self.places.get(meant, self._beyond)
        place = self.places.setdefault(text, len(self.places))
        if place >= MOST:
            raise ValueError(
                f"Column {self.column!r} has more than {MOST} different texts: these are names of "
                f"rows, not categories. Leave it out by drop=[{self.column!r}]."
            )
        return place

    def sorted(self) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """Return the categories, sorted, and for each number that was given its place there.

        Where all texts are numbers, 1, 1.0 and 01 are one category, as in a data frame.
        """
        texts = [text for text in self.places if text != MISSING_TEXT]
        numeric = all(_as_number(text) is not None for text in texts)
        meant = [str(_as_number(t) or t) if numeric else t for t in self.places]
        categories = tuple(sorted(set(meant)))
        place = {text: number for number, text in enumerate(categories)}
        return categories, np.array([place[text] for text in meant], np.int64)


def _as_number(text: str) -> str | None:
    """Return a number as data frames with categories name it, None for other text."""
    if text == MISSING_TEXT:
        return text
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    return str(int(number)) if number.is_integer() else str(number)
