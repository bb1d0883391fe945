"""`bochner demo`: learn a surface from one pass over a million rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bochner.cli.quantities import output_path
from bochner.cli.screen import INTERRUPTED, Screen

if TYPE_CHECKING:
    from rich.console import Console

    from bochner import KernelRegressor

EXAMPLES = """Examples:

  bochner demo

  bochner demo --rows 100000 --out wave.png --report wave.html
"""
TEST_ROWS = 16_384


@dataclass(frozen=True)
class DemoFit:
    """A fitted model, the training time, and whether the fit was interrupted."""

    model: KernelRegressor
    seconds: float
    interrupted: bool

    @property
    def rows(self) -> int:
        """The number of training rows."""
        return int(self.model.history_["rows"][-1] or 0)


@dataclass(frozen=True)
class TestRows:
    """Test rows: columns, noisy targets, the true wave and the predictions."""

    X: Any
    y: Any
    truth: Any
    predicted: Any


def _picture_path(out: Path) -> Path:
    return output_path(out, ".png")


def _page_path(page: Path | None) -> Path | None:
    return None if page is None else output_path(page, ".html")


def demo(
    rows: Annotated[int, typer.Option(min=2, help="The number of training rows.")] = 2**20,
    out: Annotated[Path, typer.Option(callback=_picture_path, help="The picture to write.")] = Path(
        "bochner-demo.png"
    ),
    report: Annotated[
        Path | None,
        typer.Option(
            callback=_page_path, help="The report to write; by default beside the picture."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of the rows and the features.")
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Learn a wave in the plane from one pass over noisy rows, and draw it beside the truth."""
    from rich.console import Console

    from bochner.report import require

    screen = Screen(as_json=False, quiet=quiet)
    with screen.report_errors():
        require()
    from bochner.cli.work.surfaces import draw

    console = Console(quiet=quiet, highlight=False, soft_wrap=True)
    console.print(f"A wave in the plane, {rows:,} noisy rows, one pass.")
    fit = _learn(rows, seed, quiet)
    test = _predict_test_rows(fit, seed)
    _summarise(fit, test, console)
    if fit.interrupted:
        console.print("Interrupted, so this is what was learned so far; no picture was drawn.")
        raise typer.Exit(INTERRUPTED)
    with screen.report_errors():
        draw(fit.model.predict, f"learned from {rows:,} noisy rows", out)
        console.print(f"  picture         {out}")
        page = out.with_suffix(".html") if report is None else report
        _write_page(fit, test, seed, page)
        console.print(f"  report          {page}")


def _learn(rows: int, seed: int, quiet: bool) -> DemoFit:
    """Train on one pass over the rows; after Ctrl-C the model is that of the rows so far."""
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
    return DemoFit(model, perf_counter() - began, interrupted)


def _predict_test_rows(fit: DemoFit, seed: int) -> TestRows:
    from bochner.data import RadialWave

    rows = RadialWave(TEST_ROWS, seed=seed + 1).sample(TEST_ROWS)
    return TestRows(rows.X, rows.y, RadialWave.truth(rows.X), fit.model.predict(rows.X))


def _write_page(fit: DemoFit, test: TestRows, seed: int, path: Path) -> None:
    from bochner.report import DataSummary, NumberPredictions, Report, Run

    data = DataSummary.of(
        test.X, test.y, target="height", names=["x₁", "x₂"], test_rows=len(test.truth)
    )
    predictions = NumberPredictions(test.truth, test.predicted)
    run = Run.described(fit.model, predictions, seconds=fit.seconds, name="one pass")
    report = Report(
        "A wave in the plane",
        replace(data, rows=fit.rows),
        [run],
        command=f"bochner demo --rows {fit.rows} --seed {seed}",
        seed=seed,
        notes=[
            "Rows are generated on the fly; the summary of the columns is that of test rows. The "
            "scores compare predictions with the true wave, without the noise of the rows."
        ],
    )
    report.write(path)


def _summarise(fit: DemoFit, test: TestRows, console: Console) -> None:
    import numpy as np

    error = test.predicted - test.truth
    lines = {
        "rows": f"{fit.rows:,}",
        "seconds": f"{fit.seconds:.1f}",
        "rows a second": f"{fit.rows / fit.seconds:,.0f}",
        "features": f"{fit.model.n_features_used_:,}",
        "error": f"{np.mean(error**2):.2e}  (mean squared, against the true wave at new points;"
        " the noise has 1e-02)",
    }
    for name, value in lines.items():
        console.print(f"  {name:<14}  {value}")
