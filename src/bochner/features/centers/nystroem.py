"""NystroemFeatures: kernel functions at centres, whitened into features."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh

from bochner.compute.blas import single_blas
from bochner.data.batch import Batch
from bochner.features.basis import WrappedBasis
from bochner.features.centers.center_basis import CenterBasis, KernelBasis
from bochner.features.centers.centers import Centers
from bochner.features.centers.whitened_basis import exact_matrix
from bochner.features.dense_basis import DenseBasis
from bochner.features.feature_map import FeatureMap
from bochner.kernels import Kernel
from bochner.records import require_sound

# Eigenvalues of k(Z, Z), relative to the mean of its diagonal: smaller ones are rounding.
FLOOR = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 1e-13}


@dataclass(eq=False)
class NystroemFeatures(FeatureMap, name="nystroem"):
    """Whitened kernel functions at centres Z, phi(x) = D^-1/2 V'k(Z, x) with k(Z, Z) = V D V'.

    phi(x)'phi(y) = k(x, Z) k(Z, Z)^-1 k(Z, y), the Nystroem approximation (Williams and Seeger
    2001, Using the Nystroem method to speed up kernel machines). Features are in descending order
    of their eigenvalues; those of eigenvalues that are rounding are left out.

    Parameters
    ----------
    size : int or None
        The number of centres; None means all rows of the sample.
    choice : "uniform", "kmeans" or "pivoted"
        How centres are chosen, as for `Centers`.
    given : array-like of shape (size, n_columns) or None
        The centres, in the units of X; `size` is then ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.data import ArraySource
    >>> from bochner.features import NystroemFeatures
    >>> from bochner.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> basis = NystroemFeatures(40).build(Gaussian(1.0), ArraySource(X).sample(200), seed=0)
    >>> columns = basis.columns(basis.encode(X))
    >>> bool(np.abs(columns @ columns.T - Gaussian(1.0)(X)).mean() < 1e-3)
    True
    """

    basis_type: ClassVar[type[Any]] = DenseBasis
    size: int | None = 1000
    choice: str = "uniform"
    given: ArrayLike | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NystroemFeatures):
            return NotImplemented
        return self.size == other.size and self.centers == other.centers

    def __repr__(self) -> str:
        return repr(self.centers).replace("Centers", "NystroemFeatures", 1)

    @property
    def centers(self) -> Centers:
        """The feature map of the centres."""
        return Centers(self.size if self.given is None else None, self.choice, self.given)

    def sample_rows(self, rows: int | None) -> int:
        """Return from how many of `rows` rows centres are chosen."""
        return self.centers.sample_rows(rows)

    def scaled(self, scaling: Any) -> NystroemFeatures:
        """Return the same map for scaled rows."""
        return NystroemFeatures(self.size, self.choice, self.centers.scaled(scaling).given)

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> NystroemBasis:
        """Return the basis, after an eigendecomposition of k(Z, Z)."""
        return NystroemBasis(self.centers.build(kernel, sample, seed, dtype, memory))


@dataclass(init=False, eq=False, repr=False)
class NystroemBasis(WrappedBasis, KernelBasis):
    """The functions phi(x) = D^-1/2 V'k(Z, x); codes are those of `inner`, k(., Z)."""

    size: int
    dtype: np.dtype[Any]
    inner: CenterBasis
    mixing: NDArray[Any]

    def __init__(self, inner: CenterBasis) -> None:
        self.inner, self.dtype = inner, inner.dtype
        self.mixing = _whitening(exact_matrix(inner), self.dtype)
        self.size = self.mixing.shape[1]

    def validate(self) -> None:
        """Check that the mixing has a row for each centre and a column for each function."""
        fits = self.mixing.shape == (self.inner.size, self.size)
        require_sound(fits, "its mixing has a wrong shape")
        require_sound(self.mixing.dtype == self.dtype == self.inner.dtype, "its dtypes differ")

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1: the kernel values times the mixing."""
        values = np.empty((code.shape[0], self.inner.size), self.dtype)
        self.inner.fill(code, 0, self.inner.size, values)
        np.matmul(values, self.mixing[:, start:stop], out=out)

    @property
    def n_centers(self) -> int:
        """The number of centres whose code is known."""
        return self.inner.n_centers

    def code_of_centers(self, numbers: NDArray[np.int64]) -> Any:
        """Return the code of the centres of these numbers."""
        return self.inner.code_of_centers(numbers)

    def in_double(self) -> Self:
        """Return the same functions in double precision: the same numbers mix kernel values."""
        other = copy(self)
        other.inner, other.dtype = self.inner.in_double(), np.dtype(np.float64)
        other.mixing = self.mixing.astype(other.dtype)
        return other

    def __deepcopy__(self, memo: Any) -> NystroemBasis:
        return self  # only a cache changes

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_double"}


def _whitening(matrix: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return V D^-1/2 of the eigenvalues above the floor, in descending order."""
    mean = float(np.trace(matrix)) / max(len(matrix), 1)
    with single_blas():
        values, vectors = eigh(matrix, overwrite_a=True, check_finite=False)
    floor = max(FLOOR[dtype] * mean, len(values) * np.finfo(np.float64).eps * values[-1])
    above = int(np.sum(values > floor))
    if above == 0:
        raise ValueError(
            "The kernel matrix of the centres must have a positive eigenvalue; it has none. Give a "
            "positive semi-definite kernel, and centres at which it is not 0."
        )
    kept = vectors[:, ::-1][:, :above] / np.sqrt(values[::-1][:above])
    return np.ascontiguousarray(kept, dtype)
