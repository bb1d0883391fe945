"""Posteriors of Gaussian processes: mean and covariance of a function, given rows."""

from bochner.posterior.feature_posterior import FeaturePosterior, FeatureSums, best_noise
from bochner.posterior.likelihood import (
    ExactLikelihood,
    ProcessHyperparameters,
    maximize_likelihood,
)
from bochner.posterior.posterior import Posterior
from bochner.posterior.ridge import FitLimits, Ridge
from bochner.posterior.ridge_posteriors import FunctionPosterior, OperatorPosterior
from bochner.posterior.summation import Summation
from bochner.posterior.units import Units

# The names of earlier versions.
Hyper = ProcessHyperparameters
Watch = FitLimits
maximum = maximize_likelihood

__all__ = [
    "ExactLikelihood",
    "FeaturePosterior",
    "FeatureSums",
    "FitLimits",
    "FunctionPosterior",
    "Hyper",
    "OperatorPosterior",
    "Posterior",
    "ProcessHyperparameters",
    "Ridge",
    "Summation",
    "Units",
    "Watch",
    "best_noise",
    "maximize_likelihood",
    "maximum",
]
