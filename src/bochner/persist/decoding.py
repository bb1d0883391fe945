"""Decode a model from JSON values and named arrays; each part is checked before it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.persist.checks import defaults, require_consistent, type_error
from bochner.persist.container import ModelFileError
from bochner.persist.encoding import EVALUATION, SPARSE
from bochner.persist.registry import class_of
from bochner.training.progress import Evaluation

STATE_WORDS = 624  # of the Mersenne twister
BUFFER_WORDS = 4  # of Philox
WRONG = "A random state is not as it should be."
MOST_NESTED = 32  # levels
LONGEST_TEXT = 1 << 16  # in an array of text
MOST_CHARACTERS = 1 << 25  # of an array of text, where each text takes the room of the longest
LONGEST_RANGE = 1 << 25
SIZES = {"float": (16, 32, 64), "int": (8, 16, 32, 64), "uint": (8, 16, 32, 64)}
GENERATORS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "SFC64", "Philox")}


def random_state(state: Any) -> Any:
    """Return a RandomState. NumPy itself accepts any position, and reads there."""
    inner = state.get("state") if isinstance(state, dict) else None
    key, position = (
        inner.get(name) if isinstance(inner, dict) else None for name in ("key", "pos")
    )
    is_key = isinstance(key, np.ndarray) and key.shape == (STATE_WORDS,) and key.dtype == np.uint32
    if not is_key or type(position) is not int or not 0 <= position <= STATE_WORDS:
        raise ModelFileError(WRONG)
    value = np.random.RandomState(0)
    _set(value.set_state, state)
    return value


def generator(state: Any) -> Any:
    """Return a Generator with one of NumPy's bit generators."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    position = state.get("buffer_pos", 0) if isinstance(state, dict) else None
    if not isinstance(name, str) or name not in GENERATORS:
        raise ModelFileError(WRONG)
    if type(position) is not int or not 0 <= position <= BUFFER_WORDS:
        raise ModelFileError(WRONG)
    bits = GENERATORS[name](0)
    _set(lambda state: setattr(bits, "state", state), state)
    return np.random.Generator(bits)


def _set(setter: Callable[[Any], None], state: Any) -> None:
    try:
        setter(state)
    except (ValueError, TypeError, LookupError, OverflowError):
        raise ModelFileError(WRONG) from None


def restore(kind: type[Any], state: dict[str, Any]) -> Any:
    """Return a record with the fields that a file holds, after checking them."""
    if (wrong := type_error(kind, state)) is not None:
        raise ModelFileError(f"The file does not fit this library: {wrong}.")
    value = object.__new__(kind)
    try:
        if hasattr(kind, "__setstate__"):
            value.__setstate__(state)
        else:
            vars(value).update(defaults(kind) | state)
        require_consistent(value)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"A {kind.__name__} in the file is not sound: {error}.") from error
    return value


SCALARS = {"bool"} | {f"{kind}{bits}" for kind, sizes in SIZES.items() for bits in sizes}
FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


@dataclass
class Decoder:
    """Turns JSON into values; `records` are those decoded so far."""

    arrays: dict[str, NDArray[Any]]
    records: list[Any] = field(default_factory=list)
    _depth: int = 0

    def add(self, coded: Any) -> None:
        """Decode the next record."""
        if not isinstance(coded, dict) or set(coded) != {"class", "fields"}:
            raise ModelFileError("A record is not described as it should be.")
        name, parts = coded["class"], coded["fields"]
        kind = class_of(name) if isinstance(name, str) else None
        if kind is None:
            raise ModelFileError(f"The file names a class that is not known: {str(name)[:80]!r}.")
        if not isinstance(parts, dict):
            raise ModelFileError(f"The parts of a {kind.__name__} are not as they should be.")
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
            if len(coded) != 1:
                raise ModelFileError("A value is not described as it should be.")
            ((kind, inner),) = coded.items()
            if kind not in DECODERS:
                raise ModelFileError(f"A value is of a kind that is not known: {kind[:80]!r}.")
            return DECODERS[kind](self, inner)
        finally:
            self._depth -= 1

    def array(self, name: Any) -> NDArray[Any]:
        """Return an array by its name."""
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFileError(f"The file lacks the array {str(name)[:80]!r}.")
        return self.arrays[name]


