"""What random features ask of their size and of the kernel."""

from __future__ import annotations

from numbers import Integral
from typing import Any, TypeVar

from bochner.kernels import Kernel

K = TypeVar("K", bound=Kernel)


def checked_size(size: Any, atom: int) -> int | None:
    """Return a number of functions that are drawn by `atom`, None for no end of them."""
    if size is None:
        return None
    whole = isinstance(size, Integral) and not isinstance(size, bool)
    if whole and int(size) >= atom and int(size) % atom == 0:
        return int(size)
    together = f"a multiple of {atom}, which are drawn together"
    kind = "a whole number from 1 on" if atom == 1 else together
    raise ValueError(f"size must be {kind}, or None for features without end; got {size!r}.")


def require_kernel(kernel: Kernel, kind: type[K], what: str) -> K:
    """Return the kernel, or refuse one; `what` says which kernels the features are made for."""
    if isinstance(kernel, kind):
        return kernel
    known = sorted(name for name, recipe in Kernel.registry.items() if isinstance(recipe(), kind))
    raise ValueError(
        f"{what}, such as {', '.join(map(repr, known))}; got {kernel!r}. "
        "features='random' finds the features of a kernel, and features='centers' takes any."
    )
