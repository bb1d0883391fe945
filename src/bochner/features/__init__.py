"""Features: functions of a row whose products approximate a kernel."""

from bochner.features.basis import Basis
from bochner.features.dense_basis import DenseBasis
from bochner.features.feature_map import SAMPLE_ROWS, FeatureMap, prepare
from bochner.features.fourier import Fourier, FourierBasis
from bochner.features.seeded_basis import SeededBasis

__all__ = [
    "SAMPLE_ROWS",
    "Basis",
    "DenseBasis",
    "FeatureMap",
    "Fourier",
    "FourierBasis",
    "SeededBasis",
    "prepare",
]
