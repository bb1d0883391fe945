"""Two-sample test: is its level right, and its power that of the exact kernel, in less time?"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import stats
from scipy.spatial.distance import pdist

from bochner import two_sample_test
from bochner.kernels import Gaussian, Kernel
from common import COLOURS, introduce, pyplot, save_picture, save_record, table, target, timed

ROWS, COLUMNS, LEVEL, PERMUTATIONS = 2_000, 5, 0.05, 499
REPETITIONS, POWER_REPETITIONS = 500, 100
SHIFTS = (0.1, 0.15)
MOST_TIME = 0.1  # of the exact test's
LESS = 0.1  # power, of which a standard error is 0.05 with 100 repetitions


def drawn(shift: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of two normal laws, one of them shifted in its first column."""
    rng = np.random.default_rng(seed)
    X, Y = (rng.normal(size=(ROWS, COLUMNS)) for _ in range(2))
    Y[:, 0] += shift
    return X, Y


def median_kernel(X: np.ndarray, Y: np.ndarray) -> Kernel:
    """Return a Gaussian kernel like that of our test, its bandwidth a median distance."""
    both = np.concatenate([X[:500], Y[:500]])
    return Gaussian(float(np.median(pdist(both))))


def exact_test(X: np.ndarray, Y: np.ndarray, seed: int) -> float:
    """Return the p-value of permutations with the exact kernel, by products of whole matrices."""
    both = np.concatenate([X, Y]).astype(np.float32)
    K = median_kernel(X, Y)(both, both)
    signs = np.repeat(np.float32([1.0, -1.0]), len(X))
    rng = np.random.default_rng(seed)
    others = np.stack([signs, *(rng.permutation(signs) for _ in range(PERMUTATIONS))])
    statistics = np.einsum("ij,ij->i", others @ K, others, dtype=np.float64)
    return float((statistics >= statistics[0]).mean())


def ours(method: str) -> Any:
    """Return our test as a function of the samples and a seed."""
    return lambda X, Y, seed: (
        two_sample_test(X, Y, method=method, permutations=PERMUTATIONS, random_state=seed).pvalue
    )


TESTS = {"permutation": ours("permutation"), "normal": ours("normal"), "exact kernel": exact_test}


def repeated(name: str, shift: float, repetitions: int) -> dict[str, Any]:
    """Return how often a test rejects, and the seconds that it takes."""
    TESTS[name](*drawn(shift, 0), 0)  # compiles
    samples = ((seed, drawn(shift, seed)) for seed in range(repetitions))
    runs = [timed(partial(TESTS[name], *both, seed)) for seed, both in samples]
    pvalues, seconds = zip(*runs, strict=True)
    rejected = int(np.sum(np.array(pvalues) <= LEVEL))
    return {
        "test": name,
        "shift": shift,
        "repetitions": repetitions,
        "rejected": rejected / repetitions,
        "seconds": float(np.median(seconds)),
        "pvalues": np.sort(pvalues),
    }


def two_sample() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure, print and draw; return the figures and the verdicts."""
    lines = [repeated(name, 0.0, REPETITIONS) for name in ("permutation", "normal")]
    for shift in SHIFTS:
        lines += [repeated(name, shift, POWER_REPETITIONS) for name in ("permutation", "normal")]
        lines.append(repeated("exact kernel", shift, POWER_REPETITIONS))
    names = [name for name in lines[0] if name != "pvalues"]
    table(names, [[line[name] for name in names] for line in lines])
    draw(lines)
    return [{name: line[name] for name in names} for line in lines], verdicts(lines)


def verdicts(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    low, high = (count / REPETITIONS for count in stats.binom.interval(0.95, REPETITIONS, LEVEL))
    found = []
    for line in lines[:2]:
        text = f"{line['test']}: level {line['rejected']:.3f}, between {low:.3f} and {high:.3f}"
        found.append(target(text, low <= line["rejected"] <= high))
    for ours, _, exact in (lines[-6:-3], lines[-3:]):
        share = ours["seconds"] / exact["seconds"]
        text = f"shift {ours['shift']}: power {ours['rejected']:.2f} beside "
        text += f"{exact['rejected']:.2f} at {share:.3f} of the time ({ours['seconds']:.3f} s, "
        text += f"{exact['seconds']:.3f} s), target {MOST_TIME} and as powerful within {LESS}"
        powerful = ours["rejected"] >= exact["rejected"] - LESS
        found.append(target(text, share <= MOST_TIME and powerful))
    return found


def draw(lines: list[dict[str, Any]]) -> None:
    plt = pyplot()
    if plt is None:
        return
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.4, 3.4), layout="constrained")
    for colour, line in zip(COLOURS, lines[:2], strict=False):
        shares = np.arange(1, REPETITIONS + 1) / REPETITIONS
        left.step(line["pvalues"], shares, color=colour, label=line["test"])
    left.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    left.set(title="Samples of one law", xlabel="p-value", ylabel="share below")
    left.legend()
    for colour, name in zip(COLOURS, TESTS, strict=False):
        own = [line for line in lines if line["test"] == name and line["shift"] > 0]
        seconds = np.median([line["seconds"] for line in own])
        powers = [line["rejected"] for line in own]
        right.plot(SHIFTS, powers, "o-", color=colour, label=f"{name}, {seconds:.2g} s")
    right.set(title="A shift of one column", xlabel="shift", ylabel="share of p-values below 5%")
    right.legend()
    save_picture("machines_two_sample", figure)


def main() -> None:
    introduce(__doc__)
    figures, found = two_sample()
    save_record("machines_two_sample", {"figures": figures, "targets": found})


if __name__ == "__main__":
    main()
