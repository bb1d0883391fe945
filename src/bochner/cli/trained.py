"""Trained: a model from a file, with what the file says of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bochner import load, read_header
from bochner.estimators.files import schema_of

if TYPE_CHECKING:
    from bochner.data import Schema, Split
    from bochner.persist import Header


@dataclass(frozen=True)
class Trained:
    """A fitted estimator, the header of its file, and what rows it takes."""

    model: Any
    header: Header
    schema: Schema

    def named(self, target: tuple[str, ...]) -> Schema:
        """Return the schema with the column that holds the target, where the model knows none."""
        if not target:
            return self.schema
        labels = self.header.labels
        text = labels is not None and all(isinstance(label, str) for label in labels)
        kind = tuple(labels) if text and labels is not None else None
        return replace(self.schema, targets=target, labels=kind, flat=len(target) == 1)

    def split(self, part: Literal["all", "train", "test"]) -> Split | None:
        """Return the rows of a file that were left out of the fit, or those that were not."""
        from bochner.data import Split

        if part == "all":
            return None
        test = self.header.summary.get("test")
        if not test:
            raise ValueError(
                f"--part {part} needs a model that was fitted with --test SHARE; this one was "
                "fitted to all rows of its files."
            )
        return Split(part, float(test["share"]), int(test["seed"]))


def trained(path: Path) -> Trained:
    """Load a model that can predict."""
    header = read_header(path)
    model = load(path)
    if not hasattr(model, "predict") or not header.columns:
        raise ValueError(
            f"{path} holds a {header.model}, which predicts nothing; the command line takes models "
            "that `bochner fit` writes."
        )
    return Trained(model, header, schema_of(model))
