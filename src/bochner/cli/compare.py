"""`bochner compare`: the methods side by side, under one limit of time."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from bochner.cli import options
from bochner.cli.names import METHODS, Header, Missing, OnError, Scale, Task, completed
from bochner.cli.quantities import listed, seconds, settings
from bochner.cli.screen import Screen

EXAMPLES = """Examples:

  bochner compare houses.csv --target price

  bochner compare rows.parquet -t label --methods dsg,cdsg,binning --time 2m --report a.html
"""
DEFAULT = ("auto", "binning", "eigenpro", "nystroem", "dsg", "cdsg")


def _methods(given: list[str]) -> list[str]:
    names = listed(given)
    for name in names:
        if name not in METHODS:
            raise typer.BadParameter(f"methods are {', '.join(METHODS)}; got {name!r}.")
    if not names:
        raise typer.BadParameter(f"there must be one at least of {', '.join(METHODS)}; got none.")
    return list(dict.fromkeys(names))


def compare(
    data: options.Data,
    target: options.Target = None,
    methods: Annotated[
        list[str],
        typer.Option(
            "--methods", "-m", callback=_methods, metavar="NAMES",
            help=f"Among {', '.join(METHODS)}.",
            autocompletion=completed(tuple(METHODS)),
        ),
    ] = list(DEFAULT),  # noqa: B006
    report: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the page goes, one HTML file.")
    ] = Path("bochner-compare.html"),
    time: Annotated[
        float,
        typer.Option(parser=seconds, metavar="TIME", help="The most time for each method."),
    ] = "60s",  # type: ignore[assignment]
    test: Annotated[
        float, typer.Option(min=0.01, max=0.9, help="The share of the rows to judge by.")
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
    missing: options.MissingNumbers = Missing.REFUSE,
    on_error: options.Malformed = OnError.RAISE,
    format: options.FileFormat = None,
    header: options.HeaderLine = Header.AUTO,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Fit several methods to the same rows, judge them by the same others, and write a page.

    Every method learns from the same rows in at most the same time; what fails is told and the
    others go on.
    """
    screen = Screen(as_json, quiet)
    parameters = {
        "kernel": kernel,
        "loss": loss,
        "scale": None if scale is Scale.NONE else scale.value,
        "quantiles": None if quantiles is None else tuple(quantiles),
        "memory_budget": memory,
        "n_jobs": threads,
    }
    asked = {k: v for k, v in parameters.items() if v is not None and v != "auto"}
    with screen.errors_told():
        from bochner.cli.work.comparison import Comparison
        from bochner.cli.work.pages import require_page
        from bochner.cli.work.reading import Reading

        require_page(report)
        Comparison(
            data,
            Reading.asked(
                target,
                weight,
                columns,
                drop,
                categorical,
                missing=missing,
                on_error=on_error,
                format=format,
                header=header,
            ),
            task,
            tuple(methods),
            asked | settings(set_) | {"random_state": seed, "max_seconds": time},
            test,
            report,
            shlex.join(["bochner", *sys.argv[1:]]),
        ).run(screen)
