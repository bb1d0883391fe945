"""Paths: the files that a user means, their format, and whether they have changed."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Literal

from bochner.data.files.formats.chunk import UnreadableFile
from bochner.data.files.formats.streams import (
    ZIP,
    TextStream,
    member_name,
    read_bytes,
    uncompressed_suffix,
)

Format = Literal["csv", "parquet", "svmlight", "npy", "npz", "arrow", "jsonl", "xlsx"]
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
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
}
BEGINNINGS: dict[bytes, Format] = {
    b"PAR1": "parquet",
    b"\x93NUMPY": "npy",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",  # which says that this version is not read
    b"\xff\xff\xff\xff": "arrow",  # a stream
}
# Formats that are refused by their names.
OTHERS = {
    ".7z": "a 7-Zip archive",
    ".arff": "an ARFF file",
    ".avro": "an Avro file",
    ".db": "a database",
    ".dta": "a file of Stata",
    ".h5": "an HDF5 file",
    ".hdf5": "an HDF5 file",
    ".json": "a JSON document, not one record a line (.jsonl)",
    ".mat": "a file of MATLAB",
    ".ods": "an OpenDocument table",
    ".orc": "an ORC file",
    ".pickle": "a Python pickle",
    ".pkl": "a Python pickle",
    ".rar": "a RAR archive",
    ".rdata": "a file of R",
    ".rds": "a file of R",
    ".sas7bdat": "a file of SAS",
    ".sav": "a file of SPSS",
    ".sqlite": "a database",
    ".tar": "a tar archive",
    ".tgz": "a tar archive",
    ".xls": "a workbook of Excel before 2007",
    ".xlsb": "a binary workbook of Excel",
    ".zst": "a file compressed by Zstandard",
}
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
    found = [path for path in seen if uncompressed_suffix(path) in FORMATS]
    if not found:
        raise FileNotFoundError(
            f"The folder {folder!r} has no file whose name ends in one of {', '.join(FORMATS)}. "
            "Give the files themselves, with format= if their names do not show it."
        )
    return found


def _by_name(path: str) -> Format | None:
    suffix = uncompressed_suffix(path)
    if suffix in OTHERS:
        raise UnreadableFile(
            f"{path} seems to be {OTHERS[suffix]}, which is not read. Save it as CSV or Parquet, "
            "or give format= if its name is misleading."
        )
    if suffix not in FORMATS and path.lower().endswith(".zip") and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return _by_name(member_name(archive, path))
    return FORMATS.get(suffix)


def format_of(files: tuple[str, ...]) -> Format:
    """Return the common format of all files, by their names or the first bytes of the first."""
    found = {_by_name(path) for path in files if path != STANDARD_INPUT} - {None}
    if len(found) > 1:
        raise ValueError(
            f"All files must be of one format; got {', '.join(sorted(map(str, found)))}. Give "
            "those of one format, or format= if their names are misleading."
        )
    return found.pop() or "csv" if found else _by_content(files[0])


def _by_content(path: str) -> Format:
    if path == STANDARD_INPUT:
        return sniff_format(sys.stdin.buffer.peek(SNIFFED_BYTES))  # type: ignore[union-attr]
    with open(path, "rb") as file:
        beginning = file.read(SNIFFED_BYTES)
    if beginning.startswith(tuple(BEGINNINGS)):
        return sniff_format(beginning)
    if beginning.startswith(ZIP) and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        if all(name.endswith(".npy") for name in names):
            return "npz"
        if "xl/workbook.xml" in names:
            return "xlsx"
    with closing(TextStream(Path(path), path)) as text:
        return sniff_format(read_bytes(text, SNIFFED_BYTES))


def sniff_format(beginning: bytes) -> Format:
    """Return the format of a file with these first bytes.

    >>> sniff_format(b"age,height\\n3,1.5\\n"), sniff_format(b"+1 3:0.5 7:1\\n")
    ('csv', 'svmlight')
    """
    for magic, format in BEGINNINGS.items():
        if beginning.startswith(magic):
            return format
    lines = [line for line in beginning.split(b"\n") if line and not line.startswith(b"#")]
    if lines and lines[0].startswith(b'{"'):
        return "jsonl"
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
