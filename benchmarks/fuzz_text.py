"""Broken CSV and svmlight files, parsed in a process with little memory.

Case k of a seed is always the same file: `case(target, seed, k)` makes it again.
"""

from __future__ import annotations

import io
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

ROOM = 768 << 20  # bytes that parsing may take beyond what the libraries have
PATIENCE = 30.0  # seconds for one case
BLOCKS = (64, 1000, 1 << 16, 8 << 20)
CSV = [
    b'x,kind,y\n1.5,oak,2\n-3e-5,"ash, white",\n,NA,7\n.5,"a ""b""",1e300\n',
    b'\xef\xbb\xbfa;b\r\n"1";"two\nlines"\r\n\r\n3;4\r\n',
    b"1\t2\t3\n4\t5\t6\n",
    "größe,数\n1,木\n2,林\n".encode(),
]
SVMLIGHT = [
    b"+1 1:0.5 3:2e-3\n-1 qid:3 2:1 # note\n# comment\n0\n",
    b"1 0:1 2147483647:1\r\n2.5 7:.5\r\n",
]
PIECES = [
    b'"', b'""', b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b":", b"#", b"\x00", b"\xff",
    b"\xc3", b"NA", b"nan", b"inf", b"1e", b"e9999999999999999999", b"0x", b"-", b".",
    b"9" * 400, b"0" * 400, b"0." + b"0" * 330 + b"7", b"99999999999999999999:", b"0:1 ", b"qid:",
    b"9007199254740993.00000000000000000000001", b" " * 50, b"1," * 3000, b"1\n" * 3000,
]  # fmt: skip


def fuzz(seconds: float, seed: int) -> int:
    """Try both parsers, half of the time each; return the number of cases."""
    return fuzz_csv(seconds / 2, seed) + fuzz_svmlight(seconds / 2, seed)


def fuzz_csv(seconds: float, seed: int) -> int:
    """Try broken CSV files; return how many. A failure is an AssertionError that names the case."""
    return watched("csv", seconds, seed)


def fuzz_svmlight(seconds: float, seed: int) -> int:
    """Try broken svmlight files."""
    return watched("svmlight", seconds, seed)


def watched(target: str, seconds: float, seed: int) -> int:
    """Run the cases in a process of their own and see that each comes to its end."""
    command = [sys.executable, str(Path(__file__)), target, str(seconds), str(seed)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    last, heard = -1, monotonic()

    def end_if_silent() -> None:
        while child.poll() is None:
            if monotonic() - heard > PATIENCE + 60 * (last < 0):  # loops are compiled at first
                child.kill()
            threading.Event().wait(1.0)

    threading.Thread(target=end_if_silent, daemon=True).start()
    assert child.stdout is not None
    assert child.stderr is not None
    for line in child.stdout:
        last, heard = int(line), monotonic()
    if child.wait() != 0:
        raise AssertionError(
            f"{target}, seed {seed}, case {last}: exit code {child.returncode}.\n"
            + child.stderr.read()[-2000:]
        )
    return last + 1


def case(target: str, seed: int, number: int) -> tuple[bytes, int]:
    """Return a broken file and the size of the blocks in which to read it."""
    rng = np.random.default_rng([seed, number])
    seeds = CSV if target == "csv" else SVMLIGHT
    content = bytearray(seeds[rng.integers(len(seeds))] * int(rng.integers(1, 30)))
    if rng.random() < 0.05:
        content = bytearray(rng.integers(0, 256, int(rng.integers(1, 5000)), np.uint8).tobytes())
    for _ in range(int(rng.geometric(0.25))):
        MUTATIONS[rng.integers(len(MUTATIONS))](content, rng)
    return bytes(content), BLOCKS[rng.integers(len(BLOCKS))]


def flip(content: bytearray, rng: np.random.Generator) -> None:
    if content:
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))


def cut(content: bytearray, rng: np.random.Generator) -> None:
    start = int(rng.integers(len(content) + 1))
    del content[start : start + int(rng.geometric(0.02))]


def truncate(content: bytearray, rng: np.random.Generator) -> None:
    del content[int(rng.integers(len(content) + 1)) :]


def duplicate(content: bytearray, rng: np.random.Generator) -> None:
    start, place = (int(number) for number in rng.integers(len(content) + 1, size=2))
    content[place:place] = content[start : start + int(rng.geometric(0.01))]


def insert(content: bytearray, rng: np.random.Generator) -> None:
    place = int(rng.integers(len(content) + 1))
    content[place:place] = PIECES[rng.integers(len(PIECES))] * int(rng.geometric(0.5))


MUTATIONS: list[Callable[[bytearray, np.random.Generator], None]]
MUTATIONS = [flip, cut, truncate, duplicate, insert, insert]


def rows(target: str, content: bytes) -> Any:
    """Return what can be compared: lines, labels or numbers, bad rows; or the refusal."""
    from bochner.data.files.formats.chunk import UnreadableFile
    from bochner.data.files.formats.csv import CsvFile
    from bochner.data.files.formats.svmlight import SvmlightFile

    try:
        file = (CsvFile if target == "csv" else SvmlightFile)(io.BytesIO(content), name="t")
        chunks = list(file.chunks())
    except UnreadableFile as error:
        return str(error)
    lines = [line for chunk in chunks for line in chunk.lines.tolist()]
    parts = [chunk.numbers if target == "csv" else chunk.data for chunk in chunks]
    numbers = np.concatenate([part.ravel() for part in parts]) if parts else np.empty(0)
    assert not np.isinf(numbers).any()
    columns = [column for chunk in chunks for column in getattr(chunk, "texts", ())]
    words = [(*column.vocabulary, None)[code] for column in columns for code in column.codes]
    return lines, numbers.tobytes(), sorted(map(str, words)), sum(chunk.n_bad for chunk in chunks)


def run(target: str, seconds: float, seed: int) -> None:
    """Try cases until the time is over; the number of blocks must not change the result."""
    from bochner.data.files.formats import blocks

    for content in CSV if target == "csv" else SVMLIGHT:  # compiles what there is to compile
        rows(target, content * 5 + b"123456789012345678901234567890\n")
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    end, number = monotonic() + seconds, 0
    while monotonic() < end:
        print(number, flush=True)
        content, blocks.BLOCK = case(target, seed, number)
        found, blocks.BLOCK = rows(target, content), 8 << 20
        assert found == rows(target, content), "blocks change what is read"
        number += 1


if __name__ == "__main__":
    run(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
