"""Posteriors: what a Gaussian process knows of a function after it has seen rows."""

from bochner.posterior.feature_posterior import FeaturePosterior, FeatureSums, best_noise
from bochner.posterior.function_posterior import FunctionPosterior
from bochner.posterior.likelihood import ExactLikelihood, Hyper, maximum
from bochner.posterior.operator_posterior import OperatorPosterior
from bochner.posterior.posterior import Posterior
from bochner.posterior.ridge import Ridge
from bochner.posterior.summation import Summation
from bochner.posterior.units import Units
from bochner.posterior.watch import Watch

__all__ = [
    "ExactLikelihood",
    "FeaturePosterior",
    "FeatureSums",
    "FunctionPosterior",
    "Hyper",
    "OperatorPosterior",
    "Posterior",
    "Ridge",
    "Summation",
    "Units",
    "Watch",
    "best_noise",
    "maximum",
]
