"""Row maps: histograms become rows of which a shift-invariant kernel is to see the distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.features.additive_basis import AdditiveBasis
from bochner.kernels import SkewedChiSquared
from bochner.kernels.rows import dense


class RowMap(ABC):
    """A map of rows to dense rows; a record, so that a model can be saved with it."""

    @abstractmethod
    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the mapped rows."""


@dataclass(frozen=True)
class Unmapped(RowMap):
    """Rows as they are."""

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the rows, dense."""
        return dense(X)


@dataclass(frozen=True)
class Roots(RowMap):
    """The square roots of the entries."""

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the roots."""
        return np.asarray(np.sqrt(dense(X)))


@dataclass(frozen=True)
class Logarithms(RowMap):
    """The logarithms of entries to which a kernel has added its skewness."""

    kernel: SkewedChiSquared

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the logarithms."""
        return self.kernel.logarithms(X)


@dataclass(frozen=True, eq=False)
class AdditiveFeatures(RowMap):
    """The features of an additive kernel."""

    basis: AdditiveBasis

    def __call__(self, X: Any) -> NDArray[Any]:
        """Return the features."""
        return self.basis.features(X)
