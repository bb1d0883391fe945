"""Kernels: similarity of rows, its spectral measure, and an algebra of both."""

from bochner.kernels.algebra import Product, Scaled, Stretched, Sum
from bochner.kernels.gaussian import Gaussian
from bochner.kernels.kernel import Kernel, ShiftInvariant
from bochner.kernels.laplacian import Laplacian
from bochner.kernels.matern import Matern
from bochner.kernels.radial import Radial
from bochner.kernels.separable import Separable

__all__ = [
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Matern",
    "Product",
    "Radial",
    "Scaled",
    "Separable",
    "ShiftInvariant",
    "Stretched",
    "Sum",
]
