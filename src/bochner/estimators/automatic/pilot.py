"""Pilot: small fits on a sample that say what larger ones would gain."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bochner.data import ArraySource, DataSource, Scaling
from bochner.estimators.automatic.defaults import is_auto
from bochner.features import Centers

ROWS = 8_000
FEW, MANY = 500, 2_000  # centres
SEED = 0  # the same machine for the same rows, whatever the seed of the fit


def gain_of_centers(estimator: Any, source: DataSource) -> float:
    """Return by what share the loss on held-out rows falls from 500 to 2,000 centres."""
    sample = source.sample(ROWS, SEED)
    if sample.y is None or (np.asarray(sample.y) == sample.y[0]).all():
        return 0.0  # nothing to learn from
    few, many = (_loss(estimator, sample, size) for size in (FEW, MANY))
    return 1.0 - many / few if few > 0 else 0.0


def _loss(estimator: Any, sample: Any, size: int) -> float:
    small = clone(estimator)
    X, scale = _rows(estimator, sample.X)
    given = small.get_params(deep=False)
    if "class_weight" in given:
        small.set_params(class_weight=None)  # the sample may lack a class
    if is_auto(given.get("loss")):
        small.set_params(loss="squared")
    small.set_params(
        kernel=estimator._kernel(estimator.features),
        scales=None,
        scale=scale,
        features=Centers(size),
        solver="nystroem",
        early_stopping=True,
        max_seconds=None,
        max_passes=None,
        callbacks=None,
        verbose=False,
        random_state=SEED,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        small.fit(X, sample.y, sample.weight)
    return float(min(loss for loss in small.history_["held_out_loss"] if loss is not None))


def _rows(estimator: Any, X: Any) -> tuple[Any, str | None]:
    """Return the rows as learned scales take them, and what is left to be scaled."""
    warping = None if estimator._learned is None else estimator._learned.warping
    if warping is None:
        return X, estimator.scale
    if estimator.scale is not None:
        X = Scaling.learn(ArraySource(X), estimator.scale).rows(X)
    return warping.rows(X), None
