"""What the files of the package promise: no import cycle, and one class a name."""

from pathlib import Path

import pytest

import bochner
import layout

PACKAGE = layout.read(Path(bochner.__file__).parent)
CYCLES = [" <-> ".join(group) for group in layout.cycles(PACKAGE)]
SHARED = [
    f"{name} ({', '.join(places)})"
    for name, places in layout.shared_class_names(PACKAGE).items()
    if not layout.is_wrapped(PACKAGE, name, places)
]


def test_no_modules_import_each_other_not_even_for_types_or_late():
    assert CYCLES == []


def test_no_class_name_stands_in_two_modules_but_for_a_transformer_and_what_it_wraps():
    assert SHARED == []


# ---------------------------------------------------- the reading itself


def package(folder: Path, **files: str) -> layout.Package:
    """Write a package of some modules, `__init__` among them, and read it."""
    root = folder / "house"
    for name, text in {"__init__": "", **files}.items():
        path = root / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return layout.read(root)


@pytest.mark.parametrize(
    "text",
    [
        "from house.one import One\n",
        "from .one import One\n",
        "import house.one\n",
        "from house import one\n",
        "from house import One\n",
        "import house\nhouse.One\n",
        "if TYPE_CHECKING:\n    from house.one import One\n",
        "def late():\n    from house.one import One\n",
        "class C:\n    def late(self):\n        from house.one import One\n",
        "ONE = import_module('house.one')\n",
        "ONE = {'One': 'one'}\nimport_module(ONE)\n",
    ],
)
def test_a_cycle_is_found_however_it_is_written(tmp_path, text):
    made = package(
        tmp_path,
        __init__="from house.one import One\n",
        one="from house.two import Two\n",
        two=text,
    )
    assert layout.cycles(made) == [["house.one", "house.two"]]


def test_a_cycle_of_three_is_one_group(tmp_path):
    made = package(tmp_path, a="import house.b", b="import house.c", c="import house.a", d="")
    assert layout.cycles(made) == [["house.a", "house.b", "house.c"]]


def test_an_init_that_passes_names_on_makes_no_cycle(tmp_path):
    made = package(
        tmp_path,
        __init__="from house.one import One\nfrom house.two import Two\n",
        one="from house import VERSION\n",
        two="from house import One\n",
    )
    assert made.graph["house.two"] == {"house.one"}
    assert layout.cycles(made) == []


def test_a_transformer_may_have_the_name_of_what_it_wraps(tmp_path):
    made = package(
        tmp_path,
        __init__="from house.estimators.sketch import Sketch",
        estimators__in__sketch="class Sketch: ...",
        features__in__sketch="class Sketch: ...\nclass Rows: ...",
        features__in__rows="class Rows: ...",
    )
    shared = layout.shared_class_names(made)
    assert {name: layout.is_wrapped(made, name, places) for name, places in shared.items()} == {
        "Rows": False,
        "Sketch": True,
    }


def test_late_imports_are_listed(tmp_path):
    made = package(
        tmp_path,
        __init__="def __getattr__(name):\n    return import_module(name)\n",
        one="def late():\n    import matplotlib\n    from house.two import Two\n",
        two="",
    )
    assert layout.lazy_imports(made) == [
        ("house", "names of its own (PEP 562)"),
        ("house.one", "house.two"),
        ("house.one", "matplotlib"),
    ]
