"""`bochner evaluate`: how good a model is on rows with known targets."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from bochner.cli import options
from bochner.cli.names import OnError, Part
from bochner.cli.quantities import listed
from bochner.cli.screen import Screen

EXAMPLES = """Examples:

  bochner evaluate price.bochner more.csv

  bochner evaluate m.bochner rows.parquet --part test --report page.html
"""


def evaluate(
    model: options.Model,
    data: options.Data,
    target: options.Target = None,
    part: Annotated[
        Part,
        typer.Option(
            help="Which rows: those that `fit --test` left out, those it learned from, or all."
        ),
    ] = Part.ALL,
    report: options.Report = None,
    format: options.FileFormat = None,
    on_error: options.Malformed = OnError.RAISE,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare predictions with the truth, and write a page about it if asked."""
    screen = Screen(as_json, quiet)
    with screen.errors_told():
        from bochner.cli.work.evaluation import judged
        from bochner.cli.work.pages import page_of_one, require_page
        from bochner.cli.work.reading import opened_like, tell_skipped, trained

        if report is not None:
            require_page(report)
        fitted = trained(model)
        schema = fitted.named(listed(target))
        source = opened_like(
            data,
            schema,
            screen,
            keep="auto" if report else "no",
            on_error=on_error.literal,
            format=None if format is None else format.literal,
            split=fitted.split(part.literal),
        )
        judgement = judged(fitted.model, source)
        tell_skipped(source, screen)
        record: dict[str, Any] = {"rows": judgement.rows, "scores": judgement.scores}
        lines = [f"{name:<24} {value:.6g}" for name, value in judgement.scores.items()]
        if report is not None:
            command = shlex.join(["bochner", *sys.argv[1:]])
            page_of_one(fitted, judgement, source, command).write(report)
            record["report"] = str(report)
            lines.append(f"{'page':<24} {report}")
        screen.result(record, [f"{'rows':<24} {judgement.rows:,}", *lines])
