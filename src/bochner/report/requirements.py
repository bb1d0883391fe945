"""require(): the packages that pages and pictures are made with, or a sentence about them."""

from __future__ import annotations

from importlib.util import find_spec

PACKAGES = ("matplotlib", "jinja2")


def require() -> None:
    """Raise an ImportError that names the extra if a package for reports is missing."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"A report needs {' and '.join(missing)}, which this Python does not have. The extra "
            "'report' brings them: pip install 'bochner[report]'"
        )
