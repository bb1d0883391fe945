"""How is the package laid out, and is a default fit as fast as before it was changed?

Counts files, lines, class names, import cycles and the public names of base classes from the
source, traces two default fits, and with --time measures fits on real data. A revision given as
--before is checked out into a temporary folder and stands beside the present tree. The parts:
`tests/layout.py` reads the source, `house_probe.py` asks a checkout in a process of its own.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import Times, table

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

import layout  # noqa: E402

LEAST_LINES, MOST_LINES, MOST_ENTRIES = 40, 600, 16
PUBLIC_NAMES = {"Solver": 12, "Basis": 10, "FeatureMap": 6, "Kernel": 9}
TRACES = {
    "default classifier": ("KernelClassifier", 4000),
    "exact regressor": ("KernelRegressor", 300),
}
SETS = {"covtype": 100_000, "california": None, "mnist": 10_000}  # rows to fit; None: all

# Why a file is short, by its path in the package.
SHORT: dict[str, str] = {
    "__main__.py": "what `python -m` asks for",
    "cli/warmup.py": "a command has a file of its own, and this one no options of its own",
    "exceptions.py": "the warnings that users filter by their class",
    "records.py": "the base of all records that are stored, below every other module",
}
# Why a folder has many entries, by its path.
WIDE: dict[str, str] = {
    "bochner": "the table of contents: a package for each part, and what all parts share",
}
# Why a name of a base class stays although exactly one subclass overrides it, by "Base.name".
REASONS: dict[str, str] = {
    "Loss.typical_curvature": "a number that every solver needs; it is 1 but for smoothed losses",
    "DataSource.once": "sources set it on themselves; one names it as a field that files store",
    "State.is_finite": "the loop asks every state; `SummationState` evaluates no loss",
    "State.snapshot": "the loop asks every state; `BackfittingState` copies what a batch changes",
}
# Why an object from above is called from a lower layer, by the end of "caller -> function".
HANDED_DOWN: dict[str, str] = {
    "KernelMachine._default_kernel": "an estimator says what kernel='auto' means for it",
    "GroupBlock.shape": "the length of a batch is that of its X, here the codes of a group",
    "RowCoding.__call__": "a source applies the transform that it was given",
    "setup:_in_single_precision": "a source applies the check that it was given",
    "StopAsked.__call__": "a stopping rule that was given to the loop",
    "PassReporter.__call__": "a callback that was given to the loop",
}
# Why a target is missed, by the name of the count.
MISSED: dict[str, str] = {
    "files": "two ideas have come since it was met: the ANOVA kernel and the levels of quality",
    "lines": "features that came after the target was set: text and time columns, streams of "
    "compressed files, quantiles that cover what they promise, searches with few rows",
    "default classifier: files in estimators/": "a fit also checks ranges, warns of suspicious "
    "columns, and asks smoothed losses, importances and callbacks, which it does without, whether "
    "they have anything to do; one file for several of these would hold several ideas",
}


@dataclass(frozen=True)
class Count:
    """A figure of one tree, the most that it may be, and what was counted."""

    what: str
    value: int
    limit: int | None = None
    found: tuple[str, ...] = ()

    @property
    def met(self) -> bool:
        """Whether the target, if there is one, is met."""
        return self.limit is None or self.value <= self.limit


def counted(what: str, found: Iterable[str], limit: int | None = None) -> Count:
    """Count what was found, and keep it to be listed."""
    found = tuple(found)
    return Count(what, len(found), limit, found)


# --------------------------------------------------------------- files


def files(package: layout.Package, folder: Path) -> Iterator[Count]:
    """Count files, entries of folders, and lines; `__init__.py` is no short file."""
    modules = list(package.modules.values())
    lines = {
        str(module.path.relative_to(folder)): len(module.text.splitlines()) for module in modules
    }
    short = {
        path: count
        for path, count in lines.items()
        if count < LEAST_LINES and not path.endswith("__init__.py")
    }
    yield Count("files", len(lines), 280)
    yield Count("files __init__.py", sum(module.is_init for module in modules))
    wide = dict(crowded(folder))
    yield counted(
        f"folders of more than {MOST_ENTRIES} entries without a reason",
        (f"{path}: {count}" for path, count in wide.items() if path not in WIDE),
        0,
    )
    yield counted(
        f"folders of more than {MOST_ENTRIES} entries with a reason",
        (f"{path}: {count}: {WIDE[path]}" for path, count in wide.items() if path in WIDE),
    )
    yield counted(
        f"files under {LEAST_LINES} lines without a reason",
        (f"{path} {count}" for path, count in short.items() if path not in SHORT),
        0,
    )
    yield counted(
        f"files under {LEAST_LINES} lines with a reason",
        (f"{path} {count}: {SHORT[path]}" for path, count in short.items() if path in SHORT),
    )
    yield counted(
        f"files over {MOST_LINES} lines",
        (f"{path} {count}" for path, count in lines.items() if count > MOST_LINES),
        0,
    )
    yield Count("lines", sum(lines.values()), 40_999)
    yield Count("lines of import statements", sum(map(import_lines, modules)))
    yield Count("median lines of a file", sorted(lines.values())[len(lines) // 2])
    yield longest_functions(modules)


def crowded(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the folders that hold too many files and folders, `__init__.py` among them."""
    folders = {path.parent for path in folder.rglob("*.py")} | {folder}
    for each in sorted(folders):
        entries = [path for path in each.iterdir() if path.name != "__pycache__"]
        if len(entries) > MOST_ENTRIES:
            yield str(each.relative_to(folder.parent)), len(entries)


