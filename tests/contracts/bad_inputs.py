"""Bad inputs, and what every public estimator makes of them: the cases of a law and of a table."""

from __future__ import annotations

import inspect
import linecache
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn
import sklearn.utils
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import bochner

ROWS, COLUMNS = 20, 3
RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 2.0, size=(ROWS, COLUMNS))
NUMBERS = np.sin(3 * X[:, 0]) + 0.1 * RNG.normal(size=ROWS)
LABELS = np.where(X[:, 0] > 1, "tall", "low")
OTHER = X + 0.5  # the second of two samples
NEW = RNG.uniform(0.1, 2.0, size=(5, COLUMNS))

# What a class has to be given to be quick on 20 rows, or at all.
PARAMETERS: dict[str, dict[str, Any]] = {
    "DensityRatio": {"kernel": "gaussian", "alpha": 1e-3, "size": 8},
    "KernelNoveltyDetector": {"features": bochner.features.Fourier(8), "max_passes": 2},
    "KernelQuantileRegressor": {"max_passes": 5},
    "KernelWitness": {"size": 8},
    "NystroemMap": {"size": 4},
    "RandomBinning": {"grids": 4},
}
METHODS = ("predict", "predict_proba", "decision_function", "ratio", "transform")
SOURCES = [Path(package.__file__).parent for package in (bochner, sklearn)]
OURS = SOURCES[0]


@dataclass(frozen=True)
class Given:
    """Rows, targets and weights of a fit, and rows to predict."""

    X: Any = None
    numbers: Any = None
    labels: Any = None
    weight: Any = None
    new: Any = None

    def with_copies(self) -> Given:
        """Return equal rows and targets in other arrays, so that they are seen as other ones."""
        return Given(self.X.copy(), self.numbers.copy(), self.labels.copy(), None, self.new.copy())


GOOD = Given(X, NUMBERS, LABELS, None, NEW)


@dataclass(frozen=True)
class Outcome:
    """How an estimator answers: "finite", "sentence", "not taken" or a fault; and the sentence."""

    kind: str
    text: str = ""

    @property
    def is_sound(self) -> bool:
        """Whether the answer is a finite result or a sentence for users."""
        return self.kind in ("finite", "sentence", "not taken")


def estimators() -> dict[str, BaseEstimator]:
    """Return every public estimator, cheap and with a seed."""
    classes = [getattr(bochner, name) for name in bochner.__all__]
    classes = [one for one in classes if inspect.isclass(one) and issubclass(one, BaseEstimator)]
    return {one.__name__: _cheap(one) for one in classes}


def _cheap(kind: type[BaseEstimator]) -> BaseEstimator:
    model = kind(**PARAMETERS.get(kind.__name__, {}))
    known = model.get_params()
    small = {"size": 8, "random_state": 0, "n_jobs": 1}
    given = PARAMETERS.get(kind.__name__, {})
    return model.set_params(**{k: v for k, v in small.items() if k in known and k not in given})


def outcome(model: BaseEstimator, given: Given) -> Outcome:
    """Fit, then predict the rows of the fit and new ones; return what a user sees.

    An estimator that does not take the bad argument, as a transformer takes no targets, is not
    asked.
    """
    arguments = _arguments(model, given)
    if all(
        one is other for one, other in zip(_seen(model, given), _seen(model, GOOD), strict=True)
    ):
        return Outcome("not taken")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in (ConvergenceWarning, DataConversionWarning):
            warnings.simplefilter("ignore", category)
        try:
            model.fit(*arguments)
            results = [
                getattr(model, name)(rows)
                for rows in (given.X, given.new)
                for name in METHODS
                if hasattr(model, name)
            ]
        except Warning as warning:
            return Outcome(type(warning).__name__, str(warning))
        except Exception as error:
            return _refusal(error)
    finite = all(_is_finite(result) for result in results)
    return Outcome("finite") if finite else Outcome("not finite")


