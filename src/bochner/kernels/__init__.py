"""Kernels: similarity of rows, its spectral measure, and an algebra of both."""

from bochner.kernels.additive import Additive
from bochner.kernels.against import Against
from bochner.kernels.algebra import Product, Scaled, Sum
from bochner.kernels.angular import Angular
from bochner.kernels.arc_cosine import ArcCosine
from bochner.kernels.cauchy import Cauchy
from bochner.kernels.chi_squared import ChiSquared
from bochner.kernels.delta import Delta, Overlap
from bochner.kernels.dot_product import DotProduct
from bochner.kernels.euclidean_laplacian import EuclideanLaplacian
from bochner.kernels.exponential import Exponential
from bochner.kernels.exponential_power import ExponentialPower
from bochner.kernels.exponentiated import Exponentiated
from bochner.kernels.function_kernel import FunctionKernel
from bochner.kernels.gaussian import Gaussian
from bochner.kernels.general import GeneralProduct, GeneralScaled, GeneralSum
from bochner.kernels.hellinger import Hellinger
from bochner.kernels.histogram import Histogram
from bochner.kernels.inner_product import InnerProduct
from bochner.kernels.intersection import Intersection
from bochner.kernels.jensen_shannon import JensenShannon
from bochner.kernels.kernel import Kernel, ShiftInvariant
from bochner.kernels.laplacian import Laplacian
from bochner.kernels.mapped import Mapped
from bochner.kernels.matern import Matern
from bochner.kernels.normal_mixture import NormalMixture
from bochner.kernels.on_columns import OnColumns, ShiftInvariantOnColumns
from bochner.kernels.polynomial import Polynomial
from bochner.kernels.power_series import PowerSeries
from bochner.kernels.precomputed import Precomputed
from bochner.kernels.profile import Profile
from bochner.kernels.radial import Radial
from bochner.kernels.random_process import RandomProcess, is_random
from bochner.kernels.rational_quadratic import RationalQuadratic
from bochner.kernels.semigroup import ExponentialSemigroup, ReciprocalSemigroup, Semigroup
from bochner.kernels.separable import Separable, is_separable
from bochner.kernels.skewed_chi_squared import SkewedChiSquared
from bochner.kernels.spectral import Spectral
from bochner.kernels.stretched import GeneralStretched, Stretched
from bochner.kernels.zonal import Zonal

__all__ = [
    "Additive",
    "Against",
    "Angular",
    "ArcCosine",
    "Cauchy",
    "ChiSquared",
    "Delta",
    "DotProduct",
    "EuclideanLaplacian",
    "Exponential",
    "ExponentialPower",
    "ExponentialSemigroup",
    "Exponentiated",
    "FunctionKernel",
    "Gaussian",
    "GeneralProduct",
    "GeneralScaled",
    "GeneralStretched",
    "GeneralSum",
    "Hellinger",
    "Histogram",
    "InnerProduct",
    "Intersection",
    "JensenShannon",
    "Kernel",
    "Laplacian",
    "Mapped",
    "Matern",
    "NormalMixture",
    "OnColumns",
    "Overlap",
    "Polynomial",
    "PowerSeries",
    "Precomputed",
    "Product",
    "Profile",
    "Radial",
    "RandomProcess",
    "RationalQuadratic",
    "ReciprocalSemigroup",
    "Scaled",
    "Semigroup",
    "Separable",
    "ShiftInvariant",
    "ShiftInvariantOnColumns",
    "SkewedChiSquared",
    "Spectral",
    "Stretched",
    "Sum",
    "Zonal",
    "is_random",
    "is_separable",
]
