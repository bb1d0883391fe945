"""Times as numbers: years since 1970, and the sine and cosine of three cycles of the calendar.

A column of times is read as days since 1970-01-01, and becomes a column of years, which keeps its
name, followed by two columns for each cycle that varies: the hour of the day, the day of the week
and the day of the year as points on a circle, so that 23:59 is near 00:00. Times with a zone are
taken in UTC, so that a moment is one number wherever it was written; times without a zone are taken
as they are. Years are of the size of the cycles, so that neither hides the other from a kernel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

Parts = tuple[str | None, ...]  # of each column: None if it is not of times

LOCAL, ZONED = "time", "time in UTC"  # the first part, of times without and with a zone
CYCLES = ("hour", "weekday", "day of the year")
PAIRS = tuple((f"sine of the {cycle}", f"cosine of the {cycle}") for cycle in CYCLES)
CYCLIC = tuple(part for pair in PAIRS for part in pair)
KNOWN = (None, LOCAL, ZONED, *CYCLIC)

ISO = re.compile(
    r"\s*(?P<time>\d{4}-\d{2}-\d{2}"
    r"(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?)\s*"
)
# Dates in other notations: 31.12.2024, 12/31/24, 2024/12/31, 31 Dec 2024, December 31, 2024.
OTHER_DATE = re.compile(
    r"\s*(\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{1,2}/\d{1,2}/\d{2}|\d{4}[./]\d{1,2}[./]\d{1,2}"
    r"|\d{1,2}[ -][A-Za-z]{3,9}\.?[ ,-]+\d{4}|[A-Za-z]{3,9}\.? \d{1,2},? +\d{4})([T ,].*)?\s*"
)
LIKE = "a date or time like 2024-01-31 or 2024-01-31 12:30"
LIKE_ZONED = "a time with its zone like 2024-01-31T12:30Z or 2024-01-31 12:30+01:00"
SNIFFED_CELLS = 1000  # of a column of text, which show whether it holds times
TOLERATED = 0.1  # fraction of them that may be something else
EPOCH, DAY = datetime(1970, 1, 1), timedelta(1)
DAYS_OF_YEAR = 365.2425  # on average, in the Gregorian calendar
MILLISECONDS = 86_400_000
MONDAY = 3  # the days from a Monday to 1970-01-01, a Thursday


def expected_time(first: str) -> str:
    """Return what is expected in a column of times, for errors."""
    return LIKE_ZONED if first == ZONED else LIKE


def kind_of_texts(texts: Iterable[str]) -> str | None:
    """Return LOCAL or ZONED if nearly all texts are times, None if not.

    >>> kind_of_texts(["2024-01-31", "2024-02-01 12:30"]), kind_of_texts(["oak", "2024-01-31"])
    ('time', None)
    """
    found = [ISO.fullmatch(text) for text in texts]
    times = [match for match in found if match is not None]
    if not times or len(times) < (1 - TOLERATED) * len(found):
        return None
    zoned = sum(match["zone"] is not None for match in times)
    return ZONED if 2 * zoned > len(times) else LOCAL


def other_date(texts: Sequence[str]) -> str | None:
    """Return a date in another notation if nearly all texts are such dates, None if not."""
    dates = [text for text in texts if OTHER_DATE.fullmatch(text)]
    return dates[0] if dates and len(dates) >= (1 - TOLERATED) * len(texts) else None


def days_of_text(text: str, first: str) -> float:
    """Return a text as days since 1970, infinity if it is no such time.

    >>> days_of_text("1970-01-02 12:00", LOCAL), days_of_text("soon", LOCAL)
    (1.5, inf)
    """
    match = ISO.fullmatch(text)
    if match is None or (match["zone"] is not None) != (first == ZONED):
        return math.inf
    try:
        return days_of_moment(datetime.fromisoformat(match["time"]))
    except ValueError:  # such as February 30
        return math.inf


def days_of_moment(moment: date) -> float:
    """Return a date or time as days since 1970, in UTC if it has a zone."""
    if not isinstance(moment, datetime):
        return float((moment - EPOCH.date()).days)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    since = moment - EPOCH
    return since.days + (since - timedelta(since.days)) / DAY


def days_of_array(times: NDArray[Any]) -> NDArray[np.float64]:
    """Return an array of datetime64 as days since 1970, NaN for NaT."""
    days = times.astype("M8[D]")  # days and the rest, since all nanoseconds do not fit into float64
    rest = (times - days) / np.timedelta64(1, "D")
    return np.where(np.isnat(times), np.nan, days.view(np.int64) + rest)


def texts_of_days(days: NDArray[np.float64]) -> NDArray[Any]:
    """Return days since 1970 as texts to the second, None where they are missing."""
    known = np.where(np.isfinite(days), days, 0.0)
    seconds = np.rint(known * 86_400).astype(np.int64).astype("M8[s]")
    texts = np.datetime_as_string(seconds).astype(object)
    return np.where(np.isfinite(days), texts, np.array(None))


def expanded(X: Any, parts: Parts) -> Any:
    """Return rows whose columns of days since 1970 are years, followed by their other parts."""
    if not any(parts):
        return X
    columns: list[Any] = []
    place = -1
    for part in parts:
        place += part not in CYCLIC
        days = X[:, place]
        columns.append(days if part is None else PART_VALUES[part](days))
    return np.stack(columns, axis=1)


def names_of(names: Sequence[Any], parts: Parts) -> tuple[Any, ...]:
    """Return the names of expanded columns.

    >>> names_of(("sold", "size"), (LOCAL, *PAIRS[1], None))
    ('sold', 'sold: sine of the weekday', 'sold: cosine of the weekday', 'size')
    """
    found: list[Any] = []
    given = iter(names)
    for part in parts:
        if part not in CYCLIC:
            name = next(given)
        found.append(f"{name}: {part}" if part in CYCLIC else name)
    return tuple(found)


def given_columns(values: Sequence[Any], parts: Parts) -> tuple[Any, ...]:
    """Return the values that belong to columns as they were given, before times are expanded."""
    if not parts:
        return tuple(values)
    return tuple(v for v, part in zip(values, parts, strict=True) if part not in CYCLIC)


def of_parts(names: Sequence[Any], parts: Parts) -> dict[Any, tuple[str, ...]]:
    """Return the parts of each column of times by its name."""
    found: dict[Any, list[str]] = {}
    last: list[str] = []
    for name, part in zip(names, parts, strict=False):  # `are_parts` says whether they fit
        if part in (LOCAL, ZONED):
            last = found.setdefault(name, [])
        if part is not None:
            last.append(part)
    return {name: tuple(some) for name, some in found.items()}


def are_parts(parts: Any, columns: int) -> bool:
    """Whether these can be the parts of so many columns, as a file may say they are."""
    if not isinstance(parts, tuple) or len(parts) not in (0, columns):
        return False
    after_times = False
    for part in parts:
        if part not in KNOWN or (part in CYCLIC and not after_times):
            return False
        after_times = part is not None
    return True


def all_parts(firsts: Iterable[str | None]) -> Parts:
    """Return all parts of columns; `firsts` is LOCAL or ZONED for each that holds times."""
    return tuple(p for first in firsts for p in ((first, *CYCLIC) if first else (None,)))


def varying(parts: Parts, low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which of all parts to keep, by their ranges: cycles that vary, and what is no cycle.

    The sine and the cosine of a cycle are kept or left out together.
    """
    keep, moves = np.array([part not in CYCLIC for part in parts]), high > low
    for j in (j for j, part in enumerate(parts) if part in CYCLIC[::2]):
        keep[j : j + 2] = moves[j : j + 2].any()
    return keep


