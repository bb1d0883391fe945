"""Loops in machine code, compiled or read from the cache at their first call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, update_wrapper
from threading import Lock
from typing import Any

Function = Callable[..., Any]


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
        signatures = list(self.signatures)
        try:
            code = numba.njit(signatures, **self.options)(self.function)
        except numba.core.errors.NumbaError:
            raise  # the loop itself is wrong
        except Exception:
            try:  # the cache may be damaged: begin a new one
                numba.njit(**self.options)(self.function)._cache.flush()
                code = numba.njit(signatures, **self.options)(self.function)
            except Exception as error:
                _warn_of_cache(f"{type(error).__name__}: {error}")
                uncached = self.options | {"cache": False}
                code = numba.njit(signatures, **uncached)(self.function)
        return code  # type: ignore[no-any-return]

    def __reduce__(self) -> str:
        return self.__name__


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


@cache
def _let_loops_call_loops() -> None:
    """Register `Compiled` with Numba, so that a compiled loop can call another.

    Keep both in one file: the cache of the caller checks only its own file for changes.
    """
    from numba import types
    from numba.extending import typeof_impl

    @typeof_impl.register(Compiled)  # type: ignore[untyped-decorator]
    def _(loop: Compiled, _context: Any) -> Any:
        return types.Dispatcher(loop.compile())
