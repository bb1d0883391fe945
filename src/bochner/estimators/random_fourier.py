"""RandomFourier: random Fourier features as a scikit-learn transformer."""

from __future__ import annotations

from bochner.estimators.feature_transformer import FeatureTransformer
from bochner.features import Fourier


class RandomFourier(FeatureTransformer):
    """Random Fourier features of a shift-invariant kernel.

    A linear model on phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...) is close
    to a kernel machine, since E phi(x)'phi(y) = k(x - y) (Rahimi and Recht 2007, Random features
    for large-scale kernel machines, Algorithm 1).

    Parameters
    ----------
    kernel : str or Kernel
        A shift-invariant kernel, by name or as a component. A bandwidth "median" is taken from a
        sample of the rows. "auto" means "gaussian".
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

    def _features(self) -> Fourier:
        return Fourier(self.size)
