"""`bochner compare`: several methods on the same rows, with the same time limit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import options
from bochner.cli.names import (
    METHODS,
    DecimalMark,
    HeaderRow,
    Missing,
    MissingTarget,
    OnError,
    Scale,
    Task,
    ZeroBased,
    complete_from,
)
from bochner.cli.quantities import seconds, split_names
from bochner.cli.screen import Screen
from bochner.wording import did_you_mean

EXAMPLES = """Examples:

  bochner compare houses.csv --target price

  bochner compare rows.parquet -t label --methods dsg,cdsg,binning --time 2m --report a.html
"""
DEFAULT = ("auto", "binning", "eigenpro", "nystroem", "dsg", "cdsg")


def _methods(given: list[str]) -> list[str]:
    names = split_names(given)
    for name in names:
        if name not in METHODS:
            near = did_you_mean(name, METHODS)
            raise typer.BadParameter(f"methods are {', '.join(METHODS)}; got {name!r}.{near}")
    if not names:
        raise typer.BadParameter(f"give at least one of {', '.join(METHODS)}; got none.")
    return list(dict.fromkeys(names))


def compare(
    data: options.Data,
    target: options.Target = None,
    methods: Annotated[
        list[str],
        typer.Option(
            "--methods", "-m", callback=_methods, metavar="NAMES",
            help=f"Among {', '.join(METHODS)}.",
            autocompletion=complete_from(tuple(METHODS)),
        ),
    ] = list(DEFAULT),  # noqa: B006
    report: Annotated[
        Path, typer.Option(metavar="FILE", help="The HTML report to write.")
    ] = Path("bochner-compare.html"),
    time: Annotated[
        float,
        typer.Option(parser=seconds, metavar="TIME", help="The time limit of each method."),
    ] = "60s",  # type: ignore[assignment]
    test: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="The share of the rows to test on.")
    ] = 0.2,
    task: options.TaskOption = Task.AUTO,
    kernel: options.Kernel = "auto",
    loss: options.Loss = None,
    scale: options.ScaleOption = Scale.NONE,
    quantiles: options.Quantiles = None,
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
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Fit several methods to the same rows, test them on the same other rows, and write a report.

    All methods have the same training rows and time limit. A method that fails is reported, and
    the others continue.
    """
    screen = Screen(as_json, quiet)
    given = {"kernel": kernel, "loss": loss, "memory_budget": memory, "n_jobs": threads}
    parameters = options.estimator_parameters(given, scale, quantiles, set_)
    parameters |= {"random_state": seed, "max_seconds": time}
    with screen.report_errors(report):
        from bochner.cli.work.comparison import CompareCommand
        from bochner.cli.work.pages import require_page
        from bochner.cli.work.reading import DataOptions, ReadingOptions

        require_page(report)
        about_data = DataOptions.of(
            target, weight, columns, drop, categorical, missing, missing_target,
            reading=ReadingOptions.of(
                on_error, format, header, delimiter, decimal, encoding, zero_based
            ),
        )  # fmt: skip
        CompareCommand(
            data, about_data, task, tuple(methods), parameters, test, report, options.command_line()
        ).run(screen)
