"""Search for a bandwidth, a scale for each column and a ridge on held-out rows."""

from importlib import import_module
from typing import Any

from bochner.tuning.sample import Sample
from bochner.tuning.search import Tuned
from bochner.tuning.tuning import Tuning

__all__ = ["RelevanceDisplay", "Sample", "Tuned", "Tuning"]


def __getattr__(name: str) -> Any:
    if name == "RelevanceDisplay":  # defined in `bochner.report`
        return import_module("bochner.report").RelevanceDisplay
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
