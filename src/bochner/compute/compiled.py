"""Loops in machine code that are compiled, or read from the cache, when they are first called."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, update_wrapper
from threading import Lock
from typing import Any

Function = Callable[..., Any]


def compiled(*signatures: str, **options: Any) -> Callable[[Function], Function]:
    """Compile the decorated loop for the Numba `signatures`, without the GIL, at its first call.

    Products and sums may contract into one rounding, so that they vectorise well; no option lets
    LLVM assume that there is no NaN, because a NaN must come out where one went in.
    """
    options = {"nogil": True, "cache": True, "fastmath": {"contract"}} | options
    return lambda function: Compiled(function, signatures, options)


class Compiled:
    """A function that becomes machine code when it is first called.

    Numba takes longer to import than the rest of the library, hence the delay.
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
        """Return the machine code; only the first of several threads that ask makes it."""
        with self.lock:
            if self.code is None:
                self.code = self._machine_code()
            return self.code

    def _machine_code(self) -> Function:
        import numba

        _let_loops_call_loops()
        try:
            code = numba.njit(list(self.signatures), **self.options)(self.function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            # Neither the package's folder nor the user's cache folder can be written to.
            uncached = self.options | {"cache": False}
            code = numba.njit(list(self.signatures), **uncached)(self.function)
        return code  # type: ignore[no-any-return]

    def __reduce__(self) -> str:
        return self.__name__


@cache
def _let_loops_call_loops() -> None:
    """Tell Numba that a `Compiled` in a compiled loop is a call of its machine code.

    Keep the two in one file: the cache of the caller looks at its own file only.
    """
    from numba import types
    from numba.extending import typeof_impl

    @typeof_impl.register(Compiled)  # type: ignore[untyped-decorator]
    def _(loop: Compiled, _context: Any) -> Any:
        return types.Dispatcher(loop.compile())
