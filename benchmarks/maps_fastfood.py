"""How long do Fastfood and dense frequencies take as the columns of the rows grow?"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np

from bochner import Fastfood, RandomFourier
from bochner.kernels import Gaussian
from common import COLOURS, introduce, pyplot, rounds, save_picture, save_record, table, target

ROWS, FEW_ROWS, SIZE, REPEATS = 4_000, 500, 8_192, 5
COLUMNS = (128, 256, 512, 784, 1_024, 2_048, 4_096)
WIDE = 1_024  # columns from which on Fastfood is to be faster
DENSE, FAST, PRODUCT = "RandomFourier", "Fastfood", "the matrix product alone"
TYPES = ("float32", "float64")

Line = dict[str, Any]


def by_columns(given: Any) -> tuple[list[Line], list[Line]]:
    """Return and print the times for more and more columns."""
    widths = COLUMNS[::2] if given.quick else COLUMNS
    lines = [one_width(dtype, width, given.quick) for dtype in TYPES for width in widths]
    print(f"\n{lines[0]['rows']:,} rows to {SIZE:,} functions")
    names = (DENSE, FAST, PRODUCT)
    shown = [(x["columns"], x["dtype"], *(f"{x[name]:.3g}" for name in names)) for x in lines]
    table(("columns", "dtype", *(f"{name}, s" for name in names)), shown)
    print()
    verdicts = [faster([x for x in lines if x["dtype"] == dtype], dtype) for dtype in TYPES]
    draw(lines)
    return lines, verdicts


def one_width(dtype: str, columns: int, quick: bool) -> Line:
    """Return the times for so many columns; the phases are a product with half as many."""
    X = np.random.default_rng(0).normal(size=(FEW_ROWS if quick else ROWS, columns))
    X, kernel = X.astype(dtype), Gaussian(columns**0.5)
    works = {PRODUCT: partial(np.matmul, X, np.ones((columns, SIZE // 2), dtype))}
    for make in (RandomFourier, Fastfood):
        model = make(kernel, SIZE, random_state=0).fit(X)
        model.transform(X)  # compiles, and draws what is kept
        works[make.__name__] = partial(model.transform, X)
    times = rounds(works, 1 if quick else REPEATS)
    best = {name: several.best for name, several in times.items()}
    return {"rows": len(X), "columns": columns, "dtype": dtype} | best


def faster(lines: list[Line], dtype: str) -> Line:
    """Say whether Fastfood is faster than dense frequencies where columns are many."""
    least = min(x[DENSE] / x[FAST] for x in lines if x["columns"] >= WIDE)
    text = f"Fastfood, {dtype}: at least {least:.2f} times as fast as RandomFourier from "
    return target(f"{text}{WIDE:,} columns on, target 1", least > 1)


def draw(lines: list[Line]) -> None:
    """Draw seconds against columns."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for place, dtype in zip(axes, TYPES, strict=True):
        panel(place, [x for x in lines if x["dtype"] == dtype])
        place.xaxis.set_minor_locator(plt.NullLocator())
        place.set(title=dtype, xlabel="columns")
    axes[0].set(ylabel="seconds to transform")
    axes[0].legend()
    figure.suptitle(f"{lines[0]['rows']:,} rows to {SIZE:,} functions")
    save_picture("maps_fastfood", figure)


def panel(axes: Any, lines: list[Line]) -> None:
    """Draw one precision."""
    columns = [x["columns"] for x in lines]
    looks = {DENSE: ("o-", COLOURS[0]), FAST: ("s-", COLOURS[2]), PRODUCT: (":", "0.4")}
    for name, (look, colour) in looks.items():
        axes.loglog(columns, [x[name] for x in lines], look, color=colour, ms=4, label=name)
    axes.axvline(WIDE, color="0.3", lw=1, ls="--", label="target: faster from here on")
    axes.set_xticks(columns, [f"{n:,}" for n in columns], rotation=45)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a trial with few rows")
    introduce("Fastfood and dense frequencies")
    lines, verdicts = by_columns(parser.parse_args())
    save_record("maps_fastfood", {"columns": lines, "targets": verdicts})


if __name__ == "__main__":
    main()
