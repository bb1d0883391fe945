"""Features: functions of a row whose products approximate a kernel."""

from bochner.features.additive_homogeneous import AdditiveHomogeneous
from bochner.features.basis import Basis
from bochner.features.binning import Binning
from bochner.features.binning_basis import BinningBasis
from bochner.features.center_basis import CenterBasis
from bochner.features.centers import Centers
from bochner.features.dense_basis import DenseBasis
from bochner.features.diagnostics import BinningDiagnostics
from bochner.features.drawings import Drawing
from bochner.features.encoded import Encoded, Group, GroupBlock, Groups
from bochner.features.exponential_fourier import ExponentialFourier
from bochner.features.feature_map import SAMPLE_ROWS, FeatureMap, prepare
from bochner.features.fourier import Fourier, FourierBasis
from bochner.features.harmonics import Harmonics
from bochner.features.histogram_fourier import HistogramFourier
from bochner.features.leverage import Leverage
from bochner.features.maclaurin import Maclaurin
from bochner.features.maps_of_kernels import has_map, map_name, map_of
from bochner.features.nystroem_features import NystroemFeatures
from bochner.features.process_basis import ProcessBasis, ProcessFeatures
from bochner.features.random_basis import RandomBasis
from bochner.features.random_features import RandomFeatures
from bochner.features.random_laplace import RandomLaplace
from bochner.features.random_phase import PhaseBasis, RandomPhase
from bochner.features.rectified import Rectified
from bochner.features.remembered_basis import RememberedBasis
from bochner.features.seeded_basis import SeededBasis
from bochner.features.sketch import Sketch
from bochner.features.tabulated_basis import TabulatedBasis
from bochner.features.wave_basis import WaveBasis
from bochner.features.whitened_basis import WhitenedBasis

__all__ = [
    "SAMPLE_ROWS",
    "AdditiveHomogeneous",
    "Basis",
    "Binning",
    "BinningBasis",
    "BinningDiagnostics",
    "CenterBasis",
    "Centers",
    "DenseBasis",
    "Drawing",
    "Encoded",
    "ExponentialFourier",
    "FeatureMap",
    "Fourier",
    "FourierBasis",
    "Group",
    "GroupBlock",
    "Groups",
    "Harmonics",
    "HistogramFourier",
    "Leverage",
    "Maclaurin",
    "NystroemFeatures",
    "PhaseBasis",
    "ProcessBasis",
    "ProcessFeatures",
    "RandomBasis",
    "RandomFeatures",
    "RandomLaplace",
    "RandomPhase",
    "Rectified",
    "RememberedBasis",
    "SeededBasis",
    "Sketch",
    "TabulatedBasis",
    "WaveBasis",
    "WhitenedBasis",
    "has_map",
    "map_name",
    "map_of",
    "prepare",
]
