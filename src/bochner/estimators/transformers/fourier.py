"""Random Fourier features as transformers."""

from __future__ import annotations

from bochner.estimators.transformers.base import FeatureTransformer
from bochner.features import Fourier


class RandomFourier(FeatureTransformer):
    """Random Fourier features of a shift-invariant kernel.

    A linear model on phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...)
    approximates a kernel machine, since E phi(x)'phi(y) = k(x - y) (Rahimi and Recht 2007, Random
    features for large-scale kernel machines, Algorithm 1).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        A shift-invariant kernel, by name or as a component. A bandwidth "median" is computed from a
        sample of the rows. "auto" means "gaussian".
    size : int, default=1024
        The number of features, an even number: a cosine and a sine for each frequency.
    random_state : int, RandomState, Generator or None, default=None
        Determines the frequencies and the sample.
    n_jobs : int or None, default=None
        The number of threads; None means all cores. The result does not depend on it.
    memory_budget : int, str or None, default=None
        Bytes, or a text such as "2GB", for cached values; None means half of the free memory. The
        result does not depend on it.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its bandwidth.
    basis_ : FourierBasis
        The features.
    n_features_in_, feature_names_in_ : int, array of str
        The number of columns of the fitted rows, and their names if they have any.

    See Also
    --------
    OrthogonalFourier : A smaller error with orthogonal frequencies.
    QuasiMonteCarloFourier : A smaller error for few columns.
    Fastfood : Faster for hundreds of columns.
    NystroemMap : Features that depend on the rows, for any kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import RandomFourier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> RandomFourier(size=256, random_state=0).fit_transform(X).shape
    (100, 256)
    """

    def _features(self) -> Fourier:
        return Fourier(self.size)


class OrthogonalFourier(FeatureTransformer):
    """Random Fourier features with orthogonal frequencies.

    The features phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...) are those of
    `RandomFourier`, but blocks of as many frequencies as there are columns are orthogonal. The mean
    of phi(x)'phi(y) is the same and its variance is smaller (Yu, Suresh, Choromanski, Holtmann-Rice
    and Kumar 2016, Orthogonal random features), if there are at least as many frequencies as
    columns.

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        A kernel of the Euclidean distance, by name or as a component, or sums, products, multiples
        and column scales of such kernels. A bandwidth "median" is computed from a sample of the
        rows. "auto" means "gaussian".
    size, random_state, n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    RandomFourier : Independent frequencies.

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

    The features phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...) are those of
    `RandomFourier`, but the matrix of frequencies is a product of fast transforms and is never
    stored (Le, Sarlos and Smola 2013, Fastfood: approximating kernel expansions in loglinear time).

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        A kernel of the Euclidean distance, by name or as a component, or sums, products, multiples
        and column scales of such kernels. A bandwidth "median" is computed from a sample of the
        rows. "auto" means "gaussian".
    size, random_state, n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    RandomFourier : A stored matrix of frequencies.

    Notes
    -----
    For n columns, padded to a power of two, a feature takes log n operations instead of n, which is
    faster for hundreds of columns. The error is about a third larger than that of `RandomFourier`.

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
    """Fourier features with quasi-Monte Carlo frequencies.

    The features phi(x) = sqrt(2 k(0) / size) (cos(omega_1'x), sin(omega_1'x), ...) are those of
    `RandomFourier`, but the frequencies are scrambled Halton points instead of random ones (Avron,
    Sindhwani, Yang and Mahoney 2016, Quasi-Monte Carlo feature maps for shift-invariant kernels).
    For few columns the error is much smaller.

    Parameters
    ----------
    kernel : str or Kernel, default="auto"
        A shift-invariant kernel, by name or as a component. A bandwidth "median" is computed from a
        sample of the rows. "auto" means "gaussian".
    size : int, default=1024
        The number of features, an even number: a cosine and a sine for each frequency.
    random_state : int, RandomState, Generator or None, default=None
        Determines the scrambling of the points and the sample.
    n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    RandomFourier : Random frequencies.

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
