"""Drawings: ways to draw the frequencies of Fourier features."""

from bochner.features.drawings.drawing import PAIRS, Drawing, MatrixDrawing
from bochner.features.drawings.fastfood import Fastfood
from bochner.features.drawings.hadamard import HadamardDrawing
from bochner.features.drawings.orthogonal import Orthogonal
from bochner.features.drawings.plain import Plain
from bochner.features.drawings.quasi_monte_carlo import QuasiMonteCarlo
from bochner.features.drawings.structured_orthogonal import StructuredOrthogonal

__all__ = [
    "PAIRS",
    "Drawing",
    "Fastfood",
    "HadamardDrawing",
    "MatrixDrawing",
    "Orthogonal",
    "Plain",
    "QuasiMonteCarlo",
    "StructuredOrthogonal",
]
