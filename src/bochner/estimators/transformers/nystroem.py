"""NystroemMap: the transformer to Nystroem features."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from bochner.estimators.transformers.base import FeatureTransformer
from bochner.features import NystroemFeatures


class NystroemMap(FeatureTransformer):
    """Nystroem features of any kernel: k(x, Z) at centres Z, whitened.

    With k(Z, Z) = V D V' the features are phi(x) = D^-1/2 V'k(Z, x), so that phi(x)'phi(y) =
    k(x, Z) k(Z, Z)^-1 k(Z, y) is exact at the centres (Williams and Seeger 2001, Using the Nystroem
    method to speed up kernel machines).

    Parameters
    ----------
    kernel : str, Kernel or callable, default="auto"
        Any kernel. A bandwidth "median" is computed from a sample of the rows. "auto" means
        "gaussian".
    size : int, default=1024
        The number of centres.
    choice : "uniform", "kmeans" or "pivoted", default="uniform"
        How centres are chosen: random rows, means of k-means clusters, or rows selected by randomly
        pivoted Cholesky.
    given : array-like of shape (n_centers, n_columns) or None, default=None
        Centres that replace the chosen ones.
    random_state : int, RandomState, Generator or None, default=None
        Determines the centres and the sample.
    n_jobs, memory_budget
        As in `RandomFourier`.

    Attributes
    ----------
    kernel_, basis_, n_features_in_, feature_names_in_
        As in `RandomFourier`.

    See Also
    --------
    RandomFourier : Features that do not depend on the rows.
    sklearn.kernel_approximation.Nystroem : The same method with uniform centres.

    Notes
    -----
    Features are in the order of decreasing eigenvalues. There are fewer features than centres if
    some eigenvalues of k(Z, Z) are zero up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import NystroemMap
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> NystroemMap("laplacian", size=100, choice="pivoted", random_state=0).fit_transform(X).shape
    (500, 100)
    """

    def __init__(
        self,
        kernel: Any = "auto",
        size: int = 1024,
        choice: str = "uniform",
        given: ArrayLike | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
    ) -> None:
        super().__init__(kernel, size, random_state, n_jobs, memory_budget)
        self.choice = choice
        self.given = given

    def _features(self) -> NystroemFeatures:
        return NystroemFeatures(self.size, self.choice, self.given)
