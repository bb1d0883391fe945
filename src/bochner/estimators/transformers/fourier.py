"""Random Fourier features as transformers."""

from __future__ import annotations

from bochner.estimators.transformers.base import FeatureTransformer
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
    >>> from bochner.estimators.transformers.fourier import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> RandomFourier(size=256, random_state=0).fit_transform(X).shape
    (100, 256)
    """

    def _features(self) -> Fourier:
        return Fourier(self.size)


class OrthogonalFourier(FeatureTransformer):
    """Random Fourier features with orthogonal frequencies.

    phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...) as `RandomFourier` has them,
    with the same mean phi(x)'phi(y) but a smaller variance: as many frequencies as there are
    columns are orthogonal to each other (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016,
    Orthogonal random features). It pays from as many frequencies on as there are columns.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel of the Euclidean distance, by name or as a component, or sums, products, multiples
        and column scales of such kernels. A bandwidth "median" is taken from a sample of the rows.
        "auto" means "gaussian".
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
    >>> from bochner import OrthogonalFourier, RandomFourier
    >>> from bochner.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(100, 40))
    >>> def error(transformer):
    ...     Z = transformer.fit_transform(X)
    ...     return np.linalg.norm(Z @ Z.T - transformer.kernel_(X))
    >>> orthogonal = OrthogonalFourier(Gaussian(8.0), size=256, random_state=0)
    >>> bool(error(orthogonal) < 0.8 * error(RandomFourier(Gaussian(8.0), 256, random_state=0)))
    True
    """

    def _features(self) -> Fourier:
        return Fourier(self.size, "orthogonal")


class Fastfood(FeatureTransformer):
    """Random Fourier features by products of Hadamard and diagonal matrices.

    phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...) as `RandomFourier` has them,
    but the matrix of frequencies is a product of fast transforms, which is never written down (Le,
    Sarlos and Smola 2013, Fastfood: approximating kernel expansions in loglinear time). For n
    columns, filled up to a power of two, a feature takes log n operations instead of n. That pays
    for hundreds of columns. The error is larger than that of `RandomFourier`, by about a third.

    Parameters
    ----------
    kernel : str or Kernel
        A kernel of the Euclidean distance, by name or as a component, or sums, products, multiples
        and column scales of such kernels. A bandwidth "median" is taken from a sample of the rows.
        "auto" means "gaussian".
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
    >>> from bochner import Fastfood
    >>> X = np.random.default_rng(0).normal(size=(100, 500))
    >>> Fastfood(size=2048, random_state=0).fit_transform(X).shape
    (100, 2048)
    """

    def _features(self) -> Fourier:
        return Fourier(self.size, "fastfood")


class QuasiMonteCarloFourier(FeatureTransformer):
    """Fourier features whose frequencies fill the spectral measure evenly.

    phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...) as `RandomFourier` has them,
    with frequencies from scrambled Halton points in place of random ones (Avron, Sindhwani, Yang
    and Mahoney 2016, Quasi-Monte Carlo feature maps for shift-invariant kernels). For few columns
    the error is much smaller.

    Parameters
    ----------
    kernel : str or Kernel
        A shift-invariant kernel, by name or as a component. A bandwidth "median" is taken from a
        sample of the rows. "auto" means "gaussian".
    size : int
        The number of features, even: a cosine and a sine for each frequency.
    random_state : int, RandomState, Generator or None
        Determines how the points are scrambled, and the sample.
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
    >>> from bochner import QuasiMonteCarloFourier, RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> def error(transformer):
    ...     Z = transformer.fit_transform(X)
    ...     return np.linalg.norm(Z @ Z.T - transformer.kernel_(X))
    >>> even = QuasiMonteCarloFourier(size=1024, random_state=0)
    >>> bool(error(even) < 0.5 * error(RandomFourier(size=1024, random_state=0)))
    True
    """

    def _features(self) -> Fourier:
        return Fourier(self.size, "quasi_monte_carlo")
