"""`bochner demo`: learn a surface from one pass over a million rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli.quantities import output_path
from bochner.cli.screen import Screen

EXAMPLES = """Examples:

  bochner demo

  bochner demo --rows 100000 --out wave.png --report wave.html
"""


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
    from bochner.report import require

    screen = Screen(as_json=False, quiet=quiet)
    with screen.report_errors():
        require()
    from bochner.cli.work.demonstration import demonstrate

    page = out.with_suffix(".html") if report is None else report
    demonstrate(rows, seed, out, page, screen)
