"""What is to be said of the errors of feature maps: worse or better beyond noise.

A map is worse than another if the mean of the logarithms of its errors is above the other's by more
than noise: two standard errors of the difference for a single size. Where a line holds several,
more are allowed, so that by noise alone one of them is called worse no more often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.stats import norm

from bochner.features import FeatureMap
from common import target
from maps_cases import CASES

NOISE = 2.0  # standard errors
BETTER = 0.8  # times the error of plain frequencies
COLUMNS = 784  # of MNIST, from which size on orthogonal frequencies are to be better
NO_KERNEL = {"centers"}  # k(x, c): the products of these are those of another kernel

Line = dict[str, Any]
Errors = dict[str, dict[int, np.ndarray]]  # by label and size: a logarithm for each seed


@dataclass(frozen=True)
class Difference:
    """How the logarithms of two errors differ at one size: the mean, and its standard error."""

    title: str
    size: int
    mean: float
    noise: float

    @property
    def ratio(self) -> float:
        """The one error in the other's."""
        return float(np.exp(self.mean))

    @property
    def deviations(self) -> float:
        """The mean in standard errors; infinite where there is no chance."""
        return self.mean / self.noise if self.noise else float(np.copysign(np.inf, self.mean))

    def __str__(self) -> str:
        return f"{self.title}, {self.size:,}"


def differences(
    found: dict[str, Errors], title: str, one: str, two: str, least: int = 0
) -> list[Difference]:
    """Return how two curves differ at each size from `least` on that both have."""
    first, second = found[title][one], found[title][two]
    both = [size for size in first if size in second and size >= least]
    return [Difference(title, size, *_difference(first[size], second[size])) for size in both]


def _difference(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    squares = (values.var(ddof=1) / len(values) for values in (one, two) if len(values) > 1)
    return float(one.mean() - two.mean()), float(np.sqrt(sum(squares)))


def verdicts(found: dict[str, Errors]) -> list[Line]:
    """Return all that is to be said, and print it."""
    lines = [beside(*pair, several) for pair, several in pairs(found).items()]
    orthogonal = differences(found, "Gaussian, MNIST", "orthogonal", "fourier", COLUMNS)
    lines.append(better("orthogonal", orthogonal))
    for title in ("Gaussian, kin40k", "Gaussian, california"):
        few = differences(found, title, "quasi_monte_carlo", "fourier")
        lines.append(better("quasi_monte_carlo", few))
    report_fastfood(found)
    return [*lines, complete()]


def pairs(found: dict[str, Errors]) -> dict[tuple[str, str], list[Difference]]:
    """Return the differences of each of ours to each of theirs, over all sets and sizes."""
    several: dict[tuple[str, str], list[Difference]] = {}
    for title, ours, theirs in _compared():
        several.setdefault((ours, theirs), []).extend(differences(found, title, ours, theirs))
    return several


def _compared() -> Iterator[tuple[str, str, str]]:
    for case in CASES:
        for theirs in case.curves:
            yield from ((case.title, ours, theirs.label) for ours in theirs.beside)


def beside(ours: str, theirs: str, several: list[Difference]) -> Line:
    """Say whether ours is worse than theirs anywhere beyond noise."""
    worst = max(several, key=attrgetter("ratio"))
    highest = max(each.deviations for each in several)
    text = f"{ours} beside {theirs}: at most {worst.ratio:.2f} times its error ({worst})"
    if not worst.noise:
        return target(f"{text}, target 1", worst.ratio <= 1)
    allowed = float(norm.isf(norm.sf(NOISE) / len(several)))
    text += f"; at most {highest:+.1f} standard errors, target {allowed:.1f} for {len(several)}"
    return target(text, highest <= allowed)


def better(label: str, several: list[Difference]) -> Line:
    """Say whether a way to draw frequencies is better than plain ones at every size."""
    worst = max(several, key=attrgetter("ratio"))
    text = f"{label}: at most {worst.ratio:.2f} times the error of plain frequencies ({worst})"
    return target(f"{text}, target {BETTER}", worst.ratio < BETTER)


def report_fastfood(found: dict[str, Errors]) -> None:
    """Print what is paid for its speed."""
    titles = [title for title in found if "fastfood" in found[title]]
    several = [
        each for title in titles for each in differences(found, title, "fastfood", "fourier")
    ]
    worst = max(several, key=attrgetter("ratio"))
    print(f"          fastfood, for speed: up to {worst.ratio:.2f} times that error ({worst})")


def complete() -> Line:
    """Say whether every map that approximates a kernel has a curve."""
    drawn = {curve.name for case in CASES for curve in case.curves if curve.name}
    wanted = set(FeatureMap.registry) - NO_KERNEL
    text = f"{len(drawn & wanted)} of {len(wanted)} maps of the registry have a curve"
    return target("; missing: ".join([text, *sorted(wanted - drawn)]), drawn >= wanted)
