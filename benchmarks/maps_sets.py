"""The rows on which feature maps are compared, and what their error is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bochner.data import ArraySource, Batch
from common import load

SAMPLE, JUDGED = 4_096, 500  # rows to build from; other rows, between which kernels are compared
POOLED = 49  # columns of histograms


@dataclass(frozen=True)
class Rows:
    """Rows to build from, and the rows that are judged, in double precision."""

    sample: Batch
    X: np.ndarray


def rows(folder: Path, name: str, judged: int = JUDGED) -> Rows:
    """Return rows of a set: standardised, covtype in [0, 1], "histograms" images of few pixels."""
    X, _, X_test, _ = load(folder, "mnist" if name == "histograms" else name)
    rng = np.random.default_rng(0)
    X = X[rng.permutation(len(X))[:SAMPLE]].astype(np.float64)
    X_test = X_test[rng.permutation(len(X_test))[:judged]].astype(np.float64)
    moves = {"histograms": pooled, "covtype": partial(to_range, X), "mnist": np.asarray}
    move = moves.get(name, partial(standardised, X))
    return Rows(ArraySource(move(X)).sample(SAMPLE), move(X_test))


def pooled(X: np.ndarray) -> np.ndarray:
    """Return images of 28 x 28 as histograms of 7 x 7."""
    sums = X.reshape(-1, 7, 4, 7, 4).sum(axis=(2, 4)).reshape(-1, POOLED)
    return sums / sums.sum(axis=1, keepdims=True)


def standardised(sample: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return columns in deviations from the mean."""
    return (X - sample.mean(axis=0)) / sample.std(axis=0)


def to_range(sample: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return columns from 0 to 1, also where the sample has only one value."""
    low, width = sample.min(axis=0), np.ptp(sample, axis=0)
    return np.clip((X - low) / np.where(width > 0, width, 1), 0, 1)


def error(columns: Any, exact: np.ndarray) -> float:
    """Return |Phi Phi' - K| / |K| in the norm of Frobenius."""
    products = columns @ columns.T
    dense = products if isinstance(products, np.ndarray) else products.toarray()
    return float(np.linalg.norm(dense - exact) / np.linalg.norm(exact))
