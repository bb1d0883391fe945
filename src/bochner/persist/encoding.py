"""Encode a model as JSON values and named arrays.

A value that JSON does not have becomes an object with one key, which names its type. Records are
stored in a list, each after the records that it holds. So nothing is nested deeply, a shared record
is stored once, and a reader has checked all parts of a record before the record itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bochner.persist.checks import type_error
from bochner.persist.container import NAMES
from bochner.persist.pipelines import is_part, parts_of
from bochner.persist.registry import name_of
from bochner.training.progress import Evaluation, Progress

LONG_LIST = 64  # numbers; a longer list is stored as an array
LONG_TEXT_LIST = 1_024
LONGEST_NAME = 120
EVALUATION = ("step", "rows", "loss")  # the fields of `Evaluation`
SPARSE = {"csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}


def state_of(value: Any) -> dict[str, Any]:
    """Return the fields of a record as `pickle` would store them, without cached properties."""
    kind = type(value)
    if getattr(kind, "__getstate__", None) is not object.__getstate__:
        return dict(value.__getstate__() or {})
    if is_dataclass(kind):
        return {one.name: getattr(value, one.name) for one in fields(kind)}
    return {
        name: part
        for name, part in vars(value).items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }


@dataclass
class Encoder:
    """Turns values into JSON, and collects the `records` and `arrays` that they refer to."""

    records: list[dict[str, Any]] = field(default_factory=list)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    _numbers: dict[int, int | None] = field(default_factory=dict)
    _names: dict[Any, str] = field(default_factory=dict)
    _alive: list[Any] = field(default_factory=list)  # so that no `id` of a record is used again

    def __call__(self, value: Any, path: str = "") -> Any:
        """Return the JSON of a value; `path` is its place in the model."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        for kind, encode in ENCODERS:
            if isinstance(value, kind):
                return encode(self, value, path)
        if path and is_part(value):
            return self.pipeline_part(value, path)
        return self._record(value, path)

    def array(self, value: NDArray[Any], path: str) -> str:
        """Store a C-contiguous array and return its name; the same memory is stored once."""
        key = (value.__array_interface__["data"][0], value.shape, value.dtype.str)
        if value.size == 0 or key not in self._names:
            self._names[key] = self._unused_name(path)
            self.arrays[self._names[key]] = value
        return self._names[key]

    def pipeline_part(self, value: Any, path: str) -> Any:
        """Return the JSON of a pipeline or of a part of one."""
        parts = parts_of(value, path)
        return {"transformer": {k: self(v, f"{path}.{k}") for k, v in parts.items()}}

    def _unused_name(self, path: str) -> str:
        path = path[:LONGEST_NAME] or "array"
        name, count = path, 1
        while name in self.arrays:
            count += 1
            name = f"{path} {count}"
        return name

    def _record(self, value: Any, path: str) -> dict[str, int]:
        if id(value) in self._numbers:
            number = self._numbers[id(value)]
            if number is None:
                raise ValueError(f"{path} contains itself, which a model file cannot store.")
            return {"record": number}
        name = name_of(type(value))
        if name is None:
            raise ValueError(_refusal(value, path))
        self._alive.append(value)
        self._numbers[id(value)] = None
        state = {k: None if _is_dropped(value, k) else v for k, v in state_of(value).items()}
        encoded = {key: self(v, f"{path}.{key}" if path else key) for key, v in state.items()}
        if (wrong := type_error(type(value), state)) is not None:
            raise ValueError(f"{path or type(value).__name__} cannot be saved: {wrong}.")
        self._numbers[id(value)] = len(self.records)
        self.records.append({"class": name, "fields": encoded})
        return {"record": len(self.records) - 1}


def _is_dropped(value: Any, key: str) -> bool:
    """Whether a field is Python code: the callbacks of an estimator, or a `Progress.expansion`."""
    if isinstance(value, Progress):
        return key == "expansion"
    return isinstance(value, BaseEstimator) and key == "callbacks"


def _refusal(value: Any, path: str) -> str:
    where = f"The part {path!r} of the model" if path else "This"
    if callable(value):
        return (
            f"{where} is or contains Python code ({value!r}), and model files hold no code. Choose "
            "a component of this library, or pickle the model for your own use."
        )
    kind = f"{type(value).__module__}.{type(value).__name__}"
    return f"{where} is a {kind}. Model files hold only the classes of this library."


