"""FeatureTransformer: features of a kernel as columns, in the manner of scikit-learn."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.component import Component, NamedComponents
from bochner.compute.memory import memory_budget
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.estimators.automatic.defaults import features_for_table, is_auto
from bochner.estimators.fitting.resume import unchanged_on_error
from bochner.estimators.inputs.tables import Table, has_categories, validate_table
from bochner.features import DenseBasis, FeatureMap, prepare
from bochner.kernels import Kernel, Precomputed
from bochner.validation import require_count, require_jobs, require_memory, seed_of


class FeatureTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NamedComponents):  # type: ignore[misc]
    """What all transformers with dense features do; one of them says which features.

    The kernel "auto" is `own_kernel`. After `fit` there are the attributes `kernel_`, the kernel
    with its numbers, and `basis_`, the features.
    """

    families: ClassVar[dict[str, type[Component]]] = {"kernel": Kernel}
    own_kernel: ClassVar[str] = "gaussian"

    kernel_: Kernel
    basis_: DenseBasis
    _table: Table | None

    def __init__(
        self,
        kernel: Any = "auto",
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

    @abstractmethod
    def _features(self) -> FeatureMap:
        """Return the recipe of the features."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Take what depends on the data from a sample of the rows; `y` is ignored."""
        require_count("size", self.size)
        require_jobs(self.n_jobs)
        require_memory(self.memory_budget)
        memory, seed = memory_budget(self.memory_budget), seed_of(self.random_state)
        with unchanged_on_error(self), threads(self.n_jobs):
            self._table = Table.learn(X) if has_categories(X) else None
            X = self._validated(X, reset=True)
            kernel = Kernel.resolve(self._meant("kernel"))
            if isinstance(kernel, Precomputed):
                raise ValueError(
                    "Features need the kernel's values at rows of their own; got "
                    "kernel='precomputed'. Give the kernel itself, or a function k(A, B)."
                )
            kernel = kernel.with_column_indices(self.__dict__.get("feature_names_in_"))
            kernel.require(X)
            features = features_for_table(self._features(), self._table, kernel)
            sample = ArraySource(X).sample(features.sample_rows(X.shape[0]), seed)
            self.kernel_, basis = prepare(kernel, features, sample, seed, X.dtype, memory)
        self.basis_ = cast(DenseBasis, basis)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features of the rows, (rows, size), in the dtype of the fitted rows."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        with threads(self.n_jobs):
            return self.basis_.columns(self.basis_.encode(X))

    def _meant(self, name: str) -> Any:
        given = getattr(self, name)
        return self.own_kernel if name == "kernel" and is_auto(given) else given

    @property
    def _n_features_out(self) -> int:
        return self.basis_.end(None)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        checks = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        if self._table is not None:
            return validate_table(self, self._table, X, **checks)
        return validate_data(self, X, reset=reset, **checks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class HistogramTransformer(FeatureTransformer):
    """A transformer of rows without negative entries."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
