"""The leave-one-out error of kernel ridge regression on few rows, and its minimum over scales."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

from bochner.compute.linear_algebra.distances import (
    ABSOLUTE,
    SQUARED,
    UNEQUAL,
    difference_sums,
    weighted_differences,
)
from bochner.tuning.sample import Sample

Array = NDArray[np.float64]

JITTER = 1e-7
PENALTY = 3.0  # of the variance of log weights, times the number of groups
NOISE_PENALTY, EXPECTED_NOISE = 0.02, -2.0
# Of logarithms: of weights relative to their offsets, of a common factor, and of the noise.
WEIGHT_BOUNDS, COMMON_BOUNDS, NOISE_BOUNDS = (-16.0, 8.0), (-6.0, 6.0), (-9.0, 4.0)
FIRST_WEIGHTS, FIRST_NOISES = (-2.0, -1.0, 0.0, 1.0, 2.0), (-4.0, -2.0, -0.5)
TOLERANCE = 1e-4  # of the objective


@dataclass(frozen=True, eq=False)
class ColumnWeights:
    """The logarithms of the weights of the groups of columns, and of the noise."""

    groups: Array
    noise: float

    @classmethod
    def of(cls, numbers: Array) -> ColumnWeights:
        """Return the record of an array with the noise at its end."""
        return cls(numbers[:-1], float(numbers[-1]))

    @property
    def numbers(self) -> Array:
        """All logarithms, that of the noise at the end."""
        return np.append(self.groups, self.noise)


@dataclass(frozen=True, eq=False)
class SplitColumns:
    """The columns of a sample that vary: numbers divided by their widths, and categories.

    `group` is the group of each column, the numbers first; columns of a group share their weight.
    `places` are the columns' indices in the sample, `widths` their widths; `constant` are the
    categories that do not vary.
    """

    numbers: NDArray[np.float32]
    categories: NDArray[np.float32]
    group: NDArray[np.int64]
    places: NDArray[np.int64]
    widths: Array
    constant: NDArray[np.int64]

    @classmethod
    def of(cls, sample: Sample) -> SplitColumns:
        """Return the columns of the sample's groups."""
        places = np.concatenate([*sample.groups, np.empty(0, np.int64)])
        group = np.repeat(np.arange(len(sample.groups)), [len(one) for one in sample.groups])
        equal = np.isin(places, sample.categorical)
        order = np.argsort(equal, kind="stable")
        places, split = places[order], int((~equal).sum())
        widths = sample.widths()[places]
        numbers = sample.X[:, places[:split]] / widths[:split]
        categories = sample.X[:, places[split:]]
        constant = np.setdiff1d(sample.categorical, places)
        return cls(numbers.astype(np.float32), categories, group[order], places, widths, constant)

    def __getitem__(self, rows: Any) -> SplitColumns:
        return replace(self, numbers=self.numbers[rows], categories=self.categories[rows])

    @property
    def parts(self) -> tuple[slice, slice]:
        """The places of the numbers and of the categories among the columns."""
        split = self.numbers.shape[1]
        return slice(0, split), slice(split, None)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    r"""The leave-one-out error of kernel ridge regression with the kernel k(a, b) = exp(-D(a, b)).

    D is the sum of v_j |a_j - b_j|^power over columns of numbers and of v_j [a_j != b_j] over
    columns of categories: power 1 is a Laplacian kernel, power 2 a Gaussian one. With the rows'
    weights w let A be the inverse of K + noise diag(1 / w), and P = A - A11'A / 1'A1, or P = A
    without an intercept. With c = Py, the residual at row i of the machine of all other rows is
    r_i = c_i / P_ii (Rasmussen and Williams 2006, Gaussian processes for machine learning, Eq.
    5.12, with an intercept). The objective is n/2 log(sum w_i r_i^2 / sum w_i), n the effective
    number of rows, plus a penalty of the deviations of log v from `offsets` plus a constant:
    without it, few rows are overfitted.

    Parameters
    ----------
    power : int
        1 or 2.
    columns : SplitColumns
        The columns of the rows.
    y, weight : arrays of shape (rows, outputs) and (rows,)
        Targets, and weights of mean 1.
    offsets : array
        The logarithms of the weights of the groups from which a search starts.
    noise : float or None
        The logarithm of a given noise.
    intercept : bool
        Whether there is an unpenalised constant.
    """

    power: int
    columns: SplitColumns
    y: Array
    weight: Array
    offsets: Array
    noise: float | None = None
    intercept: bool = True

    def __getitem__(self, rows: Any) -> LeaveOneOut:
        return replace(self, columns=self.columns[rows], y=self.y[rows], weight=self.weight[rows])

    def __len__(self) -> int:
        return len(self.y)

    @property
    def effective_rows(self) -> float:
        """(sum w)^2 / sum w^2 (Kish 1965, Survey Sampling)."""
        return float(self.weight.sum() ** 2 / np.square(self.weight).sum())

    def error(self, point: ColumnWeights) -> float:
        """Return the mean squared error, infinite if the matrix has no Cholesky factor."""
        return float(self.errors(self.matrix(point), point.noise).mean())

    def errors(self, K: Array, noise: float) -> Array:
        """Return weight times squared error of each row for a kernel matrix, which is overwritten.

        `noise` is its logarithm. Errors are infinite if there is no Cholesky factor.
        """
        try:
            inverse = self._inverse(K, noise)
        except LinAlgError:
            return np.full(len(self), np.inf)
        residuals = (inverse @ self.y) / inverse.diagonal()[:, None]
        return np.asarray(self.weight * np.square(residuals).sum(axis=1))

    def matrix(self, point: ColumnWeights) -> Array:
        """Return the kernel matrix."""
        weights = np.exp(point.groups)[self.columns.group]
        D = np.zeros((len(self), len(self)), np.float32)
        for kind, X, some in self._parts():
            D += weighted_differences(kind, X, X, weights[some])
        np.negative(D, out=D)
        return np.asarray(np.exp(D, out=D), np.float64)

    def objective(self, point: ColumnWeights) -> float:
        """Return the penalised logarithm of the error."""
        error = self.error(point)
        return 0.5 * self.effective_rows * math.log(max(error, JITTER**2)) + self._penalty(point)[0]

    def with_gradient(self, point: ColumnWeights) -> tuple[float, Array]:
        """Return the objective and its gradient in the logarithms.

        With g = diag P, u = P (2 w r / g) and q = 2 w r^2 / g, the derivative of sum w r^2 along dK
        is tr((P diag(q) P - u c') dK), since dP = -P dK P.
        """
        K = self.matrix(point)
        inverse = self._inverse(K.copy(), point.noise)
        c, g = inverse @ self.y, inverse.diagonal()[:, None]
        r, w = c / g, self.weight[:, None]
        total = max(float((w * r**2).sum()), JITTER**2)
        u, q = inverse @ (2 * w * r / g), (2 * w * r**2 / g).sum(axis=1)
        G = _gram(inverse * np.sqrt(q)) - (u @ c.T + c @ u.T) / 2
        G *= 0.5 * self.effective_rows / total
        of_noise = np.exp(point.noise) * float(G.diagonal() @ (1 / self.weight))
        weights, M = np.exp(point.groups)[self.columns.group], (G * K).astype(np.float32)
        slopes = [difference_sums(kind, M, X, X) for kind, X, _ in self._parts()]
        along = -weights * np.concatenate(slopes)
        gradient = np.bincount(self.columns.group, along, len(point.groups))
        penalty, of_penalty = self._penalty(point)
        value = 0.5 * self.effective_rows * np.log(total / len(self)) + penalty
        return value, np.append(gradient, of_noise) + of_penalty

    def first(self) -> tuple[ColumnWeights, int]:
        """Return the best of several common factors of the weights and noises, and their number."""
        trials = [
            ColumnWeights(self.offsets + shift, noise)
            for shift in FIRST_WEIGHTS
            for noise in (FIRST_NOISES if self.noise is None else (self.noise,))
        ]
        return min(trials, key=self.objective), len(trials)

    def minimize(
        self, start: ColumnWeights, iterations: int, end: float, common: bool = False
    ) -> tuple[ColumnWeights, int]:
        """Return the best point of L-BFGS from `start` until the time `end`, and how many it tried.

        With `common`, all weights change by one factor (Zhu, Byrd, Lu and Nocedal 1997, Algorithm
        778: L-BFGS-B).
        """
        moves = np.eye(len(start.numbers))
        if common:
            moves = np.column_stack([np.append(np.ones(len(start.groups)), 0.0), moves[-1]])
        best = BestPoint(self._along(start.numbers, moves), end)
        inside = [COMMON_BOUNDS] if common else self._bounds(start)
        low, high = NOISE_BOUNDS if self.noise is None else (start.noise, start.noise)
        inside = [*inside, (low - start.noise, high - start.noise)]
        with suppress(TimeIsUp):
            minimize(
                best, np.zeros(moves.shape[1]), jac=True, method="L-BFGS-B", bounds=inside,
                options={"maxiter": iterations, "ftol": TOLERANCE},
            )  # fmt: skip
        return ColumnWeights.of(start.numbers + moves @ best.place), best.count

    def _bounds(self, start: ColumnWeights) -> list[tuple[float, float]]:
        """Return how far each weight may move from a start."""
        moved = start.groups - self.offsets
        return [(min(WEIGHT_BOUNDS[0] - m, 0.0), max(WEIGHT_BOUNDS[1] - m, 0.0)) for m in moved]

    def _along(self, origin: Array, moves: Array) -> Callable[[Array], tuple[float, Array]]:
        def objective(t: Array) -> tuple[float, Array]:
            try:
                value, gradient = self.with_gradient(ColumnWeights.of(origin + moves @ t))
            except LinAlgError:
                return 1e10, np.zeros(len(t))
            return value, gradient @ moves

        return objective

    def _parts(self) -> list[tuple[int, NDArray[np.float32], slice]]:
        numbers, categories = self.columns.parts
        kind = ABSOLUTE if self.power == 1 else SQUARED
        X, codes = self.columns.numbers, self.columns.categories
        found = [(kind, X, numbers), (UNEQUAL, codes, categories)]
        return [one for one in found if one[1].shape[1]]

    def _inverse(self, K: Array, noise: float) -> Array:
        """Return P for the matrix K, which is overwritten, and the logarithm of the noise."""
        np.einsum("ii->i", K)[:] += np.exp(noise) / self.weight + JITTER
        # The transposes are in the order of Fortran: nothing is copied.
        factor, failed = dpotrf(K.T, overwrite_a=1)
        inverse, _ = dpotri(factor, overwrite_c=1) if not failed else (factor, 0)
        if failed:
            raise LinAlgError("not positive definite")
        inverse = _mirrored(inverse)
        if self.intercept:
            ones = inverse.sum(axis=1)
            inverse -= np.outer(ones, ones) / ones.sum()
        return inverse

    def _penalty(self, point: ColumnWeights) -> tuple[float, Array]:
        away = point.groups - self.offsets
        away = away - away.mean()
        noise = point.noise - EXPECTED_NOISE
        value = PENALTY * float(away @ away) + NOISE_PENALTY * noise**2
        return value, np.append(2 * PENALTY * away, 2 * NOISE_PENALTY * noise)


class TimeIsUp(Exception):
    """The time of a search is over."""


@dataclass
class BestPoint:
    """An objective that remembers its least value, and raises `TimeIsUp` after the time `end`."""

    objective: Callable[[Array], tuple[float, Array]]
    end: float
    place: Array = field(default_factory=lambda: np.zeros(1))
    least: float = np.inf
    count: int = 0

    def __call__(self, t: Array) -> tuple[float, Array]:
        """Evaluate the objective."""
        if np.isfinite(self.least) and time.perf_counter() > self.end:
            raise TimeIsUp
        self.count += 1
        value, gradient = self.objective(t)
        if value < self.least:
            self.least, self.place = value, t.copy()
        return value, gradient


def _gram(H: Array) -> Array:
    """Return H H'."""
    return _mirrored(dsyrk(1.0, H.T, trans=1))


def _mirrored(upper: Array) -> Array:
    """Return the symmetric matrix of its upper half."""
    square = np.triu(upper)
    return np.asarray(square + np.triu(upper, 1).T)
