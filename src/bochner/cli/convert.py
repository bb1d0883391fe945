"""`bochner convert`: data to another format, or a model to ONNX."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

import bochner
from bochner.cli import options
from bochner.cli.names import DecimalMark, HeaderRow, OnError, ZeroBased
from bochner.cli.quantities import split_names
from bochner.cli.screen import Screen
from bochner.wording import duration

EXAMPLES = """Examples:

  bochner convert rows.csv rows.parquet

  bochner convert 'parts/*.parquet' rows.csv

  bochner convert rows.csv rows.svm --target label

  bochner convert price.bochner price.onnx
"""


def convert(
    given: Annotated[
        str, typer.Argument(metavar="IN", help="Data files, or a model.", show_default=False)
    ],
    out: Annotated[
        str,
        typer.Argument(
            metavar="OUT", show_default=False,
            help="The suffix is the format: .csv, .parquet, .npy, .svm; .onnx for a model.",
        ),
    ],
    target: options.Target = None,
    columns: options.Columns = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
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
    """Write data in another format, chunk by chunk, or a model as ONNX.

    Missing numbers and text are preserved; a format that cannot hold them is an error.
    """
    screen = Screen(as_json, quiet)
    with screen.report_errors(out):
        began = perf_counter()
        screen.require_one_output(out)
        if Path(given).suffix == ".bochner" and Path(out).suffix.lower() != ".onnx":
            raise ValueError(
                f"A model is converted to ONNX: the name must end in .onnx; got {out}."
            )
        if Path(out).suffix.lower() == ".onnx":
            bochner.to_onnx(bochner.load(given), out)
            record: dict[str, object] = {"out": out}
        else:
            from bochner.cli.work.conversion import convert_files
            from bochner.cli.work.reading import DataOptions, ReadingOptions

            reading = ReadingOptions.of(
                on_error, format, header, delimiter, decimal, encoding, zero_based
            )
            target_, columns_, drop_, categorical_ = map(
                split_names, (target, columns, drop, categorical)
            )
            about_data = DataOptions(target_, None, columns_, drop_, categorical_, reading=reading)
            record = convert_files(given, out, about_data)
        seconds = perf_counter() - began
        rows = f"{record['rows']:,} rows in " if "rows" in record else ""
        line = f"{out}: {rows}{duration(seconds)}."
        screen.result(record | {"seconds": seconds}, [] if out == "-" else [line])
