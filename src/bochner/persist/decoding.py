"""Decode a model from JSON values and named arrays, of which nothing is trusted.

A value is of one of the kinds in `DECODERS`, each of which checks what it gets. A record is of a
class in the registry: the types of its fields are checked, they are set without a call of its
constructor, and then its `validate` is called. Every error is a `ModelFileError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bochner.persist.checks import defaults, parameters_added, require_consistent, type_error
from bochner.persist.container import ModelFileError
from bochner.persist.encoding import EVALUATION, SPARSE
from bochner.persist.pipelines import restored
from bochner.persist.registry import REMOVED_FIELDS, class_of, present_field
from bochner.training.progress import Evaluation

MOST_NESTED = 32  # levels
MOST_CHARACTERS = 1 << 27  # of all arrays of text, where each text takes the room of the longest
LONGEST_TEXT = 1 << 16  # in an array of text
LONGEST_RANGE = 1 << 25
STATE_WORDS = 624  # of the Mersenne twister
BUFFER_WORDS = 4  # of Philox
GENERATORS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "SFC64", "Philox")}
INTEGERS = (f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
SCALARS = {"bool", "float16", "float32", "float64", *INTEGERS}
FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
DATA_ERRORS = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError
)  # fmt: skip
KEYS = (str, int, float, bool, tuple, type(None), np.generic)  # of a dict


@dataclass
class Decoder:
    """Turns JSON into values; `records` are those decoded so far.

    A record refers only to records before it, so that no file describes a cycle.
    """

    arrays: dict[str, NDArray[Any]]
    records: list[Any] = field(default_factory=list)
    characters: int = 0
    _depth: int = 0

    def add(self, coded: Any) -> None:
        """Decode the next record."""
        _require(isinstance(coded, dict) and set(coded) == {"class", "fields"}, "A record")
        name, parts = coded["class"], coded["fields"]
        kind = class_of(name) if isinstance(name, str) else None
        if kind is None:
            raise ModelFileError(f"The file names an unknown class: {str(name)[:80]!r}.")
        _require(isinstance(parts, dict), f"A {kind.__name__}")
        self.records.append(restore(kind, {key: self(part) for key, part in parts.items()}))

    def __call__(self, coded: Any) -> Any:
        """Return the value of JSON as `Encoder` writes it."""
        if coded is None or isinstance(coded, bool | int | float | str):
            return coded
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise ModelFileError("The header is nested too deeply.")
        try:
            if isinstance(coded, list):
                return [self(part) for part in coded]
            _require(len(coded) == 1, "A value")
            ((kind, inner),) = coded.items()
            if kind not in DECODERS:
                raise ModelFileError(f"The file has a value of an unknown kind: {kind[:80]!r}.")
            with _as_model_file_error(f"A value of the kind {kind!r}"):
                return DECODERS[kind](self, inner)
        finally:
            self._depth -= 1

    def array(self, name: Any) -> NDArray[Any]:
        """Return an array by its name."""
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFileError(f"The file lacks the array {str(name)[:80]!r}.")
        return self.arrays[name]

    def take_array(self, name: Any) -> NDArray[Any]:
        """Return an array that becomes a list; another list cannot use it again.

        Otherwise a small file could ask for the same long list a hundred thousand times.
        """
        array = self.array(name)
        del self.arrays[name]
        return array


def restore(kind: type[Any], state: dict[str, Any]) -> Any:
    """Return a record with the fields that a file holds, after checking them."""
    if issubclass(kind, BaseEstimator):
        state = {name: part for name, part in state.items() if name not in REMOVED_FIELDS}
        added = parameters_added(kind)
        state |= {name: added[name] for name in added.keys() - state.keys()}
    state = {present_field(kind, name): part for name, part in state.items()}
    if (wrong := type_error(kind, state)) is not None:
        raise ModelFileError(f"The file does not fit this library: {wrong}.")
    value = object.__new__(kind)
    with _as_model_file_error(f"A {kind.__name__}"):
        if hasattr(kind, "__setstate__"):
            value.__setstate__(state)
        else:
            vars(value).update(defaults(kind) | state)
        require_consistent(value)
    return value


@contextmanager
def _as_model_file_error(what: str) -> Iterator[None]:
    """Raise a ModelFileError in place of any error that invalid data cause."""
    try:
        yield
    except ModelFileError:
        raise
    except DATA_ERRORS as error:
        raise ModelFileError(f"{what} in the file is invalid: {error}.") from error


def _require(valid: bool, what: str) -> None:
    if not valid:
        raise ModelFileError(f"{what} in the file is invalid.")


def _record(decoder: Decoder, coded: Any) -> Any:
    _require(type(coded) is int and 0 <= coded < len(decoder.records), "A reference to a record")
    return decoder.records[coded]


def _list(decoder: Decoder, coded: Any) -> list[Any]:
    value = decoder(coded)
    _require(isinstance(value, list), "A list")
    return value  # type: ignore[no-any-return]


def _dict(decoder: Decoder, coded: Any) -> dict[Any, Any]:
    pairs = _list(decoder, coded)
    _require(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), "A dict")
    _require(all(isinstance(key, KEYS) for key, _ in pairs), "A dict")
    return dict(pairs)


def _numbers(kind: str) -> Callable[[Decoder, Any], list[Any]]:
    def decode(decoder: Decoder, coded: Any) -> list[Any]:
        array = decoder.take_array(coded)
        _require(array.dtype == kind and array.ndim == 1, "A list of numbers")
        return array.tolist()  # type: ignore[no-any-return]

    return decode


def _optional_floats(decoder: Decoder, coded: Any) -> list[float | None]:
    _require(isinstance(coded, list) and len(coded) == 2, "A list of numbers")
    numbers, known = (decoder.take_array(name) for name in coded)
    valid = numbers.ndim == 1 and numbers.dtype == np.float64 and known.dtype == np.bool_
    _require(valid and numbers.shape == known.shape, "A list of numbers")
    parts = zip(numbers.tolist(), known.tolist(), strict=True)
    return [number if is_known else None for number, is_known in parts]


def _text_list(decoder: Decoder, coded: Any) -> list[str]:
    _require(isinstance(coded, list) and len(coded) == 2, "A list of texts")
    joined, ends = (decoder.take_array(name) for name in coded)
    valid = joined.dtype == np.uint8 and ends.dtype == np.int64
    _require(valid and joined.ndim == ends.ndim == 1 and ends.size > 0, "A list of texts")
    valid = ends[0] >= 0 and bool((ends[1:] >= ends[:-1]).all()) and ends[-1] == joined.size
    _require(valid, "A list of texts")
    raw, bounds = joined.tobytes(), [0, *ends.tolist()]
    return [raw[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]


def _evaluations(decoder: Decoder, coded: Any) -> list[Evaluation]:
    what = "A list of evaluations"
    _require(isinstance(coded, dict) and set(coded) == set(EVALUATION), what)
    steps, rows, losses = (_list(decoder, coded[name]) for name in EVALUATION)
    _require(len(steps) == len(rows) == len(losses), what)
    _require({*map(type, steps), *map(type, rows)} <= {int}, what)
    _require(set(map(type, losses)) <= {float}, what)
    return list(map(Evaluation, steps, rows, losses))


def _text_array(decoder: Decoder, coded: Any) -> NDArray[Any]:
    what = "An array of text"
    _require(isinstance(coded, dict) and set(coded) == {"dtype", "shape", "values"}, what)
    shape, values, dtype = coded["shape"], _list(decoder, coded["values"]), coded["dtype"]
    _require(isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape), what)
    _require(prod(shape) == len(values), what)
    if dtype == "|O":
        array = np.empty(len(values), object)
        array[:] = values
        return array.reshape(shape)
    _require(all(isinstance(text, str) for text in values), what)
    longest = max(map(len, values), default=0)
    _require(dtype in (f"<U{longest}", f"<U{max(longest, 1)}"), what)
    decoder.characters += longest * len(values)
    _require(longest <= LONGEST_TEXT and decoder.characters <= MOST_CHARACTERS, what)
    return np.array(values, dtype).reshape(shape)


def _sparse(decoder: Decoder, coded: Any) -> Any:
    what, parts = "A sparse array", ("data", "indices", "indptr")
    _require(isinstance(coded, dict) and set(coded) == {"kind", "shape", *parts}, what)
    _require(coded["kind"] in SPARSE and len(coded["shape"]) == 2, what)
    _require(all(type(n) is int and n >= 0 for n in coded["shape"]), what)
    arrays = tuple(decoder(coded[name]) for name in parts)
    _require(all(isinstance(array, np.ndarray) and array.ndim == 1 for array in arrays), what)
    _require(all(array.dtype in (np.int32, np.int64) for array in arrays[1:]), what)
    value = SPARSE[coded["kind"]](arrays, shape=tuple(coded["shape"]))
    value.check_format(full_check=True)
    return value


def _scalar(decoder: Decoder, coded: Any) -> Any:
    _require(isinstance(coded, list) and len(coded) == 2 and isinstance(coded[0], str), "A scalar")
    dtype, value = coded[0], decoder(coded[1])
    text = dtype.startswith("str") and isinstance(value, str)
    number = dtype in SCALARS and isinstance(value, bool | int | float)
    _require(text or number, "A scalar")
    return np.str_(value) if text else np.dtype(dtype).type(value)


def _dtype(decoder: Decoder, coded: Any) -> Any:
    _require(coded in ("float32", "float64"), "A dtype")
    return np.dtype(coded)


def _span(kind: type[Any]) -> Callable[[Decoder, Any], Any]:
    def decode(decoder: Decoder, coded: Any) -> Any:
        valid = isinstance(coded, list) and len(coded) == 3
        _require(valid and all(part is None or type(part) is int for part in coded), "A range")
        _require(kind is slice or (None not in coded and coded[2] != 0), "A range")
        _require(kind is slice or abs(coded[1] - coded[0]) <= LONGEST_RANGE, "A range")
        return kind(*coded)

    return decode


def _random_state(decoder: Decoder, coded: Any) -> np.random.RandomState:
    """Return a RandomState. NumPy accepts any position, and would read memory there."""
    state = decoder(coded)
    key, position = state["state"]["key"], state["state"]["pos"]
    valid = isinstance(key, np.ndarray) and key.shape == (STATE_WORDS,) and key.dtype == np.uint32
    valid = valid and type(position) is int and 0 <= position <= STATE_WORDS
    _require(valid, "A random state")
    value = np.random.RandomState(0)
    value.set_state(state)
    return value


def _generator(decoder: Decoder, coded: Any) -> np.random.Generator:
    """Return a Generator with one of NumPy's bit generators."""
    state = decoder(coded)
    position = state.get("buffer_pos", 0)
    _require(type(position) is int and 0 <= position <= BUFFER_WORDS, "A random generator")
    bits = GENERATORS[state["bit_generator"]](0)
    bits.state = state
    return np.random.Generator(bits)


def _transformer(decoder: Decoder, coded: Any) -> Any:
    _require(isinstance(coded, dict), "A transformer")
    return restored({name: decoder(part) for name, part in coded.items()})


DECODERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "array": Decoder.array,
    "bytes": lambda _, coded: bytes.fromhex(coded),
    "dict": _dict,
    "dtype": _dtype,
    "evaluations": _evaluations,
    "float": lambda _, coded: FLOATS[coded],
    "floats": _numbers("float64"),
    "fortran": lambda decoder, coded: decoder.array(coded).T,
    "generator": _generator,
    "ints": _numbers("int64"),
    "looks": _evaluations,  # of earlier versions
    "random_state": _random_state,
    "range": _span(range),
    "record": _record,
    "scalar": _scalar,
    "some": _optional_floats,
    "slice": _span(slice),
    "sparse": _sparse,
    "texts": _text_array,
    "transformer": _transformer,
    "words": _text_list,
    "tuple": lambda decoder, coded: tuple(_list(decoder, coded)),
}