def import_lines(module: layout.Module) -> int:
    """Return the lines that import statements take, wherever they stand."""
    statements = (n for n in ast.walk(module.tree) if isinstance(n, ast.Import | ast.ImportFrom))
    return sum(node.end_lineno - node.lineno + 1 for node in statements)


def longest_functions(modules: list[layout.Module]) -> Count:
    """Return the longest body of a function, without its docstring, and name the five longest."""
    bodies = sorted(
        (
            (body_lines(node), f"{module.name}.{node.name}")
            for module in modules
            for node in ast.walk(module.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ),
        reverse=True,
    )
    found = tuple(f"{name} {lines}" for lines, name in bodies[:5])
    return Count("lines of the longest function body", bodies[0][0], None, found)


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


# ----------------------------------------------------- names and imports


def names(package: layout.Package) -> Iterator[Count]:
    """Count the names of top-level classes that stand in several modules."""
    shared = layout.shared_class_names(package)
    wrapped = {name for name in shared if layout.is_wrapped(package, name, shared[name])}
    lines = {name: f"{name}: {', '.join(places)}" for name, places in shared.items()}
    yield counted(
        "class names in several modules", (lines[n] for n in shared if n not in wrapped), 0
    )
    yield counted(
        "... of a transformer and what it wraps (exempt)", map(lines.get, sorted(wrapped))
    )


def imports(package: layout.Package) -> Iterator[Count]:
    """Count import cycles, as `layout.cycles` has them, and late imports."""
    groups = layout.cycles(package)
    late = layout.lazy_imports(package)
    own = [pair for pair in late if is_own(package, pair[1])]
    typing = {
        (name, target)
        for name, module in package.modules.items()
        for target, imported in package.targets(module)
        if imported.kind == "typing"
    }
    yield counted(
        "import cycles, TYPE_CHECKING and late ones included", map(" <-> ".join, groups), 0
    )
    yield Count("modules in cycles", sum(map(len, groups)))
    yield Count("imports under TYPE_CHECKING", len(typing))
    yield counted("late imports of the package's own modules", map(": ".join, own))
    yield counted(
        "late imports of other libraries", (": ".join(pair) for pair in late if pair not in own)
    )


def is_own(package: layout.Package, target: str) -> bool:
    return target in package.modules or " " in target  # a table of names


# -------------------------------------------------------- base classes


def bases(source: Path) -> Iterator[Count]:
    """Count the public names that a base class defines, and those that one subclass overrides.

    A name is a method, property, class attribute or field without leading underscore in the body
    of the base; every class below it counts, abstract ones too.
    """
    for base, overridden in asked(source, "bases").items():
        lines = (f"{name}: overridden by {len(kinds)}" for name, kinds in overridden.items())
        once = {f"{base}.{name}": kinds[0] for name, kinds in overridden.items() if len(kinds) == 1}
        yield counted(f"{base}: public names", lines, PUBLIC_NAMES.get(base))
        yield counted(
            f"{base}: overridden by one subclass without a reason",
            (f"{name} by {kind}" for name, kind in once.items() if name not in REASONS),
            0,
        )
        kept = [
            f"{name} by {kind}: {REASONS[name]}" for name, kind in once.items() if name in REASONS
        ]
        if kept:
            yield counted(f"{base}: overridden by one subclass with a reason", kept)


# --------------------------------------------------------------- trace


def traces(source: Path) -> Iterator[Count]:
    """Count the files that a default fit runs in, and its calls from a lower layer to a higher one.

    The layers are those of import-linter's contract. A closure that is called from below has been
    handed down, to the pool for instance; the other calls are methods of objects from above.
    """
    for title, (estimator, rows) in TRACES.items():
        asked(source, "trace", estimator, rows)  # compiles what has not been compiled
        answer = asked(source, "trace", estimator, rows)
        packages = answer["files"]
        yield Count(f"{title}: files", sum(map(len, packages.values())))
        for package, found in sorted(packages.items()):
            where = "the root" if package == "." else f"{package}/"
            yield counted(f"{title}: files in {where}", found)
        closures = [call for call in answer["up"] if "<locals>" in call.partition("->")[2]]
        yield counted(f"{title}: closures called from a lower layer", closures)
        methods = [call for call in answer["up"] if call not in closures]
        yield Count(f"{title}: methods called from a lower layer", len(methods))
        reasons = {call: reason for call in methods for reason in why_handed_down(call)}
        yield counted(
            f"{title}: ... without a reason", (call for call in methods if call not in reasons), 0
        )
        lines = (f"{call}: {reason}" for call, reason in reasons.items())
        yield counted(f"{title}: ... with a reason", lines)


def why_handed_down(call: str) -> list[str]:
    """Return the reason for a call from a lower layer, if there is one."""
    return [reason for end, reason in HANDED_DOWN.items() if call.endswith(end)]


def half_of(before: list[Count], now: list[Count]) -> list[Count]:
    """Set the one target that is relative: half as many files of estimators/ in a default fit."""
    halves = {
        count.what: count.value // 2
        for count in before
        if count.what == "default classifier: files in estimators/"
    }
    return [replace(c, limit=halves[c.what]) if c.what in halves else c for c in now]


# ---------------------------------------------------------------- time


def times(trees: dict[str, Path], given: argparse.Namespace) -> None:
    """Time default fits of all trees in turns, each in a fresh process, after one untimed fit."""
    lines = []
    for name in given.sets.split(","):
        rows = [] if given.all_rows or SETS[name] is None else [SETS[name]]
        question = ("fit", name, given.data.resolve(), *rows)
        for tree in trees.values():
            asked(tree / "src", *question)
        answers: dict[str, list[dict[str, Any]]] = {title: [] for title in trees}
        for turn in range(given.repeats):
            for title in list(trees)[:: -1 if turn % 2 else 1]:
                answers[title].append(asked(trees[title] / "src", *question))
        lines.append([name, *compared(answers)])
    ratios = ["after/before", "of all processors"] if len(trees) > 1 else []
    table(["seconds of a default fit", *trees, *ratios, "predictions"], lines)


def compared(answers: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the times of each tree, their ratios, and whether all predictions are equal."""
    clocks, processors = (
        [Times(tuple(sorted(answer[key] for answer in each))) for each in answers.values()]
        for key in ("seconds", "processors")
    )
    digests = {answer["digest"] for each in answers.values() for answer in each}
    pairs = [clocks, processors] if len(clocks) > 1 else []
    ratios = [f"{after.best / before.best:.3f}" for before, after in pairs]
    return [*map(str, clocks), *ratios, "equal in every bit" if len(digests) == 1 else "DIFFERENT"]


# ------------------------------------------------------------- the whole


def asked(source: Path, *question: Any) -> Any:
    """Ask a checkout in a process of its own."""
    command = [sys.executable, ROOT / "benchmarks" / "house_probe.py", source, *question]
    environment = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True, env=environment
    )
    if done.returncode:
        raise SystemExit(f"{source} gave no answer to: {' '.join(map(str, question))}")
    return json.loads(done.stdout.splitlines()[-1])


def checkout(revision: str, folder: Path) -> Path:
    """Write source and settings of a revision into a folder."""
    command = ["git", "-C", str(ROOT), "archive", revision, "src", "pyproject.toml"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def counts(tree: Path) -> list[Count]:
    """Return the figures of sections 1 to 4, which have targets of their own."""
    (init,) = (tree / "src").glob("*/__init__.py")
    package = layout.read(init.parent)
    return [
        *files(package, init.parent),
        *names(package),
        *imports(package),
        *bases(tree / "src"),
    ]


def show(figures: dict[str, list[Count]]) -> None:
    """Print a line a figure, one column a tree, then what was counted in the present tree."""
    *_, now = figures.values()
    values = [{count.what: count.value for count in each} for each in figures.values()]
    rows = {count.what: count for each in figures.values() for count in each}
    rows |= {count.what: count for count in now}
    table(
        ["", *figures, "at most", ""],
        (
            [what, *(v.get(what, 0) for v in values), *verdict(count)]
            for what, count in rows.items()
        ),
    )
    for count in now:
        if count.found:
            print(f"\n{count.what}:", *count.found, sep="\n  ")
    missed = [count.what for count in now if not count.met]
    if missed:
        print("\nmissed:", *(f"{what}: {MISSED.get(what, 'why?')}" for what in missed), sep="\n  ")


def verdict(count: Count) -> list[Any]:
    if count.limit is None:
        return ["", ""]
    return [count.limit, "met" if count.met else "MISSED"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="REV", help="a revision to stand beside this tree")
    parser.add_argument(
        "--check", action="store_true", help="only count; exit 1 on a missed target"
    )
    parser.add_argument("--time", action="store_true", help="only time fits; needs --data")
    parser.add_argument("--data", type=Path, help="folder of the data sets, or with a load.py")
    parser.add_argument("--repeats", type=int, default=3, help="timed fits a tree and set")
    parser.add_argument("--sets", default=",".join(SETS), help="the sets to time")
    parser.add_argument("--all-rows", action="store_true", help="time fits to all rows")
    given = parser.parse_args()
    if given.time and given.data is None:
        parser.error("--time needs --data, the folder of the data sets.")
    return given


def main() -> None:
    """Measure the present tree, and the one before it."""
    given = arguments()
    with TemporaryDirectory() as folder:
        trees = {} if given.before is None else {"before": checkout(given.before, Path(folder))}
        trees["after" if trees else "now"] = ROOT
        if given.time:
            times(trees, given)
            return
        figures = {title: counts(tree) for title, tree in trees.items()}
        if not given.check:
            figures = {t: [*figures[t], *traces(tree / "src")] for t, tree in trees.items()}
    *before, now = figures
    if before:
        figures[now] = half_of(figures[before[0]], figures[now])
    show(figures)
    if given.check and not all(count.met for count in figures[now]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
