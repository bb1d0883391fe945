"""The pool of threads, which works on tiles of rows while BLAS uses one thread."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from threading import Lock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.compute.interruption import check_interruption

Work = Callable[[int, int], Any]
MOST_THREADS = 1024  # threads start on demand, so a high limit costs nothing

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
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count() -> int:
    """Return the number of threads that a call may use now."""
    return 1 if _inside_tile.get() else _thread_limit.get() or available_cores()


def each_tile(work: Work, rows: int, tile: int) -> None:
    """Call work(start, stop) for every tile [start, stop) of range(rows), on the pool.

    Threads take the tiles in order. If tiles write to different memory, the result does not depend
    on the number of threads. Calls from within a tile run in the calling thread, unless there is
    one tile only. Before each tile the work may be abandoned (`check_interruption`).
    """
    if 0 < rows <= tile:
        check_interruption()
        with single_blas():
            work(0, rows)
        return
    task = _Task(work, rows, tile)
    helpers = min(thread_count(), -(-rows // tile), MOST_THREADS) - 1
    try:
        for _ in range(helpers):
            task.call(_idle_helper())
        task.run()
        task.close()
    finally:  # after errors and Ctrl-C, too: no helper may write once the call has returned
        task.stopped = True
        task.close()
    task.raise_error()


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


class _Task:
    """The tiles of one call, shared by several threads.

    `called` are the helper threads that were asked; the lock `left` is held while some are at work.
    """

    def __init__(self, work: Work, rows: int, tile: int) -> None:
        self.work, self.rows, self.tile = work, rows, tile
        self.next, self.stopped, self.lock = 0, False, Lock()
        self.helpers, self.closed, self.left = 0, False, Lock()
        self.called: list[_Helper] = []
        self.error: BaseException | None = None

    def call(self, helper: _Helper) -> None:
        """Ask a helper to join, in a copy of the caller's context (np.errstate is part of it)."""
        self.called.append(helper)
        helper.call(self, copy_context())

    def run(self) -> None:
        """Work on tiles until there are no more."""
        token = _inside_tile.set(True)
        try:
            with single_blas():
                while (start := self._take()) < self.rows and not self.stopped:
                    check_interruption()
                    self.work(start, min(start + self.tile, self.rows))
        except BaseException:
            self.stopped = True
            raise
        finally:
            _inside_tile.reset(token)

    def raise_error(self) -> None:
        """Raise the error of a helper and drop it: its traceback refers to all data of the task."""
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error

    def _take(self) -> int:
        with self.lock:
            start, self.next = self.next, self.next + self.tile
            return start

    def enter(self) -> bool:
        """Register a helper; False if the task is closed."""
        with self.lock:
            if self.closed:
                return False
            if self.helpers == 0:
                self.left.acquire()
            self.helpers += 1
            return True

    def leave(self) -> None:
        """Unregister a helper."""
        with self.lock:
            self.helpers -= 1
            if self.helpers == 0:
                self.left.release()

    def close(self) -> None:
        """Admit no more helpers and wait for those at work."""
        with self.lock:
            self.closed = True
        while self.called:
            self.called.pop().dismiss(self)
        interrupt: BaseException | None = None
        while True:
            try:
                with self.left:
                    break
            except KeyboardInterrupt as error:  # wait: helpers are still writing
                interrupt = error
        if interrupt is not None:
            raise interrupt


class _Helper:
    """A thread that waits for tasks.

    An executor of the standard library takes 0.1 ms to start work, twice as long as this; many
    tiles take no longer.
    """

    def __init__(self) -> None:
        self.job: tuple[_Task, Context] | None = None
        self.lock, self.awake, self.called = Lock(), False, Lock()
        self.called.acquire()
        Thread(target=self._live, name="bochner", daemon=True).start()

    def call(self, task: _Task, context: Context) -> None:
        """Let the thread join a task."""
        with self.lock:
            self.job = task, context
            if not self.awake:
                self.awake = True
                self.called.release()

    def dismiss(self, task: _Task) -> None:
        """Cancel a call that the thread has not answered yet."""
        with self.lock:
            if self.job is not None and self.job[0] is task:
                self.job = None
                _idle.append(self)

    def _live(self) -> None:
        while True:
            self.called.acquire()
            while self._help():
                pass

    def _help(self) -> bool:
        """Join a task if there is one. Keep no reference to it: it may hold a large matrix."""
        with self.lock:
            if self.job is None:
                self.awake = False
                return False
            (task, context), self.job = self.job, None
        entered = task.enter()
        if entered:
            try:
                context.run(task.run)
            except BaseException as error:
                task.error = error
        _idle.append(self)  # before the caller returns, since it may call again at once
        if entered:
            task.leave()
        return True


def _idle_helper() -> _Helper:
    try:
        return _idle.pop()
    except IndexError:
        return _Helper()


def _begin() -> None:
    """Start without threads: they do not exist in a forked process."""
    global _idle
    _idle = deque()


_idle: deque[_Helper]
_begin()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)
