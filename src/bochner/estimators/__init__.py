"""Estimators and transformers with the interface of scikit-learn."""

from bochner.estimators.automatic.warmup import warmup
from bochner.estimators.gaussian_process.gaussian_process import KernelGaussianProcess
from bochner.estimators.inputs.schemas import schema_of
from bochner.estimators.machines.classifier import KernelClassifier
from bochner.estimators.machines.novelty import KernelNoveltyDetector
from bochner.estimators.machines.quantile import KernelQuantileRegressor
from bochner.estimators.machines.regressor import KernelRegressor
from bochner.estimators.transformers.binning import RandomBinning
from bochner.estimators.transformers.fourier import (
    Fastfood,
    OrthogonalFourier,
    QuasiMonteCarloFourier,
    RandomFourier,
)
from bochner.estimators.transformers.histogram import (
    AdditiveHomogeneous,
    HistogramFourier,
    RandomLaplace,
)
from bochner.estimators.transformers.inner_product import ArcCosine, RandomMaclaurin, TensorSketch
from bochner.estimators.transformers.nystroem import NystroemMap
from bochner.estimators.transformers.whitening import PartialWhitening
from bochner.estimators.two_samples.density_ratio import DensityRatio
from bochner.estimators.two_samples.two_sample_test import (
    KernelWitness,
    TwoSampleTest,
    two_sample_test,
)

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
    "warmup",
]
