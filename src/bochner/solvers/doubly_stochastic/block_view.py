"""BlockView: a batch seen through a block of columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import gram, product, transposed_product
from bochner.data import Batch
from bochner.losses import Smooth
from bochner.problem import Problem
from bochner.solvers.initialization import curvature


@dataclass(frozen=True)
class Residuals:
    """A batch at the present function f: how wrong it is, row by row."""

    problem: Problem
    batch: Batch
    f: NDArray[np.float64]

    @property
    def y(self) -> NDArray[Any]:
        """The targets."""
        assert self.batch.y is not None  # a batch without targets does not get this far
        return self.batch.y

    @cached_property
    def slopes(self) -> NDArray[np.float64]:
        """The rows' loss gradients g, (rows, outputs)."""
        return np.asarray(self.problem.loss.gradient(self.y, self.f))

    @cached_property
    def curvature(self) -> float:
        """The bound of the loss's curvature; the mean of it at the rows if that is far below."""
        loss = self.problem.loss
        if not isinstance(loss, Smooth) or not loss.bound_is_far:
            return curvature(loss)
        bent = np.asarray(loss.hessian_product(self.y, self.f, np.ones_like(self.f)), np.float64)
        return float(self.mean(bent) / bent.shape[1])

    @cached_property
    def weight(self) -> NDArray[np.float64] | None:
        """The rows' weights, made to sum to the number of rows; None if all are 1."""
        weight = self.batch.weight
        return None if weight is None else weight / weight.mean()

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.f)

    @property
    def effective_rows(self) -> float:
        """How many rows of equal weight tell as much (Kish 1965)."""
        return self.rows if self.weight is None else self.rows**2 / float(self.weight @ self.weight)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean over the rows, of a sum over the outputs if they are coupled."""
        separate = isinstance(loss := self.problem.loss, Smooth) and loss.model_is_above
        values = values if separate else values.sum(axis=1, keepdims=True)
        return values.mean(axis=0) if self.weight is None else self.weight @ values / self.rows

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the weighted mean over the rows of a sum over the outputs."""
        return float(self.means(values).sum())


@dataclass(frozen=True)
class BlockView:
    """Residuals through a block: Phi is `columns` (rows, F) times `gain`.

    So scaled the block alone approximates the kernel. `weights` are the block's present ones in
    this scale, `start` its first column, `number` its place among the old blocks, None if it is
    new; `blocks` is how many such blocks the model has. With an intercept Phi has one more column,
    of ones, which is not penalised.
    """

    residuals: Residuals
    columns: NDArray[Any]
    gain: float
    weights: NDArray[np.float64]
    start: int
    number: int | None
    blocks: float

    @property
    def width(self) -> int:
        """How many columns the block has, without the intercept's."""
        return int(self.columns.shape[1])

    @cached_property
    def gradient(self) -> NDArray[np.float64]:
        """Phi'g / n, (F [+ 1], outputs)."""
        inner = self.projected(self.residuals.slopes)
        if not self.residuals.problem.intercept:
            return inner
        return np.concatenate([inner, self._weighted(self.residuals.slopes).mean(0)[None, :]])

    @property
    def block_gradient(self) -> NDArray[np.float64]:
        """Phi'g / n without the intercept."""
        return self.gradient[: self.width]

    def covariance(self) -> NDArray[np.float64]:
        """Return Phi'Phi / n, (F [+ 1], F [+ 1])."""
        columns, weight, rows = self.columns, self.residuals.weight, self.residuals.rows
        if weight is not None:
            columns = columns * np.sqrt(weight).astype(columns.dtype)[:, None]
        inner = self.gain**2 / rows * gram(columns)
        if not self.residuals.problem.intercept:
            return inner
        last = self.projected(np.ones((rows, 1)))
        return np.block([[inner, last], [last.T, np.ones((1, 1))]])

    def evaluate(self, change: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Phi times a change of the weights, of the block or of block and intercept."""
        part = (self.gain * change[: self.width]).astype(self.columns.dtype)
        return np.asarray(product(self.columns, part) + change[self.width :].sum(axis=0))

    def projected(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the block's Phi' times values at the rows, / n, (F, outputs)."""
        values = self._weighted(values).astype(self.columns.dtype)
        return transposed_product(self.columns, values) * (self.gain / self.residuals.rows)

    def _weighted(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        weight = self.residuals.weight
        return values if weight is None else values * weight[:, None]
