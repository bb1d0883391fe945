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
