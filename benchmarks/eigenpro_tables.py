"""Part 4: tables: EigenPro, Nystroem and the direct solution beside scikit-learn and NumPy."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline

import eigenpro_plain as plain
from binning_sets import Split, best_of, wrong
from common import table, target, timed
from eigenpro_common import (
    CENTERS,
    OURS,
    SETTINGS,
    Setting,
    few_of,
    fitted,
    rows_of,
    support_vectors,
    within,
)

NAMES = ("california", "kin40k", "protein", "cod-rna", "ijcnn1", "letter")
MOST_EXACT = 20_000  # rows of exact machines
VECTOR_SECONDS = 60.0  # for support vector machines
COMPONENTS = 1_000  # of scikit-learn's Nystroem; with 5,000 its decomposition alone takes minutes
PASSES = 21  # at most: one for the right-hand side, 20 iterations
MOST_RATIO = 0.5
RUNS = 3

Line = dict[str, Any]


@dataclass(frozen=True)
class Columns:
    """Targets as columns of mean 0, for those who need them so: labels as -1 and 1."""

    data: Split
    Y: np.ndarray
    mean: np.ndarray

    @classmethod
    def of(cls, data: Split) -> Columns:
        """Code the targets: a column a class, one for two classes."""
        Y = data.y.astype(np.float64)[:, None]
        if data.task.kind != "numbers":
            labels = np.unique(data.y)
            labels = labels[1:] if len(labels) == 2 else labels
            Y = np.where(data.y[:, None] == labels, 1.0, -1.0)
        mean = Y.mean(axis=0)
        return cls(data, (Y - mean).astype(np.float32), mean)

    def error(self, f: np.ndarray) -> float:
        """Return the test error of values of a function."""
        f = f + self.mean
        if self.data.task.kind == "numbers":
            return wrong(self.data.task, self.data.y_test, f[:, 0])
        chosen = f.argmax(axis=1) if f.shape[1] > 1 else (f[:, 0] > 0).astype(np.int64)
        return wrong(self.data.task, self.data.y_test, np.unique(self.data.y)[chosen])


def compare_tables(given: argparse.Namespace) -> tuple[list[Line], list[Line]]:
    """Compare on every set; return the figures and the verdicts."""
    print(f"\nPart 4. Errors and seconds of fitting; best of {RUNS} below 10 s. Ours, direct and")
    print("Nystroem, and scikit-learn's ridges have the ridge that is printed, EigenPro none: it")
    print("stops early. Nystroem in NumPy has the same centres and iterations. Exact machines up")
    print(f"to {MOST_EXACT:,} rows, support vector machines for {VECTOR_SECONDS:g} s.")
    results = [compare(name, rows_of(name, given.data, given.rows)) for name in NAMES]
    print()
    return results, [judged(result) for result in results]


def compare(name: str, data: Split) -> Line:
    """Print the table of one set."""
    setting = SETTINGS[name]
    warm_up(data, setting)
    alpha = {"alpha": setting.ridge / len(data.X)}
    model, nystroem = ours(
        data, setting, "nystroem", max_passes=PASSES, early_stopping=False, **alpha
    )
    lines = [ours(data, setting, "eigenpro")[1], nystroem]
    if len(data.X) <= MOST_EXACT:
        lines.append(ours(data, setting, "direct", early_stopping=False, **alpha)[1])
    lines += [in_numpy(data, setting, model), *theirs(data, setting)]
    show(name, data, setting, lines)
    return {"set": name, "setting": vars(setting), "lines": lines}


def warm_up(data: Split, setting: Setting) -> None:
    """Fit a few rows, so that what is timed later is compiled."""
    for name in ("eigenpro", "nystroem", "direct"):
        model = fitted(few_of(data), setting, **OURS[name], max_passes=2)
        model.predict(data.X_test[:100])


def ours(data: Split, setting: Setting, name: str, **more: Any) -> tuple[Any, Line]:
    """Return our estimator with one of our solvers, and its figures."""
    model, times = best_of(lambda: fitted(data, setting, **OURS[name], **more), RUNS)
    titles = {
        "eigenpro": "EigenPro",
        "nystroem": f"Nystroem, {CENTERS:,} centres",
        "direct": "direct",
    }
    note = f"{model.n_features_used_:,} centres, passes: {model.n_iter_}"
    return model, line(titles[name], data.error(model), times, note)


def in_numpy(data: Split, setting: Setting, model: Any) -> Line:
    """Return the figures of the same Nystroem-CG in plain NumPy."""
    chosen = model.expansion_.basis.for_prediction.index
    iterations, gamma = model.n_iter_ - 1, 0.5 / setting.bandwidth**2
    centre = data.X.mean(axis=0)  # distances by products are exact only near 0
    X, columns = data.X - centre, Columns.of(data)
    centers, alpha = X[chosen], setting.ridge / len(X)
    weights, times = best_of(
        lambda: plain.nystroem(X, columns.Y, centers, gamma, alpha, iterations), RUNS
    )
    error = columns.error(plain.predicted(data.X_test - centre, centers, gamma, weights))
    return line("Nystroem-CG in NumPy", error, times, f"{len(chosen):,} centres, as many")


def theirs(data: Split, setting: Setting) -> list[Line]:
    """Return the figures of scikit-learn's models that take so many rows."""
    gamma, lines = 0.5 / setting.bandwidth**2, []
    if len(data.X) <= MOST_EXACT:
        columns, exact = Columns.of(data), KernelRidge(kernel="rbf", gamma=gamma)
        exact.set_params(alpha=setting.ridge)
        model, times = best_of(lambda: exact.fit(data.X, columns.Y), RUNS)
        lines.append(line("KernelRidge", columns.error(model.predict(data.X_test)), times))
    kind = Ridge if data.task.kind == "numbers" else RidgeClassifier
    features = Nystroem(gamma=gamma, n_components=min(COMPONENTS, len(data.X)), random_state=0)
    pipeline = make_pipeline(features, kind(alpha=setting.ridge))
    model, times = best_of(lambda: pipeline.fit(data.X, data.y), RUNS)
    note = f"{features.n_components:,} components"
    lines.append(line("scikit-learn's Nystroem + Ridge", data.error(model), times, note))
    title = "SVR" if data.task.kind == "numbers" else "SVC"
    found = within(VECTOR_SECONDS, lambda: timed_vectors(data, setting))
    if found is None:
        print(f"{title} of scikit-learn did not end in {VECTOR_SECONDS:g} s.")
    else:
        error, seconds = found
        lines.append({"model": title, "error": error, "seconds": seconds, "runs": 1, "note": ""})
    return lines


