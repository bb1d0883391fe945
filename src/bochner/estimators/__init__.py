"""Estimators and transformers that keep scikit-learn's contract."""

from bochner.estimators.kernel_classifier import KernelClassifier
from bochner.estimators.kernel_gaussian_process import KernelGaussianProcess
from bochner.estimators.kernel_quantile_regressor import KernelQuantileRegressor
from bochner.estimators.kernel_regressor import KernelRegressor
from bochner.estimators.partial_whitening import PartialWhitening
from bochner.estimators.random_binning import RandomBinning
from bochner.estimators.random_fourier import RandomFourier

__all__ = [
    "KernelClassifier",
    "KernelGaussianProcess",
    "KernelQuantileRegressor",
    "KernelRegressor",
    "PartialWhitening",
    "RandomBinning",
    "RandomFourier",
]
