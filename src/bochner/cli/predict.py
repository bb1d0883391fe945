"""`bochner predict`: from a model and new rows to a file of predictions."""

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
            help="Where predictions go: .csv, .parquet or .npy; - is standard output, as CSV.",
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

    Columns are found by the names that they had when the model was fitted; others are ignored.
    """
    screen = Screen(as_json, quiet)
    with screen.errors_told():
        from bochner.cli.work.predictions import Wanted, predicted
        from bochner.cli.work.reading import opened_like, tell_skipped, trained
        from bochner.cli.work.table_files import table_file

        began = perf_counter()
        screen.require_one_output(out)
        fitted = trained(model)
        wanted = Wanted(probabilities, deviations, quantiles)
        wanted.require(fitted.model)
        kind = None if format is None else format.literal
        schema = fitted.schema.without_target()
        source = opened_like(
            data, schema, screen, keep="no", on_error=on_error.literal, format=kind
        )  # fmt: skip
        rows = 0
        with table_file(out) as file:
            for batch in source.batches(wanted.rows_at_once):
                file.write(predicted(fitted, batch.X, wanted))
                rows += len(batch)
        tell_skipped(source, screen)
        seconds = perf_counter() - began
        record: dict[str, Any] = {"rows": rows, "out": out, "seconds": seconds}
        record["skipped_rows"] = source.skipped.count
        line = f"{out}: {rows:,} rows in {duration(seconds)}."
        screen.result(record, [] if out == "-" else [line])
