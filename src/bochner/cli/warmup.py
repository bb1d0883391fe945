"""`bochner warmup`: compile what fits need, before anything is timed."""

from __future__ import annotations

import bochner
from bochner.cli import options
from bochner.cli.screen import Screen
from bochner.wording import duration

EXAMPLES = """Examples:

  bochner warmup
"""


def warmup(as_json: options.Json = False, quiet: options.Quiet = False) -> None:
    """Compile the loops of default fits and predictions, so that no later command waits for it.

    The machine code is stored for all processes of this computer.
    """
    screen = Screen(as_json, quiet)
    with screen.report_errors():
        seconds = bochner.warmup()
        screen.result({"seconds": seconds}, [f"Compiled or read in {duration(seconds)}."])
