"""RowCoding: how rows and targets are coded for a fit, and whether a fit can be continued."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import scipy.sparse as sp

from bochner.data import Batch, Scaling, Warping
from bochner.estimators.inputs.targets import Targets


class RowCoding:
    """The base of records that scale rows and code targets by these fields."""

    scaling: Scaling | None
    targets: Targets
    warping: Warping | None = None

    def rows(self, X: Any) -> Any:
        """Return rows scaled and warped; sparse rows become dense if zeros change."""
        shifts = self.scaling is not None and self.scaling.location.any()
        if sp.issparse(X) and (shifts or self.warping is not None):
            X = X.toarray()
        X = X if self.scaling is None else self.scaling.rows(X)
        return X if self.warping is None else self.warping.rows(X)

    def __call__(self, batch: Batch) -> Batch:
        """Scale the rows and code the targets of a batch."""
        return self.targets(replace(batch, X=self.rows(batch.X)))


def require_recipe(first: str, given: str, of: str, restart: str) -> None:
    """Refuse to continue a fit with other parameters than those of the first rows, fit or call.

    `first` and `given` are the parameters as text, `of` says where the first ones come from, and
    `restart` how to begin a new fit.
    """
    if given != first:
        raise ValueError(
            f"Going on needs what the first {of} had, {first}; got {given}. Set it back, or begin "
            f"anew{restart}."
        )
