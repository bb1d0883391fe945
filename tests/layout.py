"""The layout of a package, read from its source: modules, classes, imports and import cycles.

Nothing is imported, so that any checkout can be read; `benchmarks/house.py` compares two of them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

Kind = Literal["plain", "typing", "lazy", "by name"]

# A transformer of the first package may have the name of a component of the others.
TRANSFORMERS = "estimators"
COMPONENTS = ("features", "kernels")


@dataclass(frozen=True)
class Import:
    """One imported name: `name` of module `source`, or the module itself if `name` is None.

    `kind` is "plain" at the top of a module, "typing" under `if TYPE_CHECKING`, "lazy" inside a
    function, and "by name" for a module that is named by a string and loaded by `import_module`.
    """

    source: str
    name: str | None
    alias: str
    line: int
    kind: Kind


@dataclass(frozen=True)
class Module:
    """A file of the package."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_init(self) -> bool:
        """Whether this is the `__init__.py` of a package."""
        return self.path.name == "__init__.py"

    @cached_property
    def imports(self) -> list[Import]:
        """All import statements, wherever they stand, one entry a name."""
        return list(_imports(self.tree, self._package, "plain"))

    @cached_property
    def loads_by_name(self) -> bool:
        """Whether the module calls `import_module`."""
        calls = (node.func for node in ast.walk(self.tree) if isinstance(node, ast.Call))
        return any(getattr(f, "id", getattr(f, "attr", "")) == "import_module" for f in calls)

    @property
    def answers_for_names(self) -> bool:
        """Whether the module has a `__getattr__` of its own (PEP 562)."""
        return any(
            isinstance(node, ast.FunctionDef) and node.name == "__getattr__"
            for node in self.tree.body
        )

    @property
    def strings(self) -> set[str]:
        """All string constants."""
        values = (node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return {value for value in values if isinstance(value, str)}

    @property
    def _package(self) -> str:
        return self.name if self.is_init else self.name.rpartition(".")[0]


@dataclass(frozen=True)
class Package:
    """The modules of a package by their names.

    An `__init__.py` is transparent: `from package import X` counts as an import of the module that
    defines X, and the lines of `__init__.py` that only pass names on are no imports of its own.
    That importing a module runs the `__init__.py` above it is not counted either.
    """

    name: str
    modules: dict[str, Module]

    def defining(self, module: str, name: str) -> str:
        """Return the module that a name comes from which is imported from a module."""
        passed_on = self._passed_on.get(module, {})
        if name in passed_on:
            source, inner = passed_on[name]
            return source if inner is None else self.defining(source, inner)
        below = f"{module}.{name}"
        return below if below in self.modules else module

    def targets(self, module: Module) -> Iterator[tuple[str, Import]]:
        """Yield the modules of this package that a module imports, with the import statement."""
        for imported in module.imports:
            if imported.source not in self.modules or self._only_passed_on(module, imported):
                continue
            target = imported.source
            if imported.name is not None:
                target = self.defining(target, imported.name)
            if self.modules[target].is_init:
                for attribute in _attributes(module.tree, imported.alias):
                    yield self.defining(target, attribute), imported
            yield target, imported
        if module.loads_by_name and not module.is_init:
            for name in module.strings:
                full = name if name in self.modules else f"{self.name}.{name}"
                if full in self.modules:
                    yield full, Import(full, None, "", 0, "by name")

    @cached_property
    def graph(self) -> dict[str, set[str]]:
        """The modules that each module imports, type checking and lazy imports included."""
        return {
            name: {target for target, _ in self.targets(module)} - {name}
            for name, module in self.modules.items()
        }

    @cached_property
    def _passed_on(self) -> dict[str, dict[str, tuple[str, str | None]]]:
        return {
            name: {
                imported.alias: (imported.source, imported.name)
                for imported in module.imports
                if imported.source in self.modules and imported.source != name
            }
            for name, module in self.modules.items()
            if module.is_init
        }

    def _only_passed_on(self, module: Module, imported: Import) -> bool:
        return module.is_init and imported.alias not in _loaded(module.tree)


def read(folder: Path) -> Package:
    """Return the package whose `__init__.py` lies in a folder."""
    modules = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        text = path.read_text()
        modules[name] = Module(name, path, text, ast.parse(text))
    return Package(folder.name, modules)


def cycles(package: Package) -> list[list[str]]:
    """Return the groups of modules in which each imports every other, directly or by way of others.

    These are the strongly connected components of more than one module.
    """
    reached = {name: _reached(package.graph, name) for name in package.graph}
    groups = {
        tuple(sorted(other for other in below if name in reached[other]))
        for name, below in reached.items()
        if name in below
    }
    return sorted(map(list, groups))


def shared_class_names(package: Package) -> dict[str, list[str]]:
    """Return the names of top-level classes that several modules define, with these modules."""
    places = defaultdict(list)
    for module in package.modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module.name)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def is_wrapped(package: Package, name: str, places: list[str]) -> bool:
    """Whether two classes of one name are a transformer and the component that it wraps.

    The one is a class of `estimators` that the root of the package exports, the other belongs to
    `features` or `kernels`.
    """
    if len(places) != 2:
        return False
    above, below = sorted(places, key=lambda place: place.split(".")[1] != TRANSFORMERS)
    exported = package.defining(package.name, name) == above
    return exported and below.split(".")[1] in COMPONENTS


def lazy_imports(package: Package) -> list[tuple[str, str]]:
    """Return (module, what it imports late), one entry for each module that is imported so.

    Late are imports inside functions, of this package or of others, and modules that
    `import_module` loads: under PEP 562, and those named by strings.
    """
    found = set()
    for name, module in package.modules.items():
        inside = {target for target, imported in package.targets(module) if imported.kind == "lazy"}
        others = {i.source for i in module.imports if i.kind == "lazy"} - package.modules.keys()
        found |= {(name, target) for target in inside | others}
        if module.loads_by_name:
            how = "names of its own (PEP 562)" if module.answers_for_names else "a table of names"
            found.add((name, how))
    return sorted(found)


# ------------------------------------------------------------- details


def _imports(node: ast.AST, package: str, kind: Kind) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, None, alias.asname or alias.name, node.lineno, kind)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            source = _absolute(node, package)
            yield Import(source, alias.name, alias.asname or alias.name, node.lineno, kind)
    elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        for child in node.body:
            yield from _imports(child, package, "typing")
        for child in node.orelse:
            yield from _imports(child, package, kind)
    else:
        inner = "lazy" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else kind
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, package, inner)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if node.level == 0:
        return node.module or ""
    parents = package.split(".")
    base = parents[: len(parents) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _attributes(tree: ast.AST, alias: str) -> set[str]:
    """Return the names that are taken from a module by a dot."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == alias
    }


def _loaded(tree: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    left = [start]
    while left:
        new = graph[left.pop()] - reached
        reached |= new
        left.extend(new)
    return reached
