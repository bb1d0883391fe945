"""How far are the products of features from the kernel at each size, beside scikit-learn's?

The error is |Phi Phi' - K| / |K| between test rows, in double precision, over seeds. Maps are built
from training rows.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from bochner.compute.random.counter_based import Random
from common import data_argument, introduce, pyplot, save_picture, save_record, table
from maps_cases import CASES, COLOURED, SIZES, WAVES, Case, Curve
from maps_sets import JUDGED, Rows, error, rows
from maps_verdicts import Errors, Line, verdicts

SEEDS, FEW_SEEDS = 16, 4
EVERY = 3  # of the sizes, where it is to be quick
WIDTH = 4  # panels beside each other


def measure(given: Any) -> tuple[list[Line], list[Line]]:
    """Return the errors of all maps, and what is to be said of them."""
    known: dict[str, Rows] = {}
    found: dict[str, Errors] = {}
    for case in CASES:
        if case.set not in known:
            known[case.set] = rows(given.data, case.set, JUDGED // 2 if given.quick else JUDGED)
        found[case.title] = followed(case, known[case.set], given.quick)
        show(case, found[case.title])
    print("\nRatios of errors are those of geometric means over seeds.")
    said = verdicts(found)
    draw(found)
    return [line for case in CASES for line in lines(case, found[case.title])], said


def followed(case: Case, data: Rows, quick: bool) -> Errors:
    """Return the errors of all curves of a case."""
    sizes = case.sizes[::EVERY] if quick else case.sizes
    seeds = FEW_SEEDS if quick else SEEDS
    return {curve.label: errors(curve, data, sizes, seeds) for curve in case.curves}


def errors(curve: Curve, data: Rows, sizes: tuple[int, ...], seeds: int) -> dict[int, np.ndarray]:
    """Return logarithms of errors by size; the bandwidth comes from the rows to build from."""
    kernel = curve.kernel.resolved(data.sample.X, Random(0))
    exact, numbers = kernel(data.X), range(seeds if curve.random else 1)

    def one(size: int, seed: int) -> float:
        return error(curve.columns(kernel, data, size, seed), exact)

    some = [size for size in sizes if size <= curve.most]
    return {size: np.log([one(size, seed) for seed in numbers]) for size in some}


def show(case: Case, found: Errors) -> None:
    """Print the geometric means."""
    sizes = sorted({size for by_size in found.values() for size in by_size})
    print(f"\n{case.title}: relative error of the kernel matrix")
    cells = [
        (label, *(f"{np.exp(by_size[n].mean()):.3g}" if n in by_size else "" for n in sizes))
        for label, by_size in found.items()
    ]
    table(("features", *(f"{size:,}" for size in sizes)), cells)


def lines(case: Case, found: Errors) -> list[Line]:
    """Return what is kept of a case: means and deviations of the logarithms."""
    return [
        {"case": case.title, "set": case.set, "map": label, "size": size, "seeds": len(logs)}
        | {"error": float(np.exp(logs.mean())), "deviation": float(logs.std())}
        for label, by_size in found.items()
        for size, logs in by_size.items()
    ]


def draw(found: dict[str, Errors]) -> None:
    """Draw a panel for each case: ours in colours, scikit-learn's dashed."""
    plt = pyplot()
    if plt is None:
        return
    height = -(-len(CASES) // WIDTH)
    size = (3.6 * WIDTH, 3.0 * height)
    figure, panels = plt.subplots(height, WIDTH, figsize=size, layout="constrained")
    for case, axes in zip(CASES, panels.flat, strict=True):
        panel(axes, case, found[case.title])
        mark(plt, axes, SIZES[::2])
    figure.suptitle("Error of the kernel matrix, |ΦΦ' − K| / |K|; dashed: scikit-learn")
    figure.supxlabel("features", fontsize=10)
    save_picture("maps_errors", figure)


def panel(axes: Any, case: Case, found: Errors) -> None:
    """Draw the curves of a case."""
    colours = coloured(case)
    for curve in case.curves:
        means = [float(np.exp(logs.mean())) for logs in found[curve.label].values()]
        style = {"ls": "-", "marker": "o"} if curve.name else {"ls": "--", "marker": "s"}
        look = {"color": colours[curve.label], "lw": 1.5, "ms": 3} | style
        axes.loglog(list(found[curve.label]), means, label=curve.label.replace("_", " "), **look)
    axes.set_title(case.title, fontsize=9)
    axes.legend(fontsize=6.5, handlelength=2.6, labelspacing=0.25)


def coloured(case: Case) -> dict[str, str]:
    """Return a colour for each curve: ways to draw frequencies have one in all panels.

    What is scikit-learn's is black, or has the colour of ours beside it if there are several.
    """
    ours = [curve.label for curve in case.curves if curve.name]
    theirs = [curve for curve in case.curves if not curve.name]
    fixed = {label: colour for label, colour in zip(WAVES, COLOURED, strict=False) if label in ours}
    rest = (colour for colour in COLOURED if colour not in fixed.values())
    colours = fixed | {label: next(rest) for label in ours if label not in fixed}
    several = len(theirs) > 1
    return colours | {c.label: colours[c.beside[0]] if several else "black" for c in theirs}


def mark(plt: Any, axes: Any, sizes: tuple[int, ...]) -> None:
    """Name sizes, and errors in percent: 1, 2 and 5 times powers of ten, or powers alone."""
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.set_minor_locator(plt.NullLocator())
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(plt.LogLocator(subs=(1, 2, 5) if high < 1e3 * low else (1,)))
    axes.yaxis.set_minor_locator(plt.NullLocator())
    axes.yaxis.set_major_formatter(plt.FuncFormatter(lambda value, _: f"{100 * value:g}%"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--quick", action="store_true", help="a trial with few sizes and seeds")
    given = parser.parse_args()
    introduce("Errors of feature maps")
    found, said = measure(given)
    save_record("maps_errors", {"errors": found, "targets": said})


if __name__ == "__main__":
    main()
