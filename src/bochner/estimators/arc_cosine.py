"""ArcCosine: random rectified features as a scikit-learn transformer."""

from __future__ import annotations

from typing import ClassVar

from bochner.estimators.feature_transformer import FeatureTransformer
from bochner.features import Rectified


class ArcCosine(FeatureTransformer):
    """Random rectified features of an arc-cosine kernel, a layer of random neurons.

    A linear model on phi_j(x) = sqrt(2 / size) max(w_j'x, 0)^order with normal w_j is close to a
    machine with the arc-cosine kernel of that order (Cho and Saul 2009, Kernel methods for deep
    learning, Eq. 1).

    Parameters
    ----------
    kernel : str or Kernel
        "arc_cosine", which has the order 1, or a component `bochner.kernels.ArcCosine`. "auto"
        means "arc_cosine".
    size : int
        The number of features.
    random_state : int, RandomState, Generator or None
        Determines the neurons.
    n_jobs : int or None
        The number of threads; None means all cores. The result does not depend on it.
    memory_budget : int, str or None
        Bytes, or a text such as "2GB", for what could be computed again; None means half of the
        free memory. The result does not depend on it.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel.
    basis_ : RectifiedBasis
        The features.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if they had any.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.estimators.arc_cosine import ArcCosine
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> ArcCosine(size=256, random_state=0).fit_transform(X).shape
    (100, 256)
    """

    own_kernel: ClassVar[str] = "arc_cosine"

    def _features(self) -> Rectified:
        return Rectified(self.size)
