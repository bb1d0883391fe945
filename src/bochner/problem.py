"""Problem: what is minimised; Expansion: the resulting function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.features import Basis, KernelBasis
from bochner.losses import Loss
from bochner.records import Validated, require_sound


@dataclass(frozen=True)
class Problem:
    """Minimise mean loss + alpha/2 |f|^2 over f(x) = phi(x)' w + b, the mean taken over the rows.

    The intercept b is an unpenalised extra weight. `rows` is the number of training rows, None
    if unknown; `outputs` is the number of columns of the target.
    """

    basis: Basis
    loss: Loss
    alpha: float
    outputs: int
    intercept: bool = True
    rows: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class Expansion(Validated):
    """A basis and its weights: f(x) = phi(x)' weights + intercept.

    `in_double` says that rows are evaluated in double precision, since the weights cancel.
    """

    basis: Basis
    weights: NDArray[np.floating[Any]]
    intercept: NDArray[np.floating[Any]]
    in_double: bool = False

    def validate(self) -> None:
        """Check that weights, intercept and basis have the same outputs and functions."""
        weights, size = self.weights, self.basis.size
        is_matrix = weights.ndim == 2 and weights.dtype.kind == "f"
        require_sound(is_matrix, "its weights are not a table")
        outputs = weights.shape[1]
        require_sound(outputs > 0, "it has no output")
        fits = self.intercept.shape in ((outputs,), ())
        require_sound(fits, "its intercept has another shape")
        fits = size is None or len(weights) <= size
        require_sound(fits, "it has more weights than functions")
        fits = not self.in_double or isinstance(self.basis, KernelBasis)
        require_sound(fits, "its basis has no functions in double precision")

    def __call__(self, X: Any) -> NDArray[np.floating[Any]]:
        """Evaluate at rows; the result is of shape (rows, outputs)."""
        basis = self.basis
        if self.in_double and isinstance(basis, KernelBasis):
            basis = basis.double
        return np.asarray(basis.evaluate(basis.encode(X), self.weights) + self.intercept)

    def evaluate(self, code: Any) -> NDArray[np.floating[Any]]:
        """Evaluate at encoded rows, in the precision of the basis."""
        return np.asarray(self.basis.evaluate(code, self.weights) + self.intercept)

    def simplified(self) -> Expansion:
        """Return the same function on the plain basis, without what only a fit needs.

        It is evaluated in double precision if single precision would lose many digits.
        """
        basis = self.basis.for_prediction
        weights = basis.embed_weights(self.weights, self.basis)
        in_double = isinstance(basis, KernelBasis) and basis.loses_digits(weights)
        return Expansion(basis, weights, self.intercept, in_double)

    def shifted(self, shift: Any) -> Expansion:
        """Return the function plus a number, or one for each output."""
        return replace(self, intercept=self.intercept + shift)

    @property
    def size(self) -> int:
        """The number of weights."""
        return len(self.weights)
