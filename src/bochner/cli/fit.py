"""`bochner fit`: train a model on files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import options
from bochner.cli.names import (
    DecimalMark,
    HeaderRow,
    Missing,
    MissingTarget,
    OnError,
    Scale,
    Task,
    ZeroBased,
)
from bochner.cli.quantities import output_path, seconds
from bochner.cli.screen import Screen

EXAMPLES = """Examples:

  bochner fit houses.csv --target price --out price.bochner

  bochner fit 'parts/*.parquet' -t label --test 0.2 --time 5m --memory 2GB --out m.bochner

  bochner fit rows.svm --solver cdsg --set alpha=1e-6 --out m.bochner

  bochner fit houses.csv --target price --out price.bochner --resume
"""


def _model_path(out: Path) -> Path:
    return output_path(out)  # a callback of typer has one parameter


def fit(
    data: options.Data,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", callback=_model_path, help="The model file to write.", show_default=False
        ),
    ],
    target: options.Target = None,
    task: options.TaskOption = Task.AUTO,
    kernel: options.Kernel = "auto",
    solver: options.Solver = "auto",
    features: options.Features = "auto",
    loss: options.Loss = None,
    scale: options.ScaleOption = Scale.NONE,
    quality: options.QualityOption = None,
    quantiles: options.Quantiles = None,
    time: options.Time = None,
    memory: options.Memory = None,
    threads: options.Threads = None,
    seed: options.Seed = 0,
    set_: options.Settings = None,
    weight: options.Weight = None,
    columns: options.Columns = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    missing: options.MissingNumbers = Missing.OWN,
    missing_target: options.MissingTargets = MissingTarget.REFUSE,
    on_error: options.Malformed = OnError.RAISE,
    format: options.FileFormat = None,
    header: options.HeaderLine = HeaderRow.AUTO,
    delimiter: options.Delimiter = "auto",
    decimal: options.Decimal = DecimalMark.AUTO,
    encoding: options.Encoding = None,
    zero_based: options.FirstColumn = ZeroBased.AUTO,
    test: options.TestShare = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the checkpoint of an earlier run.")
    ] = False,
    checkpoint_every: Annotated[
        float, typer.Option(parser=seconds, metavar="TIME", help="The time between checkpoints.")
    ] = "60s",  # type: ignore[assignment]
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model on files and write it to a file.

    Files may be larger than memory. Ctrl-C saves a checkpoint; the same command with --resume
    continues from there, with the same result, bit for bit, as a fit without interruption.
    """
    screen = Screen(as_json, quiet)
    given = {
        "kernel": kernel, "solver": solver, "features": features, "loss": loss,
        "max_seconds": time, "memory_budget": memory, "n_jobs": threads, "quality": quality,
    }  # fmt: skip
    parameters = options.estimator_parameters(given, scale, quantiles, set_)
    with screen.report_errors(out):
        from bochner.cli.work.fitting import FitCommand
        from bochner.cli.work.reading import DataOptions, ReadingOptions

        about_data = DataOptions.of(
            target, weight, columns, drop, categorical, missing, missing_target,
            reading=ReadingOptions.of(
                on_error, format, header, delimiter, decimal, encoding, zero_based
            ),
        )  # fmt: skip
        FitCommand(
            data, about_data, task, parameters, seed, test or 0.0, out, checkpoint_every, resume,
            options.command_line(),
        ).run(screen)  # fmt: skip
