"""How numbers and counts are written on a page, and versions."""

from __future__ import annotations

import math
import os
import platform
from importlib.metadata import PackageNotFoundError, version

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


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
