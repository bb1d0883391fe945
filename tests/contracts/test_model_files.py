"""What model files promise for every estimator, basis, solver and component."""

import inspect
import pickle
import pkgutil
import sys
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, TypeVar

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from safetensors import safe_open
from sklearn.base import BaseEstimator, clone
from typing_extensions import TypeAliasType

import bochner
from bochner import (
    DensityRatio,
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
    kernels,
)
from bochner.component import Component
from bochner.estimators.inputs.targets import Targets
from bochner.features import Basis, Binning, Centers, Drawing, FeatureMap, Fourier
from bochner.persist.checks import has_type
from bochner.persist.encoding import state_of
from bochner.persist.registry import MODULES, OLD_FIELDS, class_of, modules, name_of
from bochner.records import Validated, require_sound
from bochner.solvers import Solver, State

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

HELD_BY_NO_FILE = {  # abstract in all but name, of Python functions, or of one fit only
    "Component",
    "FunctionKernel",
    "Indicators",
    "KernelAlgebra",
    "KernelMultiple",
    "KernelOfScaledColumns",
    "KernelPair",
    "ProcessBasis",
    "RandomFunctionMap",
    "RandomProcess",
    "Spectral",
    "State",
    "Summation",
    "SummationState",
    "SystemState",
    "WaveMap",
}
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4))
y = np.sin(2 * X[:, 0]) + X[:, 1]
HISTOGRAMS = np.abs(X) / np.abs(X).sum(axis=1, keepdims=True)
LABELS = np.array(["ash", "beech", "oak"])[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0)]
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(tree=LABELS)
KERNELS = {  # others take a Gaussian kernel
    "additive_homogeneous": kernels.ChiSquared(),
    "binning": kernels.Laplacian(2.0),
    "exponential_fourier": kernels.Exponential(3.0),
    "harmonics": kernels.Zonal(),
    "histogram_fourier": kernels.Exponentiated(bandwidth=1.0),
    "maclaurin": kernels.Exponential(3.0),
    "random_laplace": kernels.ReciprocalSemigroup(1.0),
    "rectified": kernels.ArcCosine(),
    "tensor_sketch": kernels.Polynomial(2, 1.0, 0.1),
    "random": kernels.Gaussian(3.0) * kernels.ArcCosine() + kernels.ArcCosine().on([0, 1]),
}
ON_HISTOGRAMS = {"additive_homogeneous", "histogram_fourier", "random_laplace"}
ON_BINS = {"averaged", "backfitting", "coordinate"}
HISTOGRAM_MAPS = {"AdditiveHomogeneous", "HistogramFourier", "RandomLaplace"}
MAPS = [
    name
    for name in bochner.__all__
    if inspect.isclass(getattr(bochner, name)) and hasattr(getattr(bochner, name), "transform")
]


def of_solver(name):
    chosen = Binning(16) if name in ON_BINS else "auto"
    options = {"features": chosen, "max_passes": 2, "warm_start": True, "random_state": 0}
    return KernelRegressor(solver=name, **options), X, y


def of_map(name):
    chosen = FeatureMap.resolve(name)
    if "size" in chosen.get_params(deep=False):
        chosen.set_params(size=32)
    kernel = KERNELS.get(name, kernels.Gaussian(2.0))
    model = KernelRegressor(kernel, features=chosen, max_passes=2, random_state=0)
    return model, HISTOGRAMS if name in ON_HISTOGRAMS else X, y


def of_drawing(name):
    return KernelRegressor("gaussian", features=Fourier(32, name), random_state=0), X, y


def of_transformer(name):
    kind = getattr(bochner, name)
    return kind(), HISTOGRAMS if name in HISTOGRAM_MAPS else X, None


