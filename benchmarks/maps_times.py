"""How long do transformers take for 100,000 rows of covtype, beside scikit-learn's of equal size?

Each runs in turns with its counterpart, and the best run counts. `maps_fastfood.py` is the second
half.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import (
    AdditiveChi2Sampler,
    Nystroem,
    PolynomialCountSketch,
    RBFSampler,
    SkewedChi2Sampler,
)

from bochner import (
    AdditiveHomogeneous,
    ArcCosine,
    Fastfood,
    HistogramFourier,
    NystroemMap,
    OrthogonalFourier,
    QuasiMonteCarloFourier,
    RandomBinning,
    RandomFourier,
    RandomLaplace,
    RandomMaclaurin,
    TensorSketch,
)
from bochner.kernels import Gaussian, Polynomial, SkewedChiSquared
from common import (
    COLOURS,
    data_argument,
    introduce,
    load,
    pyplot,
    rounds,
    save_picture,
    save_record,
    table,
    target,
    timed,
)
from maps_fastfood import by_columns
from maps_sets import to_range

ROWS, SIZE, LARGE, REPEATS = 100_000, 1_024, 4_096, 5
FEW_ROWS = 5_000  # where it is to be quick, and to compile
BANDWIDTH = 1.0
STEPS = 2  # of AdditiveChi2Sampler: 3 functions a column
FASTER = 3.0
TICKS = (1, 2, 3, 5, 10, 20, 50)
PAIRS = {
    "RandomFourier": "RBFSampler",
    "RandomFourier, 4,096": "RBFSampler, 4,096",
    "TensorSketch": "PolynomialCountSketch",
    "AdditiveHomogeneous": "AdditiveChi2Sampler",
    "HistogramFourier, skewed": "SkewedChi2Sampler",
    "NystroemMap": "Nystroem",
}
TYPES = (np.float32, np.float64)

Line = dict[str, Any]


def measure(given: Any) -> tuple[dict[str, list[Line]], list[Line]]:
    """Return times of all transformers, those of Fastfood by columns, and the targets."""
    lines = []
    for dtype in TYPES:
        lines += transformers(rows(given.data, dtype, FEW_ROWS if given.quick else ROWS), given)
    print()
    verdicts = [faster(lines, ours, dtype) for dtype in TYPES for ours in PAIRS]
    draw(lines)
    wide, more = by_columns(given)
    return {"transformers": lines, "columns": wide}, [*verdicts, *more]


def rows(folder: Path, dtype: Any, most: int) -> np.ndarray:
    """Return rows of covtype, in [0, 1]."""
    X = load(folder, "covtype")[0][:most]
    return np.ascontiguousarray(to_range(X, X), dtype)


def contenders(n_columns: int) -> dict[str, Any]:
    """Return all transformers, with scikit-learn's."""
    gaussian, gamma, more = Gaussian(BANDWIDTH), 0.5 / BANDWIDTH**2, {"random_state": 0}
    size, additive = {"size": SIZE, **more}, (2 * STEPS - 1) * n_columns
    theirs = {"n_components": SIZE, **more}
    return {
        "RandomFourier": RandomFourier(gaussian, **size),
        "RBFSampler": RBFSampler(gamma=gamma, **theirs),
        "RandomFourier, 4,096": RandomFourier(gaussian, LARGE, **more),
        "RBFSampler, 4,096": RBFSampler(gamma=gamma, n_components=LARGE, **more),
        "TensorSketch": TensorSketch(Polynomial(2, scale=1.0), **size),
        "PolynomialCountSketch": PolynomialCountSketch(degree=2, coef0=1, **theirs),
        "AdditiveHomogeneous": AdditiveHomogeneous(size=additive, **more),
        "AdditiveChi2Sampler": AdditiveChi2Sampler(sample_steps=STEPS),
        "HistogramFourier, skewed": HistogramFourier(SkewedChiSquared(1.0), **size),
        "SkewedChi2Sampler": SkewedChi2Sampler(skewedness=1.0, **theirs),
        "NystroemMap": NystroemMap(gaussian, **size),
        "Nystroem": Nystroem(gamma=gamma, **theirs),
        "OrthogonalFourier": OrthogonalFourier(gaussian, **size),
        "QuasiMonteCarloFourier": QuasiMonteCarloFourier(gaussian, **size),
        "Fastfood": Fastfood(gaussian, **size),
        "HistogramFourier, exponentiated": HistogramFourier(**size),
        "RandomMaclaurin": RandomMaclaurin(**size),
        "ArcCosine": ArcCosine(**size),
        "RandomLaplace": RandomLaplace(**size),
        "RandomBinning, 64 grids": RandomBinning(grids=64, **more),
    }