def ranges(X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the least and the largest number of each column, NaN if all are missing."""
    return np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)


def _hour(days: NDArray[np.float64]) -> NDArray[np.float64]:
    # Rounded, so that one time on different days is one number.
    return np.rint((days - np.floor(days)) * MILLISECONDS) / MILLISECONDS


def _weekday(days: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((np.floor(days) + MONDAY) % 7 / 7)


def _day_of_year(days: NDArray[np.float64]) -> NDArray[np.float64]:
    known = np.isfinite(days)
    day = np.where(known, np.floor(days), 0.0).astype(np.int64).astype("M8[D]")
    year = day.astype("M8[Y]")
    begin, end = year.astype("M8[D]"), (year + np.timedelta64(1, "Y")).astype("M8[D]")
    return np.where(known, (day - begin) / (end - begin), np.nan)


def _wave(wave: Any, phase: Callable[[Any], NDArray[np.float64]]) -> Callable[[Any], Any]:
    return lambda days: wave(2 * np.pi * phase(np.asarray(days, np.float64)))


def _years(days: Any) -> Any:
    return days / DAYS_OF_YEAR


PART_VALUES: dict[str, Callable[[Any], Any]] = {LOCAL: _years, ZONED: _years} | {
    part: _wave(wave, phase)
    for pair, phase in zip(PAIRS, (_hour, _weekday, _day_of_year), strict=True)
    for part, wave in zip(pair, (np.sin, np.cos), strict=True)
}
