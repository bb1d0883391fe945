"""`bochner predict`: the predictions of a model for new rows, as a file."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Any

import typer

from bochner.cli import options
from bochner.cli.names import OnError
from bochner.cli.screen import Screen
from bochner.wording import duration

EXAMPLES = """Examples:

  bochner predict price.bochner new.csv --out prices.csv

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
        bool, typer.Option("--std", help="Add standard deviations (a Gaussian process).")
    ] = False,
    quantiles: options.Quantiles = None,
    format: options.FileFormat = None,
    on_error: options.Malformed = OnError.RAISE,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Predict new rows, batch by batch, in the order of the file.

    Columns are found by their names in the training data; others are ignored.
    """
    screen = Screen(as_json, quiet)
    with screen.report_errors():
        from bochner.cli.work.predictions import PredictionOptions, predict_columns
        from bochner.cli.work.reading import load_model, open_with_schema, report_skipped
        from bochner.cli.work.table_files import table_writer

        began = perf_counter()
        screen.require_one_output(out)
        fitted = load_model(model)
        outputs = PredictionOptions(probabilities, deviations, quantiles)
        outputs.require(fitted.model)
        kind = None if format is None else format.literal
        schema = fitted.schema.without_target()
        source = open_with_schema(
            data, schema, screen, keep="no", on_error=on_error.literal, format=kind
        )  # fmt: skip
        rows = 0
        with table_writer(out) as file:
            for batch in source.batches(outputs.rows_at_once):
                file.write(predict_columns(fitted, batch.X, outputs))
                rows += len(batch)
        report_skipped(source, screen)
        seconds = perf_counter() - began
        record: dict[str, Any] = {"rows": rows, "out": out, "seconds": seconds}
        record["skipped_rows"] = source.skipped.count
        line = f"{out}: {rows:,} rows in {duration(seconds)}."
        screen.result(record, [] if out == "-" else [line])