def _arguments(model: BaseEstimator, given: Given) -> list[Any]:
    """Return the arguments of `fit`: rows and targets, or two samples, and weights."""
    names = list(inspect.signature(model.fit).parameters)
    if "Y" in names:
        return [given.X, OTHER, given.weight]
    y = given.labels if sklearn.base.is_classifier(model) else given.numbers
    return [given.X, y, given.weight] if "sample_weight" in names else [given.X, y]


def _seen(model: BaseEstimator, given: Given) -> list[Any]:
    """Return what the estimator looks at."""
    supervised = sklearn.utils.get_tags(model).target_tags.required
    places = [0, 2] if not supervised else [0, 1, 2]
    arguments = _arguments(model, given)
    return [given.new, *(arguments[place] for place in places if place < len(arguments))]


def _is_finite(result: Any) -> bool:
    result = result.data if sp.issparse(result) else np.asarray(result)
    return result.dtype.kind not in "fc" or bool(np.isfinite(result).all())


def _refusal(error: Exception) -> Outcome:
    """Tell a sentence of ours or of scikit-learn's validation from an error of something else."""
    text = " ".join(str(error).split())
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    assert last is not None
    path = Path(last.tb_frame.f_code.co_filename)
    raised = linecache.getline(str(path), last.tb_lineno).strip().startswith("raise ")
    known = raised if path.is_relative_to(OURS) else path.is_relative_to(SOURCES[1])
    if known and isinstance(error, ValueError | TypeError) and len(text) > 20:
        return Outcome("sentence", text)
    where = f"{path.name}:{last.tb_lineno}"
    return Outcome("raw error", f"{type(error).__name__} at {where}: {text}")


def _with_cell(value: Any, array: Any = X, dtype: Any = None) -> Any:
    changed = np.array(array, dtype)
    changed.flat[7] = value
    return changed


def _with_column(column: Any, place: int = 1) -> Any:
    changed = X.copy()
    changed[:, place] = column
    return changed


def _frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]} | columns)


def _rows(rows: Any) -> Callable[[], Given]:
    """Return what makes a case with these rows in the fit, and as many targets."""

    def make() -> Given:
        bad = rows() if callable(rows) else rows
        given = replace(GOOD, X=bad, new=bad)
        shape = getattr(given.X, "shape", (ROWS,))
        count = shape[0] if shape and isinstance(shape[0], int) else ROWS
        if count < ROWS:
            given = replace(given, numbers=NUMBERS[:count], labels=LABELS[:count])
        return given

    return make


def _targets(numbers: Any, labels: Any = None) -> Callable[[], Given]:
    return lambda: replace(GOOD, numbers=numbers, labels=numbers if labels is None else labels)


def _weights(weight: Any) -> Callable[[], Given]:
    return lambda: replace(GOOD, weight=weight)


def _new(rows: Any) -> Callable[[], Given]:
    return lambda: replace(GOOD, new=rows)


