"""Loops in machine code, compiled or read from the cache at their first call."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import cache, update_wrapper
from threading import Lock
from typing import Any

Function = Callable[..., Any]
logger = logging.getLogger("bochner")


def compiled(*signatures: str, **options: Any) -> Callable[[Function], Function]:
    """Compile the decorated loop for the Numba `signatures`, without the GIL, at its first call.

    Products and sums may be contracted to one rounding, which vectorises well. LLVM may not assume
    that there is no NaN: a NaN in the input must appear in the result.
    """
    options = {"nogil": True, "cache": True, "fastmath": {"contract"}} | options
    return lambda function: Compiled(function, signatures, options)


class Compiled:
    """A function that is compiled at its first call.

    The delay keeps `import bochner` fast: Numba takes longer to import than the rest.
    """

    __name__: str

    def __init__(
        self, function: Function, signatures: tuple[str, ...], options: dict[str, Any]
    ) -> None:
        update_wrapper(self, function)
        self.function, self.signatures, self.options = function, signatures, options
        self.code: Function | None = None
        self.lock = Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code."""
        code = self.code or self.compile()
        return code(*arguments)

    def compile(self) -> Function:
        """Return the machine code; of several threads only the first compiles it."""
        with self.lock:
            if self.code is None:
                self.code = self._machine_code()
            return self.code

    def _machine_code(self) -> Function:
        import numba

        _let_loops_call_loops()
        try:
            return self._jit(self.options)
        except numba.core.errors.NumbaError:
            raise  # the loop itself is wrong
        except Exception:
            try:  # the cache may be damaged: begin a new one
                numba.njit(**self.options)(self.function)._cache.flush()
                return self._jit(self.options)
            except Exception as error:
                _warn_of_cache(f"{type(error).__name__}: {error}")
                return self._jit(self.options | {"cache": False})

    def _jit(self, options: dict[str, Any]) -> Function:
        """Return the machine code of all signatures, from the cache if it has them."""
        import numba
        from numba.core.event import install_listener

        with install_listener("numba:compile", CompilationLog(self.function)):
            return numba.njit(list(self.signatures), **options)(self.function)  # type: ignore[no-any-return]

    def __reduce__(self) -> str:
        return self.__name__


class CompilationLog:
    """A listener of Numba, which logs that a loop is compiled, not read from the cache."""

    def __init__(self, function: Function) -> None:
        self.function = function

    def notify(self, event: Any) -> None:
        """Log the start of a compilation, with a sentence for users before the first one."""
        if not event.is_start or event.data["dispatcher"].py_func is not self.function:
            return
        if not _ANNOUNCED:
            _ANNOUNCED.append(self.function.__name__)
            logger.info("Compiling loops for this computer, once, which takes up to a minute.")
        logger.debug("Compiling %s.%s", self.function.__module__, self.function.__name__)


def _warn_of_cache(reason: str) -> None:
    """Warn once in a process."""
    if not _WARNED:
        _WARNED.append(reason)
        warnings.warn(
            "Compiled loops cannot be stored, so each process compiles them anew, which takes long "
            f"({reason}). Set NUMBA_CACHE_DIR to a writable folder with free space.",
            RuntimeWarning,
            stacklevel=2,
        )


_WARNED: list[str] = []
_ANNOUNCED: list[str] = []  # whether the first compilation of the process has been logged


@cache
def _let_loops_call_loops() -> None:
    """Register both classes with Numba, so that a compiled loop can call another.

    Keep both in one file: the cache of the caller checks only its own file for changes.
    """
    from numba import types
    from numba.core.event import Listener
    from numba.extending import typeof_impl

    Listener.register(CompilationLog)

    @typeof_impl.register(Compiled)  # type: ignore[untyped-decorator]
    def _(loop: Compiled, _context: Any) -> Any:
        return types.Dispatcher(loop.compile())