OTHERS = {
    "softmax": (KernelClassifier(scale="standard", random_state=0), X, LABELS),
    "hinge on bins": (KernelClassifier(loss="hinge", features=Binning(8)), X, LABELS),
    "eigenpro of classes": (KernelClassifier(solver="eigenpro", random_state=0), X, LABELS),
    "true or false": (KernelClassifier(random_state=0), X, y > 0),
    "frame": (KernelRegressor(features=Binning(8), random_state=0), FRAME, y),
    "frame of classes": (KernelClassifier(features=Binning(8), random_state=0), FRAME, y > 0),
    "sparse": (KernelRegressor(random_state=0), sp.csr_array(X * (X > 0)), y),
    "quantiles": (KernelQuantileRegressor([0.1, 0.9], random_state=0), X, y),
    "quantiles on bins": (KernelQuantileRegressor([0.1, 0.9], features=Binning(8)), X, y),
    "novelty": (KernelNoveltyDetector(max_passes=1, random_state=0), X, None),
    "process": (KernelGaussianProcess(), X, y),
    "process on waves": (KernelGaussianProcess("gaussian", features=Fourier(32)), X, y),
    "process of functions": (KernelGaussianProcess(variance="functions"), X, y),
    "learned scales": (KernelRegressor(scales="learn", random_state=0), X, y),
    "learned bandwidth": (KernelRegressor(kernels.Gaussian("auto"), random_state=0), X, y),
    "precomputed": (KernelRegressor("precomputed"), kernels.Gaussian(1.0).matrix(X, X), y),
    "given centres": (KernelRegressor(features=Centers(given=X[:9]), solver="nystroem"), X, y),
    "random state": (KernelRegressor(features=Binning(8)), X, y),
    "outputs": (KernelRegressor(random_state=0, max_passes=2), X, np.stack([y, -y], axis=1)),
    "mixture": (
        KernelRegressor(kernels.Gaussian(2.0).on([0]) + 2 * kernels.Laplacian(2.0), random_state=0),
        X,
        y,
    ),
}
OTHERS["random state"][0].random_state = np.random.RandomState(3)
CASES = {
    **{f"solver {name}": (of_solver, name) for name in sorted(Solver.registry)},
    **{f"map {name}": (of_map, name) for name in sorted(FeatureMap.registry)},
    **{f"drawing {name}": (of_drawing, name) for name in sorted(Drawing.registry)},
    **{f"transformer {name}": (of_transformer, name) for name in MAPS},
    **{name: (OTHERS.get, name) for name in OTHERS},
}
every_case = pytest.mark.parametrize("case", CASES)


def fitted(case):
    make, name = CASES[case]
    model, rows, targets = make(name)
    return clone(model).fit(rows, targets), rows


def outputs(model, rows):
    methods = ("predict", "predict_proba", "decision_function", "score_samples", "transform")
    return {name: getattr(model, name)(rows) for name in methods if hasattr(model, name)}


def assert_same(one, other, path=""):
    """Compare all that two models are made of, to the last bit and the order of memory."""
    assert type(one) is type(other), path
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), path
        assert one.flags.c_contiguous == other.flags.c_contiguous, path
        assert one.dtype == object or one.tobytes() == other.tobytes(), path
        assert one.dtype != object or one.tolist() == other.tolist(), path
    elif sp.issparse(one):
        assert_same([one.data, one.indices], [other.data, other.indices], path)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), path
        for place, parts in enumerate(zip(one, other, strict=True)):
            assert_same(*parts, f"{path}[{place}]")
    elif isinstance(one, dict):
        assert list(one) == list(other), path
        for key in one:
            assert_same(one[key], other[key], f"{path}[{key}]")
    elif isinstance(one, np.random.RandomState):
        assert_same(one.get_state(), other.get_state(), path)
    elif type(one).__module__.startswith("bochner"):
        assert_same(state_of(one), state_of(other), f"{path}.{type(one).__name__}")
    else:
        assert one == other or one != one, path


@every_case
def test_a_saved_model_is_the_same_in_every_bit(case, tmp_path):
    model, rows = fitted(case)
    bochner.save(model, tmp_path / "model")
    loaded = bochner.load(tmp_path / "model")
    assert_same(outputs(model, rows), outputs(loaded, rows))
    # A pickle leaves out what a file leaves out: the rows of a precomputed kernel, unused bins.
    assert_same(pickle.loads(pickle.dumps(model)), loaded)


def test_a_density_ratio_goes_on_from_its_file(tmp_path):
    model = DensityRatio(random_state=0, size=32).partial_fit(X, X + 1)
    bochner.save(model, tmp_path / "model")
    loaded = bochner.load(tmp_path / "model")
    assert_same(*(one.partial_fit(X, X + 1).predict(X) for one in (model, loaded)))


def test_a_test_and_its_witness_are_the_same(tmp_path):
    test = bochner.two_sample_test(X, X + 1, random_state=0, size=32)
    bochner.save(test, tmp_path / "test")
    loaded = bochner.load(tmp_path / "test")
    assert loaded.pvalue == test.pvalue
    assert_same(loaded.witness.predict(X), test.witness.predict(X))


def concrete(*families):
    for module in pkgutil.walk_packages(bochner.__path__, "bochner."):
        if module.name.endswith("__main__") or ".cli" in module.name:
            continue
        for kind in vars(import_module(module.name)).values():
            found = inspect.isclass(kind) and issubclass(kind, families)
            if found and kind.__module__ == module.name and not inspect.isabstract(kind):
                yield kind


def test_every_class_that_a_model_is_made_of_is_in_the_registry():
    known = concrete(Component, Basis, State, Targets)
    missing = {kind.__name__ for kind in known if name_of(kind) is None}
    assert missing == HELD_BY_NO_FILE
    estimators = [getattr(bochner, name) for name in bochner.__all__]
    for kind in estimators:
        if inspect.isclass(kind) and issubclass(kind, BaseEstimator):
            assert name_of(kind) is not None


