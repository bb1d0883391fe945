"""The command `bochner` and what belongs to no single command."""

from __future__ import annotations

from typing import Annotated

import typer

import bochner
from bochner.cli.demo import demo

app = typer.Typer(
    name="bochner",
    help="Kernel machines on data of any size.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"bochner {bochner.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Kernel machines on data of any size."""


def main() -> None:
    """Run the command line."""
    app()
