"""Which way does a batch take through the layers? Writes docs/walk.svg, for docs/design.md.

The rows of the picture are the layers of import-linter's contract in `pyproject.toml`; the arcs on
the left are the imports between them, read from the source by `tests/layout.py`; the arrows are
calls of one traced default fit of a classifier, in the order in which the trace meets them. The
list `STEPS` only names the calls that are worth an arrow and says what each does.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import threading
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from house_probe import made

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

import layout  # noqa: E402

ROWS = 4_000
BEFORE, BATCH, PASS, AFTER = "before the first batch", "every batch", "every pass", "at the end"


@dataclass(frozen=True)
class Step:
    """A call to draw: the package and the name of the function, its caller, and what it does."""

    caller: str
    package: str
    name: str
    phase: str
    text: str


STEPS = [
    Step(
        "_run_fit", "estimators", "_source", BEFORE, "checks what the user gave: rows as a source"
    ),
    Step("run", "estimators", "_prepare", BEFORE, "tunes, plans and sets up, as follows"),
    Step(
        "_warn_of_data", "data", "labels", BEFORE, "reads the rows once: classes, moments, digest"
    ),
    Step("_tune_scales", "tuning", "search", BEFORE, "learns scales and ridge on a sample"),
    Step("_prepare", "estimators", "plan", BEFORE, "chooses features, solver and loss"),
    Step("_set_up", "data", "sample", BEFORE, "takes a sample of the rows"),
    Step("_basis", "features", "prepare", BEFORE, "sets defaults that depend on the data"),
    Step("prepare", "kernels", "resolved", BEFORE, "the bandwidth becomes a number"),
    Step("prepare", "features", "build", BEFORE, "makes the basis phi"),
    Step("build", "kernels", "variance", BEFORE, "the basis asks the kernel what it needs"),
    Step(
        "training_data",
        "estimators",
        "for_solver",
        BEFORE,
        "brings the rows into the solver's form",
    ),
    Step("split", "data", "hold_out", BEFORE, "sets some rows aside for evaluation"),
    Step("for_solver", "solvers", "check", BEFORE, "refuses a loss or basis it cannot take"),
    Step("for_solver", "features", "__init__", BEFORE, "encodes all rows, once"),
    Step("_read", "data", "batches", BEFORE, "yields raw batches"),
    Step("take", "estimators", "__call__", BEFORE, "scales rows, codes targets (passed down)"),
    Step("_run", "training.loop", "run", BEFORE, "starts the only training loop"),
    Step("_started", "solvers", "init", BEFORE, "returns the first state"),
    Step("read", "features", "batches", BATCH, "yields the next batch, here a group of codes"),
    Step("change", "solvers", "advance", BATCH, "moves the weights, returns the next state"),
    Step("rows_of", "losses", "gradient", BATCH, "the derivative of the loss in f"),
    Step("ResidualRows.sweep", "compute", "__call__", BATCH, "the compiled loop"),
    Step("_notify", "callbacks", "__call__", BATCH, "reports the progress"),
    Step("_end_pass", "stopping", "__call__", PASS, "says whether to stop"),
    Step("change", "solvers", "end_pass", PASS, "ends a pass; some solvers move only here"),
    Step("_evaluate", "solvers", "predictions", PASS, "f at the held-out rows"),
    Step("predictions", "problem", "evaluate", PASS, "f(x) = phi(x)'w + b"),
    Step("evaluate", "features", "evaluate", PASS, "Phi w"),
    Step("_evaluate", "losses", "value", PASS, "the held-out loss, for early stopping"),
    Step("best_expansion", "solvers", "expansion", AFTER, "basis and weights: what is learned"),
    Step(
        "with_larger_basis", "features", "larger_basis", AFTER, "more functions, if they may help"
    ),
    Step("_finish", "estimators", "calibrated", AFTER, "learns probabilities from held-out rows"),
    Step("_run_fit", "estimators", "_store", AFTER, "sets the attributes of the fitted model"),
]


@dataclass(frozen=True)
class Call:
    """A traced call: the files and names of caller and function, files relative to the package."""

    from_file: str
    caller: str
    file: str
    function: str


def traced() -> list[Call]:
    """Return the calls of a default fit, each once, in the order of their first time."""
    import bochner

    folder = f"{Path(bochner.__file__).parent}/"
    calls: dict[Call, None] = {}

    def is_ours(code: CodeType) -> bool:
        return bool(code.co_flags & inspect.CO_OPTIMIZED) and code.co_filename.startswith(folder)

    def note(frame: FrameType, event: str, argument: Any) -> None:
        caller = frame.f_back
        while caller is not None and not is_ours(caller.f_code):
            caller = caller.f_back
        if event == "call" and caller is not None and is_ours(frame.f_code):
            ends = (caller.f_code, frame.f_code)
            names = [(code.co_filename.removeprefix(folder), code.co_qualname) for code in ends]
            calls.setdefault(Call(*names[0], *names[1]))

    X, y = made(ROWS, classes=True)
    bochner.KernelClassifier(random_state=0).fit(X, y)  # compiles the loops
    model = bochner.KernelClassifier(random_state=0)
    main = threading.get_ident()
    sys.setprofile(lambda *given: note(*given) if threading.get_ident() == main else None)
    model.fit(X, y)
    sys.setprofile(None)
    return list(calls)


def layers() -> list[list[str]]:
    """Return the layers from top to bottom, each with its packages and modules."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = (one for one in contracts["contracts"] if one.get("containers") == ["bochner"])
    return [[part.strip() for part in layer.split("|")] for layer in contract["layers"]]


