"""OrthogonalFourier: orthogonal random features as a scikit-learn transformer."""

from __future__ import annotations

from bochner.estimators.feature_transformer import FeatureTransformer
from bochner.features import Fourier


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
