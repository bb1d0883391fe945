"""Features: functions of a row whose products approximate a kernel."""

from bochner.features.basis import Basis
from bochner.features.binning.binning import Binning
from bochner.features.binning.binning_basis import BinningBasis, BinningDiagnostics
from bochner.features.centers.center_basis import CenterBasis, KernelBasis
from bochner.features.centers.centers import Centers
from bochner.features.centers.nystroem import NystroemFeatures
from bochner.features.centers.whitened_basis import WhitenedBasis
from bochner.features.codes.encoded import (
    Encoded,
    EncodedData,
    EncodedGroups,
    EncodedRows,
    Group,
    GroupBlock,
    Groups,
)
from bochner.features.codes.kept_columns import RememberedBasis, TabulatedBasis
from bochner.features.dense_basis import DenseBasis
from bochner.features.drawings import Drawing
from bochner.features.feature_map import SAMPLE_ROWS, FeatureMap, has_map, map_name, map_of, prepare
from bochner.features.random.additive import AdditiveHomogeneous
from bochner.features.random.angular import Harmonics, Rectified
from bochner.features.random.exponentiated import HistogramFourier, RandomLaplace
from bochner.features.random.fourier import (
    ExponentialFourier,
    Fourier,
    FourierBasis,
    PhaseBasis,
    RandomPhase,
    WaveBasis,
)
from bochner.features.random.leverage import Leverage
from bochner.features.random.maclaurin import Maclaurin
from bochner.features.random.process import ProcessBasis, ProcessFeatures
from bochner.features.random.random_basis import RandomBasis, SeededBasis
from bochner.features.random.random_features import RandomFeatures
from bochner.features.random.sketch import Sketch

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
    "EncodedData",
    "EncodedGroups",
    "EncodedRows",
    "ExponentialFourier",
    "FeatureMap",
    "Fourier",
    "FourierBasis",
    "Group",
    "GroupBlock",
    "Groups",
    "Harmonics",
    "HistogramFourier",
    "KernelBasis",
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
