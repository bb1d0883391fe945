"""The methods of the arena: ours, gradient boosting, a forest, and scaled kernel machines.

Each is a function of training rows, targets and test rows that returns predictions for numbers and
class probabilities for labels. Rows are data frames with categories and missing cells; labels are
0, 1, .... Every library sees categories in the way that its authors recommend.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

from bochner import KernelClassifier, KernelRegressor

THREADS = 2
TREES, PATIENCE, VALIDATION = 1_000, 300, 0.2  # the tuned defaults of tabular benchmarks
MOST_GP_ROWS = 2_000
MOST_SVM_ROWS = 60_000

ESTIMATES: list[float | None] = []  # of our fits, in their order

Method = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, bool], np.ndarray]


def numbers(frame: pd.DataFrame) -> list[str]:
    """Return the names of the columns of numbers."""
    return [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]


def categories(frame: pd.DataFrame) -> list[str]:
    """Return the names of the other columns."""
    known = set(numbers(frame))
    return [name for name in frame if name not in known]


def aligned(X: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both with categorical columns of the same categories, those of the training rows."""
    X, test = X.copy(), test.copy()
    for name in categories(X):
        kind = pd.CategoricalDtype(sorted(X[name].dropna().astype(str).unique()))
        for frame in (X, test):
            text = frame[name].astype(str).where(frame[name].notna(), None)
            frame[name] = pd.Categorical(text, dtype=kind)
    return X, test


def predictions(model: Any, test: Any, labels: bool) -> np.ndarray:
    """Return probabilities or numbers."""
    return np.asarray(model.predict_proba(test) if labels else model.predict(test))


# ------------------------------------------------------------------ ours


def bochner(
    X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool, **settings: Any
) -> np.ndarray:
    """Fit the machine with its defaults, or with these settings."""
    kind = KernelClassifier if labels else KernelRegressor
    model = kind(random_state=0, n_jobs=THREADS, **settings).fit(X, y)
    ESTIMATES.append(_estimate(model, y, labels))
    return predictions(model, test, labels)


def _estimate(model: Any, y: np.ndarray, labels: bool) -> float | None:
    """Return the error that the search estimates: a share of wrong labels, or a deviation."""
    tuned = getattr(model, "tuning_", None)
    if tuned is None or tuned.labels != labels:
        return None  # on few rows that of labels is a squared error
    error = tuned.learned_error if tuned.helped else tuned.common_error
    return float(error) if labels else float(np.sqrt(error) * np.std(y))


# -------------------------------------------------------------- boosting


def _parts(X: pd.DataFrame, y: np.ndarray, labels: bool) -> list[Any]:
    """Return training rows, rows to stop by, and the targets of both."""
    rare = labels and np.bincount(y).min() < 2
    stratify = y if labels and not rare else None
    return train_test_split(X, y, test_size=VALIDATION, random_state=0, stratify=stratify)


def lightgbm(
    X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool, tuned: bool = False
) -> np.ndarray:
    """Fit LightGBM, with its defaults or with tuned ones and early stopping."""
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    X, test = aligned(X, test)
    make = partial(LGBMClassifier if labels else LGBMRegressor, n_jobs=THREADS, verbose=-1)
    if not tuned:
        return predictions(make(random_state=0).fit(X, y), test, labels)
    leaves, rate = (50, 0.04) if labels else (100, 0.05)
    known, few, y_known, y_few = _parts(X, y, labels)
    model = make(random_state=0, n_estimators=TREES, num_leaves=leaves, learning_rate=rate).fit(
        known,
        y_known,
        eval_set=[(few, y_few)],
        callbacks=[early_stopping(PATIENCE, verbose=False)],
    )
    return predictions(model, test, labels)


def catboost(
    X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool, tuned: bool = False
) -> np.ndarray:
    """Fit CatBoost, with its defaults or with tuned ones and early stopping."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    text = categories(X)
    X, test = X.copy(), test.copy()
    for frame in (X, test):
        for name in text:
            frame[name] = frame[name].astype(str).where(frame[name].notna(), "missing")
    make = partial(
        CatBoostClassifier if labels else CatBoostRegressor,
        cat_features=text,
        thread_count=THREADS,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
    )
    if not tuned:
        return predictions(make().fit(X, y), test, labels)
    depth = 7 if labels else 9
    known, few, y_known, y_few = _parts(X, y, labels)
    model = make(
        iterations=TREES, depth=depth, learning_rate=0.08, early_stopping_rounds=PATIENCE
    ).fit(known, y_known, eval_set=(few, y_few))
    return predictions(model, test, labels)


def xgboost(
    X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool, tuned: bool = False
) -> np.ndarray:
    """Fit XGBoost, with its defaults or with tuned ones and early stopping."""
    from xgboost import XGBClassifier, XGBRegressor

    X, test = aligned(X, test)
    make = partial(
        XGBClassifier if labels else XGBRegressor,
        n_jobs=THREADS,
        random_state=0,
        enable_categorical=True,
        tree_method="hist",
    )
    if not tuned:
        return predictions(make().fit(X, y), test, labels)
    known, few, y_known, y_few = _parts(X, y, labels)
    model = make(
        n_estimators=TREES, learning_rate=0.08, max_depth=7, early_stopping_rounds=PATIENCE
    ).fit(known, y_known, eval_set=[(few, y_few)], verbose=False)
    return predictions(model, test, labels)


def histograms(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool) -> np.ndarray:
    """Fit scikit-learn's histogram gradient boosting; it takes up to 255 categories."""
    X, test = aligned(X, test)
    text = categories(X)
    many = [name for name in text if X[name].nunique() > 254]
    for frame in (X, test):
        for name in many:
            frame[name] = frame[name].cat.codes.astype(float)
    kind = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    model = kind(random_state=0, categorical_features="from_dtype").fit(X, y)
    return predictions(model, test, labels)


