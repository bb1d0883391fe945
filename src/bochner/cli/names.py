"""Values of options, listed here so that help and completion import no library."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

KERNELS = (
    "anova", "arc_cosine", "cauchy", "chi_squared", "delta", "dot_product", "euclidean_laplacian",
    "exponential", "exponential_power", "exponentiated_chi_squared", "exponential_semigroup",
    "gaussian", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "overlap",
    "polynomial", "rational_quadratic", "reciprocal_semigroup", "skewed_chi_squared", "zonal",
)  # fmt: skip
SOLVERS = (
    "averaged", "backfitting", "cdsg", "cg", "coordinate", "direct", "dsg", "eigenpro", "newton",
    "nystroem", "pegasos", "smo", "udsg",
)  # fmt: skip
FEATURES = ("binning", "centers", "fastfood", "fourier", "nystroem", "orthogonal", "random")
LOSSES = (
    "absolute", "epsilon_insensitive", "hinge", "huber", "logistic", "softmax", "squared",
    "squared_hinge",
)  # fmt: skip


YES_OR_NO = {"auto": "auto", "yes": True, "no": False}


class Task(StrEnum):
    """The learning task."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    QUANTILES = "quantiles"
    GAUSSIAN_PROCESS = "gaussian-process"
    NOVELTY = "novelty"


ESTIMATORS = {
    Task.CLASSIFICATION: "KernelClassifier",
    Task.REGRESSION: "KernelRegressor",
    Task.QUANTILES: "KernelQuantileRegressor",
    Task.GAUSSIAN_PROCESS: "KernelGaussianProcess",
    Task.NOVELTY: "KernelNoveltyDetector",
}


class Scale(StrEnum):
    """How columns are scaled."""

    NONE = "none"
    STANDARD = "standard"
    RANGE = "range"


class OptionChoice(StrEnum):
    """An option with a fixed set of values."""

    @property
    def literal(self) -> Any:
        """The value as functions take it."""
        return self.value


class Missing(OptionChoice):
    """How missing numbers are treated."""

    REFUSE = "refuse"
    OWN = "own"
    MEAN = "mean"
    MEDIAN = "median"


class OnError(OptionChoice):
    """How malformed rows are treated."""

    RAISE = "raise"
    SKIP = "skip"


class Format(OptionChoice):
    """The format of data files."""

    CSV = "csv"
    PARQUET = "parquet"
    SVMLIGHT = "svmlight"
    NPY = "npy"
    NPZ = "npz"
    ARROW = "arrow"
    JSONL = "jsonl"
    XLSX = "xlsx"


class HeaderRow(OptionChoice):
    """Whether CSV files have a header row."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"

    @property
    def literal(self) -> Any:
        """The value for `open_source`."""
        return YES_OR_NO[self.value]


class MissingTarget(OptionChoice):
    """How rows without a target are treated."""

    REFUSE = "refuse"
    SKIP = "skip"


class DecimalMark(OptionChoice):
    """What separates the fraction of a number in CSV files."""

    AUTO = "auto"
    POINT = "."
    COMMA = ","


class ZeroBased(OptionChoice):
    """Whether the first column of svmlight files has number 0."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"

    @property
    def literal(self) -> Any:
        """The value for `open_source`."""
        return YES_OR_NO[self.value]


class Part(OptionChoice):
    """Which rows of a file that `fit --test` has split."""

    ALL = "all"
    TEST = "test"
    TRAIN = "train"


# The estimator parameters of each method of `compare`.
METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "averaged": {"solver": "averaged", "features": "binning"},
    "backfitting": {"solver": "backfitting", "features": "binning"},
    "binning": {"features": "binning"},
    "cdsg": {"solver": "cdsg"},
    "cg": {"solver": "cg"},
    "coordinate": {"solver": "coordinate"},
    "direct": {"solver": "direct"},
    "dsg": {"solver": "dsg"},
    "eigenpro": {"solver": "eigenpro"},
    "newton": {"solver": "newton"},
    "nystroem": {"solver": "nystroem"},
    "pegasos": {"solver": "pegasos"},
    "udsg": {"solver": "udsg"},
}


def complete_from(names: tuple[str, ...]) -> Callable[[str], list[str]]:
    """Return a function that completes a name in the shell.

    >>> complete_from(SOLVERS)("d")
    ['direct', 'dsg']
    """
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]
