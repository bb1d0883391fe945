"""What is packaged: the files that tests need, the lowest versions, and a readme without links."""

import ast
import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
HATCH = PROJECT["tool"]["hatch"]
floors = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))["floors"]


def words_of_tests():
    """Yield every text constant in the tests."""
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value.partition("/")[0]


def test_the_source_distribution_has_what_its_tests_read():
    packaged = {name.removeprefix("/") for name in HATCH["build"]["targets"]["sdist"]["include"]}
    packaged.add("pyproject.toml")  # always
    needed = {*words_of_tests()} & {entry.name for entry in ROOT.iterdir()}
    pages = {page.name for page in ROOT.glob("*.md")}
    assert {"CONTRIBUTING.md", "Makefile", "docs"} <= needed | pages
    assert needed | pages <= packaged
    assert all((ROOT / name).exists() for name in packaged)


def test_the_readme_of_a_package_has_no_relative_links():
    text = (ROOT / "README.md").read_text()
    for rule in HATCH["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    assert re.findall(r"\]\((?!https?:)", text) == []
    assert "[CONTRIBUTING.md]" not in text
    assert "## Results" in text
    assert "benchmarks/choosing.py" not in text  # it stands in the caption of the picture


def test_every_requirement_has_a_floor():
    extras = list(PROJECT["project"]["optional-dependencies"])
    found = floors([extra for extra in extras if extra != "benchmark"])
    assert {"numpy==2.0", "scipy==1.13", "pyarrow==16", "pandas==2.2.2", "typer==0.15.4"} <= {
        *found
    }
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in found)


def test_a_requirement_without_a_floor_is_refused(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["numpy"]\n')
    with pytest.raises(ValueError, match=r"'numpy' .* has no floor"):
        floors([], tmp_path / "pyproject.toml")


def test_every_extra_is_for_a_package_that_something_imports():
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    code = "\n".join(path.read_text() for path in sources)
    for extra in PROJECT["project"]["optional-dependencies"].keys() - {"test", "docs", "benchmark"}:
        for line in floors([extra]):
            name = line.partition("==")[0]
            assert re.search(rf"\b(import|from) {name}\b|import_module\(\"{name}", code), name
