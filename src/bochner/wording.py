"""Numbers, times and sizes as text, for plans, reports and the command line."""

from __future__ import annotations

from math import isfinite

NOTHING = "–"


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
