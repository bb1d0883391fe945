"""Reports: one page that shows data, methods and predictions, and pictures for notebooks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bochner.report.confidence_display import ConfidenceDisplay
    from bochner.report.data_summary import Column, DataSummary
    from bochner.report.error_against_time_display import ErrorAgainstTimeDisplay
    from bochner.report.history_display import HistoryDisplay
    from bochner.report.label_predictions import LabelPredictions
    from bochner.report.number_predictions import NumberPredictions
    from bochner.report.quantile_display import QuantileDisplay
    from bochner.report.quantile_predictions import QuantilePredictions
    from bochner.report.report import Report
    from bochner.report.requirements import require
    from bochner.report.run import Run
    from bochner.report.score import Score

_PLACES = {
    "Column": "data_summary",
    "ConfidenceDisplay": "confidence_display",
    "DataSummary": "data_summary",
    "ErrorAgainstTimeDisplay": "error_against_time_display",
    "HistoryDisplay": "history_display",
    "LabelPredictions": "label_predictions",
    "NumberPredictions": "number_predictions",
    "QuantileDisplay": "quantile_display",
    "QuantilePredictions": "quantile_predictions",
    "Report": "report",
    "Run": "run",
    "Score": "score",
    "require": "requirements",
}

__all__ = [
    "Column",
    "ConfidenceDisplay",
    "DataSummary",
    "ErrorAgainstTimeDisplay",
    "HistoryDisplay",
    "LabelPredictions",
    "NumberPredictions",
    "QuantileDisplay",
    "QuantilePredictions",
    "Report",
    "Run",
    "Score",
    "require",
]


# `bochner evaluate` without a page needs neither matplotlib nor jinja2 (PEP 562).
def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
