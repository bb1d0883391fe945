"""The model files and checkpoints in `models/`: how they are made, and how they go on.

Files are as small as their classes allow. A checkpoint is a fit that was saved on its way.
`models.json` says of each file which rows it was fitted to and how it goes on, so that files of old
versions are tested even if nothing here makes their like any more.
"""

import inspect
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import dump_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import bochner
from bochner import (
    DensityRatio,
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
    KernelWitness,
    kernels,
)
from bochner.callbacks import CheckpointCallback
from bochner.data import open_source
from bochner.features import (
    Binning,
    Centers,
    Drawing,
    FeatureMap,
    Fourier,
    HistogramFourier,
    Leverage,
    ProcessFeatures,
    map_of,
)
from bochner.kernels import (
    ArcCosine,
    Exponentiated,
    Gaussian,
    Hellinger,
    Intersection,
    Kernel,
    Laplacian,
    Mapped,
    Polynomial,
)
from bochner.losses import Loss, Multinomial, Regression
from bochner.solvers import (
    Checked,
    CoordinateDescent,
    DoublyStochastic,
    EigenPro,
    New,
    Plain,
    Preconditioned,
    Refinement,
    Solver,
    Uniform,
)
from bochner.tuning import Tuning
from golden.comparison import FOLDER, outcome, recorded
from golden.components import KERNELS, ours, sized
from golden.machines import HISTOGRAM_KERNELS, HISTOGRAM_MAPS, transformers
from golden.made_data import (
    categories,
    histograms,
    kernel_matrix,
    labels,
    numbers,
    rows,
    several,
    sparse,
    table,
)

MODELS = FOLDER / "models"
FEW_PASSES = {"max_passes": 2, "random_state": 0}
ON_BINS = {"averaged", "backfitting", "coordinate"}


def heavy(count, seed):
    """Return rows of a heavy tail: powers of two, and a little more."""
    whole, noise = rows(count, 1, seed), rows(count, 1, seed + 2)
    return np.hstack([np.ldexp(1.0 + np.abs(noise) / 8, (4 * whole).astype(int)), noise])


TRAIN, TEST = {}, {}
for part, count, seed in ((TRAIN, 40, 20), (TEST, 8, 21)):
    part["rows"] = rows(count, seed=seed)
    part["many rows"] = rows(200, seed=seed) if part is TRAIN else rows(count, seed=seed)
    part["positive"] = histograms(count, seed=seed)
    part["heavy"] = heavy(200 if part is TRAIN else count, seed)
    part["heavier"] = heavy(1_000 if part is TRAIN else count, seed)
    part["categories"] = categories(count, seed=seed)
    part["sparse"], part["wide"] = sparse(count, seed=seed), sparse(count, 80, seed)
    part["table"] = table(count, seed)[0]
    part["matrix"] = kernel_matrix(rows(count, seed=seed), rows(40, seed=20))
    part["columns"] = table(count, seed)[0][["height", "age"]].fillna(0.5)


def targets(data, kind):
    """Return the targets of training rows, or the second sample; None where there is none."""
    X = TRAIN["rows" if data == "matrix" else data]
    if data in ("table", "columns"):
        y = table(len(X), 20)[1]
        return y if kind == "numbers" else y > 0.5
    X = X.toarray() if data in ("sparse", "wide") else X
    known = {
        "numbers": numbers,
        "several": several,
        "labels": labels,
        "truth": lambda X: numbers(X) > 0,
        "sample": lambda X: X[:30] + 0.5,
        "exponents": lambda X: np.frexp(X[:, 0])[1] / 4.0,
        "none": lambda X: None,
    }
    return known[kind](X)


@dataclass
class Stored:
    """A model to be fitted and saved, or to be saved on its way.

    `on` is how it goes on after it has been loaded: "fit" for checkpoints, "partial_fit", None if
    it only predicts, "nothing" if it was not fitted.
    """

    model: Any
    data: str = "rows"
    target: str = "numbers"
    on: str | None = None

    def write(self, path):
        """Write the file, and return what is recorded of it."""
        X, y = TRAIN[self.data], targets(self.data, self.target)
        if self.on == "nothing":
            bochner.save(self.model, path)
        elif self.on == "fit":
            _write_checkpoint(self.model, X, y, path)
        else:
            learn = self.model.partial_fit if self.on == "partial_fit" else self.model.fit
            bochner.save(learn(X, y), path)
        known = {"data": self.data, "target": self.target, "on": self.on}
        return known | replayed(path, known)


