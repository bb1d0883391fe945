"""Losses: the cost of a prediction, its gradient and its curvature."""

from bochner.losses.classification import Hinge, Logistic, Softmax, SquaredHinge
from bochner.losses.densities import DensityDual, OneClass
from bochner.losses.loss import (
    ClippedLine,
    Loss,
    Margin,
    Multinomial,
    Offset,
    PiecewiseQuadratic,
    Probabilistic,
    Quadratic,
    Regression,
    Smooth,
)
from bochner.losses.smoothed_absolute import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    Quantile,
    RoundedAbsolute,
    SmoothedAbsolute,
    SquaredEpsilonInsensitive,
    deviations,
)
from bochner.losses.squared import Squared

__all__ = [
    "Absolute",
    "ClippedLine",
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
    "PiecewiseQuadratic",
    "Probabilistic",
    "Quadratic",
    "Quantile",
    "Regression",
    "RoundedAbsolute",
    "Smooth",
    "SmoothedAbsolute",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "deviations",
]
