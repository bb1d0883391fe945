"""Exact machines on few rows: the bandwidth and the ridge of any kernel, given scales."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.cholesky import jittered_cholesky, solve
from bochner.compute.random import Random
from bochner.kernels import (
    Cauchy,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    ShiftInvariant,
    Stretched,
)
from bochner.kernels.radial import Radial
from bochner.tuning.sample import Drawn, Sample

EXACT = 0xE8AC7  # keeps these draws apart from others of the same seed
ROWS = 1_500
MULTIPLES = tuple(2.0**power for power in (-4, -3, -2, -1, 0, 1))  # of the median distance
RIDGES = (0.001, 0.01, 0.1, 1.0)
ROUNDING = 1e-10
REFINEMENTS = 3
MOST_COLUMNS = 500  # each has two kernel blocks
HOPELESS = 1.1  # times the other kernel's error: scales will not make up for that
PLACES = 400  # at which slopes are taken
STEP = 1e-3  # of the widest column
FLATTEST, TINY = 1e-3, 1e-300


@dataclass(frozen=True, eq=False)
class Judged:
    """A kernel on columns divided by scales, the ridge, and squared errors of held-out rows."""

    inner: ShiftInvariant
    scales: NDArray[np.float64]
    ridge: float
    drawn: Drawn
    errors: NDArray[np.float64]

    @property
    def kernel(self) -> Stretched:
        """The kernel with its scales."""
        return Stretched(self.inner, self.scales)

    @property
    def error(self) -> float:
        """The mean error."""
        return float(self.drawn.mean(self.errors))

    def beats(self, other: Judged) -> bool:
        """Whether the mean error is lower by more than a standard error, on the same rows."""
        gain, deviation = self.drawn.gain(other.errors, self.errors)
        return gain > deviation


def chosen(sample: Sample, scales: NDArray[np.float64], seed: int) -> Judged:
    """Return the Laplacian kernel, or the Gaussian one if that is better.

    On a tie the Laplacian: there are bins for it.
    """
    rough = judged(Laplacian(), sample, scales, seed)
    smooth = judged(Gaussian(), sample, scales, seed)
    if smooth.error < HOPELESS * rough.error:
        smooth = refined(smooth, Gaussian(), sample, seed)
    return smooth if smooth.beats(rough) else rough


def fitting(kernel: Kernel, sample: Sample, scales: NDArray[np.float64], seed: int) -> Judged:
    """Return a kernel with the bandwidth, the ridge and, if it is smooth, the scales that suit."""
    return refined(judged(kernel, sample, scales, seed), kernel, sample, seed)


def refined(best: Judged, kernel: Kernel, sample: Sample, seed: int) -> Judged:
    """Return the best of these scales and of some that follow the gradients of the machine.

    A machine that changes along column j by g_j on root mean square, columns divided by their
    scales, gets scales_j / g_j: the diagonal of the average gradient outer product in place of the
    metric (Radhakrishnan, Beaglehole, Pandit and Belkin 2024, Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models).
    """
    if not is_smooth(best.inner) or len(best.scales) > MOST_COLUMNS:
        return best
    for _ in range(REFINEMENTS):
        next_one = judged(kernel, sample, best.scales / slopes(best), seed)
        if not next_one.error < best.error:
            return best
        best = next_one
    return best


def is_smooth(kernel: Kernel) -> bool:
    """Whether machines with this kernel are known to have a gradient at their rows."""
    differentiable = isinstance(kernel, Matern) and kernel.nu > 1
    return differentiable or isinstance(kernel, Gaussian | Cauchy)


def slopes(best: Judged) -> NDArray[np.float64]:
    """Return the root mean square slope of the machine along each divided column.

    By central differences at some rows, relative to the steepest; a column along which nothing
    changes counts for a thousandth of it.
    """
    drawn, known = best.drawn, best.drawn.known
    rows = drawn.columns.T.astype(np.float64) / best.scales
    out, step = np.ones(rows.shape[1]), STEP * float(rows[:known].std(axis=0).max())
    if step == 0.0:
        return out
    weights, places = _solved(best.inner(rows[:known]), drawn, best.ridge), rows[:PLACES]
    for j in range(len(out)):
        shift = np.zeros(len(out))
        shift[j] = step
        change = best.inner(places + shift, rows[:known]) - best.inner(places - shift, rows[:known])
        out[j] = np.sqrt(np.square(change @ weights / (2 * step)).sum(axis=1).mean())
    return np.asarray(np.maximum(out / max(out.max(), TINY), FLATTEST))


def judged(kernel: Kernel, sample: Sample, scales: NDArray[np.float64], seed: int) -> Judged:
    """Return the best of some bandwidths and ridges on columns divided by scales.

    A bandwidth that is a number is taken as it is, and so is a kernel that has none; one that is
    open is found whatever the kernel's multiplier.
    """
    kernel = require_shift_invariant(kernel)
    drawn = sample.drawn(ROWS, Random(seed, EXACT))
    rows = drawn.columns.T.astype(np.float64) / scales
    best: Judged | None = None
    for candidate in candidates(kernel, rows):
        for ridge, errors in _errors(candidate, rows, drawn):
            found = Judged(candidate, scales, ridge, drawn, errors)
            best = found if best is None or found.error < best.error else best
    assert best is not None  # there is a candidate at least
    return best


def require_shift_invariant(kernel: Kernel) -> ShiftInvariant:
    """Return the kernel, or refuse one that columns cannot be divided for."""
    if isinstance(kernel, ShiftInvariant):
        return kernel
    raise ValueError(
        "Scales are learned for shift-invariant kernels, as Gaussian, Laplacian and Matern are; "
        f"got {kernel!r}. Give such a kernel, or scales=None."
    )


def candidates(kernel: ShiftInvariant, rows: NDArray[np.float64]) -> Sequence[ShiftInvariant]:
    """Return the kernel with several bandwidths if its own is open."""
    if not isinstance(kernel, Radial) or not isinstance(kernel.bandwidth, str):
        return [kernel.resolved(rows, Random(0))]
    median = replace(kernel, multiplier=1.0).resolved(rows, Random(0)).bandwidth  # type: ignore[type-var]
    return [replace(kernel, bandwidth=float(median) * m) for m in MULTIPLES]  # type: ignore[type-var]


def _errors(
    kernel: ShiftInvariant, rows: NDArray[np.float64], drawn: Drawn
) -> Iterator[tuple[float, NDArray[np.float64]]]:
    """Yield ridges and the squared errors of kernel ridge regression at the held-out rows."""
    known = drawn.known
    mean: NDArray[Any] = np.average(drawn.y[:known], axis=0, weights=drawn.weight[:known])
    K, across = kernel(rows[:known]), kernel(rows[known:], rows[:known])
    for ridge in RIDGES:
        left = drawn.y[known:] - mean - across @ _solved(K, drawn, ridge)
        yield ridge, np.square(left).sum(axis=1)


def _solved(K: NDArray[Any], drawn: Drawn, ridge: float) -> NDArray[np.float64]:
    """Return the weights of kernel ridge regression on the known rows."""
    y, weight = drawn.y[: drawn.known], drawn.weight[: drawn.known]
    matrix = K.copy()
    np.einsum("ii->i", matrix)[:] += ridge / weight
    lower = jittered_cholesky(matrix, ROUNDING)[0]
    return solve(lower, y - np.average(y, axis=0, weights=weight))
