"""How fast are random Fourier features beside scikit-learn's, and what does the hardware allow?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from bochner.estimators.transformers.fourier import RandomFourier
from bochner.kernels import Gaussian


def seconds(work: Callable[[], Any]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def rounds(works: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Return the sorted times of each, taken in turns: a busy moment then strikes all of them."""
    times = [{name: seconds(work) for name, work in works.items()} for _ in range(repeats)]
    return {name: sorted(time[name] for time in times) for name in works}


def contenders(X: np.ndarray, size: int) -> dict[str, Callable[[], Any]]:
    bandwidth = np.sqrt(X.shape[1])
    ours = RandomFourier(Gaussian(bandwidth), size, random_state=0).fit(X)
    theirs = RBFSampler(n_components=size, gamma=0.5 / bandwidth**2, random_state=0).fit(X)
    frequencies = np.ones((X.shape[1], size // 2), X.dtype)
    ours.transform(X[:1000])  # compiles
    return {
        "RandomFourier": lambda: ours.transform(X),
        "RBFSampler": lambda: theirs.transform(X),
        "the matrix product alone": lambda: X @ frequencies,
        "filling the result alone": lambda: np.full((len(X), size), 1, X.dtype),
    }


def report(dtype: Any, rows: int, columns: int, size: int, repeats: int) -> None:
    X = np.random.default_rng(0).normal(size=(rows, columns)).astype(dtype)
    times = rounds(contenders(X, size), repeats)
    print(f"\n{rows:,} x {columns} to {size:,} columns, {np.dtype(dtype)}, {repeats} runs")
    for name, runs in times.items():
        print(f"  {name:26} best {runs[0]:7.3f} s   worst {runs[-1]:7.3f} s")
    ratio = times["RBFSampler"][0] / times["RandomFourier"][0]
    print(f"  RandomFourier has {ratio:.1f} times the throughput of RBFSampler")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=54)
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    for dtype in (np.float32, np.float64):
        report(dtype, given.rows, given.columns, given.size, given.repeats)


if __name__ == "__main__":
    main()
