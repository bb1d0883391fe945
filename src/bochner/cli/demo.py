"""`bochner demo`: a million rows go by once, and a surface is learned."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from bochner import KernelRegressor

FRESH_ROWS = 16_384
INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended


@dataclass(frozen=True)
class Learned:
    """A fit, how long it took, and whether it went to the end."""

    model: KernelRegressor
    seconds: float
    interrupted: bool

    @property
    def rows(self) -> int:
        """The rows that were seen."""
        return int(self.model.history_["rows"][-1] or 0)


def _picture_path(out: Path) -> Path:
    if out.suffix.lower() != ".png":
        raise typer.BadParameter(f"the picture is a PNG, so its name ends in .png; got {out}.")
    if out.is_dir():
        raise typer.BadParameter(f"{out} is a directory; give the name of a file.")
    if not out.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no directory {out.parent}; make it first.")
    return out


def demo(
    rows: Annotated[int, typer.Option(min=2, help="Rows to learn from.")] = 2**20,
    out: Annotated[
        Path, typer.Option(callback=_picture_path, help="Where the picture goes.")
    ] = Path("bochner-demo.png"),
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Determines the rows and the features.")
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Learn a wave in the plane from noisy rows that go by once, and draw it beside the truth."""
    _require_matplotlib()
    from rich.console import Console

    from bochner.cli.surfaces import draw

    console = Console(quiet=quiet, highlight=False, soft_wrap=True)
    console.print(f"A wave in the plane, {rows:,} noisy rows, one pass.")
    learned = _learn(rows, seed, quiet)
    _summarise(learned, seed, console)
    if learned.interrupted:
        console.print("Interrupted, so this is what was learned so far; no picture was drawn.")
        raise typer.Exit(INTERRUPTED)
    draw(learned.model.predict, f"learned from {rows:,} noisy rows", out)
    console.print(f"  picture         {out}")


def _require_matplotlib() -> None:
    if find_spec("matplotlib") is not None:
        return
    typer.echo(
        "The picture needs matplotlib, which is not installed. It comes with the extra 'report': "
        "pip install 'bochner[report]'",
        err=True,
    )
    raise typer.Exit(1)


def _learn(rows: int, seed: int, quiet: bool) -> Learned:
    """Stream through the rows once; a Ctrl-C between batches leaves what was learned so far."""
    from bochner import KernelRegressor
    from bochner.callbacks import ProgressBar
    from bochner.data import RadialWave
    from bochner.kernels import Gaussian

    model = KernelRegressor(
        kernel=Gaussian(multiplier=0.1),
        alpha=1e-6,
        random_state=seed,
        callbacks=() if quiet else (ProgressBar(passes=1),),
    )
    began, interrupted = perf_counter(), False
    try:
        model.partial_fit(RadialWave(rows, seed=seed))
    except KeyboardInterrupt:
        if not hasattr(model, "history_"):
            typer.echo("Interrupted before anything was learned.", err=True)
            raise typer.Exit(INTERRUPTED) from None
        interrupted = True
    return Learned(model, perf_counter() - began, interrupted)


def _summarise(learned: Learned, seed: int, console: Console) -> None:
    import numpy as np

    from bochner.data import RadialWave

    X = RadialWave(FRESH_ROWS, seed=seed + 1).sample(FRESH_ROWS).X
    error = learned.model.predict(X) - RadialWave.truth(X)
    lines = {
        "rows": f"{learned.rows:,}",
        "seconds": f"{learned.seconds:.1f}",
        "rows a second": f"{learned.rows / learned.seconds:,.0f}",
        "features": f"{learned.model.n_features_used_:,}",
        "error": f"{np.mean(error**2):.2e}  (mean squared, against the true wave at fresh points;"
        " the noise has 1e-02)",
    }
    for name, value in lines.items():
        console.print(f"  {name:<14}  {value}")
