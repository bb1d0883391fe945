"""Every machine and transformer, on the kinds of rows that they take.

A case is named "Estimator: what is special" and returns an outcome.
"""

import inspect
import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

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
from bochner.data import IteratorSource, open_source
from bochner.features import Binning, Centers, Fourier, Leverage, Maclaurin, NystroemFeatures
from bochner.kernels import (
    ArcCosine,
    ChiSquared,
    Delta,
    Gaussian,
    Kernel,
    Laplacian,
    Mapped,
    Matern,
    Polynomial,
)
from bochner.losses import Huber, Quantile
from bochner.solvers import (
    AveragedGradient,
    Checked,
    CoordinateDescent,
    DoublyStochastic,
    EigenPro,
    Plain,
    Preconditioned,
    Refinement,
    Uniform,
)
from golden.comparison import outcome
from golden.components import ours
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
    weights,
)

SMALL, MID, UNSEEN = rows(300), rows(4_000, 4), rows(24, seed=10)
UNSEEN_MID = rows(24, 4, seed=10)
HISTOGRAM_MAPS = {"AdditiveHomogeneous", "HistogramFourier", "RandomLaplace"}
HISTOGRAM_KERNELS = {"skewed_chi_squared", "exponential_semigroup", "reciprocal_semigroup"}
TABLE, TARGET = table(300)
SEEDED = {"random_state": 0}
FEW_PASSES = {"max_passes": 3, "random_state": 0}


def regression(model, X=SMALL, unseen=UNSEEN, y=None):
    return outcome(model.fit(X, numbers(X) if y is None else y), unseen)


def classification(model, X=SMALL, unseen=UNSEEN, y=None):
    return outcome(model.fit(X, labels(X) if y is None else y), unseen)


def on_table(model):
    return outcome(model.fit(TABLE, TARGET), table(24, seed=11)[0])


def classes_of_table(model):
    return outcome(model.fit(TABLE, TARGET > 0.5), table(24, seed=11)[0])


def on_sparse(model, target):
    X = sparse(200)
    return outcome(model.fit(X, target(X.toarray())), sparse(24, seed=12))


def on_weights(model, target):
    return outcome(model.fit(SMALL, target(SMALL), weights(300)), UNSEEN)


def on_blocks(model, target, **settings):
    """Learn from an iterator of blocks, by `partial_fit`."""
    for start in range(0, 300, 100):
        X = SMALL[start : start + 100]
        model.partial_fit(iter([(X, target(X))]), **settings)
    return outcome(model, UNSEEN)


def on_stream(model, target):
    blocks = ((SMALL[i : i + 100], target(SMALL[i : i + 100])) for i in range(0, 300, 100))
    return outcome(model.fit(IteratorSource(blocks)), UNSEEN)


def warm(model, target, **changes):
    """Fit twice, the second time going on, and to other rows at last."""
    model.set_params(warm_start=True).fit(SMALL, target(SMALL))
    model.set_params(**changes).fit(SMALL, target(SMALL))
    return outcome(model.fit(SMALL[:200], target(SMALL[:200])), UNSEEN)


def on_file(model, **settings):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trees.csv"
        TABLE.assign(target=TARGET).to_csv(path, index=False)
        model.fit(open_source(path, "target", missing="mean", **settings))
    return outcome(model, table(24, seed=11)[0].fillna({"height": 0.0, "tree": "ash"}))


def growing(solver):
    """Fit so many outputs that bins begin with few grids, and grow while that helps."""
    X, mixing = rows(400, 2), rows(2, 480, 5)
    y = X @ mixing + X[:, :1] * X[:, 1:] * mixing[:1]
    model = KernelRegressor(
        "laplacian",
        features="binning",
        solver=solver,
        tol=0.1,
        early_stopping=True,
        random_state=0,
    )
    return outcome(model.fit(X, y), rows(24, 2, 10))


def on_histograms(model):
    X = histograms(300)
    return outcome(model.fit(X, numbers(4 * X)), histograms(24, seed=12))


