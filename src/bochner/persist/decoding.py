"""Decoding: JSON values and arrays become a model, each part checked before it is relied on."""

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
from bochner.persist.encoding import LOOK, SPARSE
from bochner.persist.registry import class_of
from bochner.training.progress import Evaluation

LENGTH = 624  # of the Mersenne twister
BUFFER = 4  # of Philox
WRONG = "A random state is not as it should be."
DEEPEST = 32
LONGEST_TEXT = 1 << 16  # of an element of an array of text
MOST = 1 << 25  # signs of an array of text, in which each takes the room of the longest; of a range
SIZES = {"float": (16, 32, 64), "int": (8, 16, 32, 64), "uint": (8, 16, 32, 64)}


GENERATORS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "SFC64", "Philox")}


def random_state(state: Any) -> Any:
    """Return a RandomState; NumPy would take any position, and read there."""
    inner = state.get("state") if isinstance(state, dict) else None
    key, place = (inner.get(name) if isinstance(inner, dict) else None for name in ("key", "pos"))
    is_key = isinstance(key, np.ndarray) and key.shape == (LENGTH,) and key.dtype == np.uint32
    if not is_key or type(place) is not int or not 0 <= place <= LENGTH:
        raise ModelFileError(WRONG)
    made = np.random.RandomState(0)
    _put(made.set_state, state)
    return made


def generator(state: Any) -> Any:
    """Return a Generator of one of NumPy's bit generators."""
    name = state.get("bit_generator") if isinstance(state, dict) else None
    place = state.get("buffer_pos", 0) if isinstance(state, dict) else None
    if not isinstance(name, str) or name not in GENERATORS:
        raise ModelFileError(WRONG)
    if type(place) is not int or not 0 <= place <= BUFFER:
        raise ModelFileError(WRONG)
    bits = GENERATORS[name](0)
    _put(lambda told: setattr(bits, "state", told), state)
    return np.random.Generator(bits)


def _put(put: Callable[[Any], None], state: Any) -> None:
    try:
        put(state)
    except (ValueError, TypeError, LookupError, OverflowError):
        raise ModelFileError(WRONG) from None


def restored(kind: type[Any], state: dict[str, Any]) -> Any:
    """Return a record of a class with the state that its file holds, once that has been checked."""
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
    """Turns JSON into values; `records` fills up with those that have been made."""

    arrays: dict[str, NDArray[Any]]
    records: list[Any] = field(default_factory=list)
    _depth: int = 0

    def record(self, told: Any) -> None:
        """Make the next record."""
        if not isinstance(told, dict) or set(told) != {"class", "fields"}:
            raise ModelFileError("A record is not described as it should be.")
        name, parts = told["class"], told["fields"]
        kind = class_of(name) if isinstance(name, str) else None
        if kind is None:
            raise ModelFileError(f"The file names a class that is not known: {str(name)[:80]!r}.")
        if not isinstance(parts, dict):
            raise ModelFileError(f"The parts of a {kind.__name__} are not as they should be.")
        self.records.append(restored(kind, {key: self(part) for key, part in parts.items()}))

    def __call__(self, told: Any) -> Any:
        """Return the value that is described."""
        if told is None or isinstance(told, bool | int | float | str):
            return told
        self._depth += 1
        if self._depth > DEEPEST:
            raise ModelFileError("The header is nested too deeply.")
        try:
            if isinstance(told, list):
                return [self(part) for part in told]
            if len(told) != 1:
                raise ModelFileError("A value is not described as it should be.")
            ((word, inner),) = told.items()
            if word not in DECODERS:
                raise ModelFileError(f"A value is of a kind that is not known: {word[:80]!r}.")
            return DECODERS[word](self, inner)
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


def _record(decoder: Decoder, told: Any) -> Any:
    _require(type(told) is int and 0 <= told < len(decoder.records), "A reference to a record")
    return decoder.records[told]


def _float(decoder: Decoder, told: Any) -> float:
    _require(isinstance(told, str) and told in FLOATS, "A number")
    return FLOATS[told]


def _list(decoder: Decoder, told: Any) -> list[Any]:
    value = decoder(told)
    _require(isinstance(value, list), "A list")
    return value  # type: ignore[no-any-return]


def _dict(decoder: Decoder, told: Any) -> dict[Any, Any]:
    pairs = _list(decoder, told)
    _require(all(isinstance(pair, list) and len(pair) == 2 for pair in pairs), "A table")
    _require(all(isinstance(key, _KEYS) for key, _ in pairs), "A table")
    try:
        return dict(pairs)
    except TypeError:
        raise ModelFileError("The keys of a table are not as they should be.") from None


_KEYS = (str, int, float, bool, tuple, type(None), np.generic)


def _numbers(kind: str) -> Callable[[Decoder, Any], list[Any]]:
    def decode(decoder: Decoder, told: Any) -> list[Any]:
        array = decoder.array(told)
        _require(array.dtype == kind and array.ndim == 1, "A list of numbers")
        return array.tolist()  # type: ignore[no-any-return]

    return decode


