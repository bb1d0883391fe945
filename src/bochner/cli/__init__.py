"""The command line. Commands import their libraries when they run, so `--help` is fast."""

from bochner.cli.app import main

__all__ = ["main"]
