"""Basis: functions of a row, numbered from 0, that are combined with weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from bochner.records import Validated

Code = Any  # rows in the form that a basis computes with; it has a `shape` and a `dtype`


class Basis(Validated, ABC):
    """Functions phi_j of a row, the columns of the matrix Phi_ij = phi_j(x_i).

    Solvers only need the products Phi w and Phi'G, so Phi is not stored. `size` is the number of
    functions, None if the basis is infinite. A basis that model files hold is a dataclass: its
    fields are stored, other attributes are not.
    """

    size: int | None

    @abstractmethod
    def encode(self, X: Any) -> Code:
        """Return rows, dense or CSR, in the form that the other methods take."""

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

    @property
    def for_prediction(self) -> Basis:
        """The same functions, or others of the same span, without what only training needs."""
        return self

    def embed_weights(self, weights: NDArray[Any], before: Basis) -> NDArray[Any]:
        """Return weights on this basis of a function given by weights on an earlier basis.

        Functions that the earlier basis does not have get the weight 0.
        """
        if isinstance(before, TransformedBasis):
            return before.prediction_weights(weights)
        return weights

    @property
    def input_columns(self) -> int | None:
        """The number of columns that rows must have, None if they may have more."""
        return None

    def clear_cache(self) -> None:
        """Free what can be computed again. Does nothing by default."""
        return

    def end(self, stop: int | None) -> int:
        """Return `stop`, or the size for None; an infinite basis needs a number."""
        if stop is not None:
            return stop
        if self.size is None:
            raise ValueError("This basis is infinite: give the number of functions, stop.")
        return self.size


class WrappedBasis(Basis):
    """A basis whose functions are computed from those of `inner`, at the codes of `inner`."""

    inner: Basis

    @property
    def input_columns(self) -> int | None:
        """The number of columns that rows must have, None if they may have more."""
        return self.inner.input_columns

    def encode(self, X: Any) -> Code:
        """Return the code of `inner`."""
        return self.inner.encode(X)


class TransformedBasis(Basis):
    """A basis for training: linear combinations of the functions of `for_prediction`."""

    @abstractmethod
    def prediction_weights(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the weights of the same function on `for_prediction`."""


class GrowingBasis(Basis):
    """A basis that gets more functions as it sees more rows."""

    @abstractmethod
    def extended(self, X: Any, *, known: Code | None = None) -> tuple[GrowingBasis, Code]:
        """Return the basis with the functions of these rows added, and the rows encoded.

        Functions stay the same but may get other numbers: see `embed_weights`. `known` is the code
        of the same rows on the basis that this one was enlarged from; it is not computed again.
        """

    @abstractmethod
    def release_spare_memory(self) -> None:
        """Free the memory that is reserved for more functions."""


def extend_and_encode(basis: Basis, X: Any, known: Code | None = None) -> tuple[Basis, Code]:
    """Return the basis with the functions of these rows, if it grows, and the rows encoded.

    `known` is the code of the rows on a smaller basis: see `GrowingBasis.extended`.
    """
    if isinstance(basis, GrowingBasis):
        return basis.extended(X, known=known)
    return basis, basis.encode(X)