def _write_checkpoint(model, X, y, path):
    counter = _KeepAt(path)
    clone(model).set_params(callbacks=[counter]).fit(X, y)
    call = max(1, counter.count // 2)
    whole = clone(model).set_params(callbacks=[_KeepAt(path, call)]).fit(X, y)
    resumed = bochner.load(path).fit(X, y)
    assert recorded(outcome(whole, X)) == recorded(outcome(resumed, X))


class _KeepAt(CheckpointCallback):
    """Saves the model at a call; counts them all."""

    def __init__(self, path, call=None):
        self.path, self.call, self.count = path, call, 0

    def keep(self, progress, unfinished):
        if progress.reason is None:
            self.count += 1
            if self.count == self.call:
                bochner.save(unfinished(), self.path)


def replayed(path, known):
    """Return what a file predicts as it is loaded, and after it has gone on."""
    if known["on"] == "nothing":
        return {}
    found = {"loaded": recorded(loaded_outcome(bochner.load(path), known["data"]))}
    if known["on"] is not None:
        model = gone_on(bochner.load(path), known)
        found["gone on"] = recorded(loaded_outcome(model, known["data"]))
    return found


def loaded_outcome(model, data):
    """Return the outcome of a model from a file on unseen rows."""
    if hasattr(model, "witness"):
        found = {"pvalue": model.pvalue, "statistic": model.statistic}
        return outcome(model.witness, TEST[data]) | {"coefficients": found}
    found = outcome(model, TEST[data])
    if hasattr(model, "variance"):
        found["predictions"]["deviation"] = model.predict(TEST[data], return_std=True)[1]
    return found


def gone_on(model, known):
    """Return a model after it has learned on from where its file left it."""
    learn = getattr(model, known["on"])
    return learn(TRAIN[known["data"]], targets(known["data"], known["target"]))


def registered():
    """Return the classes that model files may hold by their names in files, old ones included."""
    from bochner.persist.registry import OLD_NAMES, class_of, modules  # used nowhere else

    return {name: class_of(name) for name in (*modules(), *OLD_NAMES)}


def names_in(path):
    """Return the names of the classes in a model file, which is a safetensors file."""
    with safe_open(path, "numpy") as file:
        return {record["class"] for record in json.loads(file.metadata()["bochner"])["records"]}


def of_solver(name):
    features = Binning(4) if name in ON_BINS else "auto"
    if name in ("cg", "newton"):
        features = Binning(4)
    solver = Solver.resolve(name)
    return KernelRegressor(Laplacian(4.0), features=features, solver=solver, **FEW_PASSES)


def of_map(name):
    kernel = KERNELS.get(name, Gaussian(2.0))
    return Stored(KernelRegressor(kernel, features=sized(name, ""), **FEW_PASSES), "positive")


def of_kernel(name):
    data = "positive" if isinstance(Kernel.resolve(name), kernels.Histogram) else "rows"
    data = "positive" if name in HISTOGRAM_KERNELS else data
    data = {"delta": "categories", "overlap": "categories", "precomputed": "matrix"}.get(name, data)
    return Stored(KernelRegressor(name, random_state=0), data)


def of_loss(name):
    kind = Loss.resolve(name)
    small = {"features": Fourier(16), "solver": "dsg", **FEW_PASSES}
    if isinstance(kind, Regression):
        return Stored(KernelRegressor("gaussian", kind, **small))
    target = "labels" if isinstance(kind, Multinomial) else "truth"
    return Stored(KernelClassifier("gaussian", kind, **small), target=target)


def of_transformer(name):
    kind = getattr(bochner, name)
    known = set(inspect.signature(kind).parameters)
    small = {"size": 8, "grids": 2, "random_state": 0}
    model = kind(**{key: value for key, value in small.items() if key in known})
    return Stored(model, "positive" if name in HISTOGRAM_MAPS else "rows", "none")


def by_its_map(kernel):
    return Stored(KernelRegressor(kernel, features=map_of(kernel, 16), **FEW_PASSES))


WAVES = {"features": Fourier(16), **FEW_PASSES}
HISTOGRAM_WAVES = {"features": HistogramFourier(16), **FEW_PASSES}
BINS = {"features": Binning(4), **FEW_PASSES}
SEARCH = {"tuning": Tuning(grids=8), **BINS}
OTHERS = {
    "sum": Stored(KernelRegressor(Gaussian(2.0) + Laplacian(3.0), **WAVES)),
    "product": Stored(KernelRegressor(2.0 * Gaussian(2.0) * Laplacian(3.0), **WAVES)),
    "stretched": Stored(KernelRegressor(Laplacian(3.0).stretched([1.0, 2.0, 3.0]), **BINS)),
    "on columns": Stored(KernelRegressor(Gaussian(2.0).on([0, 2]), **WAVES)),
    "mapped": Stored(KernelRegressor(Mapped(Gaussian(2.0), np.eye(3)[:, :2]), **WAVES)),
    "general sum": Stored(
        KernelRegressor(3.0 * Polynomial(2, 1.0, 0.5) + ArcCosine().on([0, 1]), **FEW_PASSES)
    ),
    "general product": Stored(
        KernelRegressor(ArcCosine().stretched([1.0, 2.0, 3.0]) * Gaussian(2.0), **FEW_PASSES)
    ),
    "random features of columns": Stored(
        KernelRegressor(
            ArcCosine().on([0, 1]) * Gaussian(2.0), features=sized("random", ""), **FEW_PASSES
        )
    ),
    "several": Stored(KernelRegressor(**BINS), target="several"),
    "labels": Stored(KernelClassifier(scale="standard", **BINS), target="labels"),
    "truth": Stored(KernelClassifier(solver="dsg", **WAVES), target="truth"),
    "calibrated": Stored(
        KernelClassifier(
            "gaussian", features=Fourier(16), early_stopping=True, solver="dsg", random_state=0
        ),
        "many rows",
        "labels",
    ),
    "range": Stored(KernelRegressor("gaussian", scale="range", **WAVES)),
    "table": Stored(KernelRegressor(**BINS), "table"),
    "table of classes": Stored(KernelClassifier(**BINS), "table", "truth"),
    "columns": Stored(KernelRegressor(**BINS), "columns"),
    "sparse": Stored(KernelRegressor(random_state=0), "sparse"),
    "quantiles": Stored(KernelQuantileRegressor([0.1, 0.9], **BINS)),
    "quantiles on waves": Stored(KernelQuantileRegressor(solver="dsg", **WAVES)),
    "novelty": Stored(KernelNoveltyDetector(features=Fourier(16), **FEW_PASSES), target="none"),
    "process": Stored(KernelGaussianProcess(random_state=0)),
    "process on waves": Stored(
        KernelGaussianProcess("gaussian", features=Fourier(8), random_state=0)
    ),
    "process of functions": Stored(
        KernelGaussianProcess("gaussian", variance="functions", random_state=0)
    ),
    "process of an operator": Stored(
        KernelGaussianProcess("gaussian", variance="operator", features=Fourier(8), **FEW_PASSES)
    ),
    "ratio": Stored(DensityRatio(size=8, random_state=0), target="sample"),
    "exponential ratio": Stored(
        DensityRatio(loss="exponential", size=8, random_state=0), target="sample"
    ),
    "witness": Stored(KernelWitness(size=8, random_state=0), target="sample"),
    "learned scales": Stored(KernelRegressor(scales="learn", **SEARCH)),
    "open bandwidth": Stored(KernelRegressor(Gaussian("auto"), **FEW_PASSES)),
    "given centres": Stored(
        KernelRegressor(
            solver="nystroem",
            features=Centers(given=[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
            **FEW_PASSES,
        )
    ),
    "pipeline": Stored(
        make_pipeline(
            ColumnTransformer(
                [
                    (
                        "numbers",
                        make_pipeline(SimpleImputer(), StandardScaler()),
                        ["height", "age"],
                    ),
                    ("words", OneHotEncoder(handle_unknown="ignore"), ["tree"]),
                ]
            ),
            KernelRegressor("gaussian", **FEW_PASSES),
        ),
        "table",
    ),
    "not fitted": Stored(KernelRegressor(features=ProcessFeatures(8)), on="nothing"),
    "leverage": Stored(
        KernelRegressor("gaussian", features=Leverage(Fourier(), 8, rows=32), **FEW_PASSES)
    ),
    "sketch of wide rows": Stored(
        KernelRegressor("polynomial", features=sized("tensor_sketch", ""), **FEW_PASSES), "wide"
    ),
    "endless additive features": Stored(
        KernelRegressor("chi_squared", features="additive_homogeneous", **FEW_PASSES), "positive"
    ),
    "waves of roots": Stored(
        KernelRegressor(Exponentiated(Hellinger(), 1.0), **HISTOGRAM_WAVES), "positive"
    ),
    "waves of intersections": Stored(
        KernelRegressor(Exponentiated(Intersection(), 1.0), **HISTOGRAM_WAVES), "positive"
    ),
    "waves of logarithms": Stored(
        KernelRegressor("skewed_chi_squared", **HISTOGRAM_WAVES), "positive"
    ),
    "maps of a sum": by_its_map(ArcCosine() + Gaussian(2.0)),
    "maps of a product": by_its_map(ArcCosine() * Gaussian(2.0)),
    "maps of columns": by_its_map(ArcCosine().on([0, 2])),
    "logarithm": Stored(KernelRegressor(scales="learn", **SEARCH), "heavy", "exponents"),
    "ranks": Stored(KernelRegressor(scales="learn", **SEARCH), "heavier", "exponents"),
}
CHECKPOINTS = {
    "refined": KernelRegressor(
        "gaussian", solver=DoublyStochastic(refinement=Refinement()), **WAVES
    ),
    "preconditioned steps": KernelRegressor(
        "gaussian", solver=DoublyStochastic(Preconditioned(), New()), **WAVES
    ),
    "plain steps": KernelRegressor("gaussian", solver=DoublyStochastic(step=Plain()), **WAVES),
    "uniform coordinates": KernelRegressor(
        "gaussian", solver=DoublyStochastic(coordinates=Uniform()), **WAVES
    ),
    "checked coordinates": KernelRegressor(
        "gaussian", solver=DoublyStochastic(coordinates=Checked()), **WAVES
    ),
    "momentum": KernelRegressor("gaussian", solver=EigenPro(momentum=True), **FEW_PASSES),
    "temporary centres": KernelRegressor(
        "gaussian", solver=EigenPro(batch_size=8), features=Centers(10), **FEW_PASSES
    ),
    "eigenpro on waves": KernelRegressor("gaussian", solver="eigenpro", **WAVES),
    "coordinate l2": KernelRegressor("laplacian", solver=CoordinateDescent("l2"), **BINS),
    "backfitting of medians": KernelRegressor(
        "laplacian", "absolute", solver="backfitting", **BINS
    ),
    "eigenpro with a penalty": KernelRegressor(
        "gaussian", solver="eigenpro", alpha=1e-3, **FEW_PASSES
    ),
    "newton of classes": KernelClassifier("laplacian", "softmax", solver="newton", **BINS),
    "cg on centres": KernelRegressor(
        "gaussian", solver="cg", features=sized("nystroem", ""), **FEW_PASSES
    ),
    "nystroem of medians": KernelRegressor(
        "gaussian", "absolute", solver="nystroem", features=Centers(10), **FEW_PASSES
    ),
    "quantiles": KernelQuantileRegressor([0.1, 0.9], "laplacian", solver="averaged", **BINS),
    "novelty": KernelNoveltyDetector("gaussian", features=Fourier(16), **FEW_PASSES),
    "hinge on bins": KernelClassifier("laplacian", "hinge", solver="averaged", **BINS),
}
HELD_OUT = {
    "dsg": {"solver": "dsg", "features": Fourier(16)},
    "eigenpro": {"solver": "eigenpro", "features": Centers(20)},
    "cg": {"solver": "cg", "features": Binning(4)},
    "newton": {"solver": "newton", "features": Binning(4)},
    "nystroem": {"solver": "nystroem", "features": Centers(20)},
    "backfitting": {"solver": "backfitting", "features": Binning(4)},
    "coordinate": {"solver": "coordinate", "features": Binning(4)},
    "averaged": {"solver": "averaged", "features": Binning(4)},
}


def stored():
    """Return all models that are kept in files, by the names of their files."""
    found = {}
    for name in ours(Solver):
        found[f"solver {name}"] = Stored(of_solver(name).set_params(warm_start=True))
        if name != "direct":
            found[f"checkpoint {name}"] = Stored(of_solver(name), on="fit")
    for name, settings in HELD_OUT.items():
        model = KernelRegressor(Laplacian(4.0), early_stopping=True, random_state=0, **settings)
        found[f"checkpoint held out {name}"] = Stored(model, "many rows", on="fit")
    for name, model in CHECKPOINTS.items():
        target = "none" if isinstance(model, KernelNoveltyDetector) else "numbers"
        target = "labels" if isinstance(model, KernelClassifier) else target
        found[f"checkpoint {name}"] = Stored(model, target=target, on="fit")
    found |= {f"map {name}": of_map(name) for name in ours(FeatureMap)}
    found |= {f"drawing {name}": of_drawing(name) for name in ours(Drawing)}
    found |= {f"kernel {name}": of_kernel(name) for name in ours(Kernel)}
    found |= {f"loss {name}": of_loss(name) for name in ours(Loss)}
    found |= {f"transformer {name}": of_transformer(name) for name in transformers()}
    return found | STREAMS | OTHERS


def of_drawing(name):
    return Stored(KernelRegressor("gaussian", features=Fourier(8, name), **FEW_PASSES))


STREAMS = {
    "stream": Stored(KernelRegressor("gaussian", **WAVES), on="partial_fit"),
    "stream on bins": Stored(
        KernelRegressor("laplacian", solver="averaged", **BINS), on="partial_fit"
    ),
    "stream to a process": Stored(
        KernelGaussianProcess("gaussian", features=Fourier(8), random_state=0), on="partial_fit"
    ),
    "stream to a ratio": Stored(
        DensityRatio(size=8, random_state=0), "rows", "sample", "partial_fit"
    ),
    "stream to an exponential ratio": Stored(
        DensityRatio(loss="exponential", size=8, random_state=0), "rows", "sample", "partial_fit"
    ),
    "stream to a detector": Stored(
        KernelNoveltyDetector("gaussian", features=Fourier(16), random_state=0),
        "rows",
        "none",
        "partial_fit",
    ),
}


def write_test(path):
    """Write a two-sample test, which is no estimator."""
    test = bochner.two_sample_test(TRAIN["rows"], TRAIN["rows"] + 0.5, size=8, random_state=0)
    bochner.save(test, path)
    known = {"data": "rows", "target": "none", "on": None}
    return known | replayed(path, known)


def write_model_of_a_file(path):
    """Write a model that was fitted to a file of comma-separated values, and knows its columns."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trees.csv"
        TRAIN["columns"].assign(target=targets("columns", "numbers")).to_csv(file, index=False)
        bochner.save(KernelRegressor(**BINS).fit(open_source(file, "target")), path)
    known = {"data": "columns", "target": "numbers", "on": None}
    return known | replayed(path, known)


def write_model_of_a_sparse_file(path):
    """Write a model that was fitted to a file of svmlight rows, whose columns have numbers."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.svm"
        dump_svmlight_file(TRAIN["rows"], targets("rows", "numbers"), str(file), zero_based=False)
        bochner.save(KernelRegressor(**BINS).fit(open_source(file)), path)
    known = {"data": "rows", "target": "numbers", "on": None}
    return known | replayed(path, known)


def cases():
    """Return for each file a function that writes it and returns what is recorded of it."""
    MODELS.mkdir(exist_ok=True)
    found = {name: one.write for name, one in stored().items()}
    found |= {"two samples": write_test, "model of a file": write_model_of_a_file}
    found |= {"model of a sparse file": write_model_of_a_sparse_file}
    return {name: (lambda w=write, n=name: w(path_of(n))) for name, write in found.items()}


def path_of(name):
    """Return the path of a file."""
    return MODELS / f"{name.replace(' ', '_')}.bochner"
