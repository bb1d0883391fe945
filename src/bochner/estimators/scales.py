"""Scales: what a user may say of the columns' scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.estimators.choices import is_auto
from bochner.estimators.plan import FEW_ROWS
from bochner.kernels import Kernel
from bochner.kernels.radial import Radial
from bochner.losses import Loss, Smooth

MANY_COLUMNS = 256  # for which a search takes long
MOST_COLUMNS = 5_000


def require_scales(scales: Any) -> None:
    """Refuse any text but "auto" and "learn"."""
    if isinstance(scales, str) and scales not in ("auto", "learn"):
        raise ValueError(
            f"scales must be 'auto', 'learn', None or a number for each column; got {scales!r}."
        )


def scaled_kernel(kernel: Any, scales: Any) -> Kernel:
    """Return the kernel on columns that are divided by given scales."""
    resolved: Kernel = Kernel.resolve(kernel)
    given = scales is not None and not isinstance(scales, str)
    return resolved.stretched(scales) if given else resolved


def given_scales(estimator: Any, columns: int) -> NDArray[np.float64]:
    """Return the scales that a user gave, one for each column, or refuse them."""
    scales = np.asarray(estimator.scales, np.float64)
    if scales.shape != (columns,):
        raise ValueError(
            f"scales must have a number for each of the {columns} columns; got the shape "
            f"{scales.shape}."
        )
    return scales


def learns(estimator: Any, rows: int | None, columns: int, once: bool) -> bool:
    """Whether scales are to be learned: "auto" means so where nothing speaks against it.

    That is where kernel, features and solver are open as well, the loss is smooth, rows are many,
    columns are not, and all can be read again.
    """
    if not is_auto(estimator.scales):
        return isinstance(estimator.scales, str)
    return columns <= MANY_COLUMNS and _is_open(estimator, rows, once)


def finds_bandwidth(estimator: Any, rows: int | None, columns: int, once: bool) -> bool:
    """Whether a bandwidth is to be found: it is open, or columns are too many for scales."""
    if has_open_bandwidth(estimator.kernel):
        return True
    many = MANY_COLUMNS < columns <= MOST_COLUMNS and estimator._table is None
    return many and is_auto(estimator.scales) and _is_open(estimator, rows, once)


def has_open_bandwidth(kernel: Any) -> bool:
    """Whether the kernel is one whose bandwidth is left to held-out rows."""
    return isinstance(kernel, Radial) and is_auto(kernel.bandwidth)


def _is_open(estimator: Any, rows: int | None, once: bool) -> bool:
    is_open = all(map(is_auto, (estimator.kernel, estimator.features, estimator.solver)))
    loss = estimator._loss()
    if not is_auto(loss) and not isinstance(Loss.resolve(loss), Smooth):
        return False
    return is_open and rows is not None and rows > FEW_ROWS and not once


def told(scales: Any) -> str:
    """Return scales in words that differ for others."""
    given = scales is not None and not isinstance(scales, str)
    return str(np.asarray(scales).tolist()) if given else repr(scales)
