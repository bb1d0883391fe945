"""What solvers compute from the sample before their first step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from bochner.compute.blas import single_blas
from bochner.compute.linear_algebra.products import gram
from bochner.data import Batch
from bochner.features import RandomBasis
from bochner.losses import Loss, Smooth
from bochner.problem import Problem

CONSTANT_STEPS = 50


def curvature(loss: Loss) -> float:
    """Return the bound of a loss's curvature; 1 for a loss that is not smooth."""
    return loss.curvature_bound if isinstance(loss, Smooth) else 1.0


def best_constant(problem: Problem, sample: Batch) -> NDArray[np.float64]:
    """Return the constant prediction with the least loss on the sample; 0 without an intercept.

    Gradient steps of length 1 / curvature: one is exact for the squared loss; a smoothed
    loss starts at its quantile.
    """
    constant = np.zeros(problem.outputs)
    weight = sample.weight
    if not problem.intercept or not isinstance(problem.loss, Smooth) or sample.y is None:
        return constant
    if weight is not None and not weight.any():
        return constant
    constant = problem.loss.start(sample.y, weight).astype(np.float64)
    for _ in range(CONSTANT_STEPS):
        f = np.broadcast_to(constant, (len(sample), problem.outputs))
        mean = np.average(problem.loss.gradient(sample.y, f), axis=0, weights=weight)
        constant = constant - mean / problem.loss.curvature_bound
    return constant


def top_eigenvalue(basis: RandomBasis, sample: Batch, width: int) -> float:
    """Return the largest eigenvalue of Phi'Phi / n for a block at the sample."""
    columns = basis.columns(basis.encode(sample.X), 0, width)
    with single_blas():
        top = eigvalsh(gram(columns), subset_by_index=(width - 1, width - 1))[-1]
    return basis.gain(width) ** 2 * float(top) / len(sample)
