"""Which feature maps are compared on which rows with which kernel, and with what of scikit-learn.

Bandwidths are the median of the distances, half of which is the default of most kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)
from sklearn.pipeline import make_pipeline

from bochner.features import BinningBasis, FeatureMap
from bochner.features.basis import extend_and_encode
from bochner.kernels import (
    ArcCosine,
    ChiSquared,
    Exponential,
    ExponentialSemigroup,
    Exponentiated,
    Gaussian,
    Intersection,
    JensenShannon,
    Kernel,
    Laplacian,
    Matern,
    Polynomial,
    ReciprocalSemigroup,
    SkewedChiSquared,
    Zonal,
)
from common import COLOURS
from maps_sets import JUDGED, POOLED, Rows, error

SIZES = tuple(2**k for k in range(6, 13))  # 64 to 4,096
FEWER, FEWEST = 1_024, 512  # the most of maps that take longer to build
STEPS = (1, 2, 3, 5, 9, 17, 33)  # s of AdditiveChi2Sampler, 2 s - 1 functions a column
INTERVALS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)  # it has a default for up to 3 steps
DRAWINGS = ("orthogonal", "structured_orthogonal", "quasi_monte_carlo", "fastfood")
WAVES = ("fourier", "random_phase", *DRAWINGS)
COLOURED = (*COLOURS, "#56B4E9", "#8C6D31")  # in the order of the waves
GAUSSIAN = Gaussian(multiplier=1.0)


@dataclass(frozen=True)
class Curve:
    """Features whose error is followed: `make(kernel, size, seed)` is a map or a transformer.

    `name` is that of a map in the registry, empty for one of scikit-learn's; `beside` are the
    labels of ours that are to be no worse than that. `most` is the largest size.
    """

    label: str
    kernel: Kernel
    make: Callable[[Any, int, int], Any]
    name: str = ""
    beside: tuple[str, ...] = ()
    most: int = SIZES[-1]
    random: bool = True

    def columns(self, kernel: Kernel, rows: Rows, size: int, seed: int) -> Any:
        """Return the features of the rows that are judged."""
        made = self.make(kernel, size, seed)
        if not isinstance(made, FeatureMap):
            return made.fit(rows.sample.X).transform(rows.X)
        built = made.build(kernel, rows.sample, seed, np.float64)
        basis, code = extend_and_encode(built, rows.X)
        return basis.matrix(code) if isinstance(basis, BinningBasis) else basis.columns(code)


@dataclass(frozen=True)
class Case:
    """A panel of the picture: curves on the rows of one set."""

    title: str
    set: str
    curves: tuple[Curve, ...]
    sizes: tuple[int, ...] = SIZES


@dataclass
class BestAdditiveChi2:
    """AdditiveChi2Sampler with the interval that suits the rows best; up to 3 steps its default."""

    size: int

    def fit(self, X: np.ndarray) -> Any:
        """Return the one with the smallest error on some of the rows."""
        steps, some = (self.size // POOLED + 1) // 2, X[:JUDGED]
        intervals = INTERVALS if steps > 3 else (None,)
        samplers = [AdditiveChi2Sampler(sample_steps=steps, sample_interval=i) for i in intervals]
        exact = ChiSquared()(some)
        return min(samplers, key=lambda sampler: error(sampler.fit_transform(some), exact))


def ours(name: str, kernel: Kernel, label: str = "", **more: Any) -> Curve:
    """Return the curve of a map of the registry."""
    size = "grids" if name == "binning" else "size"
    make = FeatureMap.registry[name]
    return Curve(label or name, kernel, lambda _, n, __: make(**{size: n}, **more), name)


def theirs(label: str, kernel: Kernel, make: Callable[[Any, int, int], Any], *beside: str) -> Curve:
    """Return the curve of a transformer of scikit-learn."""
    return Curve(label, kernel, make, beside=beside)


def gamma(kernel: Any) -> float:
    """Return what scikit-learn has in place of a bandwidth."""
    return 0.5 / kernel.bandwidth**2


def gaussian_sampler(kernel: Any, size: int, seed: int) -> Any:
    return RBFSampler(gamma=gamma(kernel), n_components=size, random_state=seed)


def count_sketch(kernel: Any, size: int, seed: int) -> Any:
    form = {"gamma": kernel.scale, "degree": kernel.degree, "coef0": kernel.constant}
    return PolynomialCountSketch(**form, n_components=size, random_state=seed)


def skewed_sampler(kernel: Any, size: int, seed: int) -> Any:
    return SkewedChi2Sampler(skewedness=kernel.skewness, n_components=size, random_state=seed)


def nystroem(kernel: Any, size: int, seed: int) -> Any:
    return Nystroem(gamma=gamma(kernel), n_components=size, random_state=seed)


def chain(kernel: Any, size: int, seed: int) -> Any:
    """Return what scikit-learn's guide advises for exponentiated chi squared.

    5 functions a column come first, as many as of ours.
    """
    first = AdditiveChi2Sampler(sample_steps=3)
    return make_pipeline(first, gaussian_sampler(kernel, size, seed))


def waves(kernel: Kernel, *drawings: str) -> tuple[Curve, ...]:
    """Return Fourier features, plain ones, those of random phase and others."""
    return tuple(ours(name, kernel) for name in (*WAVES[:2], *drawings))


def gaussian(title: str, set_: str, *more: Curve) -> Case:
    """Return ways to draw; all but Fastfood, which is for speed, are to be as good as theirs."""
    curves = waves(GAUSSIAN, *DRAWINGS)
    beside = (curve.label for curve in curves if curve.name != "fastfood")
    sampler = theirs("RBFSampler", GAUSSIAN, gaussian_sampler, *beside)
    return Case(title, set_, (*curves, *more, sampler))


def polynomial(title: str, set_: str) -> Case:
    curves = (ours(name, Polynomial()) for name in ("tensor_sketch", "maclaurin"))
    sketch = theirs("PolynomialCountSketch", Polynomial(), count_sketch, "tensor_sketch")
    return Case(title, set_, (*curves, sketch))


ANGLES = (
    *(ours("rectified", ArcCosine(k), f"rectified, arc-cosine {k}") for k in (0, 1, 2)),
    ours("harmonics", Zonal(), "harmonics, zonal"),
)
BINS = replace(ours("binning", Laplacian(multiplier=1.0), "binning, by grids"), most=FEWER)
LEVERAGE = replace(ours("leverage", GAUSSIAN), most=FEWEST)
CHI2_SAMPLER = theirs(
    "AdditiveChi2Sampler", ChiSquared(), lambda _, n, __: BestAdditiveChi2(n), "chi squared"
)
ADDITIVE = tuple(
    replace(curve, random=False)
    for curve in (
        ours("additive_homogeneous", ChiSquared(), "chi squared"),
        ours("additive_homogeneous", JensenShannon(), "Jensen-Shannon"),
        ours("additive_homogeneous", Intersection(), "intersection"),
        CHI2_SAMPLER,
    )
)
MAPPED = (
    ours("histogram_fourier", Exponentiated(), "exponentiated"),
    ours("histogram_fourier", SkewedChiSquared(0.1), "skewed"),
    theirs("AdditiveChi2Sampler, RBFSampler", Exponentiated(), chain, "exponentiated"),
    theirs("SkewedChi2Sampler", SkewedChiSquared(0.1), skewed_sampler, "skewed"),
)
SEMIGROUP = (
    ours("random_laplace", ReciprocalSemigroup(), "reciprocal"),
    ours("random_laplace", ExponentialSemigroup(), "exponential"),
)
CENTRES = (
    ours("nystroem", GAUSSIAN, "rows at random"),
    ours("nystroem", GAUSSIAN, "pivoted Cholesky", choice="pivoted"),
    replace(ours("nystroem", GAUSSIAN, "k-means", choice="kmeans"), most=FEWEST),
    theirs("Nystroem", GAUSSIAN, nystroem, "rows at random"),
)
COMBINED = (
    ours("random", GAUSSIAN + ChiSquared(), "Gaussian + chi squared"),
    ours("random", GAUSSIAN * ChiSquared(), "Gaussian x chi squared"),
    ours("random", GAUSSIAN * Polynomial(2), "Gaussian x polynomial"),
)
POWERS = tuple(ours(name, Exponential()) for name in ("exponential_fourier", "maclaurin"))
FEW = tuple(size for size in SIZES if size <= FEWER)

CASES = (
    gaussian("Gaussian, MNIST", "mnist"),
    Case("Gaussian at half the median, MNIST", "mnist", waves(Gaussian(), *DRAWINGS[:2])),
    gaussian("Gaussian, covtype", "covtype"),
    gaussian("Gaussian, kin40k", "kin40k", LEVERAGE),
    gaussian("Gaussian, california", "california"),
    Case("Matérn 3/2, kin40k", "kin40k", waves(Matern(nu=1.5, multiplier=1.0), *DRAWINGS)),
    Case(
        "Laplacian, california",
        "california",
        (*waves(Laplacian(multiplier=1.0), "quasi_monte_carlo"), BINS),
    ),
    Case("Gaussian at centres, covtype", "covtype", CENTRES, FEW),
    polynomial("polynomial, MNIST", "mnist"),
    polynomial("polynomial, covtype", "covtype"),
    Case("exponential, covtype", "covtype", POWERS),
    Case("angles, california", "california", ANGLES),
    Case(
        "additive, histograms", "histograms", ADDITIVE, tuple((2 * s - 1) * POOLED for s in STEPS)
    ),
    Case("mapped, histograms", "histograms", MAPPED),
    Case("semigroup, histograms", "histograms", SEMIGROUP),
    Case("sums and products, histograms", "histograms", COMBINED),
)
