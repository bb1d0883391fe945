"""Mutations: model files that differ somewhere, most of them with a digest that is right again."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import numpy as np

from bochner.persist.container import BLANK, DTYPES
from bochner.persist.registry import modules

ODD: list[Any] = [
    None, True, 0, 1, -1, 7, 2**31, 2**63, -(2**70), 10**30, 0.0, -1.5, 1e308, "", "x", "auto",
    "median", [], {}, [[]], {"tuple": []}, {"float": "nan"}, {"float": "inf"}, {"record": 0},
    {"record": -1}, {"dict": [[1, 2]]}, {"bytes": "00"}, {"dtype": "float64"},
    {"slice": [0, 9, None]}, {"scalar": ["float32", 2.0]}, {"scalar": ["int64", 2**80]},
    {"range": [0, 10**18, 1]},
    {"texts": {"dtype": "<U9", "shape": [10**9], "values": []}}, {"array": "x"},
]  # fmt: skip


def packed(header: Any, text: Any, data: bytes) -> bytes:
    """Return a file whose digest is right, whatever it says."""
    header = json.loads(json.dumps(header))
    header["__metadata__"]["bochner"] = text if isinstance(text, str) else json.dumps(text)
    header["__metadata__"]["digest"] = BLANK
    blank = json.dumps(header).encode()
    blank += b" " * (-len(blank) % 8)
    digest = hashlib.blake2b(blank + data, digest_size=32).hexdigest()
    body = blank.replace(BLANK.encode(), digest.encode(), 1)
    return len(body).to_bytes(8, "little") + body + data


def unpacked(file: bytes) -> tuple[Any, Any, bytes]:
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    return header, json.loads(header["__metadata__"]["bochner"]), file[8 + length :]


def mutated(file: bytes, chance: random.Random) -> bytes:
    """Return a file that differs somewhere."""
    kind = chance.choices([_bytes, _data, _text, _tensors, _monster], [4, 8, 24, 8, 1])[0]
    return kind(file, chance)


def _bytes(file: bytes, chance: random.Random) -> bytes:
    changed = bytearray(file)
    for _ in range(chance.choice([1, 1, 2, 8])):
        place = chance.randrange(len(changed))
        end = place + chance.choice([1, 8, 100])
        how = chance.randrange(4)
        if how == 0:
            changed[place] ^= 1 << chance.randrange(8)
        elif how == 1:
            del changed[place:end]
        elif how == 2:
            changed[place:place] = chance.randbytes(end - place)
        else:
            del changed[place:]
        if not changed:
            break
    return bytes(changed)


def _data(file: bytes, chance: random.Random) -> bytes:
    header, text, data = unpacked(file)
    changed = bytearray(data)
    for _ in range(chance.choice([1, 4, 50])):
        place = chance.randrange(max(1, len(changed) - 8))
        word = chance.choice([chance.randbytes(8), b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f"])
        changed[place : place + 8] = word[: len(changed) - place]
    return packed(header, text, bytes(changed))


def _nodes(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(pairs):
        found.append((value, key))
        if isinstance(part, dict | list):
            _nodes(part, found)
    return found


def _text(file: bytes, chance: random.Random) -> bytes:
    header, text, data = unpacked(file)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        nodes = _nodes(text, [])
        deep = _nodes({key: text.get(key, {}) for key in ("records", "model")}, [])
        nodes = deep if chance.random() < 0.9 else nodes
        holder, key = chance.choice(nodes)
        other_holder, other = chance.choice(nodes)
        how = chance.randrange(6)
        if how == 0 and isinstance(holder, dict):
            del holder[key]
        elif how == 1:
            holder[key] = other_holder[other]
        elif how == 2 and key == "class":
            holder[key] = chance.choice(list(modules()))
        elif how == 3 and type(holder[key]) is int:
            holder[key] += chance.choice([-1, 1, 8, 1000, 10**9])
        elif how == 4 and type(holder[key]) is float:
            holder[key] *= chance.choice([-1, 0, 1e-300, 1e300, 2])
        else:
            holder[key] = json.loads(json.dumps(chance.choice(ODD)))
        try:
            json.dumps(text)
        except (ValueError, RecursionError):  # it holds itself
            return file
    return packed(header, text, data)


def _tensors(file: bytes, chance: random.Random) -> bytes:
    header, text, data = unpacked(file)
    names = [name for name in header if name != "__metadata__"]
    if not names:
        return file
    name, other = chance.choice(names), chance.choice(names)
    told = header[name]
    how = chance.randrange(7)
    if how == 0:
        told["shape"] = told["shape"][::-1]
    elif how == 1:
        told["shape"] = [int(np.prod(told["shape"]))]
    elif how == 2:
        told["shape"] = chance.choice([[1, *told["shape"]], [*told["shape"], 1], [2**62, 0], [-1]])
    elif how == 3:
        told["dtype"] = chance.choice([*DTYPES, "C64", "O", None])
    elif how == 4:
        header[name], header[other] = header[other], header[name]
    elif how == 5:
        told["data_offsets"] = chance.choice([[0, 2**60], [5, 1], header[other]["data_offsets"]])
    else:
        header[chance.choice(["../../x", "/etc/passwd", "__metadata__ ", "\0"])] = header.pop(name)
    return packed(header, text, data)


def _monster(file: bytes, chance: random.Random) -> bytes:
    header, text, data = unpacked(file)
    how = chance.randrange(6)
    if how == 0:
        return (1 << chance.randrange(64)).to_bytes(8, "little") + file[8:]
    if how == 1:
        return packed(header, "[" * 200_000, data)
    if how == 2:
        text["model"] = json.loads("[" * 500 + "]" * 500)
        return packed(header, text, data)
    if how == 3:
        text["version"] = chance.choice([2, 0, "1", None, 10**100])
        return packed(header, text, data)
    if how == 4:
        return packed(header, '{"version": 1' + "0" * 10_000 + "}", data)
    return packed(header, "[" + "[]," * 1_000_000 + "0]", data)
