"""`bochner evaluate`: the scores of a model on rows with known targets."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bochner.cli import options
from bochner.cli.names import DecimalMark, HeaderRow, MissingTarget, OnError, Part, ZeroBased
from bochner.cli.quantities import split_names
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
            help="Which rows: those that `fit --test` held out, those it trained on, or all."
        ),
    ] = Part.ALL,
    report: options.Report = None,
    missing_target: options.MissingTargets = MissingTarget.REFUSE,
    on_error: options.Malformed = OnError.RAISE,
    format: options.FileFormat = None,
    header: options.HeaderLine = HeaderRow.AUTO,
    delimiter: options.Delimiter = "auto",
    decimal: options.Decimal = DecimalMark.AUTO,
    encoding: options.Encoding = None,
    zero_based: options.FirstColumn = ZeroBased.AUTO,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare predictions with the targets, and write a report with --report."""
    screen = Screen(as_json, quiet)
    with screen.report_errors(report):
        from bochner.cli.work.evaluation import evaluate_model
        from bochner.cli.work.pages import model_report, require_page
        from bochner.cli.work.reading import (
            ReadingOptions,
            load_model,
            open_with_schema,
            report_skipped,
        )

        if report is not None:
            require_page(report)
        fitted = load_model(model)
        schema = fitted.schema_with_target(split_names(target))
        source = open_with_schema(
            data,
            schema,
            screen,
            ReadingOptions.of(on_error, format, header, delimiter, decimal, encoding, zero_based),
            keep="auto" if report else "no",
            missing_target=missing_target.literal,
            split=fitted.split(part.literal),
        )
        result = evaluate_model(fitted.model, source, schema.targets)
        report_skipped(source, screen)
        record: dict[str, Any] = {"rows": result.rows, "scores": result.scores}
        record["skipped_rows"] = source.skipped.count
        lines = [f"{name:<24} {value:.6g}" for name, value in result.scores.items()]
        if report is not None:
            model_report(fitted, result, source, options.command_line()).write(report)
            record["report"] = str(report)
            lines.append(f"{'page':<24} {report}")
        screen.result(record, [f"{'rows':<24} {result.rows:,}", *lines])
