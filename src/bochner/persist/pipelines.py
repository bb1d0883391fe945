"""Pipelines of scikit-learn transformers in model files: of known classes, by known attributes.

A file holds the parameters of a transformer and what its fit has learned, as far as that is public.
Most transformers need no more to transform. Of the others a new one is fitted to one made-up row,
so that what is private is made by the installed version of scikit-learn, and not read from a file.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import comb
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from bochner.persist.registry import name_of
from bochner.records import require_sound

MOST_COLUMNS = 1 << 20
MOST_TERMS = 1 << 20  # of a polynomial
MOST_DEGREE = 16
PLAIN = (bool, int, float, str, type(None), np.dtype, np.generic)
CELLS = (bool, int, float, str, type(None))
PASSED_ON = ("passthrough", "drop")
COMMON = ("n_features_in_", "feature_names_in_")
OUTPUTS = ("default", "pandas", "polars")
Check = Callable[[Any, int], bool]


def is_number(value: Any, columns: int) -> bool:
    """Whether a value is a number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def is_row(value: Any, columns: int) -> bool:
    """Whether a value has a number for each column."""
    return _is_numeric(value) and value.shape == (columns,)


def is_matrix(value: Any, columns: int) -> bool:
    """Whether a value has columns of numbers."""
    return _is_numeric(value) and value.ndim == 2 and value.shape[1] == columns


def is_vector(value: Any, columns: int) -> bool:
    """Whether a value is a list of numbers."""
    return _is_numeric(value) and value.ndim == 1


def is_fill(value: Any, columns: int) -> bool:
    """Whether a value has a number, or a text, for each column."""
    texts = isinstance(value, np.ndarray) and value.shape == (columns,) and _are_cells(value)
    return is_row(value, columns) or texts


def are_categories(value: Any, columns: int) -> bool:
    """Whether a value has the categories of each column."""
    return (
        isinstance(value, list)
        and len(value) == columns
        and all(isinstance(v, np.ndarray) and v.ndim == 1 and v.size > 0 for v in value)
        and all(_is_numeric(v) or _are_cells(v) for v in value)
    )


def optional(check: Check, value: Any, columns: int) -> bool:
    """Whether a value is None or passes a check."""
    return value is None or check(value, columns)


def _is_numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiub"


def _are_cells(value: Any) -> bool:
    return value.dtype.kind in "UO" and all(isinstance(cell, CELLS) for cell in value.tolist())


OPTIONAL_ROW: Check = partial(optional, is_row)
COUNT: Check = lambda value, columns: is_number(value, columns) or is_row(value, columns)  # noqa: E731


@dataclass(frozen=True)
class Transformer:
    """What a file holds of a transformer, and how one is made of it.

    `refit` fits a new one where private attributes are needed; `example` is a row that it takes.
    """

    kind: type[BaseEstimator]
    state: dict[str, Check] = field(default_factory=dict)
    refit: Callable[[BaseEstimator, dict[str, Any]], None] | None = None
    refused: tuple[str, ...] = ()  # parameters that only their defaults are known of


def _fit_encoder(encoder: BaseEstimator, state: dict[str, Any]) -> None:
    given, encoder.categories = encoder.categories, state["categories_"]
    encoder.fit(_first_categories(state["categories_"]))
    encoder.categories = given


def _fit_imputer(imputer: BaseEstimator, state: dict[str, Any]) -> None:
    kind = state["statistics_"].dtype
    text = kind.kind in "UO"
    strategy = imputer.strategy
    imputer.strategy = "most_frequent" if strategy != "constant" else strategy
    imputer.fit(
        np.full((1, len(state["statistics_"])), "a" if text else 1, object if text else kind)
    )
    imputer.strategy = strategy


