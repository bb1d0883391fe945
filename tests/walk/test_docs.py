"""The documentation names what there is, and its links lead somewhere."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import bochner
from bochner.features.basis import GrowingBasis, TransformedBasis
from bochner.features.feature_map import GrowingFeatureMap
from bochner.kernels.kernel import BandwidthKernel
from bochner.solvers.solver import SamplingSolver, SolverTags

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    if "_build" not in page.parts
)
PROMISES = ROOT / "docs" / "promises.md"
# Pieces of estimators and model files, which `bochner` itself exports, and the command.
INSIDE = {"cli", "compute", "estimators", "persist", "training"}
PACKAGES = ["bochner"] + [
    f"bochner.{module.name}"
    for module in iter_modules(bochner.__path__)
    if module.name not in INSIDE and (module.ispkg or module.name in bochner.__all__)
]


def listed(package: str) -> list[str]:
    """Return the names that the pages of the reference list for a package."""
    block = re.compile(
        rf"^```{{reference}} {re.escape(package)}\n(.*?)^```$", re.DOTALL | re.MULTILINE
    )
    pages = "\n".join(page.read_text() for page in ROOT.glob("docs/reference/*.md"))
    return "\n".join(block.findall(pages)).split()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_lists_every_public_name_once(package):
    module = import_module(package)
    public = [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]
    assert sorted(listed(package)) == sorted(public)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_project_lead_somewhere(page):
    addresses = re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    for address in addresses:
        path = address.partition("#")[0]
        if path and "://" not in path:
            assert (page.parent / path).exists(), f"{page.name} links to {address}"


def promised_tests():
    """Return the tests that the tables of promises name."""
    rows = re.findall(r"^\| .* \| (`.*`) \| [\d,]+ \|$", PROMISES.read_text(), re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def test_there_are_promises_with_counted_cases():
    assert len(promised_tests()) > 20
    assert " | 0 |" not in PROMISES.read_text()


@pytest.mark.parametrize("name", promised_tests())
def test_every_test_that_a_promise_names_exists(name):
    path, _, function = name.partition("::")
    assert (ROOT / path).exists()
    assert not function or f"\ndef {function}(" in (ROOT / path).read_text()


# What a name of the package is not: the suffix of a file.
SUFFIXES = {"bochner", "csv", "html", "json", "md", "npy", "npz", "onnx", "parquet", "png", "py"}
ROOTS = [ROOT, ROOT / "src" / "bochner", ROOT / "benchmarks", ROOT / "tests"]
MADE_LATER = {"load.py", "benchmarks/results/"}
SUBPACKAGES = {module.name for module in iter_modules(bochner.__path__)}
VARIABLES = {"report"}  # of examples, where `bochner.` does not stand before them


def spans(page: Path) -> set[str]:
    """Return the inline code of a page."""
    return set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)))


def resolve(name: str) -> object:
    """Import what a dotted name below `bochner` stands for, a field of a dataclass included."""
    found: object = bochner
    for part in name.split("."):
        if part in getattr(found, "__dataclass_fields__", {}):
            return found
        if inspect.ismodule(found) and not hasattr(found, part):
            import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_files_that_a_page_names_exist(page):
    paths = {span for span in spans(page) if re.fullmatch(r"([\w.-]+/)+|([\w-]+/)*\w+\.py", span)}
    missing = [
        path
        for path in paths - MADE_LATER
        if not any((root / path).exists() for root in ROOTS)
        and not ("/" not in path and [*ROOT.glob(f"src/**/{path}")])
    ]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_names_that_a_page_uses_exist(page):
    missing = []
    for span in spans(page):
        name = span.partition("(")[0].removeprefix("bochner.")
        parts = name.split(".")
        if not re.fullmatch(r"\w+(\.\w+)+", name) or parts[-1] in SUFFIXES:
            continue
        if parts[0] in VARIABLES and not span.startswith("bochner."):
            continue
        if parts[0] not in SUBPACKAGES:
            owners = [package for package in PACKAGES if parts[0] in import_module(package).__all__]
            name = ".".join([*owners[0].split(".")[1:], name]) if owners else ""
        try:
            resolve(name) if name else None
        except (AttributeError, ImportError):
            missing.append(span)
    assert not missing


SCRIPTS = sorted(ROOT.glob("benchmarks/*.py"))


def unknown_names(script: Path) -> list[str]:
    """Return what a script imports from this library, or asks of what it imports, in vain."""
    tree, known, unknown = ast.parse(script.read_text()), {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "bochner":
            for alias in node.names:
                name = f"{node.module}.{alias.name}".partition(".")[2]
                try:
                    known[alias.asname or alias.name] = resolve(name)
                except (AttributeError, ImportError):
                    unknown.append(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = known.get(node.value.id)
            if (inspect.ismodule(owner) or inspect.isclass(owner)) and not hasattr(
                owner, node.attr
            ):
                unknown.append(f"{node.value.id}.{node.attr}")
    return unknown


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_names_that_a_script_uses_exist(script):
    assert not unknown_names(script)


# docs/design.md: the tables of public names, the tree, the layers and the picture.

DESIGN = (ROOT / "docs" / "design.md").read_text()
KINDS = {
    name: value
    for package in PACKAGES
    for name, value in vars(import_module(package)).items()
    if inspect.isclass(value)
} | {kind.__name__: kind for kind in (BandwidthKernel, SamplingSolver, SolverTags)}
KINDS |= {kind.__name__: kind for kind in (GrowingBasis, GrowingFeatureMap, TransformedBasis)}


def new_names(kind: type) -> set[str]:
    """Return the public names that a class has and its base classes have not."""
    own = {*vars(kind), *inspect.get_annotations(kind)} - {"family", "registry"}
    older = {name for base in kind.__mro__[1:] for name in dir(base)}
    return {name for name in own - older if not name.startswith("_")}


def tables_of_names() -> dict[str, set[str]]:
    """Return the names in the table under the heading of a class, and in the tables of kinds."""
    found = {}
    part = DESIGN.partition("## What the base classes promise")[2].partition("\n## ")[0]
    for section in part.split("\n### ")[1:]:
        heading, _, text = section.partition("\n")
        rows = [line.split("|")[1:] for line in text.splitlines() if line.startswith("| ")]
        kinds = next((k for k, row in enumerate(rows) if row[0] == " more kinds "), len(rows))
        found[heading] = {name for row in rows[:kinds] for name in re.findall(r"`(\w+)`", row[0])}
        for kind, names, *_ in rows[kinds:]:
            if "`" in kind:
                found[kind.strip(" `")] = set(re.findall(r"`(\w+)`", names))
    return found


@pytest.mark.parametrize(("kind", "names"), tables_of_names().items())
def test_the_tables_of_design_list_the_public_names_of_a_base_class(kind, names):
    assert names == new_names(KINDS[kind])


def test_names_of_base_classes_without_a_default_are_bold_in_design():
    for kind in ("Solver", "Basis", "FeatureMap", "Kernel", "Loss", "DataSource"):
        text = DESIGN.partition(f"\n### {kind}\n")[2].partition("\n### ")[0]
        assert set(re.findall(r"\*\*`(\w+)`\*\*", text)) == KINDS[kind].__abstractmethods__


def test_the_tree_of_design_has_every_package_and_module_of_the_root():
    folder = ROOT / "src" / "bochner"
    tree = DESIGN.partition("## The tree")[2].partition("\n## ")[0]
    cells = [line.split(" | ")[0] for line in tree.splitlines() if line.startswith("| `")]
    named = {path for cell in cells for path in re.findall(r"`([^`]+)`", cell)}
    packages = {f"{path.parent.relative_to(folder)}/" for path in folder.rglob("*/__init__.py")}
    modules = {path.name for path in folder.glob("[!_]*.py")}
    assert named == packages | modules


def test_the_layers_of_design_and_of_its_picture_are_those_of_the_contract():
    (contract, *_) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    listed = DESIGN.partition("\n## Layers")[2].split("```")[1].strip().splitlines()
    picture = (ROOT / "docs" / "walk.svg").read_text()
    drawn = re.findall(r'<text class="layer[^>]*>([^<]*)<', picture)
    assert listed == drawn == contract["layers"]


def test_the_functions_in_the_picture_exist():
    picture = (ROOT / "docs" / "walk.svg").read_text()
    steps = re.findall(r'class="code"[^>]*>([^<]*)<.*\n.*class="code small"[^>]*>([^<]*)<', picture)
    assert len(steps) > 20
    for function, file in steps:
        assert resolve(f"{file.removesuffix('.py').replace('/', '.')}.{function}")
