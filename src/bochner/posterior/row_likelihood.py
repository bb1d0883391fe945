"""The exact density of the targets of rows that were kept."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.data import DataSource
from bochner.kernels import Kernel
from bochner.posterior.exact_likelihood import ExactLikelihood
from bochner.posterior.units import weights_of


def row_likelihood(
    kernel: Kernel, source: DataSource, noises: NDArray[np.float64], most_rows: int
) -> tuple[float, int]:
    """Return the sum over outputs of log N(y; 0, K + noise W^-1), and the number of rows.

    Rows of weight 0 say nothing. More than `most_rows` are refused: the time is their cube.
    """
    require_few_rows(source.n_rows, most_rows)
    rows = next(iter(source.batches(most_rows)))
    weight = weights_of(rows)
    rows, weight = rows[weight > 0], weight[weight > 0]
    assert rows.y is not None  # targets are coded
    X = np.asarray(rows.X.toarray() if sp.issparse(rows.X) else rows.X, np.float64)
    total, nowhere = 0.0, np.ones(X.shape[1])
    with single_blas():
        for noise in set(noises.tolist()):
            y = np.ascontiguousarray(rows.y[:, noises == noise])
            total += ExactLikelihood(kernel, X, y, weight)(1.0, noise, nowhere)  # type: ignore[arg-type]
    return total, len(X)


def require_few_rows(rows: int | None, most: int) -> None:
    """Refuse rows whose kernel matrix would take too long."""
    if rows is None or rows > most:
        raise ValueError(
            f"The likelihood of rows takes the cube of their number in time, for up to "
            f"likelihood_rows={most:,} rows; got {'a stream' if rows is None else f'{rows:,}'}. "
            "Raise likelihood_rows, or give variance='features'."
        )
