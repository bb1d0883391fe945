"""Gradient boosting beside learned scales: LightGBM, XGBoost and scikit-learn's histograms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from binning_sets import Split, quietly
from common import timed

TREES = 500
MANY_ROWS = 100_000
WAIT = 20  # rounds without gain that end an early-stopped fit

Line = dict[str, Any]


def boosted(data: Split) -> list[Line]:
    """Return the figures of all that are installed."""
    labels = np.unique(data.y, return_inverse=True)[1]
    y = data.y if data.task.kind == "numbers" else labels  # XGBoost wants 0, 1, ...
    names = np.unique(data.y)
    found = []
    for name, fit in {**_light(data, y), **_extreme(data, y), **_histograms(data, y)}.items():
        model, seconds = timed(lambda fit=fit: quietly(fit))
        predicted = quietly(partial(model.predict, data.X_test))
        error = _error(data, predicted, names)
        found.append({"model": name, "error": error, "seconds": seconds, "note": ""})
    return found


def _error(data: Split, predicted: np.ndarray, names: np.ndarray) -> float:
    if data.task.kind == "numbers":
        return float(np.sqrt(np.mean((predicted - data.y_test) ** 2)))
    return float(np.mean(names[predicted.astype(int)] != data.y_test))


def _parts(data: Split, y: np.ndarray) -> tuple[Any, ...]:
    """Return rows to learn from and a tenth of them to stop by."""
    order = np.random.default_rng(0).permutation(len(y))
    few, rest = np.split(order, [len(y) // 10])
    return data.X[rest], y[rest], data.X[few], y[few]


def _light(data: Split, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    try:
        from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
    except ImportError:
        return {}
    kind = LGBMRegressor if data.task.kind == "numbers" else LGBMClassifier
    leaves = 255 if len(y) > MANY_ROWS else 63
    make = partial(kind, n_estimators=TREES, num_leaves=leaves, n_jobs=-1, verbose=-1)

    def stopped() -> Any:
        X, targets, X_few, few = _parts(data, y)
        return make().fit(
            X, targets, eval_set=[(X_few, few)], callbacks=[early_stopping(WAIT, verbose=False)]
        )

    return {"LightGBM": lambda: make().fit(data.X, y), "LightGBM, stopped early": stopped}


def _extreme(data: Split, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    try:
        from xgboost import XGBClassifier, XGBRegressor
    except ImportError:
        return {}
    kind = XGBRegressor if data.task.kind == "numbers" else XGBClassifier
    depth = 10 if len(y) > MANY_ROWS else 6
    make = partial(kind, n_estimators=TREES, max_depth=depth, tree_method="hist", n_jobs=-1)

    def stopped() -> Any:
        X, targets, X_few, few = _parts(data, y)
        return make(early_stopping_rounds=WAIT).fit(
            X, targets, eval_set=[(X_few, few)], verbose=False
        )

    return {"XGBoost": lambda: make().fit(data.X, y), "XGBoost, stopped early": stopped}


def _histograms(data: Split, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    numbers = data.task.kind == "numbers"
    kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    return {"HistGradientBoosting": lambda: kind(random_state=0).fit(data.X, y)}
