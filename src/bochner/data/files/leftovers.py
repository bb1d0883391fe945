"""Leftovers: memory that was freed after reading, but that allocators keep for later."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress


def give_back() -> None:
    """Return freed memory to the system, as far as pyarrow and the C library can.

    What reading has left counts as memory of the process, and a fit has no use for it.
    """
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(AttributeError, OSError):  # the GNU C library has it, others do not
        ctypes.CDLL(None).malloc_trim(0)
