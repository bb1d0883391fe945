"""RandomLaplace: random Laplace features as a scikit-learn transformer."""

from __future__ import annotations

from typing import ClassVar

from bochner.estimators.histogram_transformer import HistogramTransformer
from bochner.features import RandomLaplace as RandomLaplaceMap


class RandomLaplace(HistogramTransformer):
    """Random Laplace features of a semigroup kernel of histograms.

    A linear model on phi(x) = (exp(-omega_1'x), exp(-omega_2'x), ...) / sqrt(size) is close to a
    kernel machine, since E phi(x)'phi(y) = k(x + y) (Yang, Sindhwani, Fan, Avron and Mahoney 2014,
    Random Laplace feature maps for semigroup kernels on histograms). The transformer is the feature
    map of the same name in `bochner.features`.

    Parameters
    ----------
    kernel : str or Kernel
        "reciprocal_semigroup" or "exponential_semigroup". A bandwidth "median" is taken from a
        sample of the rows. "auto" means "reciprocal_semigroup".
    size : int
        The number of features.
    random_state : int, RandomState, Generator or None
        Determines what is drawn, and the sample.
    n_jobs : int or None
        The number of threads; None means all cores. The result does not depend on it.
    memory_budget : int, str or None
        Bytes, or a text such as "2GB", for what could be computed again; None means half of the
        free memory. The result does not depend on it.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its numbers.
    basis_ : DenseBasis
        The features.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : array of str
        Their names, if they had any.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomLaplace
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> RandomLaplace(size=40, random_state=0).fit_transform(X).shape
    (100, 40)
    """

    own_kernel: ClassVar[str] = "reciprocal_semigroup"

    def _features(self) -> RandomLaplaceMap:
        return RandomLaplaceMap(self.size)
