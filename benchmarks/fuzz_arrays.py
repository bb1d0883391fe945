"""Broken .npy, .npz and Parquet files: their headers lie, or bytes of them are wrong."""

from __future__ import annotations

import io
import random
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from bochner.data import open_source
from bochner.data.files.formats.array_table import ArrayTable
from bochner.data.files.formats.arrow import pyarrow
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.parquet import ParquetTable
from fuzz_harness import Target
from fuzz_text import MUTATIONS

OPENED = 0.02  # share of the mutants that is read by `open_source`
MOST_READ = 1 << 20  # rows: a file may truly have many of no columns
WORDS = [
    "0", "1", "-1", "3", "7", str(2**31), str(2**63 - 1), str(2**63), "9" * 40, "1.5", "None",
    "True", "()", "(3,)", "(2, 2)", "(0, 5)", "(5, 0)", f"({2**40}, {2**40})", f"(1, {2**62}, 0)",
    "'<f8'", "'>f4'", "'|O'", "'<U9'", "'<U0'", "'|S1'", "'<c16'", "'<M8[s]'", "'|V8'", "'<f2'",
    "[('a', '<f8')]", "[('a', '<f8', (2, 2))]", "'" + "9" * 50 + "f8'", "lambda: 1",
    "'descr'", "{}",
]  # fmt: skip
DEEP = ["(" * 200, "[" * 3000, "-" * 900 + "1"]  # NumPy takes milliseconds to refuse these
TOKEN = re.compile(rb"'[^']*'|\([^)]*\)|-?\d+|True|False|[{}:,]")
LENGTHS = [b"\xff" * 4, b"\x00" * 4, b"\x01\x00\x00\x00", b"\xff\xff\xff\x7f"]
VARINTS = [b"\x00", b"\x01", b"\x7f", b"\xff\x7f", b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01"]


class ArrayTarget(Target):
    """A format of named or numbered columns: good files, and the table that reads one."""

    table: Any
    refusals = (UnreadableFile,)
    good: list[bytes]

    def prepare(self, folder: Path) -> None:
        """Make good files, and read each."""
        self._path = folder / f"file.{self.name}"
        self.good = self.made()
        for content in self.good:
            self._path.write_bytes(content)
            self._rows(list)
            self._open()

    def made(self) -> list[bytes]:
        """Return good files."""
        raise NotImplementedError

    def read(self, content: bytes, chance: random.Random) -> None:
        """Read the rows, of some files with all that `open_source` learns of the columns."""
        self._path.write_bytes(content)
        if chance.random() < OPENED:
            self._open()
        else:
            self._rows(None)

    def _rows(self, all_of: Any) -> None:
        table, rows = self.table(str(self._path)), 0
        for chunk in table.chunks():
            rows += len(chunk)
            if rows > MOST_READ:
                break

    def _open(self) -> None:
        try:
            source = open_source(self._path, format=self.name, on_error="skip")
            for batch in source.batches(64):
                assert len(batch) > 0
        except ValueError as error:
            raise UnreadableFile(str(error)) from error


def numbers() -> list[Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 3))
    return [X, X.astype("f4"), np.asfortranarray(X), (9 * X).astype("i8"), X > 0, X.astype(">f8")]


def npy_bytes(array: Any, version: tuple[int, int] | None = None) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, version)
    return file.getvalue()


def wrong_header(content: bytes, chance: random.Random) -> bytes:
    """Exchange words in the header of a .npy file; its length is right unless drawn otherwise."""
    wide = content[6:7] != b"\x01"
    first = 12 if wide else 10
    length = int.from_bytes(content[8:first], "little")
    header, data = content[first : first + length], content[first + length :]
    for _ in range(chance.choice((1, 1, 2, 4))):
        found = list(TOKEN.finditer(header))
        if found:
            one = chance.choice(found)
            word = chance.choice(WORDS if chance.random() < 0.998 else DEEP).encode()
            header = header[: one.start()] + word + header[one.end() :]
    size = struct.pack("<I" if wide else "<H", len(header) & (0xFFFFFFFF if wide else 0xFFFF))
    if chance.random() < 0.05:
        size = chance.choice(LENGTHS)[: len(size)]
    return content[:8] + size + header + data


def wrong_bytes(content: bytes, chance: random.Random) -> bytes:
    made = bytearray(content)
    for _ in range(1 + int(chance.expovariate(0.7))):
        chance.choice(MUTATIONS)(made, chance)
    return bytes(made)


