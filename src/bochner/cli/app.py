"""The command `bochner`, its subcommands and `--version`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Annotated

import typer

import bochner
from bochner.cli import compare, convert, demo, evaluate, fit, inspect, predict, warmup
from bochner.cli.screen import EXIT_CODES, RUNNING

app = typer.Typer(
    name="bochner",
    help="Kernel machines on data of any size.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[Callable[..., None], str] = {
    fit.fit: fit.EXAMPLES,
    predict.predict: predict.EXAMPLES,
    evaluate.evaluate: evaluate.EXAMPLES,
    inspect.inspect: inspect.EXAMPLES,
    convert.convert: convert.EXAMPLES,
    compare.compare: compare.EXAMPLES,
    demo.demo: demo.EXAMPLES,
    warmup.warmup: warmup.EXAMPLES,
}
for command, examples in COMMANDS.items():
    app.command(help=f"{cleandoc(command.__doc__ or '')}\n\n{examples}\n{EXIT_CODES}")(command)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"bochner {bochner.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Kernel machines on data of any size."""
    RUNNING.set(context)


def main() -> None:
    """Run the command line."""
    app(prog_name="bochner")  # the name for `python -m bochner`, too
