"""`bochner predict`: the predictions of a model for new rows, as a file."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Any

import typer

from bochner.cli import options
from bochner.cli.names import DecimalMark, HeaderRow, OnError, ZeroBased
from bochner.cli.quantities import split_names
from bochner.cli.screen import Screen
from bochner.wording import duration

EXAMPLES = """Examples:

  bochner predict price.bochner new.csv --out prices.csv

  bochner predict price.bochner new.csv --keep id,street --out prices.csv

  bochner predict m.bochner new.parquet --probabilities --out p.parquet

  cat new.csv | bochner predict m.bochner - --format csv --out -
"""


def predict(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FILE", show_default=False,
            help="The file to write: .csv, .parquet or .npy; - is standard output, as CSV.",
        ),
    ],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probability of each class.")
    ] = False,
    deviations: Annotated[
        bool,
        typer.Option(
            "--std",
            help="Add standard deviations of a Gaussian process, with the noise.",
        ),
    ] = False,
    quantiles: options.Quantiles = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep", metavar="NAMES",
            help="Copy these columns of the data, such as an id, before the predictions.",
        ),
    ] = None,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv",
            help="Put ' before text that a spreadsheet would take for a formula (= + - @).",
        ),
    ] = False,
    on_error: options.Malformed = OnError.RAISE,
    format: options.FileFormat = None,
    header: options.HeaderLine = HeaderRow.AUTO,
    delimiter: options.Delimiter = "auto",
    decimal: options.Decimal = DecimalMark.AUTO,
    encoding: options.Encoding = None,
    zero_based: options.FirstColumn = ZeroBased.AUTO,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Predict new rows, batch by batch, in the order of the file.

    Columns are found by their names in the training data; others are ignored.
    """
    screen = Screen(as_json, quiet)
    with screen.report_errors(out):
        from bochner.cli.work.predictions import PredictionOptions, predict_columns
        from bochner.cli.work.reading import (
            ReadingOptions,
            load_model,
            open_with_schema,
            report_skipped,
        )
        from bochner.cli.work.table_files import table_writer

        began = perf_counter()
        screen.require_one_output(out)
        fitted = load_model(model)
        outputs = PredictionOptions(probabilities, deviations, quantiles, split_names(keep))
        outputs.require(fitted.model)
        reading = ReadingOptions.of(
            on_error, format, header, delimiter, decimal, encoding, zero_based
        )
        schema = fitted.schema.without_target()
        source = open_with_schema(data, schema, screen, reading, keep="no", carried=outputs.kept)
        rows = 0
        with table_writer(out, safe=safe_csv) as file:
            for batch in outputs.parts(source):
                file.write(predict_columns(fitted, batch, outputs))
                rows += len(batch)
        report_skipped(source, screen)
        seconds = perf_counter() - began
        record: dict[str, Any] = {"rows": rows, "out": out, "seconds": seconds}
        record["skipped_rows"] = source.skipped.count
        line = f"{out}: {rows:,} rows in {duration(seconds)}."
        screen.result(record, [] if out == "-" else [line])
