"""Column scales and directions from the gradients of a fitted function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bochner.kernels import Cauchy, Gaussian, Kernel, Laplacian, Matern, RationalQuadratic
from bochner.tuning.exact import ScoredKernel, score_kernel
from bochner.tuning.sample import Sample

REFINEMENTS = 3
SURE, MARGIN = 2.0, 0.9  # standard errors, and times the other kernel's error
MOST_COLUMNS = 500  # each takes two kernel matrices
HOPELESS = 1.1  # times the other kernel's error: new scales do not make up for that
PLACES = 400  # rows at which gradients are computed
STEP = 1e-3  # of the widest column
FLATTEST, TINY = 1e-3, 1e-300


def choose_kernel(
    sample: Sample,
    scales: NDArray[np.float64],
    seed: int,
    linear_map: bool = False,
    refine_scales: bool = True,
) -> ScoredKernel:
    """Return the Laplacian kernel, or the Gaussian one if its error is lower by a tenth.

    The difference must also exceed two standard errors, since only the Laplacian kernel has bins,
    which are faster on all rows. With `refine_scales`, the scales of the Gaussian are refined.
    """
    rough = score_kernel(Laplacian(), sample, scales, seed)
    smooth = score_kernel(Gaussian(), sample, scales, seed)
    if linear_map or (refine_scales and smooth.error < HOPELESS * rough.error):
        smooth = refine(smooth, Gaussian(), sample, seed, linear_map)
    clearly = smooth.error < MARGIN * rough.error and smooth.beats(rough, SURE)
    return smooth if clearly else rough


def tune_kernel(
    kernel: Kernel, sample: Sample, scales: NDArray[np.float64], seed: int, linear_map: bool = False
) -> ScoredKernel:
    """Return the kernel with the best bandwidth, ridge and, if it is smooth, scales."""
    best = score_kernel(kernel, sample, scales, seed, exhaustive=True)
    return refine(best, kernel, sample, seed, linear_map)


def refine(
    best: ScoredKernel, kernel: Kernel, sample: Sample, seed: int, linear_map: bool = False
) -> ScoredKernel:
    """Return the best of the given scales and of scales from the gradients of the fitted function.

    If the root mean square of its derivative along the divided column j is g_j, the new scale is
    scales_j / g_j: the metric is the diagonal of the average gradient outer product
    (Radhakrishnan, Beaglehole, Pandit and Belkin 2024, Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models). With `linear_map` the full
    matrix is tried next, and used if its error is lower by more than a standard error.
    """
    if not is_smooth(best.inner) or len(best.scales) > MOST_COLUMNS:
        return best
    best = _improve(best, lambda one: score_kernel(kernel, sample, one.scales / slopes(one), seed))
    if not linear_map:
        return best
    mapped = _improve(
        best, lambda one: score_kernel(kernel, sample, one.scales, seed, directions=directions(one))
    )
    return mapped if mapped.beats(best) else best


def _improve(best: ScoredKernel, update: Callable[[ScoredKernel], ScoredKernel]) -> ScoredKernel:
    """Apply an update while the error at held-out rows falls."""
    for _ in range(REFINEMENTS):
        next_one = update(best)
        if not next_one.error < best.error:
            return best
        best = next_one
    return best


def is_smooth(kernel: Kernel) -> bool:
    """Whether functions of this kernel are known to be differentiable."""
    differentiable = isinstance(kernel, Matern) and kernel.nu > 1
    return differentiable or isinstance(kernel, Gaussian | Cauchy | RationalQuadratic)


def slopes(best: ScoredKernel) -> NDArray[np.float64]:
    """Return the root mean square derivative along each divided column, relative to the largest.

    At least 0.001, also for a column without influence.
    """
    found = np.sqrt(np.square(gradients(best)).mean(axis=0))
    return np.asarray(np.maximum(found / max(found.max(), TINY), FLATTEST))


def directions(best: ScoredKernel) -> NDArray[np.float64]:
    """Return the square root of the average gradient outer product, with largest eigenvalue 1."""
    found = gradients(best)
    if best.directions is not None:
        found = found @ best.directions.T  # along the divided columns
    values, vectors = np.linalg.eigh(found.T @ found)
    roots = np.sqrt(np.maximum(values, 0.0) / max(values[-1], TINY))
    return np.asarray(vectors * roots @ vectors.T)


def gradients(best: ScoredKernel) -> NDArray[np.float64]:
    """Return the gradients at some rows, (rows times outputs, columns), by central differences."""
    rows, known = best.rows, best.split.known
    places, step = rows[:PLACES], STEP * float(rows[:known].std(axis=0).max())
    if step == 0.0:
        return np.ones((1, rows.shape[1]))
    weights, out = best.weights(), []
    for j in range(rows.shape[1]):
        shift = np.zeros(rows.shape[1])
        shift[j] = step
        change = best.inner(places + shift, rows[:known]) - best.inner(places - shift, rows[:known])
        out.append((change @ weights / (2 * step)).ravel())
    return np.column_stack(out)
