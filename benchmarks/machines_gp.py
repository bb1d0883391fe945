"""Gaussian processes: do mean and variance come to the closed form, and how good are they at scale?

First the data of section 7.2 of Dai et al. 2014 (2^11 training and 2^10 test rows of the radial
wave, median bandwidth, noise variance 0.1): distance to the closed form, which begins with that of
the prior. Then california and protein: negative log likelihood and coverage of the 90% interval on
test rows, all training rows, beside scikit-learn's GaussianProcessRegressor on 2,000 of them.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from binning_sets import quietly
from bochner import KernelGaussianProcess
from bochner.compute.random.counter_based import Random
from bochner.data import RadialWave
from bochner.features import Centers, Fourier
from bochner.kernels import Gaussian
from bochner.solvers import DoublyStochastic, Nystroem, Preconditioned
from common import (
    COLOURS,
    data_argument,
    introduce,
    load,
    pyplot,
    save_picture,
    save_record,
    table,
    target,
    timed,
)

TRAINING, TEST, NOISE = 2**11, 2**10, 0.1
PASSES, SIZES = (1, 2, 4, 8, 16), (64, 256, 1024, 4096)
SETS, THEIR_ROWS = ("california", "protein"), 2_000
QUANTILE, COVERAGE = 1.6449, (0.87, 0.93)
MEAN, VARIANCE = 0.15, 0.1  # of their root mean squares: what counts as converged
TINY = 1e-5  # of them: rounding

STEP = Preconditioned(ridge=1e-7, caution=0.0)
NEWTON = DoublyStochastic(step=STEP, feature_block=1024, batch_size=512)
ITERATED: dict[str, dict[str, Any]] = {
    "(a) operator, doubly stochastic": {
        "variance": "operator",
        "features": Fourier(1024),
        "solver": NEWTON,
    },
    "(b) functions, doubly stochastic": {
        "variance": "functions",
        "features": Fourier(1024),
        "solver": NEWTON,
    },
    "(b) functions, conjugate gradients": {
        "variance": "functions",
        "features": Centers(500),
        "solver": Nystroem(tol=1e-8),
    },
}
CLOSED: dict[str, Any] = {"(c) Fourier features": Fourier, "(c) centres": Centers}

STYLES = ("o-", "s--", "^-")  # lines of the same mean lie on each other

Line = dict[str, Any]


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training rows, targets and test rows of section 7.2."""
    batch = RadialWave(TRAINING + TEST, noise=NOISE**0.5).sample(TRAINING + TEST)
    order = np.random.default_rng(0).permutation(TRAINING + TEST)
    X, y = np.asarray(batch.X, np.float64)[order], batch.y[order]
    return X[:TRAINING], y[:TRAINING], X[TRAINING:]


def closed(kernel: Any, X: np.ndarray, y: np.ndarray, T: np.ndarray) -> tuple[Any, Any]:
    """Return mean and variance of the posterior by the textbook's formula."""
    k = kernel(T, X)
    both = np.linalg.solve(kernel(X) + NOISE * np.eye(len(X)), np.column_stack([y, k.T]))
    return k @ both[:, 0], 1.0 - np.einsum("ij,ji->i", k, both[:, 1:])


def convergence() -> list[Line]:
    """Return relative distances, root mean squares over test rows, for each way and effort."""
    X, y, T = rows()
    kernel = Gaussian(multiplier=1.0).resolved(X, Random(0))
    mean, variance = closed(kernel, X, y, T)

    def line(name: str, effort: int, **settings: Any) -> Line:
        model = KernelGaussianProcess(
            kernel, NOISE, normalize_y=False, tol=0.0, random_state=0, **settings
        )
        (f, s), seconds = timed(
            lambda: quietly(lambda: model.fit(X, y).predict(T, return_std=True))
        )
        return {"way": name, "effort": effort, "seconds": seconds, **far(f, s**2)}

    def far(f: Any, v: Any) -> Line:
        """Return distances in sizes of what is to be found: knowing nothing of it would be 1."""
        return {
            "mean": _size(f - mean) / _size(mean),
            "variance": _size(v - variance) / _size(variance),
        }

    prior = far(0.0, 1.0)
    lines = []
    for name, settings in ITERATED.items():
        lines.append({"way": name, "effort": 0, "seconds": 0.0, **prior})
        lines += [line(name, passes, max_passes=passes, **settings) for passes in PASSES]
    for name, kind in CLOSED.items():
        lines.append({"way": name, "effort": 0, "seconds": 0.0, **prior})
        lines += [line(name, n, features=kind(min(n, TRAINING))) for n in SIZES]
    return lines


