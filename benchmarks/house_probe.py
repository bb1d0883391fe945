"""What `house.py` asks of one checkout in a process of its own; the answer is a line of JSON.

`house_probe.py SRC bases`: the public names of the base classes, and who overrides each.
`house_probe.py SRC trace KernelClassifier 4000`: the files and the upward calls of a default fit.
`house_probe.py SRC fit NAME DATA [ROWS]`: seconds of a default fit, and a digest of predictions.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
import pkgutil
import re
import sys
import threading
import tomllib
from collections import defaultdict
from pathlib import Path
from time import process_time
from types import CodeType, FrameType
from typing import Any

import numpy as np

from common import load, timed

BASES = ("Solver", "Basis", "FeatureMap", "Kernel", "Loss", "DataSource", "State")


def library(source: Path) -> Any:
    """Import the package of a checkout, and make sure that it is this one."""
    (init,) = source.glob("*/__init__.py")
    package = importlib.import_module(init.parent.name)
    if Path(package.__file__).resolve() != init.resolve():
        raise SystemExit(f"{package.__file__} was imported in place of {init}: set PYTHONPATH.")
    return package


# --------------------------------------------------------------- bases


def bases(package: Any) -> dict[str, dict[str, list[str]]]:
    """Return the subclasses that override each public name of each base class."""
    import_all(package)
    found = {}
    for name in BASES:
        base = class_named(package, name)
        below = descendants(base)
        found[name] = {
            public: [kind.__name__ for kind in below if public in own_names(kind)]
            for public in public_names(base)
        }
    return found


def import_all(package: Any) -> None:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def class_named(package: Any, name: str) -> type[Any]:
    """Return the class of a name, wherever it is defined; of several the one with most heirs."""
    kinds = [
        value
        for place, module in sys.modules.items()
        if f"{place}.".startswith(f"{package.__name__}.")
        for value in [vars(module).get(name)]
        if isinstance(value, type) and value.__name__ == name
    ]
    if not kinds:
        raise SystemExit(f"No class of {package.__name__} is called {name}: mend BASES.")
    return max(kinds, key=lambda kind: len(descendants(kind)))


def descendants(base: type[Any]) -> list[type[Any]]:
    """Return all classes below a base, abstract ones too, each once."""
    below = {kind: None for child in base.__subclasses__() for kind in (child, *descendants(child))}
    return list(below)


def own_names(kind: type[Any]) -> set[str]:
    """Return what the body of a class defines: methods, properties, attributes and fields."""
    return {*vars(kind), *inspect.get_annotations(kind)}


def public_names(base: type[Any]) -> list[str]:
    """Return what the body of a base defines for the author of a subclass to see."""
    (definition,) = ast.parse(inspect.getsource(base)).body
    found = set()
    for node in definition.body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
        found.add(getattr(node, "name", "_"))
    return sorted(name for name in found if not name.startswith("_"))


# --------------------------------------------------------------- trace


class Trace:
    """A profile function that notes which functions of a folder run, and which calls which.

    The caller is the nearest function of the same folder on the stack, so a function that is
    handed down through a library or a generator counts as called from where it is used. Imports
    and class bodies, which run once, are left out.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = f"{folder}/"
        self.is_over = False
        self.files: set[str] = set()
        self.calls: set[tuple[tuple[str, str], tuple[str, str]]] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call."""
        if event != "call" or self.is_over or not self.is_ours(frame.f_code):
            return
        self.files.add(frame.f_code.co_filename)
        caller = frame.f_back
        while caller is not None and not self.is_ours(caller.f_code):
            caller = caller.f_back
        if caller is not None:
            self.calls.add((place(caller.f_code), place(frame.f_code)))

    def is_ours(self, code: CodeType) -> bool:
        is_function = code.co_flags & inspect.CO_OPTIMIZED
        return bool(is_function) and code.co_filename.startswith(self.folder)


def place(code: CodeType) -> tuple[str, str]:
    return code.co_filename, code.co_qualname


def trace(package: Any, name: str, rows: int) -> dict[str, Any]:
    """Return files by package, and calls from a lower layer into a higher one, of a default fit."""
    folder = Path(package.__file__).parent
    noted = Trace(folder)
    model = getattr(package, name)(random_state=0)
    X, y = made(rows, name.endswith("Classifier"))
    threading.setprofile(noted)
    sys.setprofile(noted)
    model.fit(X, y)
    sys.setprofile(None)
    noted.is_over = True  # for the threads of a pool, which live on
    return {
        "files": by_package(noted.files.copy(), folder),
        "up": upward(noted.calls.copy(), folder),
    }


def made(rows: int, classes: bool) -> tuple[Any, Any]:
    """Return ten columns, and a smooth function of them as numbers or as two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)
    return X, (f > 0).astype(int) if classes else f


def by_package(files: set[str], folder: Path) -> dict[str, list[str]]:
    found = defaultdict(list)
    for file in sorted(files):
        first, *rest = Path(file).relative_to(folder).parts
        found[first if rest else "."].append("/".join(rest) or first)
    return found


def upward(calls: Any, folder: Path) -> list[str]:
    """Return the calls whose caller lies in a lower layer than what is called."""
    height = heights(folder.parent.parent / "pyproject.toml", folder.name)
    found = set()
    for (caller, from_), (callee, to) in calls:
        low, high = (height_of(shown(file, folder), height) for file in (caller, callee))
        if low is not None and high is not None and low < high:
            found.add(f"{shown(caller, folder)}:{from_} -> {shown(callee, folder)}:{to}")
    return sorted(found)


def shown(file: str, folder: Path) -> str:
    return ".".join(Path(file).relative_to(folder).with_suffix("").parts)


def height_of(module: str, height: dict[str, int]) -> int | None:
    """Return the height of the layer that a module belongs to, itself or by its package."""
    while module not in height and "." in module:
        module = module.rpartition(".")[0]
    return height.get(module)


def heights(pyproject: Path, package: str) -> dict[str, int]:
    """Return the height of every package and module that import-linter's contract names."""
    contracts = tomllib.loads(pyproject.read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (
        contract["layers"]
        for contract in contracts
        if contract["type"] == "layers" and package in contract.get("containers", [])
    )
    return {
        name: height
        for height, names in enumerate(reversed(layers))
        for name in re.findall(r"[\w.]+", names)
    }


# ----------------------------------------------------------------- fit


def fit(package: Any, name: str, data: Path, rows: int | None) -> dict[str, Any]:
    """Return the seconds of a default fit, and a digest of the predictions of the test rows.

    The seconds of all processors together stand beside those of the clock: others who use the
    machine disturb them less.
    """
    X, y, X_test, _ = load(data, name)
    kind = package.KernelRegressor if y.dtype.kind == "f" else package.KernelClassifier
    begin = process_time()
    model, seconds = timed(lambda: kind(random_state=0).fit(X[:rows], y[:rows]))
    processors = process_time() - begin
    digest = hashlib.sha256()
    for method in ("decision_function", "predict"):
        if hasattr(model, method):
            digest.update(np.ascontiguousarray(getattr(model, method)(X_test)).tobytes())
    return {"seconds": seconds, "processors": processors, "digest": digest.hexdigest()}


def main(source: str, question: str, *given: str) -> None:
    """Answer one question."""
    package = library(Path(source))
    if question == "bases":
        answer = bases(package)
    elif question == "trace":
        answer = trace(package, given[0], int(given[1]))
    else:
        answer = fit(package, given[0], Path(given[1]), int(given[2]) if given[2:] else None)
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
