"""Count the cases of the tests that `docs/promises.md` names, and write them into its tables.

python .ci/promises.py
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "promises.md"
ROW = re.compile(r"^(\| .* \| )(`.*`)( \| )[\d,]+( \|)$", re.MULTILINE)


def collected() -> list[str]:
    """Return the names of all cases, as pytest gives them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def counted(text: str, cases: list[str]) -> str:
    """Return the page with the number of cases in each row."""

    def row(match: re.Match[str]) -> str:
        names = re.findall(r"`([^`]+)`", match[2])
        count = sum(any(belongs(case, name) for name in names) for case in cases)
        return f"{match[1]}{match[2]}{match[3]}{count:,}{match[4]}"

    return ROW.sub(row, text)


def belongs(case: str, name: str) -> bool:
    """Whether a case is of a test, a file or a folder."""
    return case == name or case.startswith((f"{name}[", f"{name}::", f"{name}/"))


if __name__ == "__main__":
    PAGE.write_text(counted(PAGE.read_text(), collected()))
