"""Seconds, bytes, counts and versions as text."""

from __future__ import annotations

import math
import os
import platform
from importlib.metadata import PackageNotFoundError, version

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def duration(seconds: float | None) -> str:
    """Return seconds as text: 0.31 s, 12.4 s, 3 min 05 s, 2 h 10 min."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def amount(number: int | None) -> str:
    """Return bytes as text, in powers of ten."""
    if number is None:
        return "–"
    size, unit = float(number), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"


def number(value: float | None) -> str:
    """Return a number with four significant digits, None as a dash."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: 1 row, 2,000 rows."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def versions() -> dict[str, str]:
    """Return the versions of this library and its dependencies, and the system."""
    import bochner

    found = {"bochner": bochner.__version__, "Python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    found["system"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return found
