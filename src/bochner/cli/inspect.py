"""`bochner inspect`: what is in a model file, without loading it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bochner.cli import options
from bochner.cli.screen import Screen
from bochner.wording import amount

if TYPE_CHECKING:
    from bochner.persist import Header

MOST_NAMED = 12
EXAMPLES = """Examples:

  bochner inspect price.bochner

  bochner inspect price.bochner --json
"""


def inspect(model: options.Model, as_json: options.Json = False) -> None:
    """Tell what a model file holds: estimator, columns, settings, how it was trained."""
    screen = Screen(as_json, quiet=False)
    with screen.errors_told():
        from bochner import read_header

        header = read_header(model)
        screen.result(header.as_dict(), list(_lines(header)))


def _lines(header: Header) -> list[str]:
    names = header.names or []
    told: dict[str, Any] = {
        "model": header.model + (" (a fit that has not ended)" if header.unfinished else ""),
        "columns": _listed([str(name) for name in names]) if names else header.columns,
        "categories": _listed([f"{k} ({len(v)})" for k, v in header.categories.items()]),
        "labels": None if header.labels is None else _listed([str(x) for x in header.labels]),
        "size": f"{amount(header.bytes)} in {len(header.arrays)} arrays",
        "format": f"version {header.version}",
        "libraries": ", ".join(f"{name} {v}" for name, v in header.libraries.items()),
        "digest": header.digest,
        "can go on": "yes" if header.can_go_on else "no",
    }
    settings = {f"  {name}": value for name, value in header.parameters.items()}
    summary = {f"  {name.replace('_', ' ')}": value for name, value in header.summary.items()}
    parts = [*told.items(), ("settings", ""), *settings.items(), ("training", ""), *summary.items()]
    shown = [(name, value) for name, value in parts if value not in (None, [], {})]
    return [f"{name:<24} {value}".rstrip() for name, value in shown]


def _listed(names: list[str]) -> str | None:
    more = len(names) - MOST_NAMED
    told = ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return told or None
