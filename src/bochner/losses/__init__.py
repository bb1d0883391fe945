"""Losses: how wrong a prediction is, its gradient and its curvature."""

from bochner.losses.hinge import Hinge
from bochner.losses.logistic import Logistic
from bochner.losses.loss import (
    Loss,
    Margin,
    Multinomial,
    Probabilistic,
    Quadratic,
    Regression,
    Smooth,
)
from bochner.losses.softmax import Softmax
from bochner.losses.squared import Squared
from bochner.losses.squared_hinge import SquaredHinge

__all__ = [
    "Hinge",
    "Logistic",
    "Loss",
    "Margin",
    "Multinomial",
    "Probabilistic",
    "Quadratic",
    "Regression",
    "Smooth",
    "Softmax",
    "Squared",
    "SquaredHinge",
]
