"""Centers: the feature map of kernel functions at chosen rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.centers.center_basis import CenterBasis, PrecomputedBasis
from bochner.features.centers.selection import CHOICES, Means
from bochner.features.centring import Centring
from bochner.features.feature_map import SAMPLE_ROWS, FeatureMap
from bochner.kernels import Kernel, Precomputed
from bochner.kernels.rows import dense
from bochner.validation import is_integer

CENTERS = 0xCE27E2  # separates these draws from others of the same seed


@dataclass(eq=False)
class Centers(FeatureMap, name="centers"):
    """Kernel functions at centres, phi_j(x) = k(x, c_j): a radial basis function network.

    With all training rows as centres this is the exact kernel machine (representer theorem); with
    fewer it is the Nystroem approximation (Williams and Seeger 2001, Using the Nystroem method to
    speed up kernel machines).

    Parameters
    ----------
    size : int or None
        The number of centres; None means all training rows.
    choice : "uniform", "kmeans" or "pivoted"
        How centres are chosen from the rows: at random; as the means of clusters; or by randomly
        pivoted Cholesky, which prefers rows that the centres so far explain least (Chen, Epperly,
        Tropp and Webber 2023, Randomly pivoted Cholesky).
    given : array-like of shape (size, n_columns) or None
        The centres, in the units of X.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import Centers
    >>> from bochner.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0]])
    >>> basis = Centers(given=[[0.0]]).build(Gaussian(1.0), ArraySource(X).sample(2), seed=0)
    >>> basis.columns(basis.encode(X)).round(4)
    array([[1.    ],
           [0.6065]], dtype=float32)
    """

    basis_type: ClassVar[type[Any]] = CenterBasis
    size: int | None = None
    choice: str = "uniform"
    given: ArrayLike | None = None

    candidates: ClassVar[dict[str, int]] = {"uniform": 1, "kmeans": 10, "pivoted": 4}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Centers):
            return NotImplemented
        alike = (self.size, self.choice) == (other.size, other.choice)
        return alike and _same(self._given(), other._given())

    def __repr__(self) -> str:
        given = "None" if self.given is None else _summary(self.given)
        return f"Centers(size={self.size!r}, choice={self.choice!r}, given={given})"

    def sample_rows(self, rows: int | None) -> int:
        """Return from how many of `rows` rows centres are chosen."""
        self._check()
        if self.given is not None:
            return SAMPLE_ROWS
        if self.size is not None:
            return max(SAMPLE_ROWS, self.size * self.candidates[self.choice])
        if rows is None:
            raise ValueError(
                "All rows can be centres only if their number is known; got a stream. Give a "
                "number of centres, such as features=Centers(5000)."
            )
        return rows

    @property
    def takes_every_row(self) -> bool:
        """Whether all training rows are centres."""
        return self.size is None and self.given is None

    def count(self, rows: int) -> int:
        """Return the number of centres for `rows` rows."""
        self._check()
        given = self._given()
        if given is not None:
            return int(given.shape[0])
        return rows if self.size is None else min(self.size, rows)

    def scaled(self, scaling: Any) -> Centers:
        """Return the same map for scaled rows."""
        self._check()
        given = self._given()
        if given is None:
            return self
        _require_columns(given, len(scaling.location))
        moved = sp.issparse(given) and scaling.location.any()
        return replace(self, given=scaling.rows(given.toarray() if moved else given))

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> CenterBasis:
        """Return the basis; if all rows are centres, the sample must be all rows."""
        self._check()
        centring = Centring.in_place(sample.X, dtype)
        if kernel.centred:
            centring = Centring.at_mean(sample.X, dtype, sample.weight)
        if isinstance(kernel, Precomputed):
            return self._of_columns(kernel, sample, centring, seed, memory)
        if self.given is not None:
            _require_columns(self._given(), sample.X.shape[1])
            return CenterBasis(kernel, self._given(), centring, memory=memory)
        rng, rows = Random(seed, CENTERS), sample.X.shape[0]
        if self.size is None or self.size >= rows:
            X, index = sample.X[order := rng.permutation(rows)], sample.index[order]
            return CenterBasis(kernel, X, centring, index, self.size is None, memory)
        chosen = CHOICES[self.choice](kernel, centring(sample.X), self.size, rng)
        if isinstance(chosen, Means):
            return CenterBasis(kernel, centring.undone(chosen.rows), centring, memory=memory)
        return CenterBasis(kernel, sample.X[chosen], centring, sample.index[chosen], memory=memory)

    def _of_columns(
        self, kernel: Kernel, sample: Batch, centring: Centring, seed: int, memory: int | None
    ) -> PrecomputedBasis:
        if self.given is not None or self.choice != "uniform":
            raise ValueError(
                "With a precomputed kernel centres are training rows, all or some at random; got "
                f"{self!r}. Give Centers() or Centers(size)."
            )
        order = Random(seed, CENTERS).permutation(len(sample))[: self.size]
        rows, index, complete = sample.X[order], sample.index[order], self.size is None
        return PrecomputedBasis(kernel, dense(rows), centring, index, complete, memory)

    def _given(self) -> Any:
        if self.given is None or sp.issparse(self.given):
            return self.given
        return np.asarray(self.given)

    def _check(self) -> None:
        if self.choice not in CHOICES:
            names = ", ".join(map(repr, CHOICES))
            raise ValueError(f"The choice of centres must be one of {names}; got {self.choice!r}.")
        if self.given is not None and self.size is not None:
            raise ValueError("Centers needs a number of centres or the centres; got both.")
        if self.given is not None:
            _require_numbers(self._given())
        if self.size is not None and not (is_integer(self.size) and self.size >= 1):
            raise ValueError(
                "The number of centres must be a positive integer, or None for all rows; got "
                f"{self.size!r}."
            )


def _require_numbers(given: Any) -> None:
    if np.ndim(given) != 2 or given.shape[0] == 0:
        raise ValueError(
            "Given centres must be an array of two dimensions, (centres, columns), with at least "
            f"one centre; got the shape {np.shape(given)}."
        )
    values = given.data if sp.issparse(given) else given
    if values.dtype.kind not in "fiub" or not np.isfinite(values).all():
        raise ValueError(
            "Given centres must be finite numbers, in the units of X; got NaN, infinity or "
            f"something else among {values.dtype} values."
        )


def _require_columns(given: Any, n_columns: int) -> None:
    if given.shape[1] != n_columns:
        raise ValueError(
            f"Given centres must have the columns of X, which are {n_columns}; got centres of "
            f"{given.shape[1]} columns."
        )


def _summary(given: Any) -> str:
    """Return shape and digest of the centres, in place of thousands of numbers."""
    places = (given.indptr, given.indices) if sp.issparse(given) else ()
    try:
        values = np.asarray(given.data if places else given, np.float64)
    except (TypeError, ValueError):  # not numbers: `build` raises
        return repr(given)
    digest = hashlib.blake2b(digest_size=8)
    for part in (*places, values):
        digest.update(np.ascontiguousarray(part).tobytes())
    shape = " x ".join(map(str, given.shape if places else values.shape))
    return f"<{shape} numbers, digest {digest.hexdigest()}>"


def _same(one: Any, two: Any) -> bool:
    if sp.issparse(one) and sp.issparse(two):
        return bool(one.shape == two.shape and (one != two).nnz == 0)
    return not sp.issparse(one) and not sp.issparse(two) and np.array_equal(one, two)