def chimeraboost(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool) -> np.ndarray:
    """Fit ChimeraBoost with its defaults."""
    from chimeraboost import ChimeraBoostClassifier, ChimeraBoostRegressor

    X, test = X.copy(), test.copy()
    text = categories(X)
    for frame in (X, test):
        for name in text:
            frame[name] = frame[name].astype(str).where(frame[name].notna(), "missing")
    kind = ChimeraBoostClassifier if labels else ChimeraBoostRegressor
    model = kind(random_state=0).fit(X, y, cat_features=text or None)
    return predictions(model, test, labels)


# ------------------------------------------------- forest, exact kernels


def forest(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool) -> np.ndarray:
    """Fit scikit-learn's random forest on ordinal categories."""
    coded = make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            make_column_selector(dtype_exclude="number"),
        ),
        remainder="passthrough",
    )
    kind = RandomForestClassifier if labels else RandomForestRegressor
    model = make_pipeline(coded, kind(n_jobs=THREADS, random_state=0)).fit(*_as_text(X, y))
    return predictions(model, _as_text(test)[0], labels)


def svm(X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool) -> np.ndarray:
    """Fit SVC or SVR on standardised columns and one-hot categories."""
    if len(X) > MOST_SVM_ROWS:
        raise ValueError(f"more than {MOST_SVM_ROWS:,} rows")
    if not labels:
        mean, scale = y.mean(), y.std()
        model = make_pipeline(_scaled(), SVR()).fit(_as_text(X)[0], (y - mean) / scale)
        return mean + scale * model.predict(_as_text(test)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # probability=True
        machine = SVC(probability=True, random_state=0)
        model = make_pipeline(_scaled(), machine).fit(*_as_text(X, y))
    return predictions(model, _as_text(test)[0], labels)


def gaussian_process(
    X: pd.DataFrame, y: np.ndarray, test: pd.DataFrame, labels: bool
) -> np.ndarray:
    """Fit scikit-learn's Gaussian process with a scale for each column."""
    if len(X) > MOST_GP_ROWS:
        raise ValueError(f"more than {MOST_GP_ROWS:,} rows")
    transform = _scaled()
    rows = np.asarray(transform.fit_transform(_as_text(X)[0]))
    kernel = ConstantKernel(1.0) * RBF(np.ones(rows.shape[1]))
    if labels:
        model: Any = GaussianProcessClassifier(ConstantKernel(1.0) * RBF(3.0), random_state=0)
    else:
        model = GaussianProcessRegressor(
            kernel + WhiteKernel(0.1), normalize_y=True, random_state=0
        )
    model.fit(rows, y)
    return predictions(model, np.asarray(transform.transform(_as_text(test)[0])), labels)


def _scaled() -> Any:
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (
            make_pipeline(SimpleImputer(), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (one_hot, make_column_selector(dtype_exclude="number")),
    )


def _as_text(X: pd.DataFrame, *more: Any) -> tuple[Any, ...]:
    """Return the frame with categories as text, for scikit-learn's encoders."""
    X = X.copy()
    for name in categories(X):
        X[name] = X[name].astype(str).where(X[name].notna(), "missing").astype(object)
    return X, *more


METHODS: dict[str, Method] = {
    "Bochner": bochner,
    "Bochner 1": partial(bochner, quality=1),
    "Bochner 5": partial(bochner, quality=5),
    "LightGBM": lightgbm,
    "LightGBM tuned": partial(lightgbm, tuned=True),
    "CatBoost": catboost,
    "CatBoost tuned": partial(catboost, tuned=True),
    "XGBoost": xgboost,
    "XGBoost tuned": partial(xgboost, tuned=True),
    "histogram boosting": histograms,
    "ChimeraBoost": chimeraboost,
    "random forest": forest,
    "scaled SVM": svm,
    "Gaussian process": gaussian_process,
}
