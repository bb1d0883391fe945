"""Pages are tests; what builds them is not."""

from collections.abc import Iterator

import pytest

from bochner.component import Component
from bochner.features.feature_map import MAPS, FeatureMap
from bochner.kernels import Kernel
from bochner.losses import Loss
from bochner.solvers import Solver

collect_ignore = ["conf.py", "_extensions", "_build"]
FAMILIES: tuple[type[Component], ...] = (FeatureMap, Kernel, Loss, Solver)


@pytest.fixture(autouse=True)
def registries() -> Iterator[None]:
    """Restore the registries after a page that adds components: other tests go through them."""
    tables = [family.registry for family in FAMILIES] + [MAPS]
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)
