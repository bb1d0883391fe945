"""PartialWhitening: the preconditioner of EigenPro as a transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bochner.compute.pool import each_tile, threads
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource
from bochner.estimators.inputs.tables import numeric_rows
from bochner.estimators.inputs.validation import unchanged_on_error
from bochner.features.dense_basis import TILE_ROWS, padded
from bochner.spectra import Spectrum, singular
from bochner.validation import require, require_count, require_jobs, require_positive, seed_of


class PartialWhitening(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Shrinks the few dominant directions of rows, so that linear solvers need fewer iterations.

    phi_P(x) = P^(1/2) x with P = I - sum_i (1 - damping lambda_{k+1} / lambda_i) e_i e_i', where
    lambda_i, e_i are the top k eigenpairs of X'X / n on a subsample (Ma and Belkin 2017, Eq. 15
    and 17).

    Parameters
    ----------
    eigenvectors : int, default=160
        k, the number of directions. If the rows span only r directions, k is at most r - 1, so that
        lambda_{k+1} is positive.
    damping : float, default=1.0
        tau of Eq. (17), above 0 and at most 1. A value below 1, e.g. 1/4, compensates for the error
        of eigenvectors that are computed from a subsample.
    subsample : int, default=4800
        The number of rows from which the eigenvectors are computed.
    random_state : int, RandomState, Generator or None, default=None
        Determines the subsample and the start of the search for eigenvectors.
    n_jobs : int or None, default=None
        As in `RandomFourier`.

    Attributes
    ----------
    spectrum_ : Spectrum
        The eigenvalues, the eigenvectors, (columns, k), and the tail lambda_{k+1}: the top
        eigenvalue of the transformed rows, so that 1 / tail is the step of gradient descent.
    n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    bochner.solvers.EigenPro : The solver with this preconditioner.
    sklearn.decomposition.PCA : Whitening of all directions, with whiten=True.

    Notes
    -----
    Gradient descent on phi_P(x) is the EigenPro iteration: without a penalty it converges to the
    same function in lambda_1 / lambda_{k+1} times fewer iterations, as does any other solver whose
    speed depends on the condition number. Columns are not centred.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import PartialWhitening
    >>> X = np.random.default_rng(0).normal(size=(100, 3)) * [100.0, 10.0, 1.0]
    >>> whitening = PartialWhitening(eigenvectors=2).fit(X)
    >>> float(round(np.linalg.cond(X))), float(round(np.linalg.cond(whitening.transform(X)), 3))
    (115.0, 1.0)
    """

    spectrum_: Spectrum
    _shrunk: NDArray[np.float64]

    def __init__(
        self,
        eigenvectors: int = 160,
        damping: float = 1.0,
        subsample: int = 4800,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.eigenvectors = eigenvectors
        self.damping = damping
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the eigenvectors of a subsample of the rows; `y` is ignored."""
        require_count("eigenvectors", self.eigenvectors)
        require_count("subsample", self.subsample)
        require_jobs(self.n_jobs)
        _require_damping(self.damping)
        seed = seed_of(self.random_state)
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            X = numeric_rows(self, X, reset=True)
            sample = ArraySource(X).sample(self.subsample, seed).X
            self.spectrum_ = _dominant(sample, self.eigenvectors, Random(seed))
            self._shrunk = _shrunk(self.spectrum_, self.damping)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return P^(1/2) x of the rows, in their dtype."""
        check_is_fitted(self)
        return self._whitened(numeric_rows(self, X, reset=False))

    def weights(self, coef: Any) -> NDArray[Any]:
        """Return for the original rows the coefficients learned on transformed ones, w P^(1/2).

        `coef` has the shape (columns,) or (outputs, columns), as in scikit-learn. The intercept
        does not change.
        """
        check_is_fitted(self)
        given: NDArray[Any] = np.asarray(coef)
        if given.ndim not in (1, 2) or given.shape[-1] != self.n_features_in_:
            raise ValueError(
                f"weights needs a coefficient for each of {self.n_features_in_} columns, of shape "
                f"(columns,) or (outputs, columns); got the shape {given.shape}."
            )
        floating = given if given.dtype == np.float32 else given.astype(np.float64)
        return self._whitened(np.atleast_2d(floating)).reshape(given.shape)

    def _whitened(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return X - (X E) (1 - sqrt(damping tail / lambda)) E'."""
        E = self.spectrum_.vectors.astype(X.dtype, copy=False)
        shrunk = np.ascontiguousarray((E * self._shrunk).T, dtype=X.dtype)
        out = np.empty(X.shape, X.dtype)

        def fill(top: int, bottom: int) -> None:
            tile = padded(X, top, bottom)
            out[top:bottom] = (tile - (tile @ E) @ shrunk)[: bottom - top]

        with threads(self.n_jobs):
            each_tile(fill, len(X), TILE_ROWS)
        return out

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _dominant(rows: NDArray[Any], count: int, rng: Random) -> Spectrum:
    """Return the top eigenpairs; the last eigenvalue above the floor is the tail."""
    values, vectors = singular(rows, count + 1, rng)
    whole = Spectrum(values, vectors, len(rows), 0.0)
    return whole.first(max(len(whole) - 1, 0))


def _shrunk(spectrum: Spectrum, damping: float) -> NDArray[np.float64]:
    """Return the share of each direction that is removed, 1 - sqrt(damping tail / lambda)."""
    return 1 - np.sqrt(damping * spectrum.tail / spectrum.values)  # type: ignore[no-any-return]


def _require_damping(value: Any) -> None:
    require_positive("damping", value)
    require(value <= 1, "damping", value, "a positive number of at most 1")
