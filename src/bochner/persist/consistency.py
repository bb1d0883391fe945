"""Consistency: records whose parts do not go together are refused before anything computes."""

from __future__ import annotations

from typing import Any


def require_consistent(value: Any) -> None:
    """Refuse a record whose parts contradict each other."""