def _require(sound: bool, what: str) -> None:
    if not sound:
        raise ModelFileError(f"{what} is not described as it should be.")


def _record(decoder: Decoder, coded: Any) -> Any:
    _require(type(coded) is int and 0 <= coded < len(decoder.records), "A reference to a record")
    return decoder.records[coded]


def _float(decoder: Decoder, coded: Any) -> float:
    _require(isinstance(coded, str) and coded in FLOATS, "A number")
    return FLOATS[coded]


def _list(decoder: Decoder, coded: Any) -> list[Any]:
    value = decoder(coded)
    _require(isinstance(value, list), "A list")
    return value  # type: ignore[no-any-return]


def _dict(decoder: Decoder, coded: Any) -> dict[Any, Any]:
    pairs = _list(decoder, coded)
    _require(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), "A table")
    _require(all(isinstance(key, _KEYS) for key, _ in pairs), "A table")
    try:
        return dict(pairs)
    except TypeError:
        raise ModelFileError("The keys of a table are not as they should be.") from None


_KEYS = (str, int, float, bool, tuple, type(None), np.generic)


def _numbers(kind: str) -> Callable[[Decoder, Any], list[Any]]:
    def decode(decoder: Decoder, coded: Any) -> list[Any]:
        array = decoder.array(coded)
        _require(array.dtype == kind and array.ndim == 1, "A list of numbers")
        return array.tolist()  # type: ignore[no-any-return]

    return decode


def _optional_floats(decoder: Decoder, coded: Any) -> list[float | None]:
    _require(isinstance(coded, list) and len(coded) == 2, "A list of numbers")
    numbers, known = (decoder.array(name) for name in coded)
    sound = numbers.ndim == 1 and numbers.dtype == np.float64 and known.dtype == np.bool_
    _require(sound and numbers.shape == known.shape, "A list of numbers")
    parts = zip(numbers.tolist(), known.tolist(), strict=True)
    return [number if is_known else None for number, is_known in parts]


def _text_list(decoder: Decoder, coded: Any) -> list[str]:
    _require(isinstance(coded, list) and len(coded) == 2, "A list of texts")
    joined, ends = (decoder.array(name) for name in coded)
    sound = joined.dtype == np.uint8 and ends.dtype == np.int64
    _require(sound and joined.ndim == ends.ndim == 1 and ends.size > 0, "A list of texts")
    sound = ends[0] >= 0 and bool((ends[1:] >= ends[:-1]).all()) and ends[-1] == joined.size
    _require(sound, "A list of texts")
    raw, bounds = joined.tobytes(), [0, *ends.tolist()]
    try:
        return [raw[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]
    except UnicodeDecodeError:
        raise ModelFileError("A list of texts is not in UTF-8.") from None


def _evaluations(decoder: Decoder, coded: Any) -> list[Evaluation]:
    _require(isinstance(coded, dict) and set(coded) == set(EVALUATION), "A list of looks")
    steps, rows, losses = (_list(decoder, coded[name]) for name in EVALUATION)
    _require(len(steps) == len(rows) == len(losses), "A list of looks")
    _require({*map(type, steps), *map(type, rows)} <= {int}, "A list of looks")
    _require(set(map(type, losses)) <= {float}, "A list of looks")
    return list(map(Evaluation, steps, rows, losses))


def _text_array(decoder: Decoder, coded: Any) -> NDArray[Any]:
    _require(isinstance(coded, dict) and set(coded) == {"dtype", "shape", "values"}, "A text array")
    shape, values, dtype = coded["shape"], _list(decoder, coded["values"]), coded["dtype"]
    counts = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
    _require(counts and len(shape) <= 8 and prod(shape) == len(values), "A text array")
    if dtype == "|O":
        array = np.empty(len(values), object)
        array[:] = values
        return array.reshape(shape)
    _require(isinstance(dtype, str) and dtype[:2] == "<U" and dtype[2:].isdecimal(), "A text array")
    longest = max([len(text) for text in values if isinstance(text, str)], default=0)
    _require(all(isinstance(text, str) for text in values), "A text array")
    _require(longest <= int(dtype[2:7]) <= LONGEST_TEXT, "A text array")
    _require(longest * len(values) <= MOST_CHARACTERS, "A text array")
    _require(int(dtype[2:7]) <= max(longest, 1) and len(dtype) < 8, "A text array")
    return np.array(values, dtype).reshape(shape)


def _sparse(decoder: Decoder, coded: Any) -> Any:
    keys = {"kind", "shape", "data", "indices", "indptr"}
    _require(isinstance(coded, dict) and set(coded) == keys, "A sparse array")
    kind = SPARSE.get(coded["kind"]) if isinstance(coded["kind"], str) else None
    parts = [decoder(coded[name]) for name in ("data", "indices", "indptr")]
    shape = coded["shape"]
    sound = isinstance(shape, list) and len(shape) == 2 and all(type(n) is int for n in shape)
    _require(kind is not None and sound and min(shape) >= 0, "A sparse array")
    _require(
        all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts), "A sparse array"
    )
    _require(all(part.dtype in (np.int32, np.int64) for part in parts[1:]), "A sparse array")
    assert kind is not None
    try:
        value = kind(tuple(parts), shape=tuple(shape))
        value.check_format(full_check=True)
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"A sparse array is not sound: {error}.") from None
    return value


