"""Mutants of files, read in a process with little memory while another one watches it.

Mutant k of a target and a seed is always the same: `content(target, seed, k)` makes it again.
"""

from __future__ import annotations

import mmap
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bochner.compute.blas import single_blas
from bochner.compute.pool import threads

ROOM = 512 << 20  # bytes that reading a mutant may take beyond what the libraries have
PATIENCE = 20.0  # seconds of processor time for one mutant
MEMORY_FOLDER = Path("/dev/shm")
MOST_SHOWN = 1500  # characters of an error
COUNTS = ("number", "read", "refused")  # of the board


class Target(ABC):
    """A kind of file: how its mutants are made, and how they are read."""

    name: str
    time_share = 1.0  # of all targets, when the time is limited
    count_share = 1.0  # of all targets, when the number of mutants is
    refusals: tuple[type[Exception], ...] = ()

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Make files to start from, and compile loops."""

    @abstractmethod
    def mutant(self, chance: random.Random) -> bytes:
        """Return a broken file."""

    @abstractmethod
    def read(self, content: bytes, chance: random.Random) -> None:
        """Read a file as users do; a refusal is one of `refusals`, any other error a failure."""


@dataclass
class Outcome:
    """What came of the mutants of a target; a failure is a sentence and the file that caused it."""

    name: str
    read: int = 0
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    cpu: float = 0.0

    @property
    def mutants(self) -> int:
        """The number of mutants."""
        return self.read + self.refused + len(self.failures)

    def add(self, other: Outcome) -> None:
        """Add the counts and failures of more mutants."""
        self.read, self.refused = self.read + other.read, self.refused + other.refused
        self.failures, self.cpu = self.failures + other.failures, self.cpu + other.cpu


def content(target: Target, seed: int, number: int) -> tuple[bytes, random.Random]:
    """Return a mutant of a prepared target, and the random numbers that reading it goes on with."""
    chance = random.Random((seed << 48) + number)
    return target.mutant(chance), chance


def watched(
    make: Callable[[], Target],
    seed: int,
    *,
    seconds: float = 1e9,
    most: int = 1 << 47,
    first: int = 0,
) -> Outcome:
    """Read mutants until the time is over or there were enough; go on after crash and hang.

    The clock starts once the good files are made and read. Mutants are numbered from `first` on.
    """
    target = make()
    found = Outcome(target.name)
    board = np.frombuffer(mmap.mmap(-1, 8 * len(COUNTS)), np.int64)
    board[0] = first
    with tempfile.TemporaryDirectory(dir=_folder()) as name, threads(1):
        with warnings.catch_warnings(action="ignore"):
            target.prepare(Path(name))
        failures, end = Path(name) / "failures", time.monotonic() + seconds
        failures.touch()
        while board[0] < first + most and (time.monotonic() < end or board[0] == first):
            child = _fork(lambda: _serve(target, seed, end, first + most, board, Path(name)))
            fault = _wait(child, board, found)
            if fault is None:
                break
            kept = _kept(target, seed, int(board[0]))
            kept.write_bytes(content(target, seed, int(board[0]))[0])
            found.failures.append(f"mutant {board[0]} {fault} ({kept})")
            board[0] += 1
        found.read, found.refused = int(board[1]), int(board[2])
        found.failures += failures.read_text().splitlines()
    return found


def _folder() -> Path | None:
    return MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None


def _fork(work: Callable[[], None]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _serve(target: Target, seed: int, end: float, stop: int, board: Any, folder: Path) -> None:
    warnings.simplefilter("ignore")
    _limit()
    with single_blas():
        while board[0] < stop and time.monotonic() < end:
            made, chance = content(target, seed, int(board[0]))
            try:
                target.read(made, chance)
                board[1] += 1
            except target.refusals:
                board[2] += 1
            except BaseException as error:
                path = _kept(target, seed, int(board[0]))
                path.write_bytes(made)
                _describe(error, path, folder)
            board[0] += 1


def _limit() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))


def _wait(child: int, board: Any, found: Outcome) -> str | None:
    """Return None once the child has done its work, or what stopped it."""
    last, since = -1, 0.0
    while True:
        ended, status, usage = os.wait4(child, os.WNOHANG)
        if ended:
            found.cpu += usage.ru_utime + usage.ru_stime
            if status == 0:
                return None
            return f"ended the process (signal {status & 127}, exit code {status >> 8})"
        now = _processor_time(child)
        if board[0] != last:
            last, since = int(board[0]), now
        elif now - since > PATIENCE:
            os.kill(child, signal.SIGKILL)
            found.cpu += os.wait4(child, 0)[2].ru_utime
            return f"took more than {PATIENCE:g} seconds"
        time.sleep(0.05)


def _processor_time(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _kept(target: Target, seed: int, number: int) -> Path:
    return Path(tempfile.gettempdir()) / f"fuzz-{target.name}-{seed}-{number}"


def _describe(error: BaseException, kept: Path, folder: Path) -> None:
    where = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {error}"
    with open(folder / "failures", "a") as file:
        file.write(" ".join(f"{text} ({kept})"[-MOST_SHOWN:].split()) + "\n")
