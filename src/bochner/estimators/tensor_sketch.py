"""TensorSketch: tensor sketches as a scikit-learn transformer."""

from __future__ import annotations

from typing import ClassVar

from bochner.estimators.feature_transformer import FeatureTransformer
from bochner.features import Sketch


class TensorSketch(FeatureTransformer):
    """The tensor sketch of a polynomial kernel.

    A linear model on these features is close to a machine with the kernel (scale x'y +
    constant)^degree. They are convolved count sketches, given by their Fourier transform, which
    has the same inner products (Pham and Pagh 2013, Fast and scalable polynomial kernels via
    explicit feature maps, Algorithm 1).

    Parameters
    ----------
    kernel : str or Kernel
        "polynomial", or a component `bochner.kernels.Polynomial`. A scale "median" is taken from a
        sample of the rows. "auto" means "polynomial".
    size : int
        The number of features.
    random_state : int, RandomState, Generator or None
        Determines the sketches and the sample.
    n_jobs : int or None
        The number of threads; None means all cores. The result does not depend on it.
    memory_budget : int, str or None
        Bytes, or a text such as "2GB", for what could be computed again; None means half of the
        free memory. The result does not depend on it.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its scale.
    basis_ : RandomFunctions
        The features.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if they had any.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.estimators.tensor_sketch import TensorSketch
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> TensorSketch(size=256, random_state=0).fit_transform(X).shape
    (100, 256)
    """

    own_kernel: ClassVar[str] = "polynomial"

    def _features(self) -> Sketch:
        return Sketch(self.size)
