"""The documentation names what there is, and its links lead somewhere."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import bochner

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    if "_build" not in page.parts
)
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
