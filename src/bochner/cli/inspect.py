"""`bochner inspect`: the contents of a model file, without loading the model."""

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
    """Show what a model file holds: estimator, columns, settings, training."""
    screen = Screen(as_json, quiet=False)
    with screen.report_errors():
        from bochner import read_header

        header = read_header(model)
        screen.result(header.as_dict(), list(_lines(header)))


def _lines(header: Header) -> list[str]:
    names = header.names or []
    facts: dict[str, Any] = {
        "model": header.model + (" (unfinished)" if header.unfinished else ""),
        "columns": _shortened([str(name) for name in names]) if names else header.columns,
        "categories": _shortened([f"{k} ({len(v)})" for k, v in header.categories.items()]),
        "times": _times(header.times),
        "labels": None if header.labels is None else _shortened([str(x) for x in header.labels]),
        "size": f"{amount(header.bytes)} in {len(header.arrays)} arrays",
        "format": f"version {header.version}",
        "libraries": ", ".join(f"{name} {v}" for name, v in header.libraries.items()),
        "digest": header.digest,
        "can continue": "yes" if header.can_go_on else "no",
    }
    settings = [(f"  {name}", value) for name, value in header.parameters.items()]
    summary = [(f"  {name.replace('_', ' ')}", value) for name, value in header.summary.items()]
    parts = [*facts.items(), ("settings", ""), *settings, ("training", ""), *summary]
    if (importances := _importances(header)) is not None:
        parts += [("importances", ""), *importances]
    shown = [(name, value) for name, value in parts if value not in (None, [], {})]
    return [f"{name:<24} {_text(value)}".rstrip() for name, value in shown]


def _text(value: Any) -> str:
    """Return a value as text: numbers with six digits, lists and tables without brackets."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items())
    return str(value)


def _importances(header: Header) -> list[tuple[str, str]] | None:
    """Return the most important columns with the share that each contributes to predictions."""
    known = header.importances
    if not isinstance(known, list):
        return None
    names = header.names
    if not isinstance(names, list) or len(names) != len(known):
        names = [f"column {place}" for place in range(len(known))]
    order = sorted(range(len(known)), key=lambda place: -known[place])
    lines = [(f"  {names[place]}", f"{known[place]:.1%}") for place in order[:MOST_NAMED]]
    rest = order[MOST_NAMED:]
    if rest:
        lines.append((f"  {len(rest):,} more", f"{sum(known[place] for place in rest):.1%}"))
    return lines


def _times(times: dict[str, list[str]]) -> str | None:
    columns = [f"{name} ({', '.join(parts)})" for name, parts in times.items()]
    return "; ".join(columns) or None


def _shortened(names: list[str]) -> str | None:
    more = len(names) - MOST_NAMED
    text = ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return text or None
