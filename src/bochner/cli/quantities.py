"""Parsers of option values: times, amounts of memory, output files, lists, settings."""

from __future__ import annotations

import ast
import csv
import os
import re
from pathlib import Path
from typing import Any

import typer

from bochner.compute.memory import memory_budget

SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
PART = r"(\d+(?:\.\d*)?)\s*([a-z]*)\s*"


def seconds(text: str) -> float:
    """Return a time in seconds.

    >>> seconds("5m"), seconds("1h 30m"), seconds("2.5")
    (300.0, 5400.0, 2.5)
    """
    parts = re.findall(PART, text.strip().lower())
    whole = re.fullmatch(f"(?:{PART})+", text.strip().lower())
    if not whole or any(unit not in SECONDS for _, unit in parts):
        raise typer.BadParameter(
            f"a time is a number and a unit, such as 90s, 5m or 1h30m; got {text!r}."
        )
    total = sum(float(number) * SECONDS[unit] for number, unit in parts)
    if total <= 0:
        raise typer.BadParameter(f"a time must be above 0; got {text!r}.")
    return total


def output_path(path: Path, ending: str = "") -> Path:
    """Return the path of a file to write; refuse one that cannot be written."""
    if not path.name.lower().endswith(ending):
        raise typer.BadParameter(f"the name must end in {ending}; got {path}.")
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a directory; give the name of a file.")
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no directory {path.parent}; make it first.")
    if path.exists() and not path.is_file():
        raise typer.BadParameter(f"{path} is a device or a pipe; give the name of a file.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise typer.BadParameter(f"{path.parent} may not be written to; choose another directory.")
    return path


def memory(text: str) -> int:
    """Return an amount of memory in bytes.

    >>> memory("2GB")
    2000000000
    """
    try:
        return memory_budget(text)
    except ValueError:
        raise typer.BadParameter(
            f"memory is a number and a unit, such as 2GB or 512MiB; got {text!r}."
        ) from None


def split_names(texts: list[str] | None) -> tuple[str, ...]:
    """Return names that are given one by one or separated by commas.

    Put a name with a comma in double quotes, as in a CSV file.

    >>> split_names(["a,b", "c", '"d, e"'])
    ('a', 'b', 'c', 'd, e')
    """
    names = (name.strip() for text in texts or () for name in _separated(text))
    return tuple(name for name in names if name)


def _separated(text: str) -> list[str]:
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        raise typer.BadParameter(f"names are separated by commas; got {text!r}.") from None


def delimiter_character(text: str) -> str:
    """Return the delimiter of CSV files; "tab" stands for a tab, which is hard to type.

    >>> delimiter_character("tab"), delimiter_character(";")
    ('\\t', ';')
    """
    sign = "\t" if text in ("tab", "\\t") else text
    if sign != "auto" and (len(sign) != 1 or not sign.isascii() or sign in '"\r\n'):
        raise typer.BadParameter(
            f"a delimiter is one ASCII character, tab or auto, and not a quote; got {text!r}."
        )
    return sign


class Shares(tuple[float, ...]):
    """Numbers of one option."""


def shares(text: str) -> Shares:
    """Return numbers separated by commas.

    >>> shares("0.05, 0.5")
    (0.05, 0.5)
    """
    try:
        return Shares(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"numbers separated by commas are needed; got {text!r}.") from None


def settings(texts: list[str] | None) -> dict[str, Any]:
    """Return parameters of an estimator: `alpha=1e-6`, `kernel__bandwidth=2`, `scale=range`.

    A value is a Python literal, or else text.

    >>> settings(["alpha=1e-6", "scale=range", "fit_intercept=False"])
    {'alpha': 1e-06, 'scale': 'range', 'fit_intercept': False}
    """
    found = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise typer.BadParameter(f"a setting is NAME=VALUE, such as alpha=1e-6; got {text!r}.")
        found[name.strip()] = _literal(value.strip())
    return found


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
