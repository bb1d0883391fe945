"""Preparation: what a user gave, rows and hyperparameters, becomes a source and a setup."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from bochner.compute.memory import memory_budget
from bochner.data import DataSource, Scaling
from bochner.estimators.hyperparameters import Hyperparameters
from bochner.estimators.seeds import seed_of
from bochner.estimators.setup import Setup, in_single_precision
from bochner.estimators.sources import (
    array_source,
    is_stream,
    refuse_blocks,
    stream,
    validated_table,
)
from bochner.estimators.tables import Table, has_categories
from bochner.estimators.targets import Targets
from bochner.features import SAMPLE_ROWS, FeatureMap, prepare
from bochner.kernels import Kernel
from bochner.losses import Loss


class Preparation(Hyperparameters):
    """The part of a kernel machine that comes before its first batch.

    `_table` says how a data frame with text becomes numbers; for other rows it is None.
    """

    _setup: Setup
    _table: Table | None

    @abstractmethod
    def _arrays(self, X: Any, y: Any, *, reset: bool, least: int) -> tuple[Any, NDArray[Any]]:
        """Return rows and targets, checked as scikit-learn does."""

    @abstractmethod
    def _targets(self, source: DataSource, loss: Loss, classes: Any) -> Targets:
        """Return the coding of the targets in a source."""

    def _set_up(self, source: DataSource, classes: Any, going_on: bool) -> Setup:
        """Return what holds for all calls: that of the first one, or what these rows say."""
        loss: Loss = Loss.resolve(self.loss)
        kernel, features = Kernel.resolve(self._meant("kernel")), self._feature_map()
        recipe = f"kernel={kernel}, loss={loss}, features={features}, scale={self.scale!r}"
        if "class_weight" in (parameters := self.get_params(deep=False)):
            recipe += f", class_weight={parameters['class_weight']!r}"
        if going_on:
            self._setup.require(recipe)
            self._setup.targets.require(classes)
            return self._setup
        seed = seed_of(self.random_state)
        targets = self._targets(source, loss, classes)
        scaling = self._scaling(source, features)
        sample = source.sample(SAMPLE_ROWS, seed)
        sample = sample if scaling is None else scaling(sample)
        in_single_precision(sample.X)
        memory = memory_budget(self.memory_budget)
        kernel, basis = prepare(kernel, features, sample, seed, np.float32, memory)
        return Setup(seed, loss, kernel, features, basis, scaling, targets, recipe)

    def _feature_map(self) -> FeatureMap:
        """Return the feature map; where rows come from a table it knows which are categories."""
        features = FeatureMap.resolve(self.features)
        return features if self._table is None else features.for_categories(self._table.categorical)

    def _scaling(self, source: DataSource, features: FeatureMap) -> Scaling | None:
        if self.scale is None:
            return None
        return Scaling.learn(source, self.scale).without(features.categories(source.n_columns))  # type: ignore[arg-type]

    def _source(self, X: Any, y: Any, sample_weight: Any, *, reset: bool, least: int) -> DataSource:
        if not is_stream(X):
            refuse_blocks(X)
            if reset:
                self._table = Table.learn(X) if has_categories(X) else None
            X, y = self._arrays(X, y, reset=reset, least=least)
            return array_source(X, y, sample_weight)
        source = stream(X, y, sample_weight)
        if reset:
            self._table = None
            self.n_features_in_ = source.n_columns
            self.__dict__.pop("feature_names_in_", None)
        elif source.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {source.n_columns} columns, but {type(self).__name__} was fitted with "
                f"{self.n_features_in_}. Give the same columns."
            )
        return source

    def _validated(self, X: Any, y: Any = "no_validation", *, reset: bool, **checks: Any) -> Any:
        """Return rows, and targets if there are any, checked as scikit-learn does."""
        if self._table is None:
            return validate_data(self, X, y, reset=reset, **checks)
        return validated_table(self, self._table, X, y, checks)
