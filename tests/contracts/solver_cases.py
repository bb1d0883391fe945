"""Every solver on all features it takes, with small data: the cases of the laws on solvers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from bochner import KernelClassifier, KernelRegressor
from bochner.data import ArraySource, open_source
from bochner.features import Binning, Centers, Fourier, RandomBasis
from bochner.kernels import Gaussian, Laplacian
from bochner.losses import Loss
from bochner.solvers import CoordinateDescent, DoublyStochastic, EigenPro, Solver

N_ROWS, BATCH = 240, 50  # several batches a pass, the last of another length
FEATURES = {
    "bins": Binning(8),
    "waves": Fourier(64),
    "endless waves": Fourier(),
    "centres": Centers(),
    "some centres": Centers(40),
}
VARIANTS = {  # solvers with settings that take another way through the code
    "plain dsg": DoublyStochastic(step="plain"),
    "eigenpro with momentum": EigenPro(momentum=True),
    "coordinate with l2": CoordinateDescent("l2"),
}
SOLVERS = {name: Solver.resolve(name) for name in sorted(Solver.registry)} | VARIANTS

# Features that a solver refuses though its types take them; test_compatibility has the types.
REFUSED = {
    ("direct", "some centres"): "it solves the system of all rows",
    ("eigenpro with momentum", "some centres"): "momentum is for all rows as centres",
    ("smo", "some centres"): "its variables belong to all rows",
}
NONSMOOTH = {"smo"}  # solvers that are made for nonsmooth losses


@dataclass(frozen=True)
class Case:
    """A solver on features that it takes."""

    name: str
    features: str

    def __str__(self) -> str:
        return f"{self.name} on {self.features}"

    @property
    def solver(self) -> Any:
        """The solver with small batches, if it has a parameter for them."""
        solver = clone(SOLVERS[self.name])
        return solver.set_params(batch_size=BATCH) if hasattr(solver, "batch_size") else solver

    def regressor(self, **changes: Any) -> KernelRegressor:
        return KernelRegressor(**self._settings("squared", "huber", "absolute") | changes)

    def classifier(self, **changes: Any) -> KernelClassifier:
        return KernelClassifier(**self._settings("softmax", "squared", "hinge") | changes)

    def converged(self, **changes: Any) -> KernelRegressor:
        """A regression near its minimum, if the solver can tell how far it is from there."""
        model = self.regressor(**changes)
        if hasattr(model.solver, "tol"):
            model.set_params(solver__tol=1e-6, alpha=1e-2, max_passes=100)
        return model

    def machines(self, **changes: Any) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
        """A regression of one column and a classification of three, with their data."""
        X, y = table()
        yield self.regressor(**changes), X, y
        yield self.classifier(**changes), X, labels(y)

    def _settings(self, *losses: str) -> dict[str, Any]:
        kernel = Laplacian(2.0) if self.features == "bins" else Gaussian(1.5)
        taken = SOLVERS[self.name].tags.loss_type
        losses = losses[::-1] if self.name in NONSMOOTH else losses
        return {
            "kernel": kernel,
            "loss": next(name for name in losses if isinstance(Loss.resolve(name), taken)),
            "features": clone(FEATURES[self.features]),
            "solver": self.solver,
            "alpha": 1e-3,
            "max_passes": 6 if hasattr(self.solver, "tol") else 3,  # some passes move nothing
            "early_stopping": False,
            "random_state": 0,
        }


def takes(name: str, features: str) -> bool:
    """Whether a solver takes features, as the types say."""
    needed, map_ = SOLVERS[name].tags.basis_type, FEATURES[features]
    if features == "endless waves" and not issubclass(needed, RandomBasis):
        return False
    return issubclass(map_.basis_type, needed) and (name, features) not in REFUSED


CASES = [Case(name, features) for name in SOLVERS for features in FEATURES if takes(name, features)]


def table(rows: int = N_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets that are short decimals: text and single precision hold them exactly."""
    rng = np.random.default_rng(0)
    X = np.round(64 * rng.normal(size=(rows, 3))) / 64
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=rows)
    return X.astype(np.float32), np.round(64 * y) / 64


def labels(y: np.ndarray) -> np.ndarray:
    return np.array(["ash", "beech", "oak"])[np.digitize(y, [-0.7, 0.7])]


def values(model: Any, X: Any) -> np.ndarray:
    return model.predict(X) if isinstance(model, KernelRegressor) else model.decision_function(X)


def bits(model: Any, X: np.ndarray) -> np.ndarray:
    """What must not change: predictions, and the coefficients if there is an end of them."""
    return np.concatenate([values(model, X).ravel(), np.ravel(getattr(model, "weights_", ()))])


def kept(X: np.ndarray, y: np.ndarray, folder: Path) -> dict[str, Callable[[], tuple[Any, ...]]]:
    """The same rows in forms that can be read in any order."""
    frame = pd.DataFrame(np.column_stack([X, y]).astype(np.float32), columns=[*"abc", "y"])
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_parquet(folder / "rows.parquet", row_group_size=70)
    np.save(folder / "rows.npy", X)
    np.savez(folder / "rows.npz", X=X, y=y)
    return {
        "array": lambda: (X, y),
        "source": lambda: (ArraySource(X, y),),
        "mapped file": lambda: (np.load(folder / "rows.npy", mmap_mode="r"), y),
        "npz": lambda: (open_source(folder / "rows.npz", "y"),),
        "csv on disk": lambda: (open_source(folder / "rows.csv", "y", keep="disk"),),
        "parquet": lambda: (open_source(folder / "rows.parquet", "y", keep="memory"),),
    }