class Npy(ArrayTarget):
    """One array."""

    name, table = "npy", ArrayTable
    time_share, count_share = 3.0, 2.0

    def made(self) -> list[bytes]:
        """Return arrays of several types and orders, one with a long header."""
        return [*map(npy_bytes, numbers()), npy_bytes(numbers()[0], (2, 0))]

    def mutant(self, chance: random.Random) -> bytes:
        """Return a file with another header, or other bytes."""
        how = wrong_header if chance.random() < 0.7 else wrong_bytes
        return how(chance.choice(self.good), chance)


class Npz(ArrayTarget):
    """A zip archive of arrays, stored or compressed."""

    name, table = "npz", ArrayTable
    time_share, count_share = 2.0, 1.0

    def made(self) -> list[bytes]:
        """Return archives of rows and targets, stored and compressed."""
        self._members = [npy_bytes(array) for array in numbers()]
        self._targets = [npy_bytes(np.arange(6.0)), npy_bytes(np.array(["oak", "ash"] * 3))]
        kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        return [archive([self._members[0], y], kind) for kind in kinds for y in self._targets]

    def mutant(self, chance: random.Random) -> bytes:
        """Return an archive of broken arrays, or a broken archive."""
        if chance.random() < 0.5:
            return wrong_bytes(chance.choice(self.good), chance)
        parts = [chance.choice(self._members), chance.choice(self._targets)]
        place = chance.randrange(len(parts))
        how = wrong_header if chance.random() < 0.8 else wrong_bytes
        parts[place] = how(parts[place], chance)
        return archive(parts, chance.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))


def archive(parts: list[bytes], kind: int) -> bytes:
    file = io.BytesIO()
    write_archive(file, dict(zip(("X.npy", "y.npy"), parts, strict=True)), bool(kind))
    return file.getvalue()


def write_archive(file: Any, parts: dict[str, bytes], compressed: bool) -> None:
    """Write members of any bytes into a zip archive."""
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", kind) as made:
        for name, part in parts.items():
            made.writestr(zipfile.ZipInfo(name), part, kind)


class Parquet(ArrayTarget):
    """A table of Apache Parquet: pages, and a footer in Thrift's compact form."""

    name, table = "parquet", ParquetTable
    time_share, count_share = 2.0, 1.3

    def made(self) -> list[bytes]:
        """Return tables of numbers, text, missing cells, with and without compression."""
        arrow = pyarrow()
        rng = np.random.default_rng(0)
        columns = {
            "x": rng.normal(size=20),
            "kind": ["oak", "ash", None, "elm"] * 5,
            "count": np.arange(20),
            "y": rng.normal(size=20).astype("f4"),
        }
        table, made = arrow.table(columns), []
        for options in (
            {"compression": "none"},
            {"compression": "snappy", "row_group_size": 7},
            {"compression": "zstd", "use_dictionary": False},
            {"compression": "gzip", "data_page_version": "2.0", "write_statistics": False},
        ):
            file = io.BytesIO()
            arrow.parquet.write_table(table, file, **options)
            made.append(file.getvalue())
        return made

    def mutant(self, chance: random.Random) -> bytes:
        """Return a file with a wrong footer or wrong pages; the footer's length is right."""
        content = chance.choice(self.good)
        length = int.from_bytes(content[-8:-4], "little")
        pages, footer = content[: -8 - length], content[-8 - length : -8]
        how = chance.random()
        if how < 0.1:
            return wrong_bytes(content, chance)
        if how < 0.7:
            footer = wrong_thrift(footer, chance)
        else:
            pages = wrong_thrift(pages, chance)
        return pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def wrong_thrift(content: bytes, chance: random.Random) -> bytes:
    """Exchange single bytes and variable-length integers."""
    made = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        place, how = chance.randrange(4, len(made)), chance.randrange(5)
        if how == 0:
            made[place] ^= 1 << chance.randrange(8)
        elif how == 1:
            made[place : place + 1] = chance.choice(VARINTS)
        elif how == 2:
            made[place] = (made[place] + chance.choice((1, 2, 16, 254, 255))) & 255
        elif how == 3:
            end = place + chance.randrange(1, 20)
            made[place:end] = content[(start := chance.randrange(len(content))) : start + 8]
        else:
            del made[place : place + chance.choice((1, 1, 8))]
    return bytes(made)
