"""Warping: monotone maps of columns with heavy tails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.data.batch import Rows
from bochner.data.transforms.transform import Transform, floating
from bochner.records import Validated, require_sound

KNOTS = 257


@dataclass(frozen=True)
class Logarithm:
    """sign(x - center) log(1 + |x - center| / size): linear near the center, logarithmic tails.

    >>> Logarithm.learn(np.array([0.0, 1.0, 2.0, 3.0, 1000.0]))
    Logarithm(center=2.0, size=1.0)
    """

    center: float
    size: float

    @classmethod
    def learn(cls, x: NDArray[Any]) -> Logarithm:
        """Use the median and the median distance from it."""
        center = float(np.median(x))
        distances = np.abs(np.asarray(x, np.float64) - center)
        return cls(center, float(np.median(distances)) or float(distances.mean()) or 1.0)

    def __call__(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """Map a column."""
        away = np.asarray(x, np.float64) - self.center
        return np.asarray(np.sign(away) * np.log1p(np.abs(away) / self.size))


@dataclass(frozen=True, eq=False)
class Ranks(Validated):
    """The fraction of rows below x, interpolated linearly between quantiles.

    >>> Ranks.learn(np.array([0.0, 1.0, 10.0, 100.0, 1000.0]))(np.array([-5.0, 10.0, 2000.0]))
    array([0. , 0.5, 1. ])
    """

    knots: NDArray[np.float64]
    shares: NDArray[np.float64]

    def validate(self) -> None:
        """Check that each knot has a share."""
        require_sound(self.knots.ndim == 1 and len(self.knots) > 0, "its knots are not a 1-d array")
        same = self.knots.shape == self.shares.shape
        require_sound(same, "knots and shares differ in number")

    @classmethod
    def learn(cls, x: NDArray[Any]) -> Ranks:
        """Compute the quantiles; a repeated value gets the mean of its fractions."""
        shares = np.linspace(0.0, 1.0, KNOTS)
        knots, numbers = np.unique(np.quantile(x, shares), return_inverse=True)
        means = np.bincount(numbers, shares) / np.bincount(numbers)
        return cls(knots, means)

    def __call__(self, x: NDArray[Any]) -> NDArray[np.float64]:
        """Map a column."""
        return np.asarray(np.interp(x, self.knots, self.shares))


Map = Logarithm | Ranks


@dataclass(eq=False)
class Warping(Transform):
    """Map some columns and leave the others unchanged.

    Parameters
    ----------
    maps : dict from the number of a column to a `Logarithm` or `Ranks`

    Examples
    --------
    >>> Warping({1: Logarithm(0.0, 1.0)}).rows(np.array([[5.0, 0.0], [5.0, 1.0]]))
    array([[5.        , 0.        ],
           [5.        , 0.69314718]])
    """

    maps: dict[int, Map]

    def rows(self, X: Rows) -> Rows:
        """Map the columns of dense rows."""
        if sp.issparse(X):
            raise ValueError("Maps of columns need dense rows, since 0 need not stay 0.")
        warped = np.array(X, floating(X.dtype))
        for j, one in self.maps.items():
            warped[:, j] = one(X[:, j])
        return warped
