# ruff: noqa: E501
"""Registry: the classes that a model file may name, and no others.

A class is known in files by its package and its name, "kernels.Gaussian": that it lives in
`bochner.kernels.radial` stands in the table below, never in a file. A new class is one word here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

MODULES = {
    "compute.bins.row_steps": "BinRecords",
    "compute.bins.segments": "Entries",
    "data.array_source": "ArraySource",
    "data.batch": "Batch",
    "data.files.schema": "Schema",
    "data.filling": "Filling",
    "data.mapping": "MappedRows",
    "data.principal_component_analysis": "PrincipalComponents",
    "data.row_normalization": "RowNormalization",
    "data.scaling": "Scaling",
    "data.warping": "Logarithm Ranks Warping",
    "estimators.additive_homogeneous": "AdditiveHomogeneous",
    "estimators.arc_cosine": "ArcCosine",
    "estimators.calibration": "Calibration",
    "estimators.costs": "Cost",
    "estimators.density_ratio": "DensityRatio",
    "estimators.density_ratio_course": "Course",
    "estimators.density_ratio_fit": "RatioFit",
    "estimators.fastfood": "Fastfood",
    "estimators.gaussian_process_setup": "GaussianProcessSetup",
    "estimators.histogram_fourier": "HistogramFourier",
    "estimators.kernel_classifier": "KernelClassifier",
    "estimators.kernel_gaussian_process": "KernelGaussianProcess",
    "estimators.kernel_novelty_detector": "KernelNoveltyDetector",
    "estimators.kernel_quantile_regressor": "KernelQuantileRegressor",
    "estimators.kernel_regressor": "KernelRegressor",
    "estimators.kernel_witness": "KernelWitness",
    "estimators.nystroem_map": "NystroemMap",
    "estimators.orthogonal_fourier": "OrthogonalFourier",
    "estimators.partial_whitening": "PartialWhitening",
    "estimators.plan": "Plan",
    "estimators.quasi_monte_carlo_fourier": "QuasiMonteCarloFourier",
    "estimators.random_binning": "RandomBinning",
    "estimators.random_fourier": "RandomFourier",
    "estimators.random_laplace": "RandomLaplace",
    "estimators.random_maclaurin": "RandomMaclaurin",
    "estimators.self_tuning": "Learned",
    "estimators.setup": "Setup",
    "estimators.tables": "Table",
    "estimators.targets": "Inliers Labels Numbers",
    "estimators.tensor_sketch": "TensorSketch",
    "estimators.two_sample": "TwoSampleTest",
    "features.binning.binning": "Binning",
    "features.binning.binning_basis": "BinningBasis BinningDiagnostics Grid",
    "features.centers.center_basis": "CenterBasis PrecomputedBasis",
    "features.centers.centers": "Centers",
    "features.centers.nystroem": "NystroemBasis NystroemFeatures",
    "features.centers.whitened_basis": "WhitenedBasis",
    "features.centring": "Centring",
    "features.codes.kept_columns": "RememberedBasis TabulatedBasis",
    "features.random.additive": "AdditiveBasis AdditiveHomogeneous RandomAdditiveBasis Waves",
    "features.random.angular": "Harmonics HarmonicsBasis Rectified RectifiedBasis",
    "features.random.combined": "ProductBasis ProductFeatures SeenBasis SeenFeatures SumBasis SumFeatures",
    "features.drawings": "Fastfood Orthogonal Plain QuasiMonteCarlo StructuredOrthogonal",
    "features.random.exponential_fourier": "ExponentialFourier ExponentialFourierBasis",
    "features.random.fourier": "Fourier FourierBasis PhaseBasis RandomPhase",
    "features.random.histogram_fourier": "AdditiveFeatures HistogramFourier Logarithms MappedRows Roots Unmapped",
    "features.random.leverage": "Leverage SelectedBasis",
    "features.random.maclaurin": "Degrees Maclaurin MaclaurinBasis",
    "features.random.process": "ProcessFeatures",
    "features.random.random_features": "RandomFeatures",
    "features.random.random_laplace": "RandomLaplace RandomLaplaceBasis",
    "features.random.sketch": "Lift RootsBasis Sketch SketchBasis",
    "kernels.angular": "ArcCosine Zonal",
    "kernels.categorical": "Delta Overlap",
    "kernels.composite.algebra": "GeneralProduct GeneralScaled GeneralSum Product Scaled Sum",
    "kernels.composite.column_scales": "GeneralStretched Stretched",
    "kernels.composite.mapped": "Mapped",
    "kernels.composite.on_columns": "OnColumns ShiftInvariantOnColumns",
    "kernels.exponentiated": "ExponentialSemigroup Exponentiated ReciprocalSemigroup Secant SkewedChiSquared",
    "kernels.given.function_kernel": "Precomputed",
    "kernels.histogram": "ChiSquared Hellinger Intersection JensenShannon",
    "kernels.inner_product": "DotProduct Exponential Polynomial",
    "kernels.radial": "Cauchy EuclideanLaplacian ExponentialPower Gaussian Laplacian Matern RationalQuadratic",
    "loop": "Training",
    "losses.density_dual": "DensityDual",
    "losses.epsilon_insensitive": "Absolute EpsilonInsensitive SquaredEpsilonInsensitive",
    "losses.hinge": "Hinge",
    "losses.huber": "Huber",
    "losses.logistic": "Logistic",
    "losses.one_class": "OneClass",
    "losses.quantile": "Quantile",
    "losses.softmax": "Softmax",
    "losses.squared": "Squared",
    "losses.squared_hinge": "SquaredHinge",
    "posterior.feature_posterior": "FeaturePosterior",
    "posterior.feature_sums": "FeatureSums",
    "posterior.function_posterior": "FunctionPosterior",
    "posterior.operator_posterior": "OperatorPosterior",
    "posterior.ridge": "Ridge",
    "posterior.units": "Units",
    "posterior.watch": "Watch",
    "problem": "Expansion Problem",
    "progress": "Evaluation Progress Reason",
    "solvers.averaged_gradient": "AveragedGradient AveragedGradientState",
    "solvers.averaged_weights": "AveragedWeights",
    "solvers.backfitting": "Backfitting",
    "solvers.backfitting_rows": "BentRows SquaredRows",
    "solvers.backfitting_state": "BackfittingState",
    "solvers.conjugate_directions": "ConjugateDirections",
    "solvers.conjugate_gradient": "ConjugateGradient ConjugateGradientState",
    "solvers.coordinate_descent": "CoordinateDescent",
    "solvers.coordinate_descent_state": "Active CoordinateDescentState",
    "solvers.coordinates": "Checked New Uniform",
    "solvers.direct": "Direct DirectState",
    "solvers.doubly_stochastic": "DoublyStochastic",
    "solvers.doubly_stochastic_state": "DoublyStochasticState",
    "solvers.eigenpro": "EigenPro",
    "solvers.eigenpro_state": "Constant EigenProState Temporary",
    "solvers.grid_descent": "FittedRows",
    "solvers.ledger": "Change Ledger",
    "solvers.momentum": "Momentum",
    "solvers.newton": "Newton",
    "solvers.newton_state": "Descent NewtonState Trial",
    "solvers.nystroem": "Nystroem",
    "solvers.preconditioner": "CenterPreconditioner FeaturePreconditioner Pace",
    "solvers.refinement": "Refinement",
    "solvers.solver": "Memo",
    "solvers.step_rules": "Plain Preconditioned",
    "spectra.spectrum": "Spectrum",
    "tuning.tuned": "Round Tuned",
    "tuning.tuning": "Tuning",
}


@cache
def modules() -> dict[str, tuple[str, str]]:
    """Return module and class of every name that a file may hold."""
    return {
        f"{module.partition('.')[0]}.{word}": (f"bochner.{module}", word)
        for module, words in MODULES.items()
        for word in words.split()
    }


def name_of(kind: type[Any]) -> str | None:
    """Return the name of a class in files, None if it is in none."""
    name = f"{kind.__module__.removeprefix('bochner.').partition('.')[0]}.{kind.__name__}"
    return name if modules().get(name) == (kind.__module__, kind.__name__) else None


def class_of(name: str) -> type[Any] | None:
    """Return the class of a name in a file, None if there is no such class."""
    place = modules().get(name)
    return None if place is None else getattr(import_module(place[0]), place[1])
