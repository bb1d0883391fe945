"""BlockView: the columns of one block at the rows of a batch."""

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
from bochner.solvers.solver import curvature


@dataclass(frozen=True)
class Residuals:
    """A batch with the present predictions f."""

    problem: Problem
    batch: Batch
    f: NDArray[np.float64]

    @property
    def y(self) -> NDArray[Any]:
        """The targets."""
        return self.batch.targets

    @cached_property
    def slopes(self) -> NDArray[np.float64]:
        """The rows' loss gradients g, (rows, outputs)."""
        return np.asarray(self.problem.loss.gradient(self.y, self.f))

    @cached_property
    def curvature(self) -> float:
        """The bound of the loss's curvature; the rows' mean curvature if that is far below."""
        loss = self.problem.loss
        if not isinstance(loss, Smooth) or not loss.bound_is_far:
            return curvature(loss)
        second = np.asarray(loss.hessian_product(self.y, self.f, np.ones_like(self.f)), np.float64)
        return float(self.mean(second) / second.shape[1])

    @cached_property
    def weight(self) -> NDArray[np.float64] | None:
        """The rows' weights, scaled to sum to the number of rows; None if all are 1."""
        weight = self.batch.weight
        return None if weight is None else weight / weight.mean()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.f)

    @property
    def effective_rows(self) -> float:
        """The effective sample size of the weights (Kish 1965)."""
        return self.rows if self.weight is None else self.rows**2 / float(self.weight @ self.weight)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean over the rows, summed over the outputs if they are coupled."""
        separate = isinstance(loss := self.problem.loss, Smooth) and loss.model_is_above
        values = values if separate else values.sum(axis=1, keepdims=True)
        return values.mean(axis=0) if self.weight is None else self.weight @ values / self.rows

    def mean(self, values: NDArray[np.float64]) -> float:
        """Return the weighted mean over the rows of a sum over the outputs."""
        return float(self.means(values).sum())


@dataclass(frozen=True)
class BlockView:
    """A batch and a block of columns: Phi is `columns` (rows, F) times `gain`.

    Scaled by `gain`, the block alone approximates the kernel. `weights` are the block's weights in
    this scale, `start` its first column, `number` its index among the old blocks (None if it is
    new), and `blocks` the number of such blocks in the model. With an intercept Phi has one more
    column, of ones, which is not penalised.
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
        """The number of columns of the block, without the intercept."""
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
