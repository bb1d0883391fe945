"""Losses: how wrong a prediction is, its gradient and its curvature."""

from bochner.losses.density_dual import DensityDual
from bochner.losses.epsilon_insensitive import (
    Absolute,
    EpsilonInsensitive,
    SquaredEpsilonInsensitive,
)
from bochner.losses.hinge import Hinge
from bochner.losses.huber import Huber
from bochner.losses.logistic import Logistic
from bochner.losses.loss import (
    Loss,
    Margin,
    Multinomial,
    Offset,
    Probabilistic,
    Quadratic,
    Regression,
    Smooth,
)
from bochner.losses.one_class import OneClass
from bochner.losses.quantile import Quantile
from bochner.losses.rounded_absolute import RoundedAbsolute, deviations
from bochner.losses.softmax import Softmax
from bochner.losses.squared import Squared
from bochner.losses.squared_hinge import SquaredHinge

__all__ = [
    "Absolute",
    "DensityDual",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Margin",
    "Multinomial",
    "Offset",
    "OneClass",
    "Probabilistic",
    "Quadratic",
    "Quantile",
    "Regression",
    "RoundedAbsolute",
    "Smooth",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "deviations",
]
