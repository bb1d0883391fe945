"""Broken CSV and svmlight files; the size of the blocks must not change what is read."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bochner.data import open_source
from bochner.data.files.formats import blocks
from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.csv import CsvFile
from bochner.data.files.formats.svmlight import SvmlightFile
from fuzz_harness import Target

BLOCKS = (64, 1000, 1 << 16)
WHOLE = 1 << 17  # a block that holds every mutant; a larger one takes longer to make than to read
COMPARED = 0.1  # share of the mutants that are read with two sizes of blocks
OPENED = 0.01  # share that is read by `open_source`, with all it learns of the columns
CSV = [
    b'x,kind,y\n1.5,oak,2\n-3e-5,"ash, white",\n,NA,7\n.5,"a ""b""",1e300\n',
    b'\xef\xbb\xbfa;b\r\n"1";"two\nlines"\r\n\r\n3;4\r\n',
    b"1\t2\t3\n4\t5\t6\n",
    "größe,数\n1,木\n2,林\n".encode(),
    "a,b\n1,2\n3,4\n".encode("utf-16"),
]
SVMLIGHT = [
    b"+1 1:0.5 3:2e-3\n-1 qid:3 2:1 # note\n# comment\n0\n",
    b"1 0:1 2147483647:1\r\n2.5 7:.5\r\n",
]
PIECES = [
    b'"', b'""', b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b":", b"#", b"\x00", b"\xff",
    b"\xc3", b"NA", b"nan", b"inf", b"1e", b"e9999999999999999999", b"0x", b"-", b".",
    b"9" * 400, b"0" * 400, b"0." + b"0" * 330 + b"7", b"99999999999999999999:", b"0:1 ", b"qid:",
    b"9007199254740993.00000000000000000000001", b" " * 50, b"1," * 300, b"1\n" * 300,
]  # fmt: skip


def flip(content: bytearray, chance: random.Random) -> None:
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def cut(content: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(content) + 1)
    del content[start : start + int(chance.expovariate(0.02)) + 1]


def truncate(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content) + 1) :]


def duplicate(content: bytearray, chance: random.Random) -> None:
    start, place = chance.randrange(len(content) + 1), chance.randrange(len(content) + 1)
    content[place:place] = content[start : start + int(chance.expovariate(0.01)) + 1]


def insert(content: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(content) + 1)
    content[place:place] = chance.choice(PIECES) * chance.choice((1, 1, 1, 2, 3, 5))


MUTATIONS: list[Callable[[bytearray, random.Random], None]]
MUTATIONS = [flip, cut, truncate, duplicate, insert, insert]


class TextTarget(Target):
    """A text format: its good files, and its reader."""

    seeds: list[bytes]
    reader: Any
    options: dict[str, Any]
    refusals = (UnreadableFile,)

    def prepare(self, folder: Path) -> None:
        """Compile what there is to compile."""
        self._path = folder / f"file.{self.name}"
        blocks.BLOCK = blocks.HEAD = WHOLE
        for seed in self.seeds:
            self.outcome(seed * 5 + b"123456789012345678901234567890\n")
            self._open(seed)

    def mutant(self, chance: random.Random) -> bytes:
        """Return some good rows with some mutations, sometimes just noise."""
        if chance.random() < 0.02:
            return chance.randbytes(chance.randrange(1, 5000))
        made = bytearray(chance.choice(self.seeds) * min(30, 1 + int(chance.expovariate(0.3))))
        for _ in range(1 + int(chance.expovariate(0.3))):
            chance.choice(MUTATIONS)(made, chance)
        return bytes(made)

    def read(self, content: bytes, chance: random.Random) -> None:
        """Read the rows, some files in two ways."""
        if chance.random() < OPENED:
            self._open(content)
        elif chance.random() < COMPARED:
            blocks.BLOCK = chance.choice(BLOCKS)
            try:
                one = self.outcome(content)
            finally:
                blocks.BLOCK = WHOLE
            assert one == self.outcome(content), "blocks change what is read"
        else:
            self.rows(content)

    def outcome(self, content: bytes) -> Any:
        """Return the rows, or the refusal."""
        try:
            return self.rows(content)
        except UnreadableFile as error:
            return str(error)

    def rows(self, content: bytes) -> Any:
        """Return what can be compared: lines, labels or numbers, texts, bad rows."""
        chunks = list(self.reader(io.BytesIO(content), name="t").chunks())
        lines = [line for chunk in chunks for line in chunk.lines.tolist()]
        parts = [chunk.numbers if self.name == "csv" else chunk.data for chunk in chunks]
        numbers = np.concatenate([part.ravel() for part in parts]) if parts else np.empty(0)
        assert not np.isinf(numbers).any()
        columns = [column for chunk in chunks for column in getattr(chunk, "texts", ())]
        words = [(*column.vocabulary, None)[code] for column in columns for code in column.codes]
        bad = sum(chunk.n_bad for chunk in chunks)
        return lines, numbers.tobytes(), sorted(map(str, words)), bad

    def _open(self, content: bytes) -> None:
        self._path.write_bytes(content)
        try:
            source = open_source(self._path, format=self.name, **self.options)
            for batch in source.batches(64):
                assert len(batch) > 0
        except ValueError as error:  # rows that are no rows of a table, each with a sentence
            raise UnreadableFile(str(error)) from error


class Csv(TextTarget):
    """Text with one row a line."""

    name, seeds, reader = "csv", CSV, CsvFile
    time_share, count_share = 3.0, 2.5
    options = {"on_error": "skip"}  # noqa: RUF012


class Svmlight(TextTarget):
    """Sparse rows as text."""

    name, seeds, reader = "svmlight", SVMLIGHT, SvmlightFile
    time_share, count_share = 3.0, 2.6
    options = {"on_error": "skip"}  # noqa: RUF012
