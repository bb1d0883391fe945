"""The classes that a model file may hold; a file that names any other class is refused.

A file names a class by its package and its name, "kernels.Gaussian". The module that defines it,
`bochner.kernels.radial`, is in the table below and never in a file, so a class may move within its
package. A new class is one word in this table: it declares its fields as a dataclass, and if they
must agree with each other it is `Validated`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

MODULES = {
    "compute.bins.row_steps": "BinRecords",
    "compute.bins.segments": "Entries",
    "data.batch": "Batch",
    "data.files.schema.schema": "NumberedNames Schema",
    "data.memory_sources": "ArraySource",
    "data.transforms.missing": "Filling",
    "data.transforms.principal_components": "PrincipalComponents",
    "data.transforms.scaling": "RowNormalization Scaling",
    "data.transforms.transform": "TransformedRows",
    "data.transforms.warping": "Logarithm Ranks Warping",
    "estimators.automatic.plan": "Cost Plan",
    "estimators.automatic.scales": "TunedKernel",
    "estimators.fitting.setup": "Setup",
    "estimators.gaussian_process.gaussian_process": "KernelGaussianProcess",
    "estimators.gaussian_process.setup": "GaussianProcessSetup",
    "estimators.inputs.tables": "Table",
    "estimators.inputs.targets": "Inliers Labels Numbers",
    "estimators.fitting.calibration": "Calibration",
    "estimators.machines.classifier": "KernelClassifier",
    "estimators.machines.novelty": "KernelNoveltyDetector",
    "estimators.machines.quantile": "KernelQuantileRegressor",
    "estimators.machines.regressor": "KernelRegressor",
    "estimators.transformers.binning": "RandomBinning",
    "estimators.transformers.fourier": (
        "Fastfood OrthogonalFourier QuasiMonteCarloFourier RandomFourier"
    ),
    "estimators.transformers.histogram": "AdditiveHomogeneous HistogramFourier RandomLaplace",
    "estimators.transformers.inner_product": "ArcCosine RandomMaclaurin TensorSketch",
    "estimators.transformers.nystroem": "NystroemMap",
    "estimators.transformers.whitening": "PartialWhitening",
    "estimators.two_samples.density_ratio": "DensityRatio",
    "estimators.two_samples.ratio_fit": "RatioFit StreamingRatioFit",
    "estimators.two_samples.two_sample_test": "KernelWitness TwoSampleTest",
    "features.binning.binning": "Binning",
    "features.binning.binning_basis": "BinningBasis BinningDiagnostics Grid",
    "features.centers.center_basis": "CenterBasis PrecomputedBasis",
    "features.centers.centers": "Centers",
    "features.centers.nystroem": "NystroemBasis NystroemFeatures",
    "features.centers.whitened_basis": "WhitenedBasis",
    "features.centring": "Centring",
    "features.codes.kept_columns": "RememberedBasis TabulatedBasis",
    "features.drawings": "Fastfood Orthogonal Plain QuasiMonteCarlo StructuredOrthogonal",
    "features.random.additive": "AdditiveBasis AdditiveHomogeneous RandomAdditiveBasis Waves",
    "features.random.angular": "Harmonics HarmonicsBasis Rectified RectifiedBasis",
    "features.random.combined": "CombinedFeatures ProductBasis SumBasis TransformedRowsBasis",
    "features.random.fourier": (
        "ExponentialFourier ExponentialFourierBasis Fourier FourierBasis PhaseBasis RandomPhase"
    ),
    "features.random.exponentiated": (
        "AdditiveFeatures HistogramFourier Logarithms MappedCentring RandomLaplace "
        "RandomLaplaceBasis Roots Unmapped"
    ),
    "features.random.leverage": "Leverage SelectedBasis",
    "features.random.maclaurin": "Degrees Maclaurin MaclaurinBasis",
    "features.random.process": "ProcessFeatures",
    "features.random.random_features": "RandomFeatures",
    "features.random.sketch": "Lift RootsBasis Sketch SketchBasis",
    "kernels.angular": "ArcCosine Zonal",
    "kernels.anova": "Anova",
    "kernels.categorical": "Delta Overlap",
    "kernels.composite.algebra": "GeneralProduct GeneralScaled GeneralSum Product Scaled Sum",
    "kernels.composite.transformed_rows": (
        "ColumnScaled GeneralColumnScaled Mapped OnColumns ShiftInvariantOnColumns"
    ),
    "kernels.exponentiated": (
        "ExponentialSemigroup Exponentiated ReciprocalSemigroup Secant SkewedChiSquared"
    ),
    "kernels.given": "Precomputed",
    "kernels.histogram": "ChiSquared Hellinger Intersection JensenShannon",
    "kernels.inner_product": "DotProduct Exponential Polynomial",
    "kernels.radial": (
        "Cauchy EuclideanLaplacian ExponentialPower Gaussian Laplacian Matern RationalQuadratic"
    ),
    "losses.classification": "Hinge Logistic Softmax SquaredHinge",
    "losses.densities": "DensityDual OneClass",
    "losses.smoothed_absolute": (
        "Absolute EpsilonInsensitive Huber Quantile SquaredEpsilonInsensitive"
    ),
    "losses.squared": "Squared",
    "posterior.feature_posterior": "FeaturePosterior FeatureSums",
    "posterior.ridge": "FitLimits Ridge",
    "posterior.ridge_posteriors": "FunctionPosterior OperatorPosterior",
    "posterior.units": "Units",
    "problem": "Expansion Problem",
    "solvers.doubly_stochastic.averaged_weights": "AveragedWeights",
    "solvers.binning.averaged_gradient": "AveragedGradient AveragedGradientState",
    "solvers.binning.backfitting": "Backfitting BackfittingState SmoothedRows SquaredRows",
    "solvers.binning.coordinate_descent": (
        "Active CoordinateDescent CoordinateDescentState FittedRows"
    ),
    "solvers.doubly_stochastic.coordinates": "Checked New Uniform",
    "solvers.doubly_stochastic.doubly_stochastic": "DoublyStochastic DoublyStochasticState",
    "solvers.doubly_stochastic.lazy_predictions": "Change LazyPredictions",
    "solvers.doubly_stochastic.refinement": "Refinement",
    "solvers.doubly_stochastic.step_rules": "PlainStep Preconditioned",
    "solvers.eigenpro.eigenpro": "EigenPro",
    "solvers.eigenpro.preconditioner": "CenterPreconditioner FeaturePreconditioner Momentum Pace",
    "solvers.eigenpro.spaces": "Constant EigenProState Temporary",
    "solvers.passes.conjugate_gradient": "ConjugateGradient ConjugateGradientState",
    "solvers.passes.direct": "Direct DirectState",
    "solvers.passes.linear_system": "ConjugateDirections",
    "solvers.passes.newton": "Descent Newton NewtonState Trial",
    "solvers.passes.nystroem": "Nystroem",
    "solvers.passes.smo": "SMO SMOState",
    "solvers.solver": "PredictionCache",
    "spectra.spectrum": "Spectrum",
    "training.loop": "Training",
    "training.progress": "Evaluation Progress Reason",
    "tuning.search": "Round Tuned",
    "tuning.tuning": "Tuning",
}

# Fields of estimators in files of earlier versions that are computed now.
REMOVED_FIELDS = {"coef_"}
# Parameters of estimators that files of earlier versions lack; they had what is now the default.
NEW_PARAMETERS = {"quality"}
# The fields of a class in files of earlier versions that have another name now.
OLD_FIELDS = {
    "estimators.GaussianProcessSetup": {"recipe": "parameters"},
    "estimators.Setup": {"recipe": "parameters"},
    "estimators.StreamingRatioFit": {"recipe": "parameters"},
    "posterior.FeatureSums": {"mass": "total_weight"},
    "solvers.ConjugateGradientState": {"mass": "total_weight"},
    "solvers.Constant": {"mass": "weight_sum"},
    "solvers.Descent": {"mass": "total_weight"},
    "solvers.DirectState": {"mass": "row_weights"},
    "solvers.DoublyStochasticState": {"ledger": "row_predictions"},
    "solvers.FittedRows": {"mass": "total_weight"},
    "solvers.SMOState": {"mass": "row_weights"},
    "solvers.SmoothedRows": {"mass": "total_weight"},
    "solvers.SquaredRows": {"mass": "total_weight", "masses": "bin_weights"},
    "solvers.Temporary": {"reach": "at_centers"},
    "solvers.Trial": {"mass": "total_weight"},
    "training.Training": {
        "forgotten": "rows_dropped",
        "levels": "smaller_losses",
        "memo": "prediction_cache",
    },
}
# Names in files of earlier versions, and the present names of these classes.
OLD_NAMES = {
    "estimators.Learned": "estimators.TunedKernel",
    "kernels.GeneralStretched": "kernels.GeneralColumnScaled",
    "kernels.Stretched": "kernels.ColumnScaled",
    "features.MappedRows": "features.MappedCentring",
    "features.ProductFeatures": "features.CombinedFeatures",
    "features.SeenBasis": "features.TransformedRowsBasis",
    "features.SeenFeatures": "features.CombinedFeatures",
    "features.SumFeatures": "features.CombinedFeatures",
    "estimators.Course": "estimators.StreamingRatioFit",
    "data.MappedRows": "data.TransformedRows",
    "loop.Training": "training.Training",
    "posterior.Watch": "posterior.FitLimits",
    "progress.Evaluation": "training.Evaluation",
    "progress.Progress": "training.Progress",
    "progress.Reason": "training.Reason",
    "solvers.BentRows": "solvers.SmoothedRows",
    "solvers.Ledger": "solvers.LazyPredictions",
    "solvers.Memo": "solvers.PredictionCache",
    "solvers.Plain": "solvers.PlainStep",
}


@cache
def modules() -> dict[str, tuple[str, str]]:
    """Return the module and class name behind every name that a file may hold."""
    return {
        f"{module.partition('.')[0]}.{word}": (f"bochner.{module}", word)
        for module, words in MODULES.items()
        for word in words.split()
    }


def name_of(kind: type[Any]) -> str | None:
    """Return the name of a class in files, None if files do not hold it."""
    name = f"{kind.__module__.removeprefix('bochner.').partition('.')[0]}.{kind.__name__}"
    return name if modules().get(name) == (kind.__module__, kind.__name__) else None


def present_field(kind: type[Any], name: str) -> str:
    """Return the present name of a field that a file holds."""
    return OLD_FIELDS.get(name_of(kind) or "", {}).get(name, name)


def class_of(name: str) -> type[Any] | None:
    """Return the class that a file names, None if there is no such class."""
    place = modules().get(OLD_NAMES.get(name, name))
    return None if place is None else getattr(import_module(place[0]), place[1])
