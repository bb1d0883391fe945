"""Basis: functions of a row, numbered from 0, that are combined with weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from bochner.data.batch import Batch

Code = Any  # rows in the form that a basis works with; it has a `shape` and a `dtype`


class Basis(ABC):
    """Functions phi_j of a row, the columns of the matrix Phi_ij = phi_j(x_i).

    Nothing else is ever asked of them than Phi w and Phi'G, so Phi need not exist. `size` is the
    number of functions, or None if there is no end to them.
    """

    size: int | None

    @property
    def is_of_rows(self) -> bool:
        """Whether the functions belong to the training rows, one to each."""
        return False

    @abstractmethod
    def encode(self, X: Any) -> Code:
        """Return rows, dense or CSR, in the form that the other methods take."""

    def coded(self, batch: Batch) -> Code:
        """Return the code of the rows of a batch, which may be known by their numbers."""
        return self.encode(batch.X)

    @abstractmethod
    def evaluate(self, code: Code, weights: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """Return sum_j phi_j(x_i) w_j, (rows, outputs), for weights of functions start, ...

        `weights` is of shape (functions, outputs); there may be fewer than `size`.
        """

    @abstractmethod
    def project(
        self, code: Code, G: NDArray[Any], start: int = 0, stop: int | None = None
    ) -> NDArray[Any]:
        """Return sum_i phi_j(x_i) G_i, (functions, outputs), for j = start, ..., stop - 1."""

    @abstractmethod
    def squares(self, code: Code, weight: NDArray[Any] | None, total: NDArray[Any]) -> None:
        """Add sum_i weight_i phi_j(x_i)^2 to `total`, (functions,): the diagonal of Phi'W Phi."""

    def accumulate(self, code: Code, G: NDArray[Any], total: NDArray[Any]) -> None:
        """Add sum_i phi_j(x_i) G_i to `total`, (functions, outputs)."""
        total += self.project(code, G)

    def extended(self, X: Any) -> tuple[Basis, Code]:
        """Return the basis with the functions that these rows call for, and the rows encoded.

        Functions keep their meaning but may get other numbers: see `spread`. Most bases are what
        they are.
        """
        return self, self.encode(X)

    def settle(self) -> None:
        """Be told that no more functions are to come for the time being; most need not care."""
        return

    def forget(self) -> None:
        """Let go what can be computed again; most keep nothing."""
        return

    def spread(self, weights: NDArray[Any], before: Basis) -> NDArray[Any]:
        """Return weights that belong to an earlier basis in the places of this one, 0 elsewhere."""
        return before.on_plain(weights)

    @property
    def plain(self) -> Basis:
        """The same functions, or others of the same span, without what only a fit has use for."""
        return self

    def on_plain(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the weights of the same function on the plain basis."""
        return weights

    def tabulated(self, rows: int | None, memory: int) -> Basis:
        """Return a basis that keeps its columns, if those of all rows fit into `memory` bytes.

        The results are the same. Most have nothing to keep but codes.
        """
        return self

    def end(self, stop: int | None) -> int:
        """Return `stop`, or the size for None; an endless basis needs a number."""
        if stop is not None:
            return stop
        if self.size is None:
            raise ValueError("This basis is endless: say at which function to stop.")
        return self.size