def with_kernel(name):
    """Return the outcome with a named kernel, on rows that it takes."""
    if name in ("delta", "overlap"):
        X, unseen = categories(80), categories(16, seed=12)
    elif issubclass(type(Kernel.resolve(name)), kernels.Histogram) or name in HISTOGRAM_KERNELS:
        X, unseen = histograms(80), histograms(16, seed=12)
    else:
        X, unseen = rows(80), rows(16, seed=12)
    y = numbers(X)
    if name == "precomputed":
        X, unseen = kernel_matrix(X, X), kernel_matrix(unseen, X)
    return outcome(KernelRegressor(name, random_state=0).fit(X, y), unseen)


def combined(kernel, features="auto", **settings):
    model = KernelRegressor(kernel, features=features, **FEW_PASSES | settings)
    return regression(model, SMALL[:120])


def mixed_kernel(features):
    X, unseen = rows(200), rows(24, seed=12)
    X[:, 0], unseen[:, 0] = categories(200, 1)[:, 0], categories(24, 1, 6)[:, 0]
    kernel = Delta(0.1).on(0) * Gaussian(2.0).on([1, 2])
    return regression(KernelRegressor(kernel, features=features, **FEW_PASSES), X, unseen)


def posterior(model, X=SMALL[:150]):
    model.fit(X, numbers(X))
    return spread(model)


def spread(model):
    """Return means and standard deviations, and draws where there are any."""
    found = outcome(model, UNSEEN)
    found["predictions"]["deviation"] = model.predict(UNSEEN, return_std=True)[1]
    if model.variance != "functions":
        found["predictions"]["covariance"] = model.predict(UNSEEN[:4], return_cov=True)[1]
        found["predictions"]["sample"] = model.sample_y(UNSEEN[:4], 2, random_state=0)
    return found


def posterior_of_stream(model):
    for start in range(0, 300, 100):
        model.partial_fit(SMALL[start : start + 100], numbers(SMALL[start : start + 100]))
    return spread(model)


def novelty(model, X=SMALL):
    return outcome(model.fit(X), UNSEEN)


def ratio(model, **weighted):
    return outcome(model.fit(SMALL, SMALL[:200] + 0.5, **weighted), UNSEEN)


def ratio_of_streams(model):
    for start in range(0, 300, 100):
        part = SMALL[start : start + 100]
        model.partial_fit(part, part + 0.5)
    return outcome(model, UNSEEN)


def two_samples(**settings):
    test = bochner.two_sample_test(SMALL, SMALL[:200] + 0.25, size=32, **SEEDED | settings)
    found = {"pvalue": test.pvalue, "statistic": test.statistic, "rows": np.array(test.rows)}
    return outcome(test.witness, UNSEEN) | {"coefficients": found}


def witness(model):
    return outcome(model.fit(SMALL, SMALL[:200] + 0.25), UNSEEN)


def transformed(name):
    kind = getattr(bochner, name)
    known = set(inspect.signature(kind).parameters)
    small = {"size": 32, "grids": 8, "random_state": 0}
    model = kind(**{key: value for key, value in small.items() if key in known})
    made = histograms if name in HISTOGRAM_MAPS else rows
    return outcome(model.fit(made(100)), made(24, seed=12))


def estimators():
    """Return the names of all estimators that the library exports."""
    kinds = {name: getattr(bochner, name) for name in bochner.__all__}
    return [n for n, k in kinds.items() if inspect.isclass(k) and issubclass(k, BaseEstimator)]


def transformers():
    return [name for name in estimators() if hasattr(getattr(bochner, name), "transform")]


