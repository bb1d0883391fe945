"""Exported models beside onnxruntime."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import bochner
from bochner import (
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
)
from bochner.features import (
    Binning,
    Centers,
    Fourier,
    KernelBasis,
    Leverage,
    NystroemFeatures,
    RandomPhase,
)
from bochner.kernels import Cauchy, Gaussian, Laplacian, Polynomial

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MACHINES = {
    "endless waves": KernelRegressor(solver="dsg", scale="standard"),
    "waves": KernelRegressor("gaussian", features=Fourier(64)),
    "phases": KernelRegressor("gaussian", features=RandomPhase(64), max_passes=5),
    "chosen waves": KernelRegressor("gaussian", features=Leverage(size=32)),
    "centres": KernelRegressor(),
    "laplacian": KernelRegressor("laplacian", features=Centers(40)),
    "stretched": KernelRegressor(2 * Gaussian(2.0).stretched([1.0, 2.0, 3.0]), alpha=0.01),
    "mean of two": KernelRegressor(
        0.5 * Laplacian(2.0).stretched([1.0, 2.0, 3.0]) + 0.5 * Gaussian(2.0), alpha=0.01
    ),
    "nystroem": KernelRegressor("gaussian", features=NystroemFeatures(12)),
    "quantiles": KernelQuantileRegressor([0.1, 0.9], features=Fourier(32), max_passes=5),
    "bins": KernelRegressor(features=Binning(12), scale="range"),
    "one grid": KernelRegressor(features=Binning(1)),
    "bins of a stream": KernelRegressor("laplacian", features=Binning(6), solver="averaged"),
    "quantiles on bins": KernelQuantileRegressor([0.1, 0.9], features=Binning(6)),
}
PROCESSES = {
    "all rows": {},
    "centres": {"features": Centers(40), "scale": "standard"},
    "polynomial": {"kernel": Polynomial(2, 1.0, 0.1), "features": Centers(30)},
    "waves": {"kernel": Gaussian(2.0), "features": Fourier(48)},
    "bins": {"kernel": "laplacian", "features": Binning(4)},
}
LOSSES = ["softmax", "logistic", "hinge", "squared_hinge", "squared"]
MAPS = ["Fastfood", "NystroemMap", "OrthogonalFourier", "RandomFourier"]


def exported(model, X, tmp_path):
    bochner.to_onnx(model, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def in_double(model):
    """Let a function of centres compute in double precision, as its graph does."""
    if isinstance(model.expansion_.basis, KernelBasis):
        model.expansion_ = replace(model.expansion_, in_double=True)
    return model


def single(X):
    return X.astype(np.float32)


@pytest.mark.parametrize("name", MACHINES)
def test_numbers_are_those_of_the_model(regression, name, tmp_path):
    X, y = regression
    model = MACHINES[name].set_params(random_state=0).fit(X, y)
    found = exported(model, single(X), tmp_path)["predictions"]
    wanted = in_double(model).predict(single(X).astype(np.float64))
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, atol=1e-5)


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("columns", [1, 3])
def test_deviations_are_those_of_the_process_with_and_without_the_noise(
    regression, name, columns, tmp_path
):
    X, y = single(regression[0][:150, :columns]), regression[1][:150]
    model = KernelGaussianProcess(**PROCESSES[name], random_state=0)
    model.fit(X.astype(np.float64), np.column_stack([y, 5 - 2 * y]))
    rows = np.concatenate([X, 3 * X])
    found = exported(model, rows, tmp_path)
    mean, deviation = model.predict(rows.astype(np.float64), return_std=True)
    noisy = model.predict(rows.astype(np.float64), return_std=True, noise=True)[1]
    np.testing.assert_allclose(found["predictions"], mean, atol=1e-5)
    np.testing.assert_allclose(found["deviations"], deviation, atol=1e-5)
    np.testing.assert_allclose(found["deviations_with_noise"], noisy, atol=1e-5)


@pytest.mark.parametrize("variance", ["operator", "functions"])
def test_other_kinds_of_variance_have_what_is_known_before_the_rows(regression, variance, tmp_path):
    X, y = single(regression[0][:100]), regression[1][:100]
    features = Fourier(32) if variance == "operator" else "auto"
    model = KernelGaussianProcess(Gaussian(2.0), 0.1, variance, features=features, random_state=0)
    found = exported(model.fit(X, y), X, tmp_path)
    mean, deviation = model.predict(X.astype(np.float64), return_std=True, noise=True)
    np.testing.assert_allclose(found["predictions"][:, 0], mean, atol=1e-5)
    assert ("deviations" in found) == (variance == "operator")
    if variance == "operator":  # whose model computes in single precision
        np.testing.assert_allclose(found["deviations_with_noise"][:, 0], deviation, atol=1e-4)


def test_bins_of_labels_and_of_missing_numbers(classes, tmp_path):
    X, y = classes
    X = X.copy()
    X[::7, 0] = np.nan
    model = KernelClassifier(features=Binning(8), random_state=0).fit(X, y)
    found = exported(model, single(X), tmp_path)
    assert found["labels"].tolist() == model.predict(single(X)).tolist()
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(single(X)), atol=1e-5)
    rows = single(classes[0])
    features = bochner.RandomBinning(grids=3, random_state=0).fit(rows)
    wanted = features.transform(rows).toarray()
    np.testing.assert_allclose(exported(features, rows, tmp_path)["features"], wanted)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("two", [False, True])
def test_labels_and_probabilities_are_those_of_the_model(classes, loss, two, tmp_path):
    X, y = classes
    y = (y == "oak").astype(np.int64) if two else y
    settings = {"features": Fourier(64), "early_stopping": True, "random_state": 0}
    model = KernelClassifier(Gaussian(2.0), loss, **settings)
    found = exported(model.fit(X, y), single(X), tmp_path)
    assert found["labels"].tolist() == model.predict(single(X)).tolist()
    wanted = model.predict_proba(single(X).astype(np.float64))
    np.testing.assert_allclose(found["probabilities"], wanted, atol=1e-5)


@pytest.mark.parametrize("name", MAPS)
def test_features_are_those_of_the_map(regression, name, tmp_path):
    X = single(regression[0])
    model = getattr(bochner, name)(size=12, random_state=0).fit(X)
    found = exported(model, X, tmp_path)["features"]
    np.testing.assert_allclose(found, model.transform(X), atol=1e-5)


def test_novelties_and_missing_numbers(regression, tmp_path):
    X = regression[0].copy()
    X[5, 1] = np.nan
    model = KernelNoveltyDetector(random_state=0, max_passes=3).fit(X)
    found = exported(model, single(X), tmp_path)
    wanted = model.decision_function(single(X).astype(np.float64))
    clear = np.abs(wanted) > 1e-5
    assert (found["labels"].ravel() == model.predict(single(X)))[clear].all()
    np.testing.assert_allclose(found["scores"].ravel(), wanted, atol=1e-5)


def test_what_is_no_product_of_matrices_is_refused(regression, tmp_path):
    X, y = regression
    frame = pd.DataFrame(X.round()).astype({0: str})
    for model, rows, match in (
        (KernelRegressor("exponential", features="random"), X, "Fourier features, centres or bins"),
        (KernelRegressor(Cauchy(1.0), features=Centers(20)), X, "Gaussian, Laplacian"),
        (KernelRegressor(features=Binning(8)), frame, "columns of text"),
        (KernelGaussianProcess("cauchy"), X, "Gaussian, Laplacian"),
        (LinearRegression(), X, "a machine or a transformer"),
    ):
        with pytest.raises(ValueError, match=match):
            bochner.to_onnx(model.fit(rows, y), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_large_weights_are_exact_in_the_export_though_not_in_the_model(regression, tmp_path):
    X, y = single(regression[0]), regression[1]
    model = KernelRegressor(Polynomial(2, 1.0, 0.1), features=Centers(50), random_state=0).fit(X, y)
    basis, rows = model.expansion_.basis, X.astype(np.float64)
    rows = rows if basis.centring.centre is None else rows - basis.centring.centre
    kernel = (basis.kernel.factor * rows @ basis.centers.T.astype(np.float64) + 1.0) ** 2
    exact = kernel @ model.expansion_.weights.astype(np.float64) + model.expansion_.intercept
    found = exported(model, X, tmp_path)["predictions"]
    np.testing.assert_allclose(found, exact, atol=1e-8)
