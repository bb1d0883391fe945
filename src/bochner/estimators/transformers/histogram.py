"""Transformers to features of kernels of histograms."""

from __future__ import annotations

from typing import ClassVar

from bochner.estimators.transformers.base import HistogramTransformer
from bochner.features import AdditiveHomogeneous as AdditiveHomogeneousMap
from bochner.features import HistogramFourier as HistogramFourierMap
from bochner.features import RandomLaplace as RandomLaplaceMap


class AdditiveHomogeneous(HistogramTransformer):
    """Features of an additive homogeneous kernel of histograms.

    A linear model on the features sqrt(w x_j) cos(omega log x_j) and sqrt(w x_j) sin(omega log
    x_j), a few for each column, approximates a kernel machine with the chi squared, intersection,
    Jensen-Shannon or Hellinger kernel (Vedaldi and Zisserman 2012, Efficient additive kernels via
    explicit feature maps).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        "chi_squared", "intersection", "jensen_shannon" or "hellinger". "auto" means "chi_squared".
    size : int, default=1024
        The number of features, at most 129 times the number of columns; 3 or 5 times is a good
        choice. There is one less if size minus the number of columns is odd. With fewer features
        than columns, a random selection of columns is used.
    random_state : int, RandomState, Generator or None, default=None
        Determines the random features and the sample.
    n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    HistogramFourier : Features of exponentiated kernels.

    Notes
    -----
    Rows must not have negative entries. `bochner.features` has a feature map of the same name.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import AdditiveHomogeneous
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> AdditiveHomogeneous(size=40, random_state=0).fit_transform(X).shape
    (100, 40)
    """

    own_kernel: ClassVar[str] = "chi_squared"

    def _features(self) -> AdditiveHomogeneousMap:
        return AdditiveHomogeneousMap(self.size)


class HistogramFourier(HistogramTransformer):
    """Random Fourier features of exponentiated and of skewed kernels of histograms.

    Rows are transformed so that the kernel is shift-invariant: exponentiated chi squared is a
    Gaussian kernel of the features of chi squared (Sreekanth, Vedaldi, Jawahar and Zisserman 2010,
    Generalized RBF feature maps for efficient detection), skewed chi squared a kernel of logarithms
    (Li, Ionescu and Sminchisescu 2010).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        "exponentiated_chi_squared", Exponentiated(...) of another additive kernel, or
        "skewed_chi_squared". A bandwidth "median" is computed from a sample of the rows. "auto"
        means "exponentiated_chi_squared".
    size : int, default=1024
        The number of features, an even number: a cosine and a sine for each frequency.
    random_state : int, RandomState, Generator or None, default=None
        Determines the random features and the sample.
    n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    AdditiveHomogeneous : Features of additive kernels.

    Notes
    -----
    Rows must not have negative entries. `bochner.features` has a feature map of the same name.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import HistogramFourier
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> HistogramFourier(size=40, random_state=0).fit_transform(X).shape
    (100, 40)
    """

    own_kernel: ClassVar[str] = "exponentiated_chi_squared"

    def _features(self) -> HistogramFourierMap:
        return HistogramFourierMap(self.size)


class RandomLaplace(HistogramTransformer):
    """Random Laplace features of a semigroup kernel of histograms.

    A linear model on phi(x) = (exp(-omega_1'x), exp(-omega_2'x), ...) / sqrt(size) approximates a
    kernel machine, since E phi(x)'phi(y) = k(x + y) (Yang, Sindhwani, Fan, Avron and Mahoney 2014,
    Random Laplace feature maps for semigroup kernels on histograms).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        "reciprocal_semigroup" or "exponential_semigroup". A bandwidth "median" is computed from a
        sample of the rows. "auto" means "reciprocal_semigroup".
    size : int, default=1024
        The number of features.
    random_state : int, RandomState, Generator or None, default=None
        Determines the random features and the sample.
    n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    AdditiveHomogeneous, HistogramFourier : Features of other kernels of histograms.

    Notes
    -----
    Rows must not have negative entries. `bochner.features` has a feature map of the same name.

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
