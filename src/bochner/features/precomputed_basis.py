"""PrecomputedBasis: centres of which the rows hold the kernel's values already."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.data.batch import Batch
from bochner.features.center_basis import CenterBasis
from bochner.kernels.rows import dense


class PrecomputedBasis(CenterBasis):
    """phi_j(x) is a column of the row x: the one that belongs to centre j, a training row."""

    @property
    def is_of_rows(self) -> bool:
        """Yes, also with fewer centres: the columns belong to the training rows."""
        return True

    @property
    def keeps_matrix(self) -> bool:
        """No: the rows are the matrix."""
        return False

    def encode(self, X: Any) -> NDArray[Any]:
        """Return the values, whose zeros are values too."""
        return dense(self.centring(X))

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Copy the columns of the centres start, ..., stop - 1."""
        assert self.index is not None  # centres are training rows
        np.take(code, self.index[start:stop], axis=1, out=out, mode="clip")

    def pairs(self, batch: Batch) -> NDArray[np.float64]:
        """Return k between training rows."""
        return np.asarray(self.encode(batch.X)[:, batch.index], np.float64)

    def at(self, centers: Any) -> CenterBasis:
        """Refuse: values at other centres are not known."""
        raise ValueError(
            "Temporary centres need a kernel that can be evaluated; got a precomputed one. Give "
            "features='centers' (all rows), or solver='nystroem' for fewer."
        )

    def __getstate__(self) -> dict[str, Any]:
        # A prediction needs the numbers of the centres, not their rows.
        return super().__getstate__() | {"centers": self.centers[:0]}