def timed_vectors(data: Split, setting: Setting) -> tuple[float, float]:
    """Return the error of a support vector machine, and how long it took to fit."""
    model, seconds = timed(lambda: support_vectors(data, setting))
    return data.error(model), seconds


def line(title: str, error: float, times: Any, note: str = "") -> Line:
    """Return the figures of one model."""
    seconds, runs = times.best, len(times.runs)
    return {"model": title, "error": error, "seconds": seconds, "runs": runs, "note": note}


def show(name: str, data: Split, setting: Setting, lines: list[Line]) -> None:
    """Print one set's table."""
    rows, columns = data.X.shape
    print(f"\n{name}: {rows:,} rows x {columns}, {len(data.X_test):,} test rows")
    print(f"{setting}, ridge {setting.ridge:g}, {setting.vectors(data.task.kind)}")
    titles = ("model", f"test {data.task.unit}", "fit s", "best of", "")
    values = [
        (x["model"], data.task.shown(x["error"]), f"{x['seconds']:.2f}", x["runs"], x["note"])
        for x in lines
    ]
    table(titles, values)


def judged(result: Line) -> Line:
    """Print whether our Nystroem is faster than NumPy's."""
    seconds = {line["model"]: line["seconds"] for line in result["lines"]}
    mine, numpys = seconds[f"Nystroem, {CENTERS:,} centres"], seconds["Nystroem-CG in NumPy"]
    text = f"{result['set']}: Nystroem takes {mine / numpys:.2f} times the time of NumPy, target "
    return target(text + f"at most {MOST_RATIO}", mine / numpys <= MOST_RATIO)
