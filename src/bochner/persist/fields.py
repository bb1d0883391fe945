"""Fields: the parts of classes that are no dataclasses, and of fitted estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data import DataSource, Filling, Scaling, Schema, Warping
from bochner.data.batch import Batch
from bochner.estimators.automatic.plan import Plan
from bochner.estimators.automatic.scales import TunedKernel
from bochner.estimators.fitting.calibration import Calibration
from bochner.estimators.fitting.setup import Setup
from bochner.estimators.gaussian_process.setup import GaussianProcessSetup
from bochner.estimators.inputs.tables import Table
from bochner.estimators.two_samples.streaming_ratio_fit import Course
from bochner.features import Basis, BinningDiagnostics
from bochner.kernels import Kernel
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

TRANSFORMS = Setup | GaussianProcessSetup | Units

FIELDS: dict[str, Hints] = {
    "ArraySource": {"rows": Batch},
    "MappedRows": {"source": DataSource, "once": bool, "transform": TRANSFORMS},
}

# What a fitted estimator may have beside its parameters.
ATTRIBUTES: Hints = {
    "_course": Course | None,
    "_digest": bytes | None,
    "_filling": Filling,
    "_learned": TunedKernel | None,
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
