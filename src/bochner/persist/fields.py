"""Fields: the parts of classes that are no dataclasses, and of fitted estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import DataSource, Filling, Scaling, Schema, Warping
from bochner.data.batch import Batch
from bochner.estimators.automatic.plan import Plan
from bochner.estimators.automatic.scales import Learned
from bochner.estimators.fitting.setup import Setup
from bochner.estimators.gaussian_process.setup import GaussianProcessSetup
from bochner.estimators.inputs.tables import Table
from bochner.estimators.machines.calibration import Calibration
from bochner.estimators.two_samples.streaming_ratio_fit import Course
from bochner.features import Basis, BinningDiagnostics, DenseBasis, Drawing, RandomBasis
from bochner.features.binning.binning_basis import Grid
from bochner.features.centers.center_basis import CenterBasis
from bochner.features.centring import Centring
from bochner.features.random.additive import Waves
from bochner.features.random.maclaurin import Degrees
from bochner.features.random.sketch import Lift
from bochner.kernels import Kernel
from bochner.kernels.histogram import Additive
from bochner.losses import Loss
from bochner.posterior.feature_posterior import FeatureSums
from bochner.posterior.posterior import Posterior
from bochner.posterior.units import Units
from bochner.problem import Expansion
from bochner.spectra.spectrum import Spectrum
from bochner.training.loop import Training
from bochner.tuning import Tuned

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
TRANSFORMS = Setup | GaussianProcessSetup | Units

FIELDS: dict[str, Hints] = {
    "AdditiveBasis": SIZED | {"kernel": Additive, "rows": Centring, "waves": Waves},
    "ArraySource": {"rows": Batch},
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
    "TransformedRows": {"source": DataSource, "once": bool, "transform": TRANSFORMS},
    "WhitenedBasis": {"size": int, "inner": DenseBasis, "jitter": float},
}

# What a fitted estimator may have beside its parameters.
ATTRIBUTES: Hints = {
    "_course": Course | None,
    "_digest": bytes | None,
    "_filling": Filling,
    "_learned": Learned | None,
    "_noises": NDArray[np.float64],
    "_setup": Setup | GaussianProcessSetup,
    "_shrunk": NDArray[np.float64],
    "_sums": FeatureSums | None,
    "_table": Table | None,
    "_training": Training | None,
    "_units": Units,
    "_unfinished": bool,
    "_used": float,
    "alpha_": float,
    "basis_": Basis,
    "binning_": BinningDiagnostics,
    "calibration_": Calibration,
    "classes_": Array,
    "coef_": Array,
    "expansion_": Expansion,
    "feature_names_in_": Array,
    "history_": dict[str, list[Any]],
    "intercept_": Array,
    "kernel_": Kernel,
    "kl_divergence_": float,
    "loss_": Loss,
    "n_features_in_": int,
    "n_features_used_": int,
    "n_iter_": int,
    "noise_": Any,
    "plan_": Plan,
    "posterior_": Posterior,
    "relevance_": NDArray[np.float64],
    "scaling_": Scaling | None,
    "schema_": Schema,
    "spectrum_": Spectrum,
    "stopped_because_": str,
    "tuning_": Tuned,
    "warping_": Warping | None,
}
