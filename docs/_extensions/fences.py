"""fenced(): examples of a page inside fences, as Markdown wants them.

`python docs/_extensions/fences.py PAGE...` rewrites pages.
"""

import sys
from pathlib import Path


def fenced(text: str) -> str:
    """Return a page whose bare paragraphs of `>>>` lines stand in fences, those in a row in one.

    The empty line before the closing fence ends the last answer: else doctest would expect the
    fence as a part of it.
    """
    lines, found, inside, example = text.split("\n"), [], False, False
    for line in lines:
        if line.startswith("```"):
            inside = not inside
        if not inside and not example and line.startswith(">>>"):
            _reopen(found)
            example = True
        if example and not line.strip():
            found += ["", "```"]
            example = False
        found.append(line)
    return "\n".join([*found, "", "```"] if example else found)


def _reopen(found: list[str]) -> None:
    """Open a fence, or go on with the one that ended before the last empty line."""
    if found[-2:] == ["```", ""] and found[-3:-2] == [""]:
        del found[-2:]
    else:
        found.append("```python")


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        page.write_text(fenced(page.read_text()))