def test_the_type_behind_an_alias_is_the_one_that_counts():
    kind = TypeVar("kind")
    alias = TypeAliasType("alias", np.ndarray[Any, np.dtype[kind]], type_params=(kind,))
    assert has_type(np.ones(2), alias[np.float64])
    assert has_type(None, alias[np.float64] | None)
    assert not has_type(np.ones(2), alias[np.int64])
    assert not has_type("text", alias)


def test_every_name_in_the_registry_is_that_of_its_class():
    for name in modules():
        assert name_of(class_of(name)) == name


def test_a_field_of_an_earlier_version_is_found_by_its_present_name():
    for name, renamed in OLD_FIELDS.items():
        present = {one.name for one in fields(class_of(name))}
        assert present >= set(renamed.values())
        assert not present & renamed.keys()


@dataclass
class Interval(Validated):
    low: float
    values: np.ndarray[Any, np.dtype[np.float64]]
    steps: tuple[int, ...] = ()

    def validate(self):
        require_sound(bool((self.values >= self.low).all()), "a value lies below it")


@pytest.fixture
def known_interval(monkeypatch):
    monkeypatch.setattr(Interval, "__module__", "bochner.kernels.interval")
    monkeypatch.setitem(sys.modules, "bochner.kernels.interval", sys.modules[__name__])
    monkeypatch.setitem(MODULES, "kernels.interval", "Interval")
    modules.cache_clear()
    yield
    modules.cache_clear()


def test_a_new_class_is_one_word_in_the_registry(known_interval, tmp_path):
    kept = Interval(0.5, np.array([1.0, 2.0]), (3, 4))
    bochner.save(KernelRegressor(alpha=kept), tmp_path / "model")
    assert_same(bochner.load(tmp_path / "model").alpha, kept)


def test_a_new_class_is_checked_without_a_word_elsewhere(known_interval, tmp_path):
    with pytest.raises(bochner.ModelFileError, match="Interval in the file is invalid: a value"):
        bochner.save(KernelRegressor(alpha=Interval(5.0, np.array([1.0]))), tmp_path / "model")
    with pytest.raises(ValueError, match="'low' of Interval cannot be of type str"):
        bochner.save(KernelRegressor(alpha=Interval("a", np.array([1.0]))), tmp_path / "model")


def test_every_class_with_a_check_of_its_own_is_checked():
    kinds = [class_of(name) for name in modules()]
    checked = [kind for kind in kinds if inspect.isfunction(getattr(kind, "validate", None))]
    own = [kind for kind in checked if len(inspect.signature(kind.validate).parameters) == 1]
    assert len(own) > 20
    assert all(issubclass(kind, Validated) for kind in own)


def test_a_doubly_stochastic_model_stores_seeds_and_not_frequencies(tmp_path):
    model = KernelRegressor(solver="dsg", features="fourier", random_state=0).fit(X, y)
    bochner.save(model, tmp_path / "model")
    stored = sum(array.bytes for array in bochner.read_header(tmp_path / "model").arrays)
    frequencies = 4 * X.shape[1] * model.n_features_used_ / 2
    state = model._training.state
    arrays = [model.expansion_.weights, state.weights.values, state.weights.lag]
    assert stored < sum(array.nbytes for array in arrays) + frequencies / 2


def test_other_readers_of_safetensors_open_the_file(tmp_path):
    model = KernelRegressor(random_state=0).fit(X, y)
    bochner.save(model, tmp_path / "model")
    with safe_open(tmp_path / "model", "numpy") as file:
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    told = bochner.read_header(tmp_path / "model").arrays
    assert {name: (array.shape, str(array.dtype)) for name, array in found.items()} == {
        array.name: (array.shape, array.dtype) for array in told
    }
    weights = model.expansion_.weights
    assert any(np.array_equal(array, weights) for array in found.values())


def test_joblib_keeps_models(tmp_path):
    model, rows = fitted("hinge on bins")
    joblib.dump(model, tmp_path / "model")
    assert_same(joblib.load(tmp_path / "model").predict(rows), model.predict(rows))
    shared = joblib.load(tmp_path / "model", mmap_mode="r")  # its arrays cannot be written to
    assert_same(shared.predict(rows), model.predict(rows))


@pytest.mark.parametrize("case", ["solver dsg", "softmax", "frame", "process"])
def test_skops_keeps_models_once_this_library_is_trusted(case):
    skops = pytest.importorskip("skops.io")
    model, rows = fitted(case)
    data = skops.dumps(model)
    types = skops.get_untrusted_types(data=data)
    assert all(name.startswith("bochner.") or name == "numpy.dtype" for name in types)
    assert_same(skops.loads(data, trusted=types).predict(rows), model.predict(rows))
