"""Numbers, times and sizes as text, and errors whose words depend on who reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cached_property
from math import isfinite
from typing import Any

NOTHING = "–"
MOST_NAMED = 8  # columns in a message


def number(value: float | None) -> str:
    """Return a number with four significant digits, None as a dash."""
    return NOTHING if value is None or not isfinite(value) else f"{value:.4g}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: 1 row, 2,000 rows."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def duration(seconds: float | None) -> str:
    """Return a time as text; a dash for None, NaN and infinity.

    >>> duration(0.42), duration(75), duration(7300)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds is None or not isfinite(seconds):
        return NOTHING
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def rough_duration(seconds: float) -> str:
    """Return an estimated time as text, to the second or minute.

    >>> rough_duration(0.42), rough_duration(75), rough_duration(7300)
    ('a second', '75 seconds', '122 minutes')
    """
    if seconds < 1.5:
        return "a second"
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def amount(size: float | None) -> str:
    """Return a number of bytes as text, in powers of ten; a dash for None.

    >>> amount(512), amount(2_500_000)
    ('512 bytes', '2.5 MB')
    """
    if size is None:
        return NOTHING
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.0f} bytes"


def did_you_mean(given: Any, known: Iterable[Any]) -> str:
    """Return a question about the known name nearest to a given one, "" if none is near.

    >>> did_you_mean("status", ["Status", "age"]), did_you_mean("price", ["Status", "age"])
    (" Did you mean 'Status'?", '')
    """
    names = {str(name).casefold(): name for name in known if isinstance(name, str)}
    near = get_close_matches(str(given).casefold(), names, n=1, cutoff=0.7)
    return f" Did you mean {names[near[0]]!r}?" if isinstance(given, str) and near else ""


class AdvisedError(ValueError):
    """An error whose advice is another one on the command line, where nobody writes Python.

    Parameters
    ----------
    fault : str
        What is needed and what was given; ``{columns}`` stands for the columns, and ``{names}`` in
        the advice for the list of their names.
    python, command : str
        What to do, in Python and on the command line. An argument is written as in Python in both:
        ``features='binning'``.
    columns : sequence of int
        The columns that are at fault, whose names the estimator may know.

    Examples
    --------
    >>> error = AdvisedError("{columns} holds text.", "Encode it.", "Drop it.", columns=[1])
    >>> str(error), str(error.with_names(["height", "tree"]).in_command)
    ('Column 1 holds text. Encode it.', "Column 'tree' holds text. Drop it.")
    """

    def __init__(
        self, fault: str, python: str, command: str | None = None, columns: Sequence[int] = ()
    ) -> None:
        self.fault, self.advice, self.columns = fault, (python, command or python), tuple(columns)
        super().__init__(self._message(self.advice[0], None))

    def with_names(self, names: Sequence[object]) -> AdvisedError:
        """Return the error with the names of its columns."""
        error = AdvisedError(self.fault, *self.advice, self.columns)
        error.args = (self._message(self.advice[0], names),)
        error.in_command = self._message(self.advice[1], names)
        return error

    @cached_property
    def in_command(self) -> str:
        """The message on the command line."""
        return self._message(self.advice[1], None)

    def _message(self, advice: str, names: Sequence[object] | None) -> str:
        of = [str(j) if names is None else repr(names[j]) for j in self.columns[:MOST_NAMED]]
        more = len(self.columns) - MOST_NAMED
        named = f"{'Column' if len(of) == 1 else 'Columns'} {', '.join(of)}"
        named += f" and {more:,} more" if more > 0 else ""
        listed = [str(j) if names is None else str(names[j]) for j in self.columns]
        return f"{self.fault} {advice}".replace("{columns}", named).replace("{names}", repr(listed))
