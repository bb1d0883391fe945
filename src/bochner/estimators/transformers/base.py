"""Base classes of the transformers to features of a kernel."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bochner.component import Component, NamedComponents
from bochner.compute.memory import memory_budget
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.estimators.automatic.settings import features_for_table
from bochner.estimators.inputs.ranges import refuse_vanishing
from bochner.estimators.inputs.tables import TableInput
from bochner.estimators.inputs.validation import unchanged_on_error
from bochner.features import DenseBasis, FeatureMap, prepare
from bochner.kernels import Kernel, Precomputed
from bochner.validation import require_count, require_jobs, require_memory, seed_of


class KernelTransformer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    TableInput,
    NamedComponents,
):
    """A transformer to features of a kernel.

    After `fit`, `kernel_` is the kernel with its fitted parameters and `basis_` holds the features.
    """

    families: ClassVar[dict[str, type[Component]]] = {"kernel": Kernel}

    kernel: Any
    kernel_: Kernel

    def _kernel(self) -> Kernel:
        """Return the kernel, with the indices of columns that it names."""
        return Kernel.resolve(self._value_of("kernel")).with_column_indices(self._names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FeatureTransformer(KernelTransformer):
    """A transformer to dense features; kernel "auto" is `own_kernel`."""

    own_kernel: ClassVar[str] = "gaussian"

    basis_: DenseBasis

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
        """Return the feature map."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit kernel and features to a sample of the rows; `y` is ignored."""
        require_count("size", self.size)
        require_jobs(self.n_jobs)
        require_memory(self.memory_budget)
        memory, seed = memory_budget(self.memory_budget), seed_of(self.random_state)
        with unchanged_on_error(self.__dict__), threads(self.n_jobs):
            self._learn_table(X)
            X = self._validated_arrays(X, reset=True)
            kernel = self._kernel()
            if isinstance(kernel, Precomputed):
                raise ValueError(
                    "Features need the kernel's values at rows of their own; got "
                    "kernel='precomputed'. Give the kernel itself, or a function k(A, B)."
                )
            kernel.require(X)
            features = features_for_table(self._features(), self._table, kernel)
            sample = ArraySource(X).sample(features.sample_rows(X.shape[0]), seed)
            refuse_vanishing(sample.X, "X")
            self.kernel_, basis = prepare(kernel, features, sample, seed, X.dtype, memory)
        self.basis_ = cast(DenseBasis, basis)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the features of the rows, (rows, size), in the dtype of the fitted rows."""
        check_is_fitted(self)
        X = self._validated_arrays(X, reset=False)
        with threads(self.n_jobs), np.errstate(over="ignore", invalid="ignore"):
            features = self.basis_.columns(self.basis_.encode(X))
        return finite_features(features)

    def _default_kernel(self) -> str:
        return self.own_kernel

    @property
    def _n_features_out(self) -> int:
        return self.basis_.end(None)


def finite_features(features: NDArray[Any]) -> NDArray[Any]:
    """Return features, or refuse those that are too large for their precision."""
    if not np.isfinite(features).all():
        raise ValueError(
            f"Features must be finite; some of these are too large for {features.dtype}, since "
            "rows are too long for the kernel. Scale the columns of X to a size of about 1."
        )
    return features


class HistogramTransformer(FeatureTransformer):
    """A transformer of rows without negative entries."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
