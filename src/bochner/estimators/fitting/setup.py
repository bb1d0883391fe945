"""Setup: what is settled before the first batch and holds for every later call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data import Batch, Scaling, Warping
from bochner.estimators.inputs.targets import Labels, Targets
from bochner.estimators.machines.calibration import UNCALIBRATED, Calibration, is_likelihood
from bochner.features import Basis, BinningDiagnostics, FeatureMap
from bochner.features.feature_map import GrowingFeatureMap
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.problem import Expansion, Problem
from bochner.records import Validated, require_sound

LARGEST = 1e37  # that single precision holds, with room for a sum


def require_columns(basis: Basis, scaling: Scaling | None) -> None:
    """Check that a stored scaling is of the columns of the basis."""
    fits = scaling is None or basis.input_columns in (None, len(scaling.location))
    require_sound(fits, "its scaling is of other columns")


@dataclass(frozen=True)
class Setup(Validated):
    """Seed, loss, kernel with its bandwidth, basis, maps of the rows and coding of the targets.

    `recipe` is what the user had asked for, in words, when it was settled. Of bins there are
    diagnostics, and how many rows lie in each; of losses that are no likelihood a calibration.
    """

    seed: int
    loss: Loss
    kernel: Kernel
    features: FeatureMap
    basis: Basis
    scaling: Scaling | None
    targets: Targets
    recipe: str
    binning: BinningDiagnostics | None = None
    rows_in_bins: NDArray[np.int32] | None = None
    calibration: Calibration = UNCALIBRATED
    warping: Warping | None = None

    def validate(self) -> None:
        """Check that the transforms of the rows are of the columns of the basis."""
        require_columns(self.basis, self.scaling)
        columns, maps = self.basis.input_columns, self.warping.maps if self.warping else {}
        inside = columns is None or all(0 <= place < columns for place in maps)
        require_sound(inside, "it maps a column that is not there")

    def rows(self, X: Any) -> Any:
        """Return rows as the basis takes them."""
        moved = self.scaling is not None and self.scaling.location.any()
        if sp.issparse(X) and (moved or self.warping is not None):
            X = X.toarray()
        X = X if self.scaling is None else self.scaling.rows(X)
        return in_single_precision(X if self.warping is None else self.warping.rows(X))

    def __call__(self, batch: Batch) -> Batch:
        """Scale the rows and code the targets of a batch."""
        return self.targets(replace(batch, X=self.rows(batch.X)))

    def problem(self, alpha: float, intercept: bool, rows: int | None) -> Problem:
        """Return what is to be minimised over so many rows (None: nobody knows)."""
        outputs = self.targets.outputs
        return Problem(self.basis, self.loss, alpha, outputs, intercept, rows, self.seed)

    def attributes(self, expansion: Expansion) -> dict[str, Any]:
        """Return all that an estimator needs to predict by this function, and to explain it."""
        expansion = expansion.simplified()
        fitted: dict[str, Any] = {
            "_setup": self,
            "kernel_": self.kernel,
            "loss_": self.loss,
            "scaling_": self.scaling,
            "warping_": self.warping,
            "expansion_": expansion,
            "intercept_": expansion.intercept,
            "n_features_used_": expansion.size,
        }
        if expansion.basis.size is not None:
            fitted["coef_"] = _padded(expansion.weights.T, expansion.basis.size)
        if self.binning is not None:
            fitted["binning_"] = self.binning
        if self._calibrates:
            fitted["calibration_"] = self.calibration
        return fitted | self.targets.attributes()

    def calibrated(self, expansion: Expansion, held_out: Batch | None) -> Setup:
        """Return the same with probabilities for a function, by rows that it has not seen."""
        if held_out is None or not self._calibrates:
            return replace(self, calibration=UNCALIBRATED)
        f = expansion(held_out.X)
        return replace(self, calibration=Calibration.learn(self.loss, held_out, f))

    @property
    def _calibrates(self) -> bool:
        return isinstance(self.targets, Labels) and not is_likelihood(self.loss)

    def begun(self, rows: int, seconds: float | None) -> Setup:
        """Return the same with as large a basis as so many rows take in a moment."""
        work = rows * self.targets.outputs
        if not isinstance(self.features, GrowingFeatureMap):
            return self
        basis = self.features.initial_basis(self.basis, self.kernel, self.seed, work, seconds)
        return replace(self, basis=basis)

    def grown(self, rows: int | None) -> Setup | None:
        """Return the same with a larger basis for so many rows, None if there is none."""
        if not isinstance(self.features, GrowingFeatureMap):
            return None
        basis = self.features.larger_basis(self.basis, self.kernel, self.seed, rows)
        return None if basis is None else replace(self, basis=basis)

    def require(self, recipe: str) -> None:
        """Refuse to go on with another recipe than the first fit's."""
        if recipe != self.recipe:
            raise ValueError(
                f"Going on needs what the first fit had, {self.recipe}; got {recipe}. Set it back, "
                "or begin anew: fit with warm_start=False."
            )


def _padded(weights: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the weights of all functions: those that have not been used are 0."""
    missing = size - weights.shape[1]
    return np.pad(weights, ((0, 0), (0, missing))) if missing > 0 else weights


def in_single_precision(X: Any) -> Any:
    """Return rows, or refuse numbers that are infinite in the single precision of the features."""
    values = X.data if sp.issparse(X) else X
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"Numbers in X must be at most {LARGEST:g}, since features are made in single "
            f"precision; got {largest:g}. Divide such columns by their size."
        )
    return X