def _some(decoder: Decoder, told: Any) -> list[float | None]:
    _require(isinstance(told, list) and len(told) == 2, "A list of numbers")
    numbers, known = (decoder.array(name) for name in told)
    sound = numbers.ndim == 1 and numbers.dtype == np.float64 and known.dtype == np.bool_
    _require(sound and numbers.shape == known.shape, "A list of numbers")
    parts = zip(numbers.tolist(), known.tolist(), strict=True)
    return [number if is_known else None for number, is_known in parts]


def _words(decoder: Decoder, told: Any) -> list[str]:
    _require(isinstance(told, list) and len(told) == 2, "A list of texts")
    signs, ends = (decoder.array(name) for name in told)
    sound = signs.dtype == np.uint8 and ends.dtype == np.int64
    _require(sound and signs.ndim == ends.ndim == 1 and ends.size > 0, "A list of texts")
    sound = ends[0] >= 0 and bool((ends[1:] >= ends[:-1]).all()) and ends[-1] == signs.size
    _require(sound, "A list of texts")
    raw, bounds = signs.tobytes(), [0, *ends.tolist()]
    try:
        return [raw[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]
    except UnicodeDecodeError:
        raise ModelFileError("A list of texts is not in UTF-8.") from None


def _looks(decoder: Decoder, told: Any) -> list[Evaluation]:
    _require(isinstance(told, dict) and set(told) == set(LOOK), "A list of looks")
    steps, rows, losses = (_list(decoder, told[name]) for name in LOOK)
    _require(len(steps) == len(rows) == len(losses), "A list of looks")
    _require({*map(type, steps), *map(type, rows)} <= {int}, "A list of looks")
    _require(set(map(type, losses)) <= {float}, "A list of looks")
    return list(map(Evaluation, steps, rows, losses))


def _texts(decoder: Decoder, told: Any) -> NDArray[Any]:
    _require(isinstance(told, dict) and set(told) == {"dtype", "shape", "values"}, "A text array")
    shape, values, dtype = told["shape"], _list(decoder, told["values"]), told["dtype"]
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
    _require(longest * len(values) <= MOST, "A text array")
    _require(int(dtype[2:7]) <= max(longest, 1) and len(dtype) < 8, "A text array")
    return np.array(values, dtype).reshape(shape)


def _sparse(decoder: Decoder, told: Any) -> Any:
    words = {"kind", "shape", "data", "indices", "indptr"}
    _require(isinstance(told, dict) and set(told) == words, "A sparse array")
    kind = SPARSE.get(told["kind"]) if isinstance(told["kind"], str) else None
    parts = [decoder(told[name]) for name in ("data", "indices", "indptr")]
    shape = told["shape"]
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


def _scalar(decoder: Decoder, told: Any) -> Any:
    _require(isinstance(told, list) and len(told) == 2 and isinstance(told[0], str), "A number")
    word, value = told[0], decoder(told[1])
    text = word.startswith("str") and isinstance(value, str)
    number = word in SCALARS and isinstance(value, bool | int | float)
    _require(text or number, "A number")
    try:
        return np.str_(value) if text else np.dtype(word).type(value)
    except (OverflowError, ValueError):
        raise ModelFileError("A number does not fit its type.") from None


def _dtype(decoder: Decoder, told: Any) -> Any:
    _require(told in ("float32", "float64"), "A dtype")
    return np.dtype(told)


def _bytes(decoder: Decoder, told: Any) -> bytes:
    _require(isinstance(told, str), "A digest")
    try:
        return bytes.fromhex(told)
    except ValueError:
        raise ModelFileError("A digest is no hexadecimal number.") from None


def _span(kind: type[Any]) -> Callable[[Decoder, Any], Any]:
    def decode(decoder: Decoder, told: Any) -> Any:
        sound = isinstance(told, list) and len(told) == 3
        _require(sound and all(part is None or type(part) is int for part in told), "A range")
        _require(kind is slice or (None not in told and told[2] != 0), "A range")
        _require(kind is slice or abs(told[1] - told[0]) <= MOST, "A range")
        return kind(*told)

    return decode


DECODERS: dict[str, Callable[[Decoder, Any], Any]] = {
    "array": lambda decoder, told: decoder.array(told),
    "bytes": _bytes,
    "dict": _dict,
    "dtype": _dtype,
    "float": _float,
    "floats": _numbers("float64"),
    "fortran": lambda decoder, told: decoder.array(told).T,
    "generator": lambda decoder, told: generator(decoder(told)),
    "ints": _numbers("int64"),
    "random_state": lambda decoder, told: random_state(decoder(told)),
    "range": _span(range),
    "record": _record,
    "looks": _looks,
    "scalar": _scalar,
    "some": _some,
    "slice": _span(slice),
    "sparse": _sparse,
    "texts": _texts,
    "words": _words,
    "tuple": lambda decoder, told: tuple(_list(decoder, told)),
}
