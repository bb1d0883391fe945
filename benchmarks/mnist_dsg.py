"""How good and how fast is the default doubly stochastic classifier on MNIST, beside an SVC?

Rows are L2-normalised. scikit-learn-intelex's SVC gets the same rows in the same run.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from bochner import KernelClassifier
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

MOST_FEATURES = 65_536
MOST_ERROR = 0.017
LOOKS = 8


@dataclass(frozen=True)
class Split:
    """Training and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    def test_error(self, model: Any) -> float:
        """Return the share of the test rows that get another label."""
        return float(np.mean(model.predict(self.X_test) != self.y_test))


def split(folder: Any, rows: int | None) -> Split:
    X, y, X_test, y_test = load(folder, "mnist")
    return Split(normalize(X[:rows]), y[:rows], normalize(X_test), y_test)


def classifier(seed: int, **more: Any) -> KernelClassifier:
    return KernelClassifier(loss="softmax", solver="dsg", random_state=seed, **more)


def fit(data: Split, seed: int) -> tuple[KernelClassifier, dict[str, Any]]:
    """Fit with the defaults, and take the figures."""
    model, seconds = timed(lambda: classifier(seed).fit(data.X, data.y))
    error, predicting = timed(lambda: data.test_error(model))
    return model, {
        "seed": seed,
        "test error": f"{error:.2%}",
        "features": model.n_features_used_,
        "passes": model.n_iter_,
        "fit s": seconds,
        "predict s": predicting,
        "error": error,
        "stopped": model.stopped_because_,
    }


def over_time(data: Split, model: KernelClassifier, seed: int) -> list[dict[str, Any]]:
    """Return the test error after some passes of the same fit.

    A fit that goes on (warm_start) gives what an uninterrupted one gives; here it is stopped after
    some passes of the model that was timed, to be tested. The rows that early stopping holds out
    stay out, so the passes are the same ones. Times are those of the model that was timed.
    """
    passes = np.asarray(model.history_["pass_"])
    steps = np.asarray(model.history_["step"])
    seconds = np.asarray(model.history_["seconds"])
    lines = []
    again = classifier(seed, warm_start=True, early_stopping=True, tol=0.0)
    for done in np.unique(np.geomspace(1, max(1, passes.max()), LOOKS).astype(int)).tolist():
        last = int(np.flatnonzero(passes == done - 1)[-1])
        again.set_params(max_passes=done)
        quietly(lambda: again.fit(data.X, data.y))
        error = data.test_error(again)
        lines.append(
            {
                "passes": done,
                "steps": int(steps[last]),
                "features": again.n_features_used_,
                "seconds": float(seconds[last]),
                "test error": f"{error:.2%}",
                "error": error,
            }
        )
    return lines


def quietly(work: Any) -> None:
    """Do it without the word that a fit ended before it converged: here that is the purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        work()


def support_vectors(data: Split, bandwidth: float, C: float) -> dict[str, Any] | None:
    """Fit scikit-learn-intelex's SVC with the same kernel; None if it is not installed."""
    try:
        from sklearnex.svm import SVC
    except ImportError:
        print("\nno SVC: scikit-learn-intelex is missing (pip install 'bochner[benchmark]').")
        return None
    model, seconds = timed(lambda: SVC(C=C, gamma=0.5 / bandwidth**2).fit(data.X, data.y))
    error, predicting = timed(lambda: data.test_error(model))
    return {"error": error, "fit s": seconds, "predict s": predicting, "C": C}


def draw(lines: list[dict[str, Any]], final: dict[str, Any], svc: dict[str, Any] | None) -> None:
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(6.2, 3.8), layout="constrained")
    points = [(line["seconds"], line["error"]) for line in lines] + [
        (final["fit s"], final["error"])
    ]
    seconds, errors = zip(*points, strict=True)
    label = "KernelClassifier, after some passes and at the end"
    axes.semilogy(seconds, 100 * np.array(errors), "o-", color=COLOURS[0], label=label)
    if svc is not None:
        label = "SVC of scikit-learn-intelex"
        axes.plot(svc["fit s"], 100 * svc["error"], "D", color=COLOURS[2], ms=8, label=label)
    axes.axhline(100 * MOST_ERROR, color="0.4", ls="--", lw=1, label="target")
    axes.set(xlabel="seconds of fitting", ylabel="test error, %", title="MNIST", xlim=(0, None))
    axes.yaxis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(plt.FuncFormatter(lambda value, _: f"{value:g}"))
    axes.legend()
    save_picture("mnist_dsg", figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--seeds", type=int, default=1, help="how many; 0, 1, ...")
    parser.add_argument("--rows", type=int, default=None, help="only the first training rows")
    parser.add_argument("--C", type=float, default=10.0, help="of the SVC")
    given = parser.parse_args()
    introduce("KernelClassifier(loss='softmax', solver='dsg') on MNIST, rows L2-normalised")

    data = split(given.data, given.rows)
    fit(Split(data.X[:1000], data.y[:1000], data.X_test[:100], data.y_test[:100]), 0)  # compiles
    fits = [fit(data, seed) for seed in range(given.seeds)]
    model, lines = fits[0][0], [line for _, line in fits]
    shown = ("seed", "test error", "features", "passes", "fit s", "predict s", "stopped")
    table(shown, [[line[name] for name in shown] for line in lines])

    print("\ntest error over time, seed 0")
    passes = over_time(data, model, 0)
    shown = ("passes", "steps", "features", "seconds", "test error")
    table(shown, [[line[name] for name in shown] for line in passes])

    svc = support_vectors(data, model.kernel_.bandwidth, given.C)
    if svc is not None:
        print(f"\nSVC, same kernel, C = {given.C:g}: test error {svc['error']:.2%}, ", end="")
        print(f"fit {svc['fit s']:.1f} s, predict {svc['predict s']:.1f} s")
        ratio = np.median([line["fit s"] for line in lines]) / svc["fit s"]
        print(f"KernelClassifier takes {ratio:.2f} times the time of SVC to fit")

    print()
    features, error = max(line["features"] for line in lines), max(line["error"] for line in lines)
    few = f"features {features:,}, target at most {MOST_FEATURES:,}"
    good = f"worst test error {error:.2%}, target at most {MOST_ERROR:.1%}"
    verdicts = [target(few, features <= MOST_FEATURES), target(good, error <= MOST_ERROR)]
    save_record("mnist_dsg", {"fits": lines, "passes": passes, "svc": svc, "targets": verdicts})
    draw(passes, lines[0], svc)


if __name__ == "__main__":
    main()
