"""Does memory stay the same however many rows go through `partial_fit`?

Rows of 100 columns are made block by block from a seed: a smooth nonlinear target with noise, of
which a block is all that ever exists. Peak memory is looked at on the way.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from bochner import KernelRegressor
from common import (
    COLOURS,
    current_megabytes,
    introduce,
    peak_megabytes,
    pyplot,
    save_picture,
    save_record,
    table,
    target,
)

MOST_MEGABYTES = 50
HELD_OUT_ROWS = 10_000
NOISE = 0.1


@dataclass
class Rows:
    """Normal rows; the target is a few waves along random directions, plus noise."""

    columns: int
    seed: int
    waves: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng([self.seed, 0])
        self.waves = rng.normal(size=(self.columns, 8)).astype(np.float32) / self.columns**0.5

    def truth(self, X: np.ndarray) -> np.ndarray:
        """Return the mean of sin(x'd) + cos(x'd), d running over the directions."""
        along = X @ self.waves
        return np.mean(np.sin(along) + np.cos(along), axis=1)

    def block(self, number: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return block number `number`, made from its number alone."""
        rng = np.random.default_rng([self.seed, 1, number])
        X = rng.standard_normal((rows, self.columns), dtype=np.float32)
        return X, self.truth(X) + NOISE * rng.standard_normal(rows, dtype=np.float32)


@dataclass
class Account:
    """Where the time went: making the rows, learning from them."""

    made: float = 0.0
    learned: float = 0.0


def take(model: KernelRegressor, data: Rows, number: int, rows: int, account: Account) -> None:
    begin = perf_counter()
    X, y = data.block(number, rows)
    between = perf_counter()
    model.partial_fit(X, y)
    account.made += between - begin
    account.learned += perf_counter() - between


def look(model: KernelRegressor, data: Rows, rows: int, account: Account) -> dict[str, Any]:
    # Peak and current memory are taken before the prediction, which needs some of its own.
    memory = {"peak MB": round(peak_megabytes(), 1), "current MB": round(current_megabytes(), 1)}
    X, _ = data.block(-1 % 2**32, HELD_OUT_ROWS)
    error = float(np.mean((model.predict(X) - data.truth(X)) ** 2))
    return {
        "rows": rows,
        **memory,
        "features": model.n_features_used_,
        "error": error,
        "rows/s": round(rows / account.learned),
        "seconds": round(account.learned, 1),
        "making rows": round(account.made, 1),
    }


def walk(given: argparse.Namespace) -> tuple[list[dict[str, Any]], list[dict[str, float]]]:
    """Go through the rows; return what is seen at the moments, and the memory on the way."""
    data, account = Rows(given.columns, given.seed), Account()
    model = KernelRegressor(random_state=given.seed)
    moments = {share * given.rows // 10 // given.block for share in (1, 5, 10)}
    lines, memory = [], []
    for number in range(given.rows // given.block):
        take(model, data, number, given.block, account)
        done = (number + 1) * given.block
        if (number + 1) % max(1, given.rows // given.block // 100) == 0:
            memory.append({"rows": done, "peak": peak_megabytes(), "current": current_megabytes()})
        if number + 1 in moments:
            lines.append(look(model, data, done, account))
            print(f"  {done:,} rows: {lines[-1]['peak MB']} MB at most", flush=True)
    return lines, memory


def draw(memory: list[dict[str, float]]) -> None:
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(6.2, 3.4), layout="constrained")
    rows = [line["rows"] / 1e6 for line in memory]
    axes.plot(rows, [line["peak"] for line in memory], color=COLOURS[2], label="peak")
    axes.plot(rows, [line["current"] for line in memory], color=COLOURS[0], label="current")
    axes.set(
        xlabel="million rows through partial_fit",
        ylabel="memory of the process, MB",
        title="Memory over the rows",
        ylim=(0, None),
        xlim=(0, None),
    )
    axes.legend(loc="lower right")
    save_picture("stream", figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--block", type=int, default=10_000, help="rows of a partial_fit call")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    introduce(f"{given.rows:,} rows of {given.columns} columns through partial_fit")

    lines, memory = walk(given)
    print()
    table(list(lines[0]), [list(line.values()) for line in lines])
    plain = np.var(Rows(given.columns, given.seed).block(0, HELD_OUT_ROWS)[1]) - NOISE**2
    print(f"\n  (error: mean squared, against the noiseless target, whose variance is {plain:.4f})")
    growth = lines[-1]["peak MB"] - lines[0]["peak MB"]
    text = f"peak memory grew by {growth:.1f} MB from {lines[0]['rows']:,} to "
    text += f"{lines[-1]['rows']:,} rows, target at most {MOST_MEGABYTES} MB"
    verdict = target(text, growth <= MOST_MEGABYTES)
    record = {"rows": given.rows, "columns": given.columns, "block": given.block}
    save_record("stream", record | {"lines": lines, "memory": memory, "targets": [verdict]})
    draw(memory)


if __name__ == "__main__":
    main()