def _fit_polynomial(polynomial: BaseEstimator, state: dict[str, Any]) -> None:
    columns, degree = state["n_features_in_"], np.atleast_1d(polynomial.degree)
    whole = degree.dtype.kind == "i" and degree.size <= 2 and bool((degree >= 0).all())
    require_sound(whole and degree.max() <= MOST_DEGREE, "its degree is too large")
    terms = comb(columns + int(degree.max()), int(degree.max()))
    require_sound(terms <= MOST_TERMS, "it has too many terms")
    polynomial.fit(np.zeros((1, columns)))


TRANSFORMERS = {
    one.kind.__name__: one
    for one in (
        Transformer(
            StandardScaler,
            {"mean_": OPTIONAL_ROW, "var_": OPTIONAL_ROW, "scale_": OPTIONAL_ROW}
            | {"n_samples_seen_": COUNT},
        ),
        Transformer(
            MinMaxScaler,
            dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), is_row)
            | {"n_samples_seen_": COUNT},
        ),
        Transformer(MaxAbsScaler, {"max_abs_": is_row, "scale_": is_row, "n_samples_seen_": COUNT}),
        Transformer(RobustScaler, {"center_": OPTIONAL_ROW, "scale_": OPTIONAL_ROW}),
        Transformer(
            PCA,
            {"components_": is_matrix, "mean_": is_row}
            | dict.fromkeys(
                ("explained_variance_", "explained_variance_ratio_", "singular_values_"), is_vector
            )
            | dict.fromkeys(("n_components_", "n_samples_", "noise_variance_"), is_number),
        ),
        Transformer(
            QuantileTransformer,
            {"quantiles_": is_matrix, "references_": is_vector, "n_quantiles_": is_number},
        ),
        Transformer(PolynomialFeatures, {}, _fit_polynomial),
        Transformer(SimpleImputer, {"statistics_": is_fill}, _fit_imputer, ("add_indicator",)),
        Transformer(
            OneHotEncoder,
            {"categories_": are_categories},
            _fit_encoder,
            ("min_frequency", "max_categories"),
        ),
        Transformer(
            OrdinalEncoder,
            {"categories_": are_categories},
            _fit_encoder,
            ("min_frequency", "max_categories"),
        ),
    )
}
SKOPS = (
    f"Model files hold pipelines of {', '.join(TRANSFORMERS)} and ColumnTransformer. Save others "
    "with skops (skops.io.dump), which lists what a reader has to trust."
)


def is_part(value: Any) -> bool:
    """Whether a value is a part of a pipeline, which a record of the registry is not."""
    return isinstance(value, BaseEstimator) and name_of(type(value)) is None


def is_model(value: Any) -> bool:
    """Whether a value is of this library, or a pipeline that ends with an estimator of it."""
    if isinstance(value, Pipeline):
        return bool(value.steps) and name_of(type(value.steps[-1][1])) is not None
    return not is_part(value)


def parts_of(value: BaseEstimator, path: str) -> dict[str, Any]:
    """Return what a file holds of a pipeline, a column transformer or a known transformer."""
    kind = type(value)
    found: dict[str, Any] = {"class": kind.__name__}
    if kind is Pipeline:
        return found | {"steps": [[name, step] for name, step in value.steps]}
    if kind is ColumnTransformer:
        return found | _of_columns(value, path) | _common(value)
    known = TRANSFORMERS.get(kind.__name__)
    if known is None or known.kind is not kind:
        raise ValueError(f"{path or 'This'} is a {kind.__module__}.{kind.__name__}. {SKOPS}")
    parameters = {name: _plain(part, path) for name, part in value.get_params(deep=False).items()}
    for name in known.refused:
        if parameters.get(name) != inspect.signature(kind).parameters[name].default:
            raise ValueError(f"{path} has another {name} than its default. {SKOPS}")
    if not hasattr(value, "n_features_in_"):
        raise ValueError(f"{path} is a {kind.__name__} without a fit: fit the pipeline first.")
    state = {name: _public(getattr(value, name)) for name in known.state}
    return found | {"parameters": parameters, "state": state} | _common(value)


