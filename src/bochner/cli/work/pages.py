"""Reports of one model and of data files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.cli.work.evaluation import EvaluationResult
from bochner.cli.work.reading import LoadedModel
from bochner.data import FileSource
from bochner.report import Column, DataSummary, Report, Run, require

SUMMARISED = 65_536  # rows at most


def require_page(path: Path) -> None:
    """Raise if a report cannot be written, before the work begins."""
    require()
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"A report is an HTML page: its name must end in .html; got {path}.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"There is no directory {path.parent}; make it first.")


def model_report(
    fitted: LoadedModel, result: EvaluationResult, source: FileSource, command: str
) -> Report:
    """Return the report of one model on rows with known targets."""
    if result.predictions is None:
        raise ValueError("There are no reports of novelty detectors; leave --report out.")
    seconds = fitted.header.summary.get("total_seconds")
    run = Run.described(fitted.model, result.predictions, seconds=seconds)
    digests = {"model": fitted.header.digest}
    title = ", ".join(Path(path).name for path in source.paths[:3])
    return Report(title, summarize(source), [run], command=command, digests=digests)


def summarize(source: FileSource, test_rows: int | None = None) -> DataSummary:
    """Return a summary of the columns, with ranges from a sample of the rows."""
    schema, sample = source.schema, source.sample(SUMMARISED)
    y = np.asarray(sample.y)
    ranges = _ranges(sample.X.tocsc() if schema.sparse else sample.X)
    columns = [
        _column(name, known, source.missing_cells.get(name, 0), ends)
        for name, known, ends in zip(schema.names, schema.categories, ranges.T, strict=True)
    ]
    return DataSummary(
        source.n_rows or len(sample),
        columns,
        ", ".join(schema.targets),
        y if y.ndim == 1 else y[:, 0],
        source=", ".join(source.paths[:3]),
        test_rows=test_rows,
        malformed=source.skipped.count,
    )


def _ranges(X: Any) -> NDArray[np.float64]:
    """Return the least, mean and largest known number of each column; sparse rows stay sparse."""
    if isinstance(X, np.ndarray) and np.isnan(X).any():
        return np.stack([_ends(column[~np.isnan(column)]) for column in X.T], axis=1)
    ends = (X.min(axis=0), X.mean(axis=0, dtype=np.float64), X.max(axis=0))
    flat = (end.toarray() if hasattr(end, "toarray") else np.asarray(end) for end in ends)
    return np.stack([end.ravel().astype(np.float64) for end in flat])


def _ends(known: NDArray[Any]) -> NDArray[np.float64]:
    if len(known) == 0:
        return np.full(3, np.nan)
    return np.array([known.min(), known.mean(dtype=np.float64), known.max()], np.float64)


def _column(name: str, categories: Any, missing: int, ends: NDArray[np.float64]) -> Column:
    if categories is not None:
        return Column(name, "category", missing, categories=len(categories))
    return Column(name, "number", missing, *ends.tolist())
