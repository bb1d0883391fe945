"""Limit BLAS to one thread while the pool's threads share the work."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def single_blas() -> Iterator[None]:
    """Limit BLAS to one thread in this context."""
    own = _blas.hold()
    try:
        yield
    finally:
        _blas.release(own)


class _Blas:
    """The BLAS libraries, limited to one thread.

    Some count their threads separately for each calling thread: every holder sets and restores its
    own number. Others have one number for all threads: the first holder sets it, and the last one
    to leave, perhaps in another thread, restores it.
    """

    def __init__(self) -> None:
        self.lock, self.holders = Lock(), 0
        self.found: list[tuple[Any, int]] = []

    @cached_property
    def libraries(self) -> tuple[list[Any], list[Any]]:
        """Libraries with a common number of threads, and those with one for each thread."""
        blas = ThreadpoolController().select(user_api="blas").lib_controllers
        each = [library for library in blas if _counts_for_each_thread(library)]
        return [library for library in blas if library not in each], each

    def hold(self) -> list[tuple[Any, int]]:
        with self.lock:
            shared, each = self.libraries
            if self.holders == 0:
                self.found = _limited(shared)
            self.holders += 1
        return _limited(each)

    def release(self, own: list[tuple[Any, int]]) -> None:
        _restore(own)
        with self.lock:
            self.holders -= 1
            if self.holders == 0:
                _restore(self.found)


def _counts_for_each_thread(library: Any) -> bool:
    layer = library.info().get("threading_layer")
    return bool(library.internal_api == "mkl" or layer == "openmp")


def _limited(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Limit libraries to one thread and return their previous numbers."""
    found = [(library, library.get_num_threads()) for library in libraries]
    _restore([(library, 1) for library in libraries])
    return found


def _restore(numbers: list[tuple[Any, int]]) -> None:
    for library, number in numbers:
        # threadpoolctl 3.8 lets only the first thread change OpenBLAS and ignores others; here
        # another thread may restore the number.
        free = getattr(library, "clear_controlling_thread", lambda force: None)
        free(force=True)
        library.set_num_threads(number)
        free(force=True)


def _begin() -> None:
    """Reset: a forked process may inherit a lock that no thread releases."""
    global _blas
    _blas = _Blas()


_blas: _Blas
_begin()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)