def _common(value: BaseEstimator) -> dict[str, Any]:
    known = {name: getattr(value, name) for name in COMMON if hasattr(value, name)}
    return known | {"output": _output(value)}


def _of_columns(value: ColumnTransformer, path: str) -> dict[str, Any]:
    if not isinstance(value.remainder, str) or not hasattr(value, "transformers_"):
        raise ValueError(
            f"{path} needs a fit, and a remainder that is dropped or passed through. {SKOPS}"
        )
    words = {name: part for name, part, _ in value.transformers if isinstance(part, str)}
    fitted = [one for one in value.transformers_ if one[0] != "remainder"]
    chosen = [(name, words.get(name, part), columns) for name, part, columns in fitted]
    names = ("sparse_threshold", "transformer_weights", "verbose_feature_names_out", "remainder")
    return {
        "parameters": {name: _plain(getattr(value, name), path) for name in names},
        "transformers": [[name, part, _selected(columns)] for name, part, columns in chosen],
        "sparse": bool(value.sparse_output_),
    }


def _selected(columns: Any) -> Any:
    return columns.tolist() if isinstance(columns, np.ndarray) else columns


def _output(value: BaseEstimator) -> str | None:
    found = getattr(value, "_sklearn_output_config", {}).get("transform")
    return found if isinstance(found, str) else None


def _public(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain(value: Any, path: str) -> Any:
    """Return a parameter as plain values; refuse functions and objects."""
    if isinstance(value, type) and issubclass(value, np.generic | float):
        return np.dtype(value)
    items = (
        value.items() if isinstance(value, dict) else enumerate(value) if _is_list(value) else ()
    )
    if not isinstance(value, PLAIN) and not (isinstance(value, dict) or _is_list(value)):
        raise ValueError(f"{path} has a parameter that is a {type(value).__name__}. {SKOPS}")
    for _, part in items:
        _plain(part, path)
    return value


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "fiubUO"
    )


def restored(parts: dict[str, Any]) -> BaseEstimator:
    """Return the transformer of the parts in a file; raise ValueError if they are not sound."""
    with config_context(transform_output="default"):
        value = _made(parts)
    if parts.get("output") is not None:
        require_sound(parts["output"] in OUTPUTS, "its output is unknown")
        value.set_output(transform=parts["output"])
    return value


def _made(parts: dict[str, Any]) -> BaseEstimator:
    name = parts["class"]
    if name == "Pipeline":
        return _pipeline(parts["steps"])
    if name == "ColumnTransformer":
        return _column_transformer(parts)
    require_sound(name in TRANSFORMERS, "its class is unknown")
    return _transformer(TRANSFORMERS[name], parts)


def _pipeline(steps: Any) -> Pipeline:
    require_sound(isinstance(steps, list) and len(steps) > 0, "it has no steps")
    for name, step in steps:
        known = step is None or step == "passthrough" or isinstance(step, BaseEstimator)
        require_sound(isinstance(name, str) and known, "a step is none")
    for _, step in steps[:-1]:
        passes = not isinstance(step, BaseEstimator) or hasattr(step, "transform")
        require_sound(passes, "a step does not transform")
    return Pipeline([(name, step) for name, step in steps])


def _transformer(known: Transformer, parts: dict[str, Any]) -> BaseEstimator:
    given, state = parts["parameters"], parts["state"]
    require_sound(isinstance(given, dict) and isinstance(state, dict), "its parts are no dicts")
    value = known.kind(**{name: _as_type(_plain(v, name)) for name, v in given.items()})
    columns = _columns(parts)
    require_sound(state.keys() == known.state.keys(), "its attributes are others")
    for name, check in known.state.items():
        require_sound(check(state[name], columns), f"its {name} is wrong")
    if known.refit is not None:
        known.refit(value, state | {"n_features_in_": columns})
    vars(value).update(state | {name: parts[name] for name in COMMON if name in parts})
    _require_agreement(value, columns)
    return value


