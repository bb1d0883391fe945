"""The memory budget: how many bytes may hold values that could be computed again."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

DECIMAL_UNITS = {unit: 1000**power for power, unit in enumerate(["", *"kmgt"])}
BINARY_UNITS = {f"{unit}i": 1024**power for power, unit in enumerate("kmgt", start=1)}
UNKNOWN = 2 * 1024**3  # assumed if the system does not report it
NUMBER = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
GROUPS = Path("/sys/fs/cgroup")


def memory_budget(given: int | str | None = None) -> int:
    """Return a number of bytes: the given one, or half of the free memory for None.

    Examples
    --------
    >>> from bochner.compute.memory import memory_budget
    >>> memory_budget("2GB"), memory_budget("512 MiB"), memory_budget(1000)
    (2000000000, 536870912, 1000)
    """
    if given is None:
        return free_memory() // 2
    if isinstance(given, str):
        return _parsed(given)
    if isinstance(given, bool) or int(given) != given or given < 0:
        raise ValueError(_expectation(given))
    return int(given)


def free_memory() -> int:
    """Return the bytes that this process can still allocate without swapping."""
    return max(0, min([_free_in_system(), *_free_in_groups()]))


def _parsed(text: str) -> int:
    match = NUMBER.fullmatch(text)
    scale = (DECIMAL_UNITS | BINARY_UNITS).get(match[2].lower()) if match else None
    if match is None or scale is None:
        raise ValueError(_expectation(text))
    return int(float(match[1]) * scale)


def _expectation(given: object) -> str:
    return (
        "memory_budget must be None (half of the free memory), a number of bytes or a text such as "
        f"'2GB' or '512MiB'; got {given!r}."
    )


def _free_in_system() -> int:
    try:
        text = Path("/proc/meminfo").read_text()
        return int(text.split("MemAvailable:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        return _free_pages()


def _free_pages() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _free_in_groups() -> Iterator[int]:
    """Yield the free memory of the control groups of this process (containers); Linux only."""
    for folder in _groups():
        for limit, usage, idle in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            try:
                most, used = (int((folder / name).read_text()) for name in (limit, usage))
                yield most - used + _idle(folder, idle)
            except (OSError, ValueError):  # no such file, or "max": no limit
                continue


def _groups() -> Iterator[Path]:
    """Yield the folders of the memory groups of this process, innermost first."""
    try:
        lines = Path("/proc/self/cgroup").read_text().split()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = GROUPS / "memory" if controllers else GROUPS
        inner = root / path.lstrip("/")
        yield from (folder for folder in (inner, *inner.parents) if folder.is_relative_to(root))


def _idle(folder: Path, name: str) -> int:
    """Return the bytes of cached files, which count as used but can be reclaimed."""
    words = (folder / "memory.stat").read_text().split()
    return int(words[words.index(name) + 1])


def release_freed() -> None:
    """Return freed memory to the system, as far as pyarrow and the C library support it.

    Otherwise memory that was used for reading counts as memory of the process during the fit.
    """
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):  # only the GNU C library has it
        ctypes.CDLL(None).malloc_trim(0)