def layer_of(module: str, rows: list[list[str]]) -> int | None:
    """Return the number of the layer that a dotted module belongs to, None for the root."""
    fits = [
        number
        for number, names in enumerate(rows)
        for name in names
        if f"{module}.".startswith(f"{name}.")
    ]
    return fits[0] if fits else None


def dotted(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


def found(calls: list[Call]) -> list[tuple[Step, Call]]:
    """Return the steps with their calls, in the order of the trace."""
    places = []
    for step in STEPS:
        fits = (
            (place, call)
            for place, call in enumerate(calls)
            if f".{call.caller}".endswith(f".{step.caller}")
            and f"{dotted(call.file)}.".startswith(f"{step.package}.")
            and step.name in (call.function.rpartition(".")[2], "")
        )
        place, call = next(fits, (None, None))
        if place is None or call is None:
            raise SystemExit(f"The traced fit does not call {step.package}: {step}. Mend STEPS.")
        places.append((place, step, call))
    return [(step, call) for _, step, call in sorted(places, key=lambda one: one[0])]


def imports(rows: list[list[str]]) -> set[tuple[int, int]]:
    """Return the pairs of layers of which the first imports the second."""
    package = layout.read(ROOT / "src" / "bochner")
    pairs = set()
    for name, targets in package.graph.items():
        for target in targets:
            ends = [layer_of(one.partition(".")[2], rows) for one in (name, target)]
            if None not in ends and ends[0] != ends[1]:
                pairs.add((ends[0], ends[1]))
    return pairs


# ----------------------------------------------------------------- SVG

WIDTH, TOP, ROW, LEFT, FIRST, RIGHT, LINE = 900, 58, 30, 96, 312, 880, 17
STYLE = """
svg { font: 12px system-ui, sans-serif; }
.page { fill: #ffffff; stroke: #d0d4da; }
.band { fill: #f3f5f8; } .idle { opacity: 0.45; }
text { fill: #1f2328; } .small { font-size: 11px; fill: #57606a; }
.code { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 11px; }
.arc { fill: none; stroke: #57606a; stroke-opacity: 0.28; }
.down { stroke: #2b7bba; stroke-width: 1.6; } .head { fill: #2b7bba; }
.up { stroke: #c2571a; stroke-width: 1.6; stroke-dasharray: 4 3; } .uphead { fill: #c2571a; }
.dot { fill: #2b7bba; } .number { fill: #ffffff; font-size: 9.5px; font-weight: 600; }
.phase { fill: #2b7bba; fill-opacity: 0.07; }
@media (prefers-color-scheme: dark) {
  .page { fill: #16191d; stroke: #3a4048; } .band { fill: #20252b; }
  text { fill: #e6e9ed; } .small { fill: #a5adb8; }
  .arc { stroke: #a5adb8; }
  .down { stroke: #6fb1e4; } .head, .dot { fill: #6fb1e4; } .number { fill: #10151a; }
  .up { stroke: #f0985f; } .uphead { fill: #f0985f; } .phase { fill: #6fb1e4; fill-opacity: 0.1; }
}
"""


def middle(layer: int) -> float:
    return TOP + (layer + 0.5) * ROW


def drawn(steps: list[tuple[Step, Call]], rows: list[list[str]]) -> str:
    """Return the picture."""
    ends = [
        (layer_of(dotted(call.from_file), rows), layer_of(dotted(call.file), rows))
        for _, call in steps
    ]
    bottom = TOP + len(rows) * ROW
    height = bottom + 40 + LINE * (len(steps) + 4)
    used = {layer for pair in ends for layer in pair}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<title>The walk of a batch through the layers, in one default fit</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        *bands(rows, used),
        *phases(steps, bottom),
        *arcs(rows),
        *arrows(ends),
        *legend(steps, bottom + 26),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def bands(rows: list[list[str]], used: set[int | None]) -> Iterator[str]:
    yield text(14, 24, "imports", "small")
    yield text(LEFT + 8, 24, "layers, top to bottom", "small")
    for number, names in enumerate(rows):
        idle = "" if number in used else " idle"
        y = TOP + number * ROW
        yield (
            f'<rect class="band{idle}" x="{LEFT}" y="{y + 2}" '
            f'width="{RIGHT - LEFT}" height="{ROW - 4}" rx="4"/>'
        )
        yield text(LEFT + 8, y + ROW / 2 + 4, " | ".join(names), f"layer{idle}")


def arcs(rows: list[list[str]]) -> Iterator[str]:
    for above, below in sorted(imports(rows)):
        y, to = middle(above), middle(below)
        turn = LEFT - 12 - 5.2 * abs(below - above)
        yield (f'<path class="arc" d="M{LEFT} {y} C{turn:.1f} {y} {turn:.1f} {to} {LEFT} {to}"/>')


def across(number: int, count: int) -> float:
    return FIRST + (RIGHT - 14 - FIRST) * (number + 0.5) / count


def phases(steps: list[tuple[Step, Call]], bottom: float) -> Iterator[str]:
    count, wide = len(steps), (RIGHT - 14 - FIRST) / len(steps)
    for phase in (BEFORE, BATCH, PASS, AFTER):
        numbers = [number for number, (step, _) in enumerate(steps) if step.phase == phase]
        x, to = across(numbers[0], count) - wide / 2, across(numbers[-1], count) + wide / 2
        yield (
            f'<rect class="phase" x="{x + 1.5:.1f}" y="34" width="{to - x - 3:.1f}" '
            f'height="{bottom - 34}" rx="4"/>'
        )
        yield text((x + to) / 2, 50, phase, "small", "middle")


def arrows(ends: list[tuple[int | None, int | None]]) -> Iterator[str]:
    for number, (above, below) in enumerate(ends):
        if above is None or below is None:
            raise SystemExit("A step lies in no layer.")
        x, y, to = across(number, len(ends)), middle(above), middle(below)
        if y != to:
            kind, head = ("down", "head") if to > y else ("up", "uphead")
            tip = to - 9 if to > y else to + 9
            back = tip - 7 if to > y else tip + 7
            yield f'<line class="{kind}" x1="{x:.1f}" y1="{y}" x2="{x:.1f}" y2="{back}"/>'
            sides = f"L{x - 4:.1f} {back} L{x + 4:.1f} {back} Z"
            yield f'<path class="{head}" d="M{x:.1f} {tip} {sides}"/>'
        yield f'<circle class="dot" cx="{x:.1f}" cy="{to}" r="8"/>'
        yield text(x, to + 3.5, str(number + 1), "number", "middle")


def legend(steps: list[tuple[Step, Call]], y: float) -> Iterator[str]:
    phase = ""
    for number, (step, call) in enumerate(steps, 1):
        if step.phase != phase:
            phase = step.phase
            y += LINE
            yield text(14, y, phase.capitalize(), "small")
        y += LINE
        yield text(36, y, str(number), "", "end")
        yield text(46, y, call.function, "code")
        yield text(300, y, call.file, "code small")
        yield text(566, y, step.text)


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    at = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{at}>{escape(words)}</text>'


def main() -> None:
    """Trace a fit and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "walk.svg")
    given = parser.parse_args()
    given.out.write_text(drawn(found(traced()), layers()))
    print(given.out)


if __name__ == "__main__":
    main()
