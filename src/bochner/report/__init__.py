"""A report on one HTML page about data, models and predictions, and displays for notebooks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bochner.report.axes import require
    from bochner.report.band_displays import ConfidenceDisplay, QuantileDisplay
    from bochner.report.data_summary import Column, DataSummary
    from bochner.report.fit_displays import (
        ErrorAgainstTimeDisplay,
        HistoryDisplay,
        IterationBoundDisplay,
        RelevanceDisplay,
    )
    from bochner.report.predictions import (
        LabelPredictions,
        NumberPredictions,
        QuantilePredictions,
        Score,
    )
    from bochner.report.report import Report
    from bochner.report.run import Run

_MODULES = {
    "Column": "data_summary",
    "ConfidenceDisplay": "band_displays",
    "DataSummary": "data_summary",
    "ErrorAgainstTimeDisplay": "fit_displays",
    "HistoryDisplay": "fit_displays",
    "IterationBoundDisplay": "fit_displays",
    "LabelPredictions": "predictions",
    "NumberPredictions": "predictions",
    "QuantileDisplay": "band_displays",
    "QuantilePredictions": "predictions",
    "RelevanceDisplay": "fit_displays",
    "Report": "report",
    "Run": "run",
    "Score": "predictions",
    "require": "axes",
}

__all__ = [
    "Column",
    "ConfidenceDisplay",
    "DataSummary",
    "ErrorAgainstTimeDisplay",
    "HistoryDisplay",
    "IterationBoundDisplay",
    "LabelPredictions",
    "NumberPredictions",
    "QuantileDisplay",
    "QuantilePredictions",
    "RelevanceDisplay",
    "Report",
    "Run",
    "Score",
    "require",
]


# Modules are imported when a name is used (PEP 562): only a page needs matplotlib and jinja2.
def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