SETTINGS = {  # KernelRegressor with something special in it
    "few rows, held out": {"solver": "eigenpro", "early_stopping": True},
    "plain steps": {"solver": DoublyStochastic(step=Plain())},
    "uniform coordinates": {"solver": DoublyStochastic(coordinates=Uniform(1, 2))},
    "checked coordinates": {"solver": DoublyStochastic(coordinates=Checked())},
    "cautious steps": {"solver": DoublyStochastic(step=Preconditioned(caution=0.0))},
    "no averaging": {"solver": DoublyStochastic(averaging=None, batch_size=32)},
    "refinement": {"kernel": "gaussian", "solver": DoublyStochastic(refinement=Refinement())},
    "endless waves": {"features": "fourier"},
    "endless random features": {"kernel": ArcCosine(), "features": "random"},
    "eigenpro with momentum": {"solver": EigenPro(momentum=True), "features": "centers"},
    "eigenpro on temporary centres": {"solver": EigenPro(batch_size=16), "features": Centers(40)},
    "eigenpro on all rows": {"solver": "eigenpro"},
    "centres by kmeans": {"features": Centers(20, "kmeans"), "solver": "nystroem"},
    "pivoted centres": {"features": Centers(20, "pivoted"), "solver": "nystroem"},
    "leverage of waves": {"features": Leverage(Fourier(), 16, rows=64), "solver": "cg"},
    "nystroem features": {"features": NystroemFeatures(20, "pivoted"), "solver": "cg"},
    "maclaurin of geometric degrees": {
        "kernel": kernels.Exponential(3.0),
        "features": Maclaurin(32, "geometric"),
    },
    "coordinate path": {"features": Binning(8), "solver": CoordinateDescent("l1", path=3)},
    "elastic net": {"features": Binning(8), "solver": CoordinateDescent(0.5)},
    "few bins": {"features": Binning(8), "solver": AveragedGradient(most_bins=64)},
    "open number of grids": {"kernel": "laplacian", "features": "binning", "early_stopping": True},
    "huber": {"loss": Huber(0.5), "features": Binning(8)},
    "absolute on few rows": {"loss": "absolute"},
    "upper quantile": {"loss": "quantile", "quantile": 0.9},
    "standard": {"scale": "standard", "features": Fourier(32)},
    "range": {"scale": "range", "features": Binning(8), "solver": "backfitting"},
    "given scales": {"scales": [1.0, 2.0, 0.5]},
    "learned scales": {"scales": "learn"},
    "open bandwidth": {"kernel": Gaussian("auto")},
    "no intercept": {"fit_intercept": False},
    "little memory": {"memory_budget": 0, "solver": "nystroem"},
    "callable": {"kernel": kernel_matrix},
}
ALGEBRA = {
    "sum": Gaussian(2.0) + Laplacian(3.0),
    "product": Laplacian(3.0) * Matern(3.0, 2.5),
    "scaled": 2.0 * Gaussian(2.0),
    "stretched": Laplacian(2.0).stretched([1.0, 2.0, 3.0]),
    "on columns": Gaussian(2.0).on([0, 2]),
    "sum on columns": Gaussian(2.0).on(0) + Laplacian(2.0).on([1, 2]),
    "mapped": Mapped(Gaussian(2.0), np.eye(3)[:, :2] + 0.5),
    "general sum": Polynomial(2, 1.0, 0.5) + Gaussian(2.0),
    "general product": Polynomial(1, 1.0, 0.5) * Gaussian(2.0),
    "general scaled": 3.0 * Polynomial(2, 1.0, 0.5),
    "general stretched": ArcCosine().stretched([1.0, 2.0, 3.0]),
    "general on columns": ArcCosine().on([0, 1]),
    "nested": 2.0 * (Gaussian(2.0).on(0) * Laplacian(2.0).on(1) + ArcCosine().on([1, 2])),
}
CASES = {
    "KernelRegressor: small table": lambda: regression(KernelRegressor(**SEEDED)),
    "KernelRegressor: mid table": lambda: regression(KernelRegressor(**SEEDED), MID, UNSEEN_MID),
    "KernelRegressor: mixed table": lambda: on_table(KernelRegressor(**SEEDED)),
    "KernelRegressor: sparse rows": lambda: on_sparse(KernelRegressor(**SEEDED), numbers),
    "KernelRegressor: weights": lambda: on_weights(KernelRegressor(**SEEDED), numbers),
    "KernelRegressor: partial_fit": lambda: on_blocks(KernelRegressor(**SEEDED), numbers),
    "KernelRegressor: stream": lambda: on_stream(KernelRegressor(**SEEDED), numbers),
    "KernelRegressor: stream on bins": lambda: on_blocks(
        KernelRegressor(features=Binning(8), solver="averaged", **SEEDED), numbers
    ),
    "KernelRegressor: warm_start": lambda: warm(KernelRegressor(**SEEDED), numbers),
    "KernelRegressor: warm_start of dsg": lambda: warm(
        KernelRegressor(solver="dsg", **FEW_PASSES), numbers, max_passes=5
    ),
    "KernelRegressor: warm_start on bins": lambda: warm(
        KernelRegressor(features=Binning(8), **FEW_PASSES), numbers, max_passes=5
    ),
    "KernelRegressor: outputs": lambda: regression(KernelRegressor(**SEEDED), y=several(SMALL)),
    "KernelRegressor: outputs of a mid table": lambda: regression(
        KernelRegressor(scales=None, **SEEDED), MID, UNSEEN_MID, several(MID)
    ),
    "KernelRegressor: file": lambda: on_file(KernelRegressor(**SEEDED)),
    "KernelRegressor: histograms": lambda: on_histograms(KernelRegressor(ChiSquared(), **SEEDED)),
    "KernelRegressor: grids that grow by cg": lambda: growing("cg"),
    "KernelRegressor: grids that grow by backfitting": lambda: growing("backfitting"),
    "KernelRegressor: mixed kernel": lambda: mixed_kernel("auto"),
    "KernelRegressor: mixed kernel on waves": lambda: mixed_kernel(Fourier(32)),
    "KernelClassifier: small table": lambda: classification(KernelClassifier(**SEEDED)),
    "KernelClassifier: mid table": lambda: classification(
        KernelClassifier(**SEEDED), MID, UNSEEN_MID
    ),
    "KernelClassifier: two classes": lambda: classification(
        KernelClassifier(**SEEDED), y=numbers(SMALL) > 0
    ),
    "KernelClassifier: mixed table": lambda: classes_of_table(KernelClassifier(**SEEDED)),
    "KernelClassifier: sparse rows": lambda: on_sparse(KernelClassifier(**SEEDED), labels),
    "KernelClassifier: weights": lambda: on_weights(KernelClassifier(**SEEDED), labels),
    "KernelClassifier: class weights": lambda: classification(
        KernelClassifier(class_weight="balanced", **SEEDED)
    ),
    "KernelClassifier: partial_fit": lambda: on_blocks(
        KernelClassifier(**SEEDED), labels, classes=["ash", "beech", "oak"]
    ),
    "KernelClassifier: warm_start": lambda: warm(KernelClassifier(**SEEDED), labels),
    "KernelClassifier: softmax by newton": lambda: classification(
        KernelClassifier(loss="softmax", features=Binning(8), **FEW_PASSES)
    ),
    "KernelClassifier: hinge on bins": lambda: classification(
        KernelClassifier(loss="hinge", features=Binning(8), **FEW_PASSES)
    ),
    "KernelClassifier: calibrated": lambda: classification(
        KernelClassifier(solver="dsg", early_stopping=True, **SEEDED), MID[:1_200], UNSEEN_MID
    ),
    "KernelQuantileRegressor: small table": lambda: regression(KernelQuantileRegressor(**SEEDED)),
    "KernelQuantileRegressor: bins": lambda: regression(
        KernelQuantileRegressor([0.1, 0.9], features=Binning(8), **FEW_PASSES)
    ),
    "KernelQuantileRegressor: waves": lambda: regression(
        KernelQuantileRegressor([0.1, 0.9], features=Fourier(32), solver="dsg", **FEW_PASSES)
    ),
    "KernelQuantileRegressor: mixed table": lambda: on_table(
        KernelQuantileRegressor([0.25, 0.75], **FEW_PASSES)
    ),
    "KernelQuantileRegressor: many quantiles": lambda: regression(
        KernelQuantileRegressor(np.arange(1, 8) / 8, solver="nystroem", **FEW_PASSES)
    ),
    "KernelNoveltyDetector: small table": lambda: novelty(KernelNoveltyDetector(**FEW_PASSES)),
    "KernelNoveltyDetector: waves": lambda: novelty(
        KernelNoveltyDetector("laplacian", 0.2, Fourier(64), scale="standard", **FEW_PASSES)
    ),
    "KernelGaussianProcess: small table": lambda: posterior(KernelGaussianProcess(**SEEDED)),
    "KernelGaussianProcess: waves": lambda: posterior(
        KernelGaussianProcess("gaussian", features=Fourier(32), **SEEDED)
    ),
    "KernelGaussianProcess: given noise": lambda: posterior(
        KernelGaussianProcess(Gaussian(2.0), noise=0.1, **SEEDED)
    ),
    "KernelGaussianProcess: operator": lambda: posterior(
        KernelGaussianProcess("gaussian", variance="operator", features=Fourier(16), **FEW_PASSES)
    ),
    "KernelGaussianProcess: functions": lambda: posterior(
        KernelGaussianProcess("gaussian", variance="functions", **SEEDED)
    ),
    "KernelGaussianProcess: functions by dsg": lambda: posterior(
        KernelGaussianProcess("gaussian", variance="functions", solver="dsg", **FEW_PASSES)
    ),
    "KernelGaussianProcess: equal scales": lambda: posterior(
        KernelGaussianProcess(scales="equal", normalize_y=False, **SEEDED)
    ),
    "KernelGaussianProcess: stream": lambda: posterior_of_stream(
        KernelGaussianProcess("gaussian", features=Fourier(32), **SEEDED)
    ),
    "DensityRatio: logistic": lambda: ratio(DensityRatio(size=32, **SEEDED)),
    "DensityRatio: exponential": lambda: ratio(DensityRatio(loss="exponential", size=32, **SEEDED)),
    "DensityRatio: given kernel": lambda: ratio(
        DensityRatio(Gaussian(2.0), size=32, alpha=1e-3, **SEEDED),
        sample_weight_X=weights(300),
    ),
    "DensityRatio: streams": lambda: ratio_of_streams(DensityRatio(size=32, **SEEDED)),
    "KernelWitness: small table": lambda: witness(KernelWitness(size=32, **SEEDED)),
    "KernelWitness: random features": lambda: witness(KernelWitness(ArcCosine(), 32, **SEEDED)),
    "two_sample_test: permutation": lambda: two_samples(permutations=49),
    "two_sample_test: normal": lambda: two_samples(method="normal"),
    "two_sample_test: weights": lambda: two_samples(
        permutations=49, sample_weight_X=weights(300), sample_weight_Y=weights(200)
    ),
    "KernelRegressor: quantile loss": lambda: regression(
        KernelRegressor(loss=Quantile(0.25), features=Binning(8), **FEW_PASSES)
    ),
}


def cases():
    """Return all cases, {name: function without arguments that returns the outcome}."""
    found = dict(CASES)
    for name, settings in SETTINGS.items():
        model = KernelRegressor(**FEW_PASSES | settings)
        found[f"KernelRegressor: {name}"] = lambda m=model: regression(m)
    for name in ours(Kernel):
        found[f"KernelRegressor: kernel {name}"] = lambda n=name: with_kernel(n)
    for name, kernel in ALGEBRA.items():
        found[f"KernelRegressor: {name}"] = lambda k=kernel: combined(k)
        found[f"KernelRegressor: {name} by centres"] = lambda k=kernel: combined(
            k, Centers(20), solver="nystroem"
        )
        if bochner.features.has_map(kernel):
            found[f"KernelRegressor: {name} by random features"] = lambda k=kernel: combined(
                k, "random"
            )
    for name in transformers():
        found[f"{name}: transform"] = lambda n=name: transformed(n)
    return found
