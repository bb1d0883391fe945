"""Paths: the files that a user means, their format, and whether they have changed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Literal

Format = Literal["csv", "parquet", "svmlight", "npy", "npz"]
STANDARD_INPUT = "-"
FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".npy": "npy",
    ".npz": "npz",
}
BEGINNINGS: dict[bytes, Format] = {b"PAR1": "parquet", b"\x93NUMPY": "npy", b"PK\x03\x04": "npz"}
SPARSE_LINE = re.compile(rb"[^\s,;]+( qid:\d+)?([ \t]+\d+:[^\s:]+)+[ \t]*(#.*)?\r?")
SNIFFED_BYTES = 65_536

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def find_files(paths: Paths) -> tuple[str, ...]:
    """Return the files; folders and patterns give theirs, sorted by name."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ValueError("There must be at least one file; got none.")
    return tuple(file for path in given for file in _files(os.fspath(path)))


def _files(path: str) -> list[str]:
    if path == STANDARD_INPUT:
        return [path]
    if Path(path).is_dir():
        return _in_folder(path)
    if Path(path).exists() or not has_magic(path):
        if not Path(path).exists():
            raise FileNotFoundError(f"There is no file {path!r}. Give the path of one that exists.")
        return [path]
    found = sorted(name for name in glob(path, recursive=True) if Path(name).is_file())
    if not found:
        raise FileNotFoundError(f"No file matches {path!r}. Give a pattern of files that exist.")
    return found


def _in_folder(folder: str) -> list[str]:
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    seen = (str(path) for path in files if not path.name.startswith((".", "_")))
    found = [path for path in seen if _by_name(path)]
    if not found:
        raise FileNotFoundError(
            f"The folder {folder!r} has no file whose name ends in one of {', '.join(FORMATS)}. "
            "Give the files themselves, with format= if their names do not show it."
        )
    return found


def _by_name(path: str) -> Format | None:
    return FORMATS.get(Path(path.lower().removesuffix(".gz")).suffix)


def format_of(files: tuple[str, ...]) -> Format:
    """Return the common format of all files, by their names or the first bytes of the first."""
    found = {_by_name(path) for path in files if path != STANDARD_INPUT} - {None}
    if len(found) > 1:
        raise ValueError(
            f"All files must be of one format; got {', '.join(sorted(map(str, found)))}. Give "
            "those of one format, or format= if their names are misleading."
        )
    return found.pop() or "csv" if found else sniff_format(_beginning(files[0]))


def _beginning(path: str) -> bytes:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.peek(SNIFFED_BYTES)  # type: ignore[union-attr,no-any-return]
    with open(path, "rb") as file:
        return file.read(SNIFFED_BYTES)


def sniff_format(beginning: bytes) -> Format:
    """Return the format of a file with these first bytes.

    >>> sniff_format(b"age,height\\n3,1.5\\n"), sniff_format(b"+1 3:0.5 7:1\\n")
    ('csv', 'svmlight')
    """
    for magic, format in BEGINNINGS.items():
        if beginning.startswith(magic):
            return format
    lines = [line for line in beginning.split(b"\n") if line and not line.startswith(b"#")]
    return "svmlight" if lines and SPARSE_LINE.fullmatch(lines[0]) else "csv"


@dataclass(frozen=True)
class Stamp:
    """Size, modification time and inode of a file, to detect changes."""

    path: str
    size: int
    modified: int
    place: int

    @staticmethod
    def of(path: str) -> Stamp:
        """Return the stamp of the file now."""
        now = os.stat(path)
        return Stamp(path, now.st_size, now.st_mtime_ns, now.st_ino)

    def require_unchanged(self) -> None:
        """Refuse a file that has changed."""
        try:
            same = Stamp.of(self.path) == self
        except FileNotFoundError:
            same = False
        if not same:
            raise ValueError(
                f"{self.path} has changed while it was being read, so its rows are not those of "
                "one table. Wait until nothing writes to it, or read a copy, and start again."
            )
