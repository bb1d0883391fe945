"""Schema: what the columns of a table are, learned from one file and used to read others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

Missing = Literal["refuse", "own", "mean", "median"]
MISSING: tuple[Missing, ...] = ("refuse", "own", "mean", "median")
MISSING_TEXT = "missing"  # the category of text that is missing


@dataclass(frozen=True)
class Schema:
    """Columns, targets and weights of a table, in plain types.

    Parameters
    ----------
    names : tuple of str
        The columns of X, in their order.
    categories : tuple
        For each column its sorted categories, or None if it holds numbers.
    targets : tuple of str
        The columns of y; none if there is no y.
    labels : tuple of str or None
        The sorted labels if the target is text, None if targets are numbers.
    flat : bool
        Whether y is 1-d.
    weight : str or None
        The column of weights.
    missing : "refuse", "own", "mean" or "median"
        What becomes of missing numbers.
    filling : tuple of float
        What stands for a missing number of each column.
    dtype : "float64" or "float32"
    named : bool
        Whether the columns have names; else they have numbers, "0", "1" and so on.
    sparse : bool
        Whether rows are sparse.
    whole : bool
        Whether all targets are whole numbers.
    zero_based : bool or None
        Whether sparse files call the first column 0, and not 1; None if that is to be told anew.

    Examples
    --------
    >>> schema = Schema(("tree", "height"), (("ash", "oak"), None), targets=("age",))
    >>> schema.categorical, schema.target_kind
    ((0,), 'number')
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    """

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    targets: tuple[str, ...] = ()
    labels: tuple[str, ...] | None = None
    flat: bool = True
    weight: str | None = None
    missing: Missing = "refuse"
    filling: tuple[float, ...] = ()
    dtype: str = "float64"
    named: bool = True
    sparse: bool = False
    whole: bool = False
    zero_based: bool | None = None

    @property
    def n_columns(self) -> int:
        """The number of columns of X."""
        return len(self.names)

    @property
    def categorical(self) -> tuple[int, ...]:
        """The places of the columns of categories."""
        return tuple(j for j, known in enumerate(self.categories) if known is not None)

    @property
    def header(self) -> bool | Literal["auto"]:
        """Whether CSV files begin with names; without text their first line tells."""
        return self.named or (False if self.categorical else "auto")

    @property
    def target_kind(self) -> Literal["none", "number", "label"]:
        """What the targets are."""
        if not self.targets:
            return "none"
        return "number" if self.labels is None else "label"

    def without_target(self) -> Schema:
        """Return the schema of new rows, whose targets and weights are nobody's concern."""
        return replace(self, targets=(), labels=None, weight=None, whole=False)

    def to_dict(self) -> dict[str, Any]:
        """Return lists and plain values, as JSON holds them."""
        return {name: _listed(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Schema:
        """Return the schema of such a record, or refuse what is none."""
        known = {field.name for field in fields(cls)}
        schema = cls(**{name: _tupled(value) for name, value in given.items() if name in known})
        _require_plain(schema)
        return schema


def _listed(value: Any) -> Any:
    return [_listed(one) for one in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list | tuple) else value


def _texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def _require_plain(schema: Schema) -> None:
    columns = len(schema.names) if _texts(schema.names) else -1
    checks = {
        "names": columns >= 0,
        "categories": isinstance(schema.categories, tuple)
        and len(schema.categories) == columns
        and all(known is None or _texts(known) for known in schema.categories),
        "targets": _texts(schema.targets),
        "labels": schema.labels is None or _texts(schema.labels),
        "flat": isinstance(schema.flat, bool),
        "weight": schema.weight is None or isinstance(schema.weight, str),
        "missing": schema.missing in MISSING,
        "filling": isinstance(schema.filling, tuple)
        and len(schema.filling) in (0, columns)
        and all(isinstance(value, int | float) for value in schema.filling),
        "dtype": schema.dtype in ("float32", "float64"),
        "named": isinstance(schema.named, bool),
        "sparse": isinstance(schema.sparse, bool),
        "whole": isinstance(schema.whole, bool),
        "zero_based": isinstance(schema.zero_based, bool | None),
    }
    for name, fine in checks.items():
        if not fine:
            raise ValueError(
                f"A schema has no such {name}: {getattr(schema, name)!r}. Give one that "
                "Schema.to_dict has made."
            )