def _as_type(value: Any) -> Any:
    return value.type if isinstance(value, np.dtype) else value


def _columns(parts: dict[str, Any]) -> int:
    columns, names = parts["n_features_in_"], parts.get("feature_names_in_")
    require_sound(type(columns) is int and 0 < columns < MOST_COLUMNS, "its columns are wrong")
    named = names is None or (isinstance(names, np.ndarray) and names.shape == (columns,))
    require_sound(named, "its names are of other columns")
    require_sound(names is None or all(isinstance(n, str) for n in names), "a name is no text")
    return int(columns)


def _require_agreement(value: BaseEstimator, columns: int) -> None:
    """Transform an example: sizes that do not agree raise an error here, and not in a forecast."""
    require_sound(value.transform(example(value)).shape[0] == 1, "it transforms no row")


def example(value: BaseEstimator) -> Any:
    """Return a row that a transformer takes."""
    if isinstance(value, Pipeline):
        steps = [step for _, step in value.steps if isinstance(step, BaseEstimator)]
        return example(steps[0])
    if isinstance(value, OneHotEncoder | OrdinalEncoder):
        return _framed(value, _first_categories(value.categories_))
    if isinstance(value, SimpleImputer):
        return _framed(value, _row_like(value.statistics_))
    return _framed(value, np.full((1, value.n_features_in_), 0.5))


def _row_like(values: Any) -> Any:
    """Return a row of cells of the type of these values."""
    text = values.dtype.kind in "UO"
    return np.full((1, len(values)), "a" if text else 1, object if text else values.dtype)


def _first_categories(categories: list[Any]) -> Any:
    kinds = {known.dtype.kind for known in categories}
    return np.array([[known[0] for known in categories]], object if kinds & set("UO") else None)


def _framed(value: BaseEstimator, row: Any) -> Any:
    """Return the row as a data frame if the transformer was fitted to one."""
    names = getattr(value, "feature_names_in_", None)
    if names is None:
        return row
    import pandas as pd

    return pd.DataFrame(row, columns=names)


class Stand(BaseEstimator):  # type: ignore[misc]
    """Takes the place of a fitted transformer in a fit: it has the same number of outputs."""

    def __init__(self, width: int = 1) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> Stand:
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return zeros."""
        return np.zeros((len(X), self.width))


def _column_transformer(parts: dict[str, Any]) -> ColumnTransformer:
    columns, chosen = _columns(parts), parts["transformers"]
    require_sound(isinstance(chosen, list), "its transformers are no list")
    for name, part, selected in chosen:
        known = isinstance(part, BaseEstimator) or part in PASSED_ON
        require_sound(isinstance(name, str) and known and _is_selection(selected), "it is mixed up")
    parameters = {name: _plain(part, name) for name, part in parts["parameters"].items()}
    require_sound(parameters.get("remainder") in PASSED_ON, "its remainder is unknown")
    stands = [
        (name, Stand(_width(part)) if isinstance(part, BaseEstimator) else part, selected)
        for name, part, selected in chosen
    ]
    value = ColumnTransformer(stands, **parameters)
    names = parts.get("feature_names_in_")
    value.feature_names_in_ = names
    row = _framed(value, np.zeros((1, columns)))
    del value.feature_names_in_
    value.fit(row)
    real = {name: part for name, part, _ in chosen if isinstance(part, BaseEstimator)}
    value.transformers_ = [(n, real.get(n, part), cols) for n, part, cols in value.transformers_]
    value.transformers = [
        (name, clone(part) if isinstance(part, BaseEstimator) else part, selected)
        for name, part, selected in chosen
    ]
    value.sparse_output_ = parts["sparse"] is True
    return value


def _width(part: BaseEstimator) -> int:
    return int(part.transform(example(part)).shape[1])


def _is_selection(selected: Any) -> bool:
    if isinstance(selected, list):
        return all(isinstance(one, int | str) for one in selected)
    return isinstance(selected, int | str | slice)
