"""HistogramTransformer: what transformers of histograms have in common."""

from __future__ import annotations

from typing import Any

from bochner.estimators.feature_transformer import FeatureTransformer


class HistogramTransformer(FeatureTransformer):
    """A transformer of rows without negative entries."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
