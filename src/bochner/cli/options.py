"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bochner.cli.names import (
    FEATURES,
    KERNELS,
    LOSSES,
    SOLVERS,
    Format,
    HeaderRow,
    Missing,
    OnError,
    Scale,
    Task,
    complete_from,
)
from bochner.cli.quantities import Shares, memory, seconds, shares

DATA, LEARNING, OUTPUT = "Data", "Learning", "Output"

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Files (.csv, .parquet, .svm, .npy, .npz, also .csv.gz), folders or globs of one "
        "format; - is standard input.",
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
    typer.Option(
        "--target", "-t", metavar="NAME", rich_help_panel=DATA, show_default=False,
        help="The column to predict; several: a,b. A name with a comma: '\"a,b\"'.",
    ),
]  # fmt: skip
Weight = Annotated[
    str | None, typer.Option(metavar="NAME", help="The column of weights.", rich_help_panel=DATA)
]
Columns = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Use these columns only.", rich_help_panel=DATA),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Ignore these columns.", rich_help_panel=DATA),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="Numeric columns to treat as categories; text columns always are.",
        rich_help_panel=DATA,
    ),
]  # fmt: skip
MissingNumbers = Annotated[
    Missing,
    typer.Option(
        "--missing", help="Missing numbers: refuse them, treat them as a value of its own, or fill "
        "in the column's mean or median.", rich_help_panel=DATA,
    ),
]  # fmt: skip
Malformed = Annotated[
    OnError,
    typer.Option(
        "--on-error", help="Malformed rows: stop at the first, or skip and count them.",
        rich_help_panel=DATA,
    ),
]  # fmt: skip
FileFormat = Annotated[
    Format | None,
    typer.Option(
        "--format", help="Needed if the file name does not show it.", rich_help_panel=DATA,
        show_default=False,
    ),
]  # fmt: skip
HeaderLine = Annotated[
    HeaderRow,
    typer.Option("--header", help="Whether CSV files have a header row.", rich_help_panel=DATA),
]
TestShare = Annotated[
    float | None,
    typer.Option(
        "--test", min=0.0, max=0.9, metavar="SHARE", rich_help_panel=DATA, show_default=False,
        help="Hold out this share of the rows, chosen by a hash, to test the model.",
    ),
]  # fmt: skip
TaskOption = Annotated[
    Task,
    typer.Option(
        "--task", help="The task. auto: classification for text and few distinct integers, else "
        "regression; without a target, novelty.", rich_help_panel=LEARNING,
    ),
]  # fmt: skip
Kernel = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Such as gaussian, laplacian, matern.", rich_help_panel=LEARNING,
        autocompletion=complete_from(KERNELS),
    ),
]  # fmt: skip
Solver = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Such as eigenpro, nystroem, dsg, cdsg, cg, direct.",
        rich_help_panel=LEARNING, autocompletion=complete_from(SOLVERS),
    ),
]  # fmt: skip
Features = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="Such as centers, fourier, binning.", rich_help_panel=LEARNING,
        autocompletion=complete_from(FEATURES),
    ),
]  # fmt: skip
Loss = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Such as softmax, squared, huber, hinge.", rich_help_panel=LEARNING,
        autocompletion=complete_from(LOSSES), show_default=False,
    ),
]  # fmt: skip
ScaleOption = Annotated[
    Scale, typer.Option("--scale", help="How columns are scaled.", rich_help_panel=LEARNING)
]
Quantiles = Annotated[
    Shares | None,
    typer.Option(
        parser=shares, metavar="SHARES", help="Such as 0.05,0.5,0.95.",
        rich_help_panel=LEARNING, show_default=False,
    ),
]  # fmt: skip
Time = Annotated[
    float | None,
    typer.Option(
        "--time", parser=seconds, metavar="TIME", help="Time limit of training, such as 90s or 5m.",
        rich_help_panel=LEARNING, show_default=False,
    ),
]  # fmt: skip
Memory = Annotated[
    int | None,
    typer.Option(
        "--memory", parser=memory, metavar="AMOUNT", rich_help_panel=LEARNING, show_default=False,
        help="Memory for caches, such as 2GB; half of the free memory by default.",
    ),
]  # fmt: skip
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="All cores by default.", rich_help_panel=LEARNING, show_default=False),
]
Seed = Annotated[
    int,
    typer.Option(
        min=0, max=2**32 - 1, help="Seed of the features, the order and the split of the rows.",
        rich_help_panel=LEARNING,
    ),
]  # fmt: skip
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", rich_help_panel=LEARNING, show_default=False,
        help="Any other parameter of the estimator: --set alpha=1e-6 --set kernel__bandwidth=2.",
    ),
]  # fmt: skip
Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write an HTML report to this file.", rich_help_panel=OUTPUT,
        show_default=False,
    ),
]  # fmt: skip
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the result as one JSON object.", rich_help_panel=OUTPUT),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=OUTPUT)
]
