"""The commands; what they need is imported when they run, so that help comes at once."""

from bochner.cli.app import main

__all__ = ["main"]
