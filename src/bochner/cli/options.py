"""Options that several commands share."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from bochner.cli.names import (
    FEATURES,
    KERNELS,
    LOSSES,
    SOLVERS,
    DecimalMark,
    Format,
    HeaderRow,
    Missing,
    MissingTarget,
    OnError,
    Scale,
    Task,
    ZeroBased,
    complete_from,
)
from bochner.cli.quantities import Shares, delimiter_character, memory, seconds, settings, shares

SET_BY_THE_COMMAND = {
    "random_state": "give --seed",
    "callbacks": "the command has its own",
    "verbose": "the command shows progress unless you give --quiet",
}
_data = partial(typer.Option, rich_help_panel="Data")
_learning = partial(typer.Option, rich_help_panel="Learning")
_output = partial(typer.Option, rich_help_panel="Output")


def _component(help: str, names: tuple[str, ...]) -> Any:
    return _learning(metavar="NAME", help=help, autocompletion=complete_from(names))


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Files (.csv, .parquet, .feather, .jsonl, .xlsx, .svm, .npy, .npz, also .csv.gz), "
        "folders or globs of one format; - is standard input.",
        show_default=False,
    ),
]
Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A model file that `bochner fit` wrote.", show_default=False
    ),
]
Target = Annotated[
    list[str] | None,
    _data(
        "--target", "-t", metavar="NAME",
        help="The column to predict; several: a,b. A name with a comma: '\"a,b\"'.",
    ),
]  # fmt: skip
Weight = Annotated[str | None, _data(metavar="NAME", help="The column of weights.")]
Columns = Annotated[list[str] | None, _data(metavar="NAMES", help="Use these columns only.")]
Drop = Annotated[list[str] | None, _data(metavar="NAMES", help="Ignore these columns.")]
Categorical = Annotated[
    list[str] | None,
    _data(metavar="NAMES", help="Numeric columns to treat as categories; text columns always are."),
]
MissingNumbers = Annotated[
    Missing,
    _data(
        "--missing", help="Missing numbers: treat them as a value of its own, fill in the column's "
        "mean or median, or refuse them.",
    ),
]  # fmt: skip
Malformed = Annotated[
    OnError, _data("--on-error", help="Malformed rows: stop at the first, or skip and count them.")
]
FileFormat = Annotated[
    Format | None, _data("--format", help="Needed if the file name does not show it.")
]
HeaderLine = Annotated[HeaderRow, _data("--header", help="Whether CSV files have a header row.")]
MissingTargets = Annotated[
    MissingTarget,
    _data("--missing-target", help="Rows without a target: refuse them, or skip and count them."),
]
Delimiter = Annotated[
    str,
    _data(
        "--delimiter", parser=delimiter_character, metavar="SIGN",
        help="Between the fields of CSV files: one character, or tab; auto: what fits the file, or "
        "as in the fit.",
    ),
]  # fmt: skip
Decimal = Annotated[
    DecimalMark,
    _data("--decimal", help="Before the fraction of numbers in CSV files: 1.5 or 1,5."),
]
Encoding = Annotated[
    str | None,
    _data(
        "--encoding", metavar="NAME",
        help="Of text files, such as cp1252; UTF-8 or as in the fit by default.",
    ),
]  # fmt: skip
FirstColumn = Annotated[
    ZeroBased, _data("--zero-based", help="Whether the first column of svmlight files is 0.")
]
TestShare = Annotated[
    float | None,
    _data(
        "--test", min=0.0, max=0.9, metavar="SHARE",
        help="Hold out this share of the rows, chosen by a hash, to test the model.",
    ),
]  # fmt: skip
TaskOption = Annotated[
    Task,
    _learning(
        "--task", help="The task. auto: classification for text and few distinct integers, else "
        "regression; novelty needs no target.",
    ),
]  # fmt: skip
Kernel = Annotated[str, _component("Such as gaussian, laplacian, matern.", KERNELS)]
Solver = Annotated[str, _component("Such as eigenpro, nystroem, dsg, cdsg, cg, direct.", SOLVERS)]
Features = Annotated[str, _component("Such as centers, fourier, binning.", FEATURES)]
Loss = Annotated[str | None, _component("Such as softmax, squared, huber, hinge.", LOSSES)]
ScaleOption = Annotated[Scale, _learning("--scale", help="How columns are scaled.")]
QualityOption = Annotated[
    int | None,
    _learning(
        "--quality", min=1, max=5,
        help="From 1, as fast as possible, to 5, as good as possible; 3 by default.",
    ),
]  # fmt: skip
Quantiles = Annotated[
    Shares | None, _learning(parser=shares, metavar="SHARES", help="Such as 0.05,0.5,0.95.")
]
Time = Annotated[
    float | None,
    _learning(
        "--time", parser=seconds, metavar="TIME", help="Time limit of training, such as 90s or 5m."
    ),
]
Memory = Annotated[
    int | None,
    _learning(
        "--memory", parser=memory, metavar="AMOUNT",
        help="Memory for caches, such as 2GB; half of the free memory by default.",
    ),
]  # fmt: skip
Threads = Annotated[int | None, _learning(min=1, help="All cores by default.")]
Seed = Annotated[
    int,
    _learning(
        min=0, max=2**32 - 1, help="Seed of the features, the order and the split of the rows."
    ),
]
Settings = Annotated[
    list[str] | None,
    _learning(
        "--set", metavar="NAME=VALUE",
        help="Any other parameter of the estimator: --set alpha=1e-6 --set kernel__bandwidth=2.",
    ),
]  # fmt: skip
Report = Annotated[Path | None, _output(metavar="FILE", help="Write an HTML report to this file.")]
Json = Annotated[bool, _output("--json", help="Print the result as one JSON object.")]
Quiet = Annotated[bool, _output("--quiet", "-q", help="Print nothing but errors.")]


def estimator_parameters(
    given: dict[str, Any], scale: Scale, quantiles: Shares | None, set_: list[str] | None
) -> dict[str, Any]:
    """Return the parameters of an estimator; those that are None or "auto" keep their defaults.

    >>> estimator_parameters({"kernel": "auto", "n_jobs": 2}, Scale.RANGE, None, ["alpha=0.1"])
    {'n_jobs': 2, 'scale': 'range', 'alpha': 0.1}
    """
    given = given | {
        "scale": None if scale is Scale.NONE else scale.value,
        "quantiles": None if quantiles is None else tuple(quantiles),
    }
    chosen = {name: value for name, value in given.items() if value not in (None, "auto")}
    found = settings(set_)
    for name in found.keys() & SET_BY_THE_COMMAND.keys():
        raise typer.BadParameter(f"--set {name} has no effect: {SET_BY_THE_COMMAND[name]}.")
    return chosen | found


def command_line() -> str:
    """Return the command as the user typed it, for reports."""
    return shlex.join(["bochner", *sys.argv[1:]])
