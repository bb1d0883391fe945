"""The search for the table SETTINGS: bandwidth, ridge, C and epsilon by held-out training rows.

The first two by a Nystroem fit with few centres, solved exactly for all ridges at once; then, as
more rows allow a narrower kernel, by our Nystroem with many centres on all rows.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular
from sklearn.metrics import pairwise_distances

from binning_sets import Split
from common import table, timed
from eigenpro_common import OURS, SETTINGS, TASKS, Setting, fitted, rows_of, support_vectors
from eigenpro_tables import Columns

ROWS, CENTERS, VECTOR_ROWS = 15_000, 1_500, 4_000
FACTORS = tuple(2.0 ** np.arange(-3.5, 3.1, 0.5))  # times the median distance
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)
MOST_ROWS = 60_000
NARROWER, MORE_RIDGE = (0.5, 0.5**0.5, 1.0), (1.0, 10.0)
COSTS, EPSILONS = (1.0, 10.0, 100.0, 1000.0), (0.1, 0.01, 0.001, 0.0001)
FIXED = {"mnist": 5.0}  # bandwidths that are given


def search_all(given: argparse.Namespace) -> None:
    """Search for every set, and print lines of the table."""
    for name in TASKS:
        found, seconds = timed(lambda name=name: search(name, given))
        print(f'    "{name}": {found!r},  # {seconds:.0f} s')


def search(name: str, given: argparse.Namespace) -> Setting:
    """Return bandwidth, ridge, C and epsilon with the least error on held-out rows."""
    setting = SETTINGS[name]
    data = rows_of(name, given.data, given.rows).held_out(ROWS)
    bandwidths = [FIXED[name]] if name in FIXED else median(data, setting) * np.array(FACTORS)
    lines = [line for b in bandwidths for line in errors(data, _with(setting, float(b)))]
    lines.sort(key=lambda line: line[2])
    print(f"\n{name}: the best on {len(data.X_test):,} held-out rows")
    shown = [(f"{b:.4g}", f"{ridge:g}", data.task.shown(error)) for b, ridge, error in lines[:5]]
    table(("bandwidth", "ridge", data.task.unit), shown)
    wide = replace(setting, bandwidth=lines[0][0], ridge=lines[0][1])
    chosen = wide if name in FIXED else narrowed(rows_of(name, given.data, given.rows), wide)
    return with_vectors(data, chosen)


def narrowed(data: Split, wide: Setting) -> Setting:
    """Return the setting with the bandwidth and the ridge that suit all rows."""
    data, best = data.held_out(MOST_ROWS), (np.inf, wide)
    for factor in NARROWER:
        for more in MORE_RIDGE:
            bandwidth = float(f"{factor * wide.bandwidth:.3g}")
            setting = replace(wide, bandwidth=bandwidth, ridge=more * wide.ridge)
            alpha = setting.ridge / len(data.X)
            error = data.error(fitted(data, setting, **OURS["nystroem"], alpha=alpha))
            best = min(best, (error, setting), key=lambda pair: pair[0])
    return best[1]


def _with(setting: Setting, bandwidth: float) -> Setting:
    return replace(setting, bandwidth=bandwidth)


def median(data: Split, setting: Setting) -> float:
    """Return the median distance of some rows, in the norm of the kernel."""
    rows = data.X[:1_000]
    norm = {"gaussian": "euclidean", "laplacian": "manhattan"}[setting.kind]
    return float(np.median(pairwise_distances(rows, metric=norm)[np.triu_indices(len(rows), 1)]))


def errors(data: Split, setting: Setting) -> list[tuple[float, float, float]]:
    """Return bandwidth, ridge and error for every ridge."""
    columns, centers = Columns.of(data), data.X[: min(CENTERS, len(data.X) // 2)]
    features, judged = (whitened(X, centers, setting.kernel) for X in (data.X, data.X_test))
    values, vectors = eigh(features.T @ features)
    right = vectors.T @ (features.T @ columns.Y)
    projected = judged @ vectors
    return [
        (setting.bandwidth, r, columns.error(projected @ (right / (values + r)[:, None])))
        for r in RIDGES
    ]


def whitened(X: np.ndarray, centers: np.ndarray, kernel: Any) -> np.ndarray:
    """Return L^-1 k(centers, x) for each row, L L' = k(centers, centers)."""
    centers = centers.astype(np.float64)
    K = kernel(centers)
    K[np.diag_indices_from(K)] += 1e-6
    lower = np.linalg.cholesky(K)
    return solve_triangular(lower, kernel(centers, X.astype(np.float64)), lower=True).T


def with_vectors(data: Split, setting: Setting) -> Setting:
    """Return the C, and for numbers the epsilon, of the best support vector machine."""
    few = replace(data, X=data.X[:VECTOR_ROWS], y=data.y[:VECTOR_ROWS])
    epsilons = EPSILONS if data.task.kind == "numbers" else EPSILONS[:1]
    tried = [replace(setting, C=C, epsilon=epsilon) for epsilon in epsilons for C in COSTS]
    return min(tried, key=lambda setting: few.error(support_vectors(few, setting)))