def transformers(X: np.ndarray, given: Any) -> list[Line]:
    """Return and print the times to fit and to transform."""
    models = contenders(X.shape[1])
    for model in (models[name] for name in models if name not in PAIRS.values()):
        clone(model).fit(X[:FEW_ROWS]).transform(X[:FEW_ROWS])  # compiles
    fits = {name: timed(lambda model=model: model.fit(X))[1] for name, model in models.items()}
    works = {name: partial(model.transform, X) for name, model in models.items()}
    alone = [(name,) for name in works if name not in {*PAIRS, *PAIRS.values()}]
    times = {}
    for group in [*PAIRS.items(), *alone]:  # memory that others have freed would count as well
        times |= rounds({name: works[name] for name in group}, 1 if given.quick else REPEATS)
    lines = [
        {"transformer": name, "dtype": X.dtype.name, "fit": fits[name]}
        | {"transform": times[name].best, "runs": times[name].runs}
        for name in models
    ]
    print(
        f"\n{len(X):,} x {X.shape[1]} rows, {X.dtype}, to {SIZE:,} functions if no other ", end=""
    )
    print(f"number is given; additive ones to {(2 * STEPS - 1) * X.shape[1]}")
    shown = [(x["transformer"], f"{x['fit']:.3f}", str(times[x["transformer"]])) for x in lines]
    table(("transformer", "fit s", "transform"), shown)
    return lines


def seconds(lines: list[Line], name: str, dtype: Any) -> float:
    """Return the time to transform."""
    kind = np.dtype(dtype).name
    return next(x["transform"] for x in lines if (x["transformer"], x["dtype"]) == (name, kind))


def faster(lines: list[Line], ours: str, dtype: Any) -> Line:
    """Say how many times as fast ours is as scikit-learn's."""
    theirs, kind = PAIRS[ours], np.dtype(dtype).name
    ratio = seconds(lines, theirs, dtype) / seconds(lines, ours, dtype)
    wanted = 1.0 if ours == "NystroemMap" else FASTER
    text = f"{ours}, {kind}: {ratio:.2f} times as fast as {theirs}, target {wanted:g}"
    return target(text, ratio >= wanted)


def draw(lines: list[Line]) -> None:
    """Draw bars, two for each pair."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    places = np.arange(len(PAIRS))[::-1]
    for number, dtype in enumerate(TYPES):
        ratios = [seconds(lines, t, dtype) / seconds(lines, o, dtype) for o, t in PAIRS.items()]
        place, kind = places + 0.2 - 0.4 * number, np.dtype(dtype).name
        lengths = np.array(ratios) - 1
        bars = axes.barh(place, lengths, 0.38, left=1, color=COLOURS[number], label=kind)
        axes.bar_label(bars, [f" {ratio:.1f}" for ratio in ratios], fontsize=8)
    axes.axvline(1, color="0.3", lw=1)
    axes.axvline(FASTER, color="0.3", lw=1, ls="--", label="target, but 1 for Nystroem")
    axes.set_yticks(places, [f"{ours}\nbeside {theirs}" for ours, theirs in PAIRS.items()])
    axes.set(title="Transforming covtype", xlabel="times as fast as scikit-learn", xscale="log")
    axes.set_xticks(TICKS, map(str, TICKS))
    axes.xaxis.set_minor_locator(plt.NullLocator())
    axes.grid(False, axis="y")
    axes.set_axisbelow(True)
    axes.legend(loc="lower right")
    save_picture("maps_times", figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--quick", action="store_true", help="a trial with few rows")
    given = parser.parse_args()
    introduce("Times of transformers")
    found, said = measure(given)
    save_record("maps_times", {"times": found, "targets": said})


if __name__ == "__main__":
    main()
