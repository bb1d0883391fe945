"""RandomFourier: random Fourier features as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.component import Component
from bochner.compute.memory import memory_budget
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.estimators.going_on import unchanged_on_error
from bochner.estimators.named_components import NamedComponents
from bochner.estimators.ranges import require_count, require_jobs, require_memory
from bochner.estimators.seeds import seed_of
from bochner.features import SAMPLE_ROWS, Fourier, FourierBasis, prepare
from bochner.kernels import Kernel


class RandomFourier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NamedComponents):  # type: ignore[misc]
    """Random Fourier features of a shift-invariant kernel.

    A linear model on phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...) is close
    to a kernel machine, since E phi(x)'phi(y) = k(x - y) (Rahimi and Recht 2007, Random features
    for large-scale kernel machines, Algorithm 1).

    Parameters
    ----------
    kernel : str or Kernel
        A shift-invariant kernel, by name or as a component. A bandwidth "median" is taken from a
        sample of the rows.
    size : int
        The number of features, even: a cosine and a sine for each frequency.
    random_state : int, RandomState, Generator or None
        Determines the frequencies and the sample.
    n_jobs : int or None
        The number of threads; None means all cores. The result does not depend on it.
    memory_budget : int, str or None
        Bytes, or a text such as "2GB", for what could be computed again; None means half of the
        free memory. The result does not depend on it.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its bandwidth.
    basis_ : FourierBasis
        The features.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if they had any.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.estimators.random_fourier import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> RandomFourier(size=256, random_state=0).fit_transform(X).shape
    (100, 256)
    """

    families: ClassVar[dict[str, type[Component]]] = {"kernel": Kernel}

    def __init__(
        self,
        kernel: Any = "gaussian",
        size: int = 1024,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.size = size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take the bandwidth and the centre from a sample of the rows; `y` is ignored."""
        require_count("size", self.size)
        require_jobs(self.n_jobs)
        require_memory(self.memory_budget)
        memory, seed = memory_budget(self.memory_budget), seed_of(self.random_state)
        with unchanged_on_error(self), threads(self.n_jobs):
            X = self._validated(X, reset=True)
            sample = ArraySource(X).sample(SAMPLE_ROWS, seed)
            features = Fourier(self.size)
            self.kernel_, basis = prepare(self.kernel, features, sample, seed, X.dtype, memory)
        self.basis_ = cast(FourierBasis, basis)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features of the rows, (rows, size), in the dtype of the fitted rows."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        with threads(self.n_jobs):
            return self.basis_.columns(self.basis_.encode(X))

    @property
    def _n_features_out(self) -> int:
        return self.basis_.end(None)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        dtypes = [np.float64, np.float32]
        return validate_data(self, X, accept_sparse="csr", dtype=dtypes, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
