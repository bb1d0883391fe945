"""Broken and hostile model files and checkpoints, most of them with a digest that is right again.

A file is refused, or the model in it predicts or refuses to; a checkpoint resumes or refuses to.
"""

from __future__ import annotations

import random
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import bochner
from bochner import features, kernels
from fuzz_harness import Target
from model_mutations import mutated

COLUMNS = 4
ROWS = 60
METHODS = ("predict", "predict_proba", "transform")
SOLVERS: dict[str, dict[str, Any]] = {
    "dsg": {"solver": "dsg"},
    "eigenpro": {"solver": "eigenpro"},
    "cg": {"solver": "cg", "features": features.Centers(10)},
    "averaged": {"solver": "averaged", "features": features.Binning(4)},
    "coordinate": {"solver": "coordinate", "features": features.Binning(4)},
    "backfitting": {"solver": "backfitting", "features": features.Binning(4)},
    "nystroem": {"solver": "nystroem", "features": features.Centers(10)},
}


def data() -> tuple[Any, Any]:
    """Return rows of positive numbers, and their targets."""
    X = np.abs(np.random.default_rng(0).normal(size=(ROWS, COLUMNS)))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def models() -> dict[str, Any]:
    """Return small models, one of each kind of basis."""
    X, y = data()
    fit = {"max_passes": 1, "random_state": 0}
    labels = np.where(y > y.mean(), "oak", "ash")
    return {
        "bins": bochner.KernelRegressor(features=features.Binning(8), **fit).fit(X, y),
        "waves": bochner.KernelClassifier(solver="dsg", scale="standard", **fit).fit(X, labels),
        "centres": bochner.KernelRegressor(solver="eigenpro", **fit).fit(X, y),
        "fastfood": bochner.Fastfood(size=32, random_state=0).fit(X),
        "sketch": bochner.TensorSketch(size=32, random_state=0).fit(X),
        "additive": bochner.AdditiveHomogeneous(size=12).fit(X),
        "histograms": bochner.HistogramFourier(size=16, random_state=0).fit(X),
        "nystroem": bochner.NystroemMap(size=10, random_state=0).fit(X),
        "maclaurin": bochner.RandomMaclaurin(size=32, random_state=0).fit(X),
        "mixture": bochner.KernelRegressor(
            kernels.Gaussian(2.0) * kernels.ArcCosine() + kernels.ArcCosine().on([0, 1]),
            features=features.RandomFeatures(32), **fit,
        ).fit(X, y),
        "chosen": bochner.KernelRegressor(
            "gaussian", features=features.Leverage(size=16), **fit
        ).fit(X, y),
        "process": bochner.KernelGaussianProcess(
            "gaussian", features=features.Fourier(16)
        ).fit(X, y),
        "quantiles": bochner.KernelQuantileRegressor(
            [0.1, 0.9], features=features.Binning(8), **fit
        ).fit(X, y),
    }  # fmt: skip


def unfinished() -> dict[str, Any]:
    """Return what checkpoints hold after the last batch but one, of several solvers."""
    X, y = data()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in SOLVERS.items():
            path = Path(folder) / name
            kept = [bochner.Checkpoint(path, 0)]
            model = bochner.KernelRegressor(
                "laplacian", random_state=0, max_passes=2, early_stopping=False, callbacks=kept,
                **settings,
            )  # fmt: skip
            model.fit(X, y)
            found[name] = bochner.load(path)
    return found


class Model(Target):
    """Model files of each kind of basis."""

    name, refusals = "model", (bochner.ModelFileError,)
    time_share, count_share = 3.0, 0.5

    def prepare(self, folder: Path) -> None:
        """Save the models, and predict with each."""
        self._path, self._X, self._files = folder / "model", data()[0][:3], []
        for model in self.models().values():
            bochner.save(model, self._path)
            self._files.append(self._path.read_bytes())
            self.use(bochner.load(self._path))
        # Small files are read sooner, and have the same kinds of parts.
        self._weights = [1 / len(file) for file in self._files]

    def models(self) -> dict[str, Any]:
        """Return the models to start from."""
        return models()

    def mutant(self, chance: random.Random) -> bytes:
        """Return a file that differs somewhere."""
        return mutated(chance.choices(self._files, self._weights)[0], chance)

    def read(self, content: bytes, chance: random.Random) -> None:
        """Load the model and use it."""
        self._path.write_bytes(content)
        if chance.random() < 0.1:
            bochner.read_header(self._path)
        self.use(bochner.load(self._path))

    def use(self, model: Any) -> None:
        """Predict; a parameter that makes no sense is for the method to refuse."""
        for method in METHODS:
            with suppress(Exception):
                getattr(model, method)(self._X)


class CheckpointFile(Model):
    """Checkpoints, which are model files with the state of a solver."""

    name = "checkpoint"
    time_share, count_share = 2.0, 0.1

    def models(self) -> dict[str, Any]:
        """Return the unfinished models."""
        return unfinished()

    def use(self, model: Any) -> None:
        """Resume the fit, which other parameters or another state may refuse."""
        super().use(model)
        with suppress(Exception):
            model.set_params(max_seconds=1e-3).fit(*data())
