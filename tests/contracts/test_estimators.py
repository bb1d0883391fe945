"""What scikit-learn asks of every estimator."""

import pytest
from sklearn.base import TransformerMixin
from sklearn.utils.estimator_checks import parametrize_with_checks

from bochner import (
    AdditiveHomogeneous,
    ArcCosine,
    Fastfood,
    HistogramFourier,
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
    NystroemMap,
    OrthogonalFourier,
    PartialWhitening,
    QuasiMonteCarloFourier,
    RandomBinning,
    RandomFourier,
    RandomLaplace,
    RandomMaclaurin,
    TensorSketch,
)
from bochner.features import Binning, Fourier
from bochner.solvers import CoordinateDescent

SOLVERS = ["dsg", "cdsg"]  # the others share all that these checks look at
ON_BINS = [
    KernelRegressor(features=Binning(32)),
    KernelRegressor(features=Binning(8), solver=CoordinateDescent("l2"), alpha=1e-4),
    KernelRegressor(features=Binning(32), solver="averaged"),
    KernelClassifier(features=Binning(32)),
    KernelClassifier(features=Binning(32), loss="squared"),
    KernelClassifier(features=Binning(8), loss="logistic", solver="coordinate", alpha=1e-3),
    KernelClassifier(features=Binning(32), loss="hinge"),
]
ON_CENTERS = [
    KernelRegressor(features="centers", solver="eigenpro"),
    KernelClassifier(solver="nystroem"),
]
OF_QUANTILES = [
    KernelQuantileRegressor(features=Binning(8)),
    KernelRegressor(loss="quantile", features=Binning(8)),
]
PROCESSES = [
    KernelGaussianProcess(),
    KernelGaussianProcess("gaussian", features=Fourier(64)),
    KernelGaussianProcess(variance="operator", features=Fourier(16), max_passes=20),
    KernelGaussianProcess(variance="functions"),
]
REPETITION = (
    "batches, blocks of features and the order of the rows go by the number of rows: a row of "
    "weight 2 and the same row twice are two different fits, close but not equal"
)
BANDWIDTH = (
    "the median bandwidth is taken from the rows without their weights, and streams go row by row; "
    "with a given bandwidth and a solver of passes both fits agree (test_newton.py)"
)
COLUMNS = "predictions have a column for each quantile, where the checks expect the shape of y"
CHECKS_OF_SHAPE = [
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_regressors_train",
    "check_regressor_multioutput",
]


def expected_failures(estimator):
    if isinstance(estimator, TransformerMixin):
        return {}
    quantiles = isinstance(estimator, KernelQuantileRegressor)
    return weight_failures(estimator) | dict.fromkeys(CHECKS_OF_SHAPE if quantiles else (), COLUMNS)


def weight_failures(estimator):
    reason = REPETITION if estimator.features == "fourier" else BANDWIDTH
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        Machine(solver=solver)
        for Machine in (KernelRegressor, KernelClassifier)
        for solver in SOLVERS
    ]
    + ON_BINS
    + ON_CENTERS
    + PROCESSES
    + OF_QUANTILES
    + [KernelNoveltyDetector(features=Fourier(256))]
    + [NystroemMap(), NystroemMap(size=4, choice="pivoted")]
    + [PartialWhitening(), PartialWhitening(2), RandomBinning(grids=8), RandomFourier()]
    + [ArcCosine(size=64), RandomMaclaurin(size=64), TensorSketch(size=64)]
    + [Fastfood(size=64), OrthogonalFourier(size=64), QuasiMonteCarloFourier(size=64)]
    + [AdditiveHomogeneous(size=32), HistogramFourier(size=32), RandomLaplace(size=32)],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
