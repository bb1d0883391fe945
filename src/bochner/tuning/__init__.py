"""Tuning: a bandwidth, a scale for each column and a ridge, found on rows that are held out."""

from importlib import import_module
from typing import Any

from bochner.tuning.sample import Sample
from bochner.tuning.tuned import Tuned
from bochner.tuning.tuning import Tuning

__all__ = ["RelevanceDisplay", "Sample", "Tuned", "Tuning"]


def __getattr__(name: str) -> Any:
    if name == "RelevanceDisplay":  # its old place; it is drawn by `bochner.report`
        return import_module("bochner.report").RelevanceDisplay
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
