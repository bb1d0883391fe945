"""Names that options take: spelled out here, so that help and completion load no library."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

KERNELS = (
    "arc_cosine", "cauchy", "chi_squared", "delta", "dot_product", "euclidean_laplacian",
    "exponential", "exponential_power", "exponentiated_chi_squared", "exponential_semigroup",
    "gaussian", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "overlap",
    "polynomial", "rational_quadratic", "reciprocal_semigroup", "skewed_chi_squared", "zonal",
)  # fmt: skip
SOLVERS = (
    "averaged", "backfitting", "cdsg", "cg", "coordinate", "direct", "dsg", "eigenpro", "newton",
    "nystroem", "pegasos", "udsg",
)  # fmt: skip
FEATURES = ("binning", "centers", "fastfood", "fourier", "nystroem", "orthogonal", "random")
LOSSES = (
    "absolute", "epsilon_insensitive", "hinge", "huber", "logistic", "softmax", "squared",
    "squared_hinge",
)  # fmt: skip


class Task(StrEnum):
    """What is to be learned."""

    AUTO = "auto"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    QUANTILES = "quantiles"
    GAUSSIAN_PROCESS = "gaussian-process"
    NOVELTY = "novelty"


class Scale(StrEnum):
    """How columns are scaled before they are learned from."""

    NONE = "none"
    STANDARD = "standard"
    RANGE = "range"


class Choice(StrEnum):
    """A choice among words, of which functions take the word itself."""

    @property
    def literal(self) -> Any:
        """The word, as a value that is checked where it is used."""
        return self.value


class Missing(Choice):
    """What becomes of missing numbers."""

    REFUSE = "refuse"
    OWN = "own"
    MEAN = "mean"
    MEDIAN = "median"


class OnError(Choice):
    """What becomes of malformed rows."""

    RAISE = "raise"
    SKIP = "skip"


class Format(Choice):
    """The format of data files."""

    CSV = "csv"
    PARQUET = "parquet"
    SVMLIGHT = "svmlight"
    NPY = "npy"
    NPZ = "npz"


class Header(Choice):
    """Whether CSV files begin with a line of names."""

    AUTO = "auto"
    YES = "yes"
    NO = "no"

    @property
    def literal(self) -> Any:
        """What `open_source` takes."""
        return {"auto": "auto", "yes": True, "no": False}[self.value]


class Part(Choice):
    """Which rows of a file that was split when the model was fitted."""

    ALL = "all"
    TEST = "test"
    TRAIN = "train"


# Each method of a comparison, as parameters of an estimator.
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


def completed(names: tuple[str, ...]) -> Callable[[str], list[str]]:
    """Return what completes a name in the shell.

    >>> completed(SOLVERS)("d")
    ['direct', 'dsg']
    """
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]