def _scalar(decoder: Decoder, coded: Any) -> Any:
    _require(isinstance(coded, list) and len(coded) == 2 and isinstance(coded[0], str), "A number")
    dtype, value = coded[0], decoder(coded[1])
    text = dtype.startswith("str") and isinstance(value, str)
    number = dtype in SCALARS and isinstance(value, bool | int | float)
    _require(text or number, "A number")
    try:
        return np.str_(value) if text else np.dtype(dtype).type(value)
    except (OverflowError, ValueError):
        raise ModelFileError("A number does not fit its type.") from None


def _dtype(decoder: Decoder, coded: Any) -> Any:
    _require(coded in ("float32", "float64"), "A dtype")
    return np.dtype(coded)


def _bytes(decoder: Decoder, coded: Any) -> bytes:
    _require(isinstance(coded, str), "A digest")
    try:
        return bytes.fromhex(coded)
    except ValueError:
        raise ModelFileError("A digest is no hexadecimal number.") from None


def _span(kind: type[Any]) -> Callable[[Decoder, Any], Any]:
    def decode(decoder: Decoder, coded: Any) -> Any:
        sound = isinstance(coded, list) and len(coded) == 3
        _require(sound and all(part is None or type(part) is int for part in coded), "A range")
        _require(kind is slice or (None not in coded and coded[2] != 0), "A range")
        _require(kind is slice or abs(coded[1] - coded[0]) <= LONGEST_RANGE, "A range")
        return kind(*coded)

    return decode


DECODERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "array": lambda decoder, coded: decoder.array(coded),
    "bytes": _bytes,
    "dict": _dict,
    "dtype": _dtype,
    "float": _float,
    "floats": _numbers("float64"),
    "fortran": lambda decoder, coded: decoder.array(coded).T,
    "generator": lambda decoder, coded: generator(decoder(coded)),
    "ints": _numbers("int64"),
    "random_state": lambda decoder, coded: random_state(decoder(coded)),
    "range": _span(range),
    "record": _record,
    "looks": _evaluations,
    "scalar": _scalar,
    "some": _optional_floats,
    "slice": _span(slice),
    "sparse": _sparse,
    "texts": _text_array,
    "words": _text_list,
    "tuple": lambda decoder, coded: tuple(_list(decoder, coded)),
}
