"""Kernels: the similarity of rows, spectral measures, and kernels made of other kernels."""

from bochner.kernels.angular import Angular, ArcCosine, Zonal
from bochner.kernels.anova import Anova
from bochner.kernels.categorical import Delta, Overlap
from bochner.kernels.composite.algebra import (
    GeneralProduct,
    GeneralScaled,
    GeneralSum,
    Product,
    Scaled,
    Sum,
)
from bochner.kernels.composite.transformed_rows import (
    ColumnScaled,
    GeneralColumnScaled,
    GeneralStretched,
    Mapped,
    OnColumns,
    ShiftInvariantOnColumns,
    Stretched,
)
from bochner.kernels.exponentiated import (
    ExponentialSemigroup,
    Exponentiated,
    ReciprocalSemigroup,
    Semigroup,
    SkewedChiSquared,
)
from bochner.kernels.given import FunctionKernel, Precomputed, RandomProcess, Spectral, is_random
from bochner.kernels.histogram import (
    Additive,
    ChiSquared,
    Hellinger,
    Histogram,
    Intersection,
    JensenShannon,
)
from bochner.kernels.inner_product import (
    DotProduct,
    Exponential,
    InnerProduct,
    Polynomial,
    PowerSeries,
)
from bochner.kernels.kernel import Kernel, Separable, ShiftInvariant, is_separable
from bochner.kernels.prepared import Against, PreparedKernel
from bochner.kernels.radial import (
    Cauchy,
    EuclideanLaplacian,
    ExponentialPower,
    Gaussian,
    Laplacian,
    Matern,
    NormalMixture,
    Profile,
    Radial,
    RationalQuadratic,
)
from bochner.kernels.scikit_learn_names import ALIASES, REFUSED

Kernel.add_aliases(ALIASES, REFUSED)

__all__ = [
    "Additive",
    "Against",
    "Angular",
    "Anova",
    "ArcCosine",
    "Cauchy",
    "ChiSquared",
    "ColumnScaled",
    "Delta",
    "DotProduct",
    "EuclideanLaplacian",
    "Exponential",
    "ExponentialPower",
    "ExponentialSemigroup",
    "Exponentiated",
    "FunctionKernel",
    "Gaussian",
    "GeneralColumnScaled",
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
    "PreparedKernel",
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
