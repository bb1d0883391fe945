"""Precomputed: rows that are values of a kernel already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NoReturn, Self

from bochner.compute.random.counter_based import Random
from bochner.kernels.kernel import Kernel
from bochner.kernels.rows import Rows


@dataclass
class Precomputed(Kernel, name="precomputed"):
    """The kernel of rows that hold its values: column j of a row x is k(x, c_j).

    The c_j are the rows of the training data, of which X at fit is the square matrix of k; X at
    prediction has a row for each new point and the same columns, as for
    ``SVC(kernel="precomputed")`` of scikit-learn. There is no function behind the values, so this
    kernel cannot be evaluated: a basis of centres takes the columns as they are.

    Examples
    --------
    >>> from bochner.kernels import Kernel
    >>> Kernel.resolve("precomputed").precomputed
    True
    """

    precomputed: ClassVar[bool] = True

    def check(self) -> None:
        """Do nothing: there are no parameters."""

    def resolved(self, X: Rows, rng: Random) -> Self:
        """Return a copy: there is nothing to resolve."""
        return replace(self)

    def matrix(self, A: Rows, B: Rows) -> NoReturn:
        """Refuse: only the values in the rows are known."""
        raise _unknown()

    def diagonal(self, A: Rows) -> NoReturn:
        """Refuse: only the values in the rows are known."""
        raise _unknown()


def _unknown() -> ValueError:
    return ValueError(
        "A precomputed kernel knows only the values k(x, c_j) that are the columns of X, so it "
        "cannot be evaluated for other pairs of rows. Use it with features='centers', or give the "
        "kernel itself: its name, a component of bochner.kernels, or a function k(A, B)."
    )
