"""Kernels: similarity of rows, its spectral measure, and an algebra of both."""

from bochner.kernels.against import Against
from bochner.kernels.algebra import Product, Scaled, Sum
from bochner.kernels.angular import Angular
from bochner.kernels.arc_cosine import ArcCosine
from bochner.kernels.cauchy import Cauchy
from bochner.kernels.dot_product import DotProduct
from bochner.kernels.euclidean_laplacian import EuclideanLaplacian
from bochner.kernels.exponential import Exponential
from bochner.kernels.exponential_power import ExponentialPower
from bochner.kernels.function_kernel import FunctionKernel
from bochner.kernels.gaussian import Gaussian
from bochner.kernels.general import GeneralProduct, GeneralScaled, GeneralSum
from bochner.kernels.inner_product import InnerProduct
from bochner.kernels.kernel import Kernel, ShiftInvariant
from bochner.kernels.laplacian import Laplacian
from bochner.kernels.mapped import Mapped
from bochner.kernels.matern import Matern
from bochner.kernels.normal_mixture import NormalMixture
from bochner.kernels.polynomial import Polynomial
from bochner.kernels.power_series import PowerSeries
from bochner.kernels.precomputed import Precomputed
from bochner.kernels.profile import Profile
from bochner.kernels.radial import Radial
from bochner.kernels.random_process import RandomProcess, is_random
from bochner.kernels.rational_quadratic import RationalQuadratic
from bochner.kernels.separable import Separable, is_separable
from bochner.kernels.spectral import Spectral
from bochner.kernels.stretched import GeneralStretched, Stretched
from bochner.kernels.zonal import Zonal

__all__ = [
    "Against",
    "Angular",
    "ArcCosine",
    "Cauchy",
    "DotProduct",
    "EuclideanLaplacian",
    "Exponential",
    "ExponentialPower",
    "FunctionKernel",
    "Gaussian",
    "GeneralProduct",
    "GeneralScaled",
    "GeneralStretched",
    "GeneralSum",
    "InnerProduct",
    "Kernel",
    "Laplacian",
    "Mapped",
    "Matern",
    "NormalMixture",
    "Polynomial",
    "PowerSeries",
    "Precomputed",
    "Product",
    "Profile",
    "Radial",
    "RandomProcess",
    "RationalQuadratic",
    "Scaled",
    "Separable",
    "ShiftInvariant",
    "Spectral",
    "Stretched",
    "Sum",
    "Zonal",
    "is_random",
    "is_separable",
]