def _list(encoder: Encoder, value: list[Any], path: str) -> Any:
    kinds = set(map(type, value)) if len(value) >= LONG_LIST else set()
    if kinds == {float}:
        return {"floats": encoder.array(np.array(value), path)}
    if kinds == {int} and all(abs(number) < 1 << 62 for number in value):
        return {"ints": encoder.array(np.array(value, np.int64), path)}
    if kinds == {str} and len(value) >= LONG_TEXT_LIST:
        return {"words": _texts(encoder, value, path)}
    if kinds in ({float, type(None)}, {type(None)}):
        known = np.array([number is not None for number in value])
        numbers = np.array([0.0 if number is None else number for number in value])
        return {"some": [encoder.array(numbers, path), encoder.array(known, f"{path} known")]}
    if kinds == {Evaluation}:  # a long fit has a million of them
        columns = {name: [getattr(one, name) for one in value] for name in EVALUATION}
        columns = {name: encoder(columns[name], f"{path}.{name}") for name in EVALUATION}
        return {"evaluations": columns}
    return [encoder(part, f"{path}[{place}]") for place, part in enumerate(value)]


def _texts(encoder: Encoder, value: list[str], path: str) -> list[str]:
    """Return the names of two arrays: all texts in UTF-8, joined, and the end of each."""
    texts = [text.encode("utf-8", "surrogatepass") for text in value]
    joined = np.frombuffer(bytearray(b"".join(texts)), np.uint8)
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return [encoder.array(joined, path), encoder.array(ends, f"{path} ends")]


def _tuple(encoder: Encoder, value: tuple[Any, ...], path: str) -> Any:
    return {"tuple": _list(encoder, list(value), path)}


def _dict(encoder: Encoder, value: dict[Any, Any], path: str) -> Any:
    pairs = [[encoder(key, path), encoder(part, f"{path}[{key}]")] for key, part in value.items()]
    return {"dict": pairs}


def _array(encoder: Encoder, value: NDArray[Any], path: str) -> Any:
    if value.dtype.kind in "UO":
        parts = _list(encoder, value.ravel().tolist(), path)
        return {"texts": {"dtype": value.dtype.str, "shape": list(value.shape), "values": parts}}
    value = np.asarray(value).astype(value.dtype.newbyteorder("<"), copy=False)
    if value.dtype not in NAMES:
        raise ValueError(f"{path} is an array of {value.dtype}, which model files do not hold.")
    if value.flags.f_contiguous and not value.flags.c_contiguous:
        return {"fortran": encoder.array(value.T, path)}
    return {"array": encoder.array(np.array(value, order="C", copy=None), path)}


def _sparse(encoder: Encoder, value: Any, path: str) -> Any:
    if type(value).__name__ not in SPARSE:
        raise ValueError(f"{path} is a {type(value).__name__}; give sparse rows as a CSR array.")
    parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
    arrays = {name: encoder(part, f"{path}.{name}") for name, part in parts.items()}
    return {"sparse": {"kind": type(value).__name__, "shape": list(value.shape)} | arrays}


def _scalar(encoder: Encoder, value: np.generic, path: str) -> Any:
    return {"scalar": [value.dtype.name, encoder(value.item(), path)]}


def _random_state(encoder: Encoder, value: np.random.RandomState, path: str) -> Any:
    return {"random_state": encoder(value.get_state(legacy=False), path)}


def _generator(encoder: Encoder, value: np.random.Generator, path: str) -> Any:
    return {"generator": encoder(value.bit_generator.state, path)}


ENCODERS: list[tuple[Any, Callable[[Encoder, Any, str], Any]]] = [
    (np.generic, _scalar),
    (np.ndarray, _array),
    (sp.sparray | sp.spmatrix, _sparse),
    (list, _list),
    (tuple, _tuple),
    (dict, _dict),
    (np.dtype, lambda _, value, __: {"dtype": np.dtype(value).name}),
    (bytes, lambda _, value, __: {"bytes": value.hex()}),
    (slice, lambda _, value, __: {"slice": [value.start, value.stop, value.step]}),
    (range, lambda _, value, __: {"range": [value.start, value.stop, value.step]}),
    (np.random.RandomState, _random_state),
    (np.random.Generator, _generator),
]
