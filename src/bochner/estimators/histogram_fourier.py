"""HistogramFourier: random Fourier features of histograms as a scikit-learn transformer."""

from __future__ import annotations

from typing import ClassVar

from bochner.estimators.histogram_transformer import HistogramTransformer
from bochner.features import HistogramFourier as HistogramFourierMap


class HistogramFourier(HistogramTransformer):
    """Random Fourier features of exponentiated and of skewed kernels of histograms.

    Rows are mapped so that the kernel is shift-invariant: exponentiated chi squared is a Gaussian
    of the features of chi squared (Sreekanth, Vedaldi, Jawahar and Zisserman 2010, Generalized RBF
    feature maps for efficient detection), skewed chi squared a kernel of logarithms (Li, Ionescu
    and Sminchisescu 2010). The transformer is the feature map of the same name in
    `bochner.features`.

    Parameters
    ----------
    kernel : str or Kernel
        "exponentiated_chi_squared", Exponentiated(...) of another additive kernel, or
        "skewed_chi_squared". A bandwidth "median" is taken from a sample of the rows. "auto" means
        "exponentiated_chi_squared".
    size : int
        The number of features, even: a cosine and a sine for each frequency.
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
    >>> from bochner import HistogramFourier
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=100)
    >>> HistogramFourier(size=40, random_state=0).fit_transform(X).shape
    (100, 40)
    """

    own_kernel: ClassVar[str] = "exponentiated_chi_squared"

    def _features(self) -> HistogramFourierMap:
        return HistogramFourierMap(self.size)
