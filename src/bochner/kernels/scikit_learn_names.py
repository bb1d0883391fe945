"""The names that scikit-learn gives to kernels, as aliases of ours.

An alias means our kernel with its own defaults: "rbf" is the Gaussian kernel whose bandwidth is the
median distance, not gamma = 1 / n_columns. gamma = 1 / (2 bandwidth^2) for the Gaussian kernel.
"""

from __future__ import annotations

from collections.abc import Callable

from bochner.kernels.angular import Zonal
from bochner.kernels.exponentiated import Exponentiated
from bochner.kernels.histogram import ChiSquared
from bochner.kernels.inner_product import Polynomial
from bochner.kernels.kernel import Kernel
from bochner.kernels.radial import Gaussian


def linear() -> Polynomial:
    """Return k(a, b) = scale a'b, the polynomial of degree 1 without a constant.

    >>> Kernel.resolve("linear")
    Polynomial(degree=1, constant=0.0, scale='median')
    """
    return Polynomial(degree=1, constant=0.0)


def cosine() -> Zonal:
    """Return the cosine of the angle between two rows, the Legendre polynomial of degree 1.

    >>> Kernel.resolve("cosine")([[1.0, 0.0]], [[2.0, 2.0]]).round(4)
    array([[0.7071]])
    """
    return Zonal((0.0, 1.0))


ALIASES: dict[str, Callable[[], Kernel]] = {
    "rbf": Gaussian,
    "poly": Polynomial,
    "linear": linear,
    "cosine": cosine,
    "chi2": Exponentiated,
    "additive_chi2": ChiSquared,
}
REFUSED = {
    "sigmoid": "tanh(gamma a'b + c) is not positive semidefinite, so it is no kernel. Take "
    "'arc_cosine', which is that of a neural network with infinitely many units, or 'gaussian'."
}