def _size(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def shown(lines: list[Line]) -> list[Line]:
    """Print the distances and whether they fall as they should."""
    print("\nSection 7.2: distance to the closed form, in root mean squares of mean and variance")
    print("(0 passes or features: the prior)\n")
    titles = ("way", "passes or features", "mean", "variance", "s")
    table(titles, [[x["way"], x["effort"], f"{x['mean']:.2e}", f"{x['variance']:.2e}",
                    f"{x['seconds']:.2f}"] for x in lines])  # fmt: skip
    print()
    verdicts = []
    for name in [*ITERATED, *CLOSED]:
        own = [x for x in lines if x["way"] == name]
        for what, share in (("mean", MEAN), ("variance", VARIANCE)):
            first, left = own[1][what], own[-1][what]
            text = f"{name}: {what} off by {left:.1e} of its size ({first:.1e} at first), "
            falls = left <= first or left <= TINY
            verdicts.append(target(f"{text}target {share:g} and falling", left <= share and falls))
    return verdicts


def likelihoods(given: argparse.Namespace) -> list[Line]:
    """Return likelihood, coverage and time on tables, ours with all rows."""
    lines = []
    for name in SETS:
        X, y, T, t = load(given.data, name)
        location, width = X.mean(axis=0), X.std(axis=0)
        few = np.random.default_rng(0).permutation(len(X))[:THEIR_ROWS]
        scaled = [((A - location) / width).astype(np.float64) for A in (X[few], T)]
        (f, s, noise), seconds = timed(lambda X=X, y=y, T=T: ours(X, y, T))
        lines.append(line_of(name, "ours", len(X), seconds, t, f, s**2 + noise))
        (f, s), seconds = timed(lambda y=y, few=few, scaled=scaled: theirs(*scaled, y[few]))
        lines.append(line_of(name, "scikit-learn", len(few), seconds, t, f, s**2))
    return lines


def ours(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> tuple[Any, Any, Any]:
    model = KernelGaussianProcess(random_state=0).fit(X, y)
    return *model.predict(T, return_std=True), model.noise_


def theirs(X: np.ndarray, T: np.ndarray, y: np.ndarray) -> Any:
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    return model.predict(T, return_std=True)


def line_of(
    name: str, model: str, count: int, seconds: float, t: Any, f: Any, variance: Any
) -> Line:
    """Return the figures of one model on one set."""
    loss = 0.5 * (np.log(2 * np.pi * variance) + np.square(t - f) / variance)
    covered = np.abs(t - f) <= QUANTILE * np.sqrt(variance)
    return {
        "set": name, "model": model, "rows": count, "seconds": seconds,
        "nll": float(loss.mean()), "coverage": float(covered.mean()), "rmse": _size(t - f),
    }  # fmt: skip


def compared(lines: list[Line]) -> list[Line]:
    """Print the figures on tables and whether ours are as good as they should be."""
    print("\nTables: test rows, seconds of fit and prediction\n")
    titles = ("set", "model", "rows", "NLL", "90% covers", "RMSE", "s")
    table(titles, [[x["set"], x["model"], x["rows"], f"{x['nll']:.4f}", f"{x['coverage']:.1%}",
                    f"{x['rmse']:.4f}", f"{x['seconds']:.1f}"] for x in lines])  # fmt: skip
    print()
    verdicts = []
    for mine, other in zip(lines[::2], lines[1::2], strict=True):
        name = mine["set"]
        text = f"{name}: NLL {mine['nll']:.3f}, target scikit-learn's {other['nll']:.3f}"
        verdicts.append(target(text, mine["nll"] <= other["nll"]))
        text = f"{name}: {mine['seconds']:.1f} s, target scikit-learn's {other['seconds']:.1f} s"
        verdicts.append(target(text, mine["seconds"] <= other["seconds"]))
        text = f"{name}: the 90% interval covers {mine['coverage']:.1%}, target 87% to 93%"
        verdicts.append(target(text, COVERAGE[0] <= mine["coverage"] <= COVERAGE[1]))
    return verdicts


def picture(lines: list[Line]) -> None:
    """Draw the distances: against passes on the left, against features on the right."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), sharey="row", layout="constrained")
    for column, (ways, label) in enumerate(((ITERATED, "passes"), (CLOSED, "features"))):
        for number, name in enumerate(ways):
            own = [x for x in lines if x["way"] == name]
            for axis, what in zip(axes[:, column], ("mean", "variance"), strict=True):
                colour = COLOURS[number + (column and len(ITERATED))]
                efforts = [x["effort"] for x in own]
                axis.plot(efforts, [x[what] for x in own], STYLES[number], color=colour, label=name)
                axis.set_xscale("symlog", base=2, linthresh=1 if column == 0 else SIZES[0])
                axis.set_yscale("log")
        axes[0, column].legend(fontsize=8)
        axes[1, column].set_xlabel(f"{label} (0: the prior)")
    for axis, what in zip(axes[:, 0], ("mean", "variance"), strict=True):
        axis.set_ylabel(f"{what}: relative distance")
    figure.suptitle("Gaussian process: distance to the closed form", fontsize=10)
    save_picture("machines_gp", figure)


def measure(given: argparse.Namespace) -> tuple[dict[str, list[Line]], list[Line]]:
    """Run all; return the figures and the verdicts."""
    near, tables = convergence(), likelihoods(given)
    verdicts = shown(near) + compared(tables)
    picture(near)
    return {"convergence": near, "tables": tables}, verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    introduce("Do Gaussian processes come to their closed form, and how good are they at scale?")
    figures, verdicts = measure(parser.parse_args())
    save_record("machines_gp", {**figures, "targets": verdicts})


if __name__ == "__main__":
    main()
