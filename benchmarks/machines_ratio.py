"""Density ratio: is the divergence of two normal laws within 5% of the true one?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bochner import DensityRatio
from common import COLOURS, introduce, pyplot, save_picture, save_record, table, target, timed

ROWS, HELD_OUT_ROWS, COLUMNS, VARIANCE = 100_000, 100_000, (2, 10), 1.5
DRAWN_ROWS = 2_000
WITHIN = 0.05


class Law(NamedTuple):
    """q, beside p = N(0, I): a shift and a variance."""

    name: str
    shift: float
    variance: float

    def divergence(self, columns: int) -> float:
        """Return KL(p, q)."""
        spread = columns / 2 * (1 / self.variance - 1 + np.log(self.variance))
        return float(spread + self.shift**2 / (2 * self.variance))

    def log_ratio(self, X: np.ndarray) -> np.ndarray:
        """Return log(p/q) at rows."""
        moved = X - self.shift * np.eye(1, X.shape[1])
        constant = X.shape[1] / 2 * np.log(self.variance)
        return constant + (moved**2).sum(axis=1) / (2 * self.variance) - (X**2).sum(axis=1) / 2

    def draw(self, rows: int, columns: int, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return rows of p and of q."""
        X, Y = (rng.normal(size=(rows, columns)) for _ in range(2))
        Y = np.sqrt(self.variance) * Y + self.shift * np.eye(1, columns)
        return X.astype(np.float32), Y.astype(np.float32)


LAWS = (Law("shifted", 1.0, 1.0), Law("wider", 0.0, VARIANCE))


def measured(law: Law, columns: int, loss: str) -> dict[str, Any]:
    """Fit, and estimate the divergence on rows that the fit has not seen."""
    rng = np.random.default_rng(columns)
    samples, others = (law.draw(rows, columns, rng) for rows in (ROWS, HELD_OUT_ROWS))
    model, seconds = timed(lambda: DensityRatio(loss=loss, random_state=0).fit(*samples))
    some = np.concatenate([rows[:DRAWN_ROWS] for rows in others])
    true, found = law.divergence(columns), model.kl_divergence(*others)
    return {
        "q": law.name,
        "columns": columns,
        "loss": loss,
        "true": true,
        "estimate": found,
        "error": found / true - 1,
        "own held-out rows": model.kl_divergence_,
        "seconds": seconds,
        "points": (law.log_ratio(some), model.log_ratio(some)),
    }


def ratio() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure, print and draw; return the figures and the verdicts."""
    lines = [
        measured(law, columns, loss)
        for columns in COLUMNS
        for law in LAWS
        for loss in ("logistic", "exponential")
    ]
    names = [name for name in lines[0] if name != "points"]
    table(names, [[line[name] for name in names] for line in lines])
    verdicts = []
    for line in lines:
        text = f"{line['q']}, {line['columns']} columns, {line['loss']}: divergence "
        text += f"{line['estimate']:.4f}, true {line['true']:.4f} ({line['error']:+.1%})"
        verdicts.append(target(text, abs(line["error"]) <= WITHIN))
    draw(lines)
    return [{name: line[name] for name in names} for line in lines], verdicts


def draw(lines: list[dict[str, Any]]) -> None:
    plt = pyplot()
    if plt is None:
        return
    figure, grid = plt.subplots(2, 2, figsize=(7.0, 6.4), layout="constrained")
    for axis, line in zip(np.repeat(grid.ravel(), 2), lines, strict=True):
        first = line["loss"] == "logistic"
        true, found = line["points"]
        ends = np.quantile(true, [0.002, 0.998])
        if first:
            axis.plot(ends, ends, color="black", linewidth=0.8)
        axis.scatter(
            true,
            found,
            s=2,
            alpha=0.3,
            color=COLOURS[0 if first else 2],
            label=f"{line['loss']}: {line['estimate']:.3f}",
        )
        span = 0.2 * (ends[1] - ends[0])
        axis.set(xlim=ends, ylim=(ends[0] - span, ends[1] + span), xlabel="true log ratio")
        axis.set_title(f"q {line['q']}, {line['columns']} columns, KL {line['true']:.3f}")
        axis.legend(markerscale=4)
    for axis in grid[:, 0]:
        axis.set_ylabel("estimated log ratio")
    save_picture("machines_ratio", figure)


def main() -> None:
    introduce(__doc__)
    figures, verdicts = ratio()
    save_record("machines_ratio", {"figures": figures, "targets": verdicts})


if __name__ == "__main__":
    main()
