"""Tuning: a bandwidth, a scale for each column and a ridge, found on rows that are held out."""

from bochner.tuning.relevance_display import RelevanceDisplay
from bochner.tuning.sample import Sample
from bochner.tuning.tuned import Tuned
from bochner.tuning.tuning import Tuning

__all__ = ["RelevanceDisplay", "Sample", "Tuned", "Tuning"]
