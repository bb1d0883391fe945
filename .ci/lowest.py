"""Print the lowest version of every package that `pyproject.toml` allows, as exact requirements.

`make test-lowest` installs these. A floor such as `scipy>=1.13` becomes `scipy==1.13`; packages
that only others require are left to pip.

python .ci/lowest.py [extra ...]
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
FLOOR = re.compile(r"(?P<name>[\w-]+)(\[[\w,-]+\])?>=(?P<version>[\d.]+)")


def floors(extras: list[str], project: Path = PROJECT) -> list[str]:
    """Return the exact requirements of the package with these extras."""
    tables = tomllib.loads(project.read_text())["project"]
    lines = [*tables["dependencies"]]
    for extra in extras:
        lines += _expanded(extra, tables["optional-dependencies"], tables["name"])
    return sorted({_exact(line) for line in lines})


def _expanded(extra: str, table: dict[str, list[str]], name: str) -> Iterator[str]:
    """Yield the requirements of an extra; those that name another extra give that one's."""
    for line in table[extra]:
        inner = re.fullmatch(rf"{name}\[([\w-]+)\]", line)
        if inner:
            yield from _expanded(inner[1], table, name)
        else:
            yield line


def _exact(line: str) -> str:
    found = FLOOR.fullmatch(line)
    if found is None:
        raise ValueError(f"{line!r} in pyproject.toml has no floor: write name>=version.")
    return f"{found['name']}=={found['version']}"


if __name__ == "__main__":
    print("\n".join(floors(sys.argv[1:])))
