"""The work of `bochner demo`: learn a wave in the plane, draw it, and write a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import typer
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console

from bochner import KernelRegressor
from bochner.callbacks import ProgressBar
from bochner.cli.screen import INTERRUPTED, Screen
from bochner.data import RadialWave
from bochner.data.synthetic import HALF_WIDTH
from bochner.kernels import Gaussian
from bochner.replacing import replacing
from bochner.report import DataSummary, NumberPredictions, Report, Run

TEST_ROWS = 16_384
POINTS = 241  # on a side of the picture
INCHES = (12.0, 4.2)
DOTS_PER_INCH = 100
BAR: dict[str, Any] = {"aspect": 25, "pad": 0.02}


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
    truth: NDArray[Any]
    predicted: NDArray[Any]


def demonstrate(rows: int, seed: int, out: Path, page: Path, screen: Screen) -> None:
    """Learn from the rows, print the error, and write the picture and the page."""
    console = Console(quiet=screen.quiet, highlight=False, soft_wrap=True)
    console.print(f"A wave in the plane, {rows:,} noisy rows, one pass.")
    fit = _learn(rows, seed, screen.quiet)
    test = _predict_test_rows(fit, seed)
    _print_summary(fit, test, console)
    if fit.interrupted:
        console.print("Interrupted, so this is what was learned so far; no picture was drawn.")
        raise typer.Exit(INTERRUPTED)
    with screen.report_errors():
        _draw(fit.model.predict, f"learned from {rows:,} noisy rows", out)
        console.print(f"  picture         {out}")
        _write_page(fit, test, seed, page)
        console.print(f"  report          {page}")


def _learn(rows: int, seed: int, quiet: bool) -> DemoFit:
    """Train on one pass over the rows; after Ctrl-C the model is that of the rows so far."""
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
    rows = RadialWave(TEST_ROWS, seed=seed + 1).sample(TEST_ROWS)
    return TestRows(rows.X, rows.y, RadialWave.truth(rows.X), fit.model.predict(rows.X))


def _write_page(fit: DemoFit, test: TestRows, seed: int, path: Path) -> None:
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


def _print_summary(fit: DemoFit, test: TestRows, console: Console) -> None:
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


def _draw(predict: Callable[[NDArray[Any]], NDArray[Any]], title: str, path: Path) -> None:
    """Draw a learned function beside the truth, and write the picture."""
    points = _grid()
    truth, learned = _surface(RadialWave.truth(points)), _surface(predict(points))
    error = np.abs(learned - truth)
    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="compressed")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    scale = {"vmin": truth.min(), "vmax": truth.max(), "cmap": "viridis"}
    _panel(axes[0], truth, "the truth", **scale)
    image = _panel(axes[1], learned, title, **scale)
    figure.colorbar(image, ax=list(axes[:2]), label="f(x)", **BAR)
    # The wave has a cusp, where the error is several times that elsewhere.
    most = float(np.quantile(error, 0.999))
    image = _panel(axes[2], error, "absolute error", vmin=0.0, vmax=most, cmap="magma")
    figure.colorbar(image, ax=axes[2], label="|learned - truth|", extend="max", **BAR)
    axes[0].set_ylabel("x₂")
    with replacing(path) as file:
        FigureCanvasAgg(figure).print_png(file)


def _grid() -> NDArray[np.float32]:
    """Return the points of a square grid, row by row."""
    side = np.linspace(-HALF_WIDTH, HALF_WIDTH, POINTS, dtype=np.float32)
    first, second = np.meshgrid(side, side)
    return np.column_stack([first.ravel(), second.ravel()])


def _surface(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return values at the points of the grid as a square."""
    return np.asarray(values, dtype=np.float64).reshape(POINTS, POINTS)


def _panel(axes: Any, values: NDArray[Any], title: str, **colours: Any) -> Any:
    """Draw one surface, seen from above."""
    edges = (-HALF_WIDTH, HALF_WIDTH, -HALF_WIDTH, HALF_WIDTH)
    axes.set_title(title)
    axes.set_xlabel("x₁")
    axes.set_xticks([-10, -5, 0, 5, 10])
    axes.set_yticks([-10, -5, 0, 5, 10])
    return axes.imshow(values, origin="lower", extent=edges, interpolation="bilinear", **colours)
