"""Transformers to random features of kernels of inner products."""

from __future__ import annotations

from typing import Any, ClassVar

from bochner.estimators.transformers.base import FeatureTransformer
from bochner.features import Maclaurin, Rectified, Sketch


class TensorSketch(FeatureTransformer):
    """The tensor sketch of a polynomial kernel.

    A linear model on these features approximates a machine with the kernel (scale x'y +
    constant)^degree. They are convolutions of count sketches, represented by their Fourier
    transform, which has the same inner products (Pham and Pagh 2013, Fast and scalable polynomial
    kernels via explicit feature maps, Algorithm 1).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        "polynomial", or a component `bochner.kernels.Polynomial`. A scale "median" is computed from
        a sample of the rows. "auto" means "polynomial".
    size : int, default=1024
        The number of features.
    random_state : int, RandomState, Generator or None, default=None
        Determines the sketches and the sample.
    n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    RandomMaclaurin : Features of other kernels of the inner product.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import TensorSketch
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> TensorSketch(size=256, random_state=0).fit_transform(X).shape
    (100, 256)
    """

    own_kernel: ClassVar[str] = "polynomial"

    def _features(self) -> Sketch:
        return Sketch(self.size)


class RandomMaclaurin(FeatureTransformer):
    """Random Maclaurin features of a kernel that is a power series of the inner product.

    A linear model on these features approximates a machine with the kernel sum_n a_n (x'y)^n: each
    feature is a product of n projections on random signs, with a random n (Kar and Karnick 2012,
    Random feature maps for dot product kernels, Algorithm 1).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        "exponential", "polynomial" or "dot_product", by name or as a component. "auto" means
        "exponential".
    size : int, default=1024
        The number of features.
    degrees : "proportional" or "geometric", default="proportional"
        The distribution of n: proportional to the terms of the kernel at rows of the median
        length, or to 2^-n as in the paper.
    random_state : int, RandomState, Generator or None, default=None
        Determines the signs and the sample.
    n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    TensorSketch : Features of polynomial kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomMaclaurin
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> RandomMaclaurin(size=256, random_state=0).fit_transform(X).shape
    (100, 256)
    """

    own_kernel: ClassVar[str] = "exponential"

    def __init__(
        self,
        kernel: Any = "auto",
        size: int = 1024,
        degrees: str = "proportional",
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
    ) -> None:
        super().__init__(kernel, size, random_state, n_jobs, memory_budget)
        self.degrees = degrees

    def _features(self) -> Maclaurin:
        return Maclaurin(self.size, self.degrees)


class ArcCosine(FeatureTransformer):
    """Random rectified features of an arc-cosine kernel, a layer of random neurons.

    A linear model on phi_j(x) = sqrt(2 / size) max(w_j'x, 0)^order with normal w_j approximates a
    machine with the arc-cosine kernel of that order (Cho and Saul 2009, Kernel methods for deep
    learning, Eq. 1).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        "arc_cosine", which has the order 1, or a component `bochner.kernels.ArcCosine`. "auto"
        means "arc_cosine".
    size : int, default=1024
        The number of features.
    random_state : int, RandomState, Generator or None, default=None
        Determines the random weights w_j.
    n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    RandomFourier : Features of shift-invariant kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import ArcCosine
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> ArcCosine(size=256, random_state=0).fit_transform(X).shape
    (100, 256)
    """

    own_kernel: ClassVar[str] = "arc_cosine"

    def _features(self) -> Rectified:
        return Rectified(self.size)
