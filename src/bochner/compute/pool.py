"""The one pool of threads: work on tiles of rows, with BLAS held to one thread meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

Work = Callable[[int, int], Any]
MOST_THREADS = 1024  # threads start when they are needed, so a high ceiling costs nothing

_thread_limit: ContextVar[int | None] = ContextVar("thread_limit", default=None)
_inside_tile: ContextVar[bool] = ContextVar("inside_tile", default=False)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Use at most `n_jobs` threads in this context; None or -1 means all available cores."""
    valid = n_jobs is None or n_jobs == -1 or n_jobs >= 1
    if not valid:
        raise ValueError(
            "n_jobs must be a positive number of threads, or None or -1 for all cores; "
            f"got {n_jobs!r}."
        )
    token = _thread_limit.set(None if n_jobs == -1 else n_jobs)
    try:
        yield
    finally:
        _thread_limit.reset(token)


def available_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """Return the number of threads that a call may use here and now."""
    return 1 if _inside_tile.get() else _thread_limit.get() or available_cores()


def each_tile(work: Work, rows: int, tile: int) -> None:
    """Call work(start, stop) for every tile [start, stop) of range(rows), on the pool.

    The tiles are handed out in order and must write to different places; then the result does
    not depend on the number of threads. Calls from within a tile run in the calling thread.
    """
    walk = _Walk(work, rows, tile)
    helpers = min(thread_count(), -(-rows // tile)) - 1
    _share(walk, helpers)


def sum_tiles(work: Work, rows: int, tile: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Add the arrays work(start, stop) of all tiles, in the order of the tiles, in float64.

    An array waits for those before it, so the sum is the same for any number of threads.
    """
    total = np.zeros(shape)
    waiting: dict[int, NDArray[Any]] = {}
    expected, lock = 0, Lock()

    def add(start: int, stop: int) -> None:
        nonlocal expected, total
        part = work(start, stop)
        with lock:
            waiting[start] = part
            while expected in waiting:
                total += waiting.pop(expected)
                expected += tile

    each_tile(add, rows, tile)
    return total


@contextmanager
def single_blas() -> Iterator[None]:
    """Hold BLAS to one thread in this context."""
    own = _blas.hold()
    try:
        yield
    finally:
        _blas.release(own)


class _Walk:
    """The tiles of one call, taken one by one by the threads that share them."""

    def __init__(self, work: Work, rows: int, tile: int) -> None:
        self.work, self.rows, self.tile = work, rows, tile
        self.next, self.stopped, self.lock = 0, False, Lock()

    def run(self) -> None:
        token = _inside_tile.set(True)
        try:
            with single_blas():
                while (start := self._take()) < self.rows and not self.stopped:
                    self.work(start, min(start + self.tile, self.rows))
        except BaseException:
            self.stopped = True
            raise
        finally:
            _inside_tile.reset(token)

    def _take(self) -> int:
        with self.lock:
            start, self.next = self.next, self.next + self.tile
            return start


def _share(walk: _Walk, helpers: int) -> None:
    # The context goes along, and with it what the caller said by np.errstate.
    futures = [_threads().submit(copy_context().run, walk.run) for _ in range(helpers)]
    try:
        walk.run()
        for future in _started(futures):
            future.result()
    finally:
        walk.stopped = True
        wait(_started(futures))


def _started(futures: list[Future[None]]) -> list[Future[None]]:
    """Return the helpers at work; those that have not begun find no tile left and are let go."""
    return [future for future in futures if not future.cancel()]


class _Blas:
    """The BLAS libraries, held to one thread.

    Some count their threads for each calling thread: every holder sets and restores its own
    number. In the others there is one number for all: the first holder sets it, and the last one
    to leave, perhaps in another thread, restores it.
    """

    def __init__(self) -> None:
        self.lock, self.holders = Lock(), 0
        self.found: list[tuple[Any, int]] = []

    @cached_property
    def libraries(self) -> tuple[list[Any], list[Any]]:
        """Those with a number for all threads, and those with one for each; found once."""
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
    """Hold libraries to one thread, and return what there was before."""
    found = [(library, library.get_num_threads()) for library in libraries]
    _restore([(library, 1) for library in libraries])
    return found


def _restore(numbers: list[tuple[Any, int]]) -> None:
    for library, number in numbers:
        # threadpoolctl 3.8 lets only the thread that came first change OpenBLAS and ignores the
        # others; here the one that restores need not be the one that limited.
        free = getattr(library, "clear_controlling_thread", lambda force: None)
        free(force=True)
        library.set_num_threads(number)
        free(force=True)


def _threads() -> ThreadPoolExecutor:
    global _executor
    with _executor_lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="bochner")
        return _executor


def _begin() -> None:
    """Start without threads: they do not live on in a forked process, and locks may stay shut."""
    global _blas, _executor, _executor_lock
    _blas, _executor, _executor_lock = _Blas(), None, Lock()


_blas: _Blas
_executor: ThreadPoolExecutor | None
_executor_lock: Lock
_begin()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)
