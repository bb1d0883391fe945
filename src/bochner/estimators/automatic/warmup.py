"""warmup(): compile what default fits and predictions need, before anything is timed."""

from __future__ import annotations

from time import perf_counter
from types import ModuleType

from bochner.compute.bins import backfitting, fingerprints, sums, trials
from bochner.compute.compiled import Compiled
from bochner.compute.elementwise import exponential, pairwise_sums, waves
from bochner.compute.linear_algebra import box_quadratic, distances, products, vectors
from bochner.compute.text import csv
from bochner.features.centers import kernel_matrix

MODULES = (
    backfitting,
    fingerprints,
    sums,
    trials,
    exponential,
    pairwise_sums,
    waves,
    box_quadratic,
    distances,
    products,
    vectors,
    kernel_matrix,
    csv,
)


def warmup() -> float:
    """Compile the loops of default fits and predictions; return the seconds that it took.

    The first call on a computer takes about a minute. The machine code is stored, so that later
    calls, also in other processes, read it in a second. Without this call a loop is compiled, or
    read, when it is first needed, which is part of the time of that fit. Other methods than the
    default ones may have loops of their own.

    Examples
    --------
    >>> import bochner
    >>> seconds = bochner.warmup()
    >>> bochner.warmup() < seconds
    True
    """
    began = perf_counter()
    for loop in (loop for module in MODULES for loop in loops_of(module)):
        if loop.code is None:
            loop.compile()
    return perf_counter() - began


def loops_of(module: ModuleType) -> list[Compiled]:
    """Return the compiled loops that a module defines."""
    values = vars(module).values()
    return [v for v in values if isinstance(v, Compiled) and v.__module__ == module.__name__]
