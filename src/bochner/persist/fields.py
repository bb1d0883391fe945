"""The fields of bases, which are no dataclasses, with their types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.features import DenseBasis, Drawing, RandomBasis
from bochner.features.binning.binning_basis import Grid
from bochner.features.centers.center_basis import CenterBasis
from bochner.features.centring import Centring
from bochner.features.random.additive import Waves
from bochner.features.random.maclaurin import Degrees
from bochner.features.random.sketch import Lift
from bochner.kernels import Kernel
from bochner.kernels.histogram import Additive

Array = NDArray[Any]
Dtype = np.dtype
Hints = dict[str, Any]

SIZED: Hints = {"size": int, "dtype": Dtype}
SEEDED: Hints = {"seed": int, "unit": int, "unit_bytes": int, "memory": int}
SEEDED |= {"given": dict[int, Array], "size": int | None, "dtype": Dtype}
WAVES: Hints = SEEDED | {"kernel": Kernel, "centring": Centring, "drawing": Drawing}
WAVES |= {"n_columns": int, "amplitude": float, "pairs": int, "width": int}
FUNCTIONS: Hints = SEEDED | {"rows": Centring, "n_columns": int, "amplitude": float}
SKETCHES: Hints = FUNCTIONS | {"shape": tuple[int, int], "lift": Lift}
CENTERS: Hints = SIZED | {"kernel": Kernel, "centring": Centring, "complete": bool, "memory": int}
CENTERS |= {"index": NDArray[np.int64] | None, "centers": Any}
PARTS: Hints = SIZED | {"size": int | None, "parts": tuple[RandomBasis, ...], "atom": int}
PARTS |= {"places": list[slice]}

FIELDS: dict[str, Hints] = {
    "AdditiveBasis": SIZED | {"kernel": Additive, "rows": Centring, "waves": Waves},
    "BinningBasis": {
        "grids": tuple[Grid, ...],
        "variance": float,
        "memory": int,
        "known": list[NDArray[np.uint64]],
    },
    "CenterBasis": CENTERS,
    "ExponentialFourierBasis": FUNCTIONS | {"bandwidth": float},
    "FourierBasis": WAVES,
    "HarmonicsBasis": FUNCTIONS | {"law": Degrees, "heights": Array},
    "MaclaurinBasis": FUNCTIONS | {"law": Degrees, "heights": Array, "length": float},
    "NystroemBasis": SIZED | {"inner": CenterBasis, "mixing": Array},
    "PhaseBasis": WAVES,
    "PrecomputedBasis": CENTERS,
    "ProductBasis": PARTS | {"scale": float},
    "RandomAdditiveBasis": SEEDED
    | {"kernel": Additive, "rows": Centring, "chances": Array, "scale": float},
    "RandomLaplaceBasis": FUNCTIONS | {"kernel": Kernel},
    "RectifiedBasis": FUNCTIONS | {"order": int},
    "RememberedBasis": {"inner": DenseBasis, "rows": int},
    "RootsBasis": SKETCHES,
    "SeenBasis": SIZED | {"size": int | None, "inner": RandomBasis, "kernel": Kernel, "atom": int},
    "SelectedBasis": SIZED
    | {"inner": RandomBasis, "chosen": NDArray[np.int64], "atom": int, "scales": Array},
    "SketchBasis": SKETCHES,
    "SumBasis": PARTS | {"turn": int, "scales": list[float]},
    "TabulatedBasis": SIZED | {"inner": DenseBasis, "few_outputs": int},
    "WhitenedBasis": {"size": int, "inner": DenseBasis, "jitter": float},
}
