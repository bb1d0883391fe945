"""Gradients of machines on few rows: along which columns, or directions, they change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bochner.kernels import Cauchy, Gaussian, Kernel, Laplacian, Matern, RationalQuadratic
from bochner.tuning.exact import Judged, judged
from bochner.tuning.sample import Sample

REFINEMENTS = 3
SURE, MARGIN = 2.0, 0.9  # standard errors, and times the other kernel's error
MOST_COLUMNS = 500  # each has two kernel blocks
HOPELESS = 1.1  # times the other kernel's error: scales will not make up for that
PLACES = 400  # at which slopes are taken
STEP = 1e-3  # of the widest column
FLATTEST, TINY = 1e-3, 1e-300


def chosen(
    sample: Sample,
    scales: NDArray[np.float64],
    seed: int,
    linear_map: bool = False,
    follow: bool = True,
) -> Judged:
    """Return the Laplacian kernel, or the Gaussian one if its error is lower by a tenth.

    That has to be more than two standard errors, too: there are bins for the Laplacian, which learn
    from all rows in less time. `follow` says whether scales may follow gradients.
    """
    rough = judged(Laplacian(), sample, scales, seed)
    smooth = judged(Gaussian(), sample, scales, seed)
    if linear_map or (follow and smooth.error < HOPELESS * rough.error):
        smooth = refined(smooth, Gaussian(), sample, seed, linear_map)
    clearly = smooth.error < MARGIN * rough.error and smooth.beats(rough, SURE)
    return smooth if clearly else rough


def fitting(
    kernel: Kernel,
    sample: Sample,
    scales: NDArray[np.float64],
    seed: int,
    linear_map: bool = False,
) -> Judged:
    """Return a kernel with the bandwidth, the ridge and, if it is smooth, the scales that suit."""
    best = judged(kernel, sample, scales, seed, every=True)
    return refined(best, kernel, sample, seed, linear_map)


def refined(
    best: Judged, kernel: Kernel, sample: Sample, seed: int, linear_map: bool = False
) -> Judged:
    """Return the best of these scales and of some that follow the gradients of the machine.

    A machine that changes along column j by g_j on root mean square, columns divided by their
    scales, gets scales_j / g_j: the diagonal of the average gradient outer product in place of the
    metric (Radhakrishnan, Beaglehole, Pandit and Belkin 2024, Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models). With `linear_map` the whole
    product is tried after that, and kept if it beats the scales by more than a standard error.
    """
    if not is_smooth(best.inner) or len(best.scales) > MOST_COLUMNS:
        return best
    best = _followed(best, lambda one: judged(kernel, sample, one.scales / slopes(one), seed))
    if not linear_map:
        return best
    mapped = _followed(best, lambda one: judged(kernel, sample, one.scales, seed, directions(one)))
    return mapped if mapped.beats(best) else best


def _followed(best: Judged, follow: Callable[[Judged], Judged]) -> Judged:
    """Go on while held-out rows gain."""
    for _ in range(REFINEMENTS):
        next_one = follow(best)
        if not next_one.error < best.error:
            return best
        best = next_one
    return best


def is_smooth(kernel: Kernel) -> bool:
    """Whether machines with this kernel are known to have a gradient at their rows."""
    differentiable = isinstance(kernel, Matern) and kernel.nu > 1
    return differentiable or isinstance(kernel, Gaussian | Cauchy | RationalQuadratic)


def slopes(best: Judged) -> NDArray[np.float64]:
    """Return the root mean square slope of the machine along each divided column.

    Relative to the steepest; a column along which nothing changes counts for a thousandth of it.
    """
    found = np.sqrt(np.square(gradients(best)).mean(axis=0))
    return np.asarray(np.maximum(found / max(found.max(), TINY), FLATTEST))


def directions(best: Judged) -> NDArray[np.float64]:
    """Return the root of the average gradient outer product, its largest eigenvalue made 1."""
    found = gradients(best)
    if best.directions is not None:
        found = found @ best.directions.T  # along the divided columns
    values, vectors = np.linalg.eigh(found.T @ found)
    roots = np.sqrt(np.maximum(values, 0.0) / max(values[-1], TINY))
    return np.asarray(vectors * roots @ vectors.T)


def gradients(best: Judged) -> NDArray[np.float64]:
    """Return the gradients at some rows, (rows times outputs, columns), by central differences."""
    rows, known = best.rows, best.drawn.known
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
