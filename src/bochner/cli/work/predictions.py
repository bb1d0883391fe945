"""Predictions as named columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from bochner import (
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
)
from bochner.cli.work.reading import LoadedModel
from bochner.data import Batch, FileSource, as_source
from bochner.data.files.file_source import FileStream
from bochner.data.files.parsing import CarryingBatch

Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class PredictionOptions:
    """What to write beside the predictions.

    Deviations and quantiles are those of new observations: they include the noise.
    """

    probabilities: bool = False
    deviations: bool = False
    quantiles: tuple[float, ...] | None = None
    kept: tuple[str, ...] = ()
    rows_at_once: int = 65_536

    def parts(self, source: FileSource) -> Iterator[Batch]:
        """Yield the rows in parts, with the columns to keep if there are any."""
        if not self.kept:
            yield from source.batches(self.rows_at_once)
            return
        assert isinstance(source, FileStream)
        for piece in source.pieces(self.rows_at_once, 0, 0):
            for start in range(0, len(piece), self.rows_at_once):
                yield piece[start : start + self.rows_at_once]

    def require(self, model: Any) -> None:
        """Raise if a model does not provide these outputs."""
        name = type(model).__name__
        if self.probabilities and not hasattr(model, "predict_proba"):
            raise ValueError(
                f"This {name} gives no probabilities. Fit a classifier: `bochner fit --task "
                "classification`."
            )
        if self.deviations and not isinstance(model, KernelGaussianProcess):
            raise ValueError(
                f"This {name} gives no standard deviations. Fit one that does: `bochner fit "
                "--task gaussian-process`."
            )
        if self.quantiles is not None:
            self._require_quantiles(model)

    def _require_quantiles(self, model: Any) -> None:
        assert self.quantiles is not None
        if isinstance(model, KernelQuantileRegressor):
            known = np.atleast_1d(model.quantiles).tolist()
            if not set(self.quantiles) <= set(known):
                raise ValueError(
                    f"This model was fitted to the quantiles {known}; got {list(self.quantiles)}. "
                    "Choose among them, or fit to others by `bochner fit --quantiles`."
                )
        elif not isinstance(model, KernelGaussianProcess):
            raise ValueError(
                f"This {type(model).__name__} gives no quantiles. Fit one that does: `bochner fit "
                "--quantiles 0.05,0.5,0.95` or `bochner fit --task gaussian-process`."
            )
        elif not all(0 < share < 1 for share in self.quantiles):
            raise ValueError(f"Quantiles lie between 0 and 1; got {list(self.quantiles)}.")


def predict_columns(fitted: LoadedModel, batch: Batch, options: PredictionOptions) -> Columns:
    """Return the columns to keep, and the predictions under the names of the targets.

    A prediction whose name is that of a column to keep is called "predicted" and its name.
    """
    kept = batch.carried if isinstance(batch, CarryingBatch) else {}
    found = _predictions(fitted, batch.X, options)
    return kept | {
        f"predicted {name}" if name in kept else name: cells for name, cells in found.items()
    }


def _predictions(fitted: LoadedModel, X: Any, options: PredictionOptions) -> Columns:
    model, rows = fitted.model, as_source(X)
    names = fitted.schema.targets or ("prediction",)
    if isinstance(model, KernelQuantileRegressor):
        return _quantiles(model, rows, names, options)
    if isinstance(model, KernelGaussianProcess) and (options.deviations or options.quantiles):
        return _normal(model, rows, names, options)
    if isinstance(model, KernelNoveltyDetector):
        decision = model.decision_function(rows)
        return {"inside": np.where(decision >= 0, 1, -1), "score": decision}
    columns = _named(names, model.predict(rows))
    if options.probabilities and isinstance(model, KernelClassifier):
        chances = model.predict_proba(rows)
        labels = [f"probability of {label}" for label in model.classes_]
        columns |= dict(zip(labels, chances.T, strict=True))
    return columns


def _named(names: tuple[str, ...], values: NDArray[Any]) -> Columns:
    values = values.reshape(len(values), -1)
    if len(names) != values.shape[1]:
        names = tuple(f"prediction {number}" for number in range(values.shape[1]))
    return dict(zip(names, values.T, strict=True))


def _quantiles(
    model: Any, rows: Any, names: tuple[str, ...], options: PredictionOptions
) -> Columns:
    shares = np.atleast_1d(model.quantiles).tolist()
    found = model.predict(rows).reshape(rows.n_rows, -1, len(shares))
    columns = {}
    for k in range(found.shape[1]):
        of = f" of {names[k]}" if found.shape[1] > 1 else ""
        for share in options.quantiles or shares:
            columns[f"quantile {share:g}{of}"] = found[:, k, shares.index(share)]
    return columns


def _normal(model: Any, rows: Any, names: tuple[str, ...], options: PredictionOptions) -> Columns:
    mean, deviation = (values.reshape(rows.n_rows, -1) for values in _moments(model, rows))
    columns = _named(names, mean)
    many = mean.shape[1] > 1
    for name, centre, width in zip(list(columns), mean.T, deviation.T, strict=True):
        of = f" of {name}" if many else ""
        if options.deviations:
            columns[f"standard deviation{of}"] = width
        for share in options.quantiles or ():
            columns[f"quantile {share:g}{of}"] = centre + ndtri(share) * width
    return columns


def _moments(model: Any, rows: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    mean, deviation = model.predict(rows, return_std=True, noise=True)
    if mean.ndim == 2 and deviation.ndim == 1:
        deviation = np.broadcast_to(deviation[:, None], mean.shape)
    return mean, deviation
