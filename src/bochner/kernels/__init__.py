"""Kernels: similarity of rows, its spectral measure, and an algebra of both."""

from bochner.kernels.against import Against
from bochner.kernels.algebra import Product, Scaled, Sum
from bochner.kernels.cauchy import Cauchy
from bochner.kernels.euclidean_laplacian import EuclideanLaplacian
from bochner.kernels.function_kernel import FunctionKernel
from bochner.kernels.gaussian import Gaussian
from bochner.kernels.general import GeneralProduct, GeneralScaled, GeneralSum
from bochner.kernels.kernel import Kernel, ShiftInvariant
from bochner.kernels.laplacian import Laplacian
from bochner.kernels.mapped import Mapped
from bochner.kernels.matern import Matern
from bochner.kernels.precomputed import Precomputed
from bochner.kernels.profile import Profile
from bochner.kernels.radial import Radial
from bochner.kernels.random_process import RandomProcess, is_random
from bochner.kernels.separable import Separable, is_separable
from bochner.kernels.stretched import GeneralStretched, Stretched

__all__ = [
    "Against",
    "Cauchy",
    "EuclideanLaplacian",
    "FunctionKernel",
    "Gaussian",
    "GeneralProduct",
    "GeneralScaled",
    "GeneralStretched",
    "GeneralSum",
    "Kernel",
    "Laplacian",
    "Mapped",
    "Matern",
    "Precomputed",
    "Product",
    "Profile",
    "Radial",
    "RandomProcess",
    "Scaled",
    "Separable",
    "ShiftInvariant",
    "Stretched",
    "Sum",
    "is_random",
    "is_separable",
]