def _ragged() -> list[list[float]]:
    return [[1.0, 2.0, 3.0], [1.0, 2.0]] * (ROWS // 2)


def _sparse_with(value: float) -> Any:
    return sp.csr_array(_with_cell(value))


WORDS = np.array(["oak", "ash", "elm", "yew"] * (ROWS // 4), dtype=object)
SIZES = {
    "rows of size 1e30": X * 1e30,
    "rows of size 1e-30": X * 1e-30,
    "rows of size 1e37": X * 1e37,
    "rows of size 1e60": X * 1e60,
    "rows of size 1e-60": X * 1e-60,
    "rows of size 1e300": X * 1e300,
    "rows of size 1e-300": X * 1e-300,
    "a column of size 1e30": _with_column(X[:, 1] * 1e30),
    "a column of size 1e-30": _with_column(X[:, 1] * 1e-30),
    "columns of sizes 1e30, 1, 1e-30": X * [1e30, 1.0, 1e-30],
    "a cell of 1e30": _with_cell(1e30),
    "a cell of -1e30": _with_cell(-1e30),
    "a cell of 1e200": _with_cell(1e200),
    "float32 rows of size 1e30": (X * 1e30).astype(np.float32),
    "float32 rows of size 1e-40": (X * 1e-40).astype(np.float32),
    "sparse rows of size 1e30": sp.csr_array(X * 1e30),
    "rows far from 0": X + 1e12,
}
ROWS_OF_FITS: dict[str, Any] = SIZES | {
    "a missing cell": _with_cell(np.nan),
    "a column of missing cells": _with_column(np.nan),
    "no cell but missing ones": np.full_like(X, np.nan),
    "an infinite cell": _with_cell(np.inf),
    "a cell of minus infinity": _with_cell(-np.inf),
    "sparse rows with a missing cell": _sparse_with(np.nan),
    "sparse rows with an infinite cell": _sparse_with(np.inf),
    "sparse rows of zeros": sp.csr_array((ROWS, COLUMNS)),
    "negative cells": -X,
    "rows of zeros": np.zeros_like(X),
    "equal rows": np.repeat(X[:1], ROWS, axis=0),
    "two different rows": np.repeat(X[:2], ROWS // 2, axis=0),
    "a constant column": _with_column(7.0),
    "a copy of a column": _with_column(X[:, 0]),
    "more columns than rows": np.repeat(X, 20, axis=1),
    "no rows": X[:0],
    "one row": X[:1],
    "two rows": X[[X[:, 0].argmin(), X[:, 0].argmax()]],
    "no columns": X[:, :0],
    "one dimension": X[:, 0],
    "three dimensions": X[:, :, None],
    "a number for rows": 3.0,
    "None for rows": None,
    "a text for rows": "rows.csv",
    "a dictionary for rows": {"a": [1.0], "b": [2.0]},
    "a set for rows": {1.0, 2.0},
    "rows of different lengths": _ragged,
    "complex numbers": X + 1j,
    "words": np.stack([WORDS] * COLUMNS, axis=1),
    "numbers as text": X.astype(str),
    "bytes": np.full((ROWS, COLUMNS), b"oak"),
    "dates": np.full((ROWS, COLUMNS), np.datetime64("2020-01-01")),
    "objects": np.full((ROWS, COLUMNS), object()),
    "None in a cell": _with_cell(None, dtype=object),
    "decimals": [[Decimal("1.5")] * COLUMNS, [Decimal("2.5")] * COLUMNS] * (ROWS // 2),
    "fractions": [[Fraction(1, 3)] * COLUMNS, [Fraction(2, 3)] * COLUMNS] * (ROWS // 2),
    "truth values": X > 1,
    "large whole numbers": (X * 1e18).astype(np.int64),
    "whole numbers of 400 digits": [[10**400, 1, 2]] * ROWS,
    "extended precision": X.astype(np.longdouble),
    "half precision": X.astype(np.float16),
    "a masked array": np.ma.masked_greater(X, 1.5),
    "a structured array": np.zeros(ROWS, [("a", float), ("b", float)]),
    "a frame with words": lambda: _frame(b=WORDS),
    "a frame with dates": lambda: _frame(b=[datetime(2020, 1, 1 + i) for i in range(ROWS)]),
    "a frame with times": lambda: _frame(b=[timedelta(i) for i in range(ROWS)]),
    "a frame with missing whole numbers": lambda: _frame(
        b=pd.array([None, *range(ROWS - 1)], dtype="Int64")
    ),
    "a frame with lists": lambda: _frame(b=[[1, 2]] * ROWS),
    "a frame with infinity": lambda: _frame(b=np.inf),
    "a frame with a column 1e300": lambda: _frame(b=X[:, 1] * 1e300),
    "a frame with names of two types": lambda: _frame(b=X[:, 1]).rename(columns={"b": 1}),
}
TARGETS: dict[str, Any] = {
    "targets of size 1e30": _targets(NUMBERS * 1e30, LABELS),
    "targets of size 1e-30": _targets(NUMBERS * 1e-30, LABELS),
    "targets of size 1e-300": _targets(NUMBERS * 1e-300, LABELS),
    "targets of size 1e37": _targets(NUMBERS * 1e37, LABELS),
    "a target of 1e200": _targets(_with_cell(1e200, NUMBERS)),
    "targets far from 0": _targets(NUMBERS + 1e30, LABELS),
    "a missing target": _targets(_with_cell(np.nan, NUMBERS)),
    "an infinite target": _targets(_with_cell(np.inf, NUMBERS)),
    "no targets": _targets(None),
    "fewer targets than rows": _targets(NUMBERS[:-1], LABELS[:-1]),
    "equal targets": _targets(np.ones(ROWS), np.full(ROWS, "oak")),
    "targets of zero": _targets(np.zeros(ROWS), LABELS),
    "words for numbers, numbers for labels": _targets(LABELS, NUMBERS),
    "prices as text": _targets(np.array([f"${1000 + 37 * i:,}" for i in range(ROWS)], object)),
    "a label for each row": _targets(NUMBERS, np.array([f"row {i}" for i in range(ROWS)])),
    "labels of two types": _targets(NUMBERS, np.array(["oak", 1] * (ROWS // 2), object)),
    "a label that is missing": _targets(NUMBERS, _with_cell(None, LABELS, object)),
    "complex targets": _targets(NUMBERS + 1j),
    "targets of two columns": _targets(np.stack([NUMBERS, NUMBERS], axis=1)),
    "targets in one column": _targets(NUMBERS[:, None], LABELS[:, None]),
    "targets in three dimensions": _targets(NUMBERS[:, None, None], LABELS[:, None, None]),
}
WEIGHTS: dict[str, Any] = {
    "negative weights": _weights(-np.ones(ROWS)),
    "weights of zero": _weights(np.zeros(ROWS)),
    "one weight above zero": _weights(np.eye(ROWS)[0]),
    "a missing weight": _weights(_with_cell(np.nan, np.ones(ROWS))),
    "an infinite weight": _weights(_with_cell(np.inf, np.ones(ROWS))),
    "weights of size 1e30": _weights(np.linspace(1, 2, ROWS) * 1e30),
    "weights of size 1e-30": _weights(np.linspace(1, 2, ROWS) * 1e-30),
    "weights of size 1e300": _weights(np.linspace(1, 2, ROWS) * 1e300),
    "weights of size 1e-300": _weights(np.linspace(1, 2, ROWS) * 1e-300),
    "weights from 1e-30 to 1e30": _weights(np.geomspace(1e-30, 1e30, ROWS)),
    "fewer weights than rows": _weights(np.ones(ROWS - 1)),
    "weights of two columns": _weights(np.ones((ROWS, 2))),
    "words for weights": _weights(np.full(ROWS, "oak")),
}
NEW_ROWS: dict[str, Any] = {
    "new rows with fewer columns": _new(NEW[:, :2]),
    "new rows with a missing cell": _new(_with_cell(np.nan, NEW)),
    "new rows with an infinite cell": _new(_with_cell(np.inf, NEW)),
    "new rows of size 1e30": _new(NEW * 1e30),
    "new rows of size -1e30": _new(-NEW * 1e30),
    "new rows of size 1e200": _new(NEW * 1e200),
    "new rows of size 1e-200": _new(NEW * 1e-200),
    "new rows of words": _new(np.full((5, COLUMNS), "oak", object)),
    "no new rows": _new(NEW[:0]),
    "new rows in one dimension": _new(NEW[0]),
}
CASES: dict[str, Callable[[], Given]] = (
    {name: _rows(rows) for name, rows in ROWS_OF_FITS.items()} | TARGETS | WEIGHTS | NEW_ROWS
)
