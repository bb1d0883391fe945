"""Estimators and transformers that keep scikit-learn's contract."""

from bochner.estimators.additive_homogeneous import AdditiveHomogeneous
from bochner.estimators.arc_cosine import ArcCosine
from bochner.estimators.density_ratio import DensityRatio
from bochner.estimators.fastfood import Fastfood
from bochner.estimators.files import schema_of
from bochner.estimators.histogram_fourier import HistogramFourier
from bochner.estimators.kernel_classifier import KernelClassifier
from bochner.estimators.kernel_gaussian_process import KernelGaussianProcess
from bochner.estimators.kernel_novelty_detector import KernelNoveltyDetector
from bochner.estimators.kernel_quantile_regressor import KernelQuantileRegressor
from bochner.estimators.kernel_regressor import KernelRegressor
from bochner.estimators.kernel_witness import KernelWitness
from bochner.estimators.nystroem_map import NystroemMap
from bochner.estimators.orthogonal_fourier import OrthogonalFourier
from bochner.estimators.partial_whitening import PartialWhitening
from bochner.estimators.quasi_monte_carlo_fourier import QuasiMonteCarloFourier
from bochner.estimators.random_binning import RandomBinning
from bochner.estimators.random_fourier import RandomFourier
from bochner.estimators.random_laplace import RandomLaplace
from bochner.estimators.random_maclaurin import RandomMaclaurin
from bochner.estimators.tensor_sketch import TensorSketch
from bochner.estimators.two_sample import TwoSampleTest, two_sample_test

__all__ = [
    "AdditiveHomogeneous",
    "ArcCosine",
    "DensityRatio",
    "Fastfood",
    "HistogramFourier",
    "KernelClassifier",
    "KernelGaussianProcess",
    "KernelNoveltyDetector",
    "KernelQuantileRegressor",
    "KernelRegressor",
    "KernelWitness",
    "NystroemMap",
    "OrthogonalFourier",
    "PartialWhitening",
    "QuasiMonteCarloFourier",
    "RandomBinning",
    "RandomFourier",
    "RandomLaplace",
    "RandomMaclaurin",
    "TensorSketch",
    "TwoSampleTest",
    "schema_of",
    "two_sample_test",
]
