"""NumberMachine: what kernel machines for numbers have in common."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from bochner.data import DataSource
from bochner.estimators.files import SourceScore
from bochner.estimators.kernel_machine import KernelMachine, learns_from_streams
from bochner.estimators.targets import Numbers, Targets
from bochner.losses import Loss, Regression


class NumberMachine(SourceScore, RegressorMixin, KernelMachine):  # type: ignore[misc]
    """Learning numbers from rows, one or several for each."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to arrays, or to a source or an iterator of blocks (X, y[, sample_weight]).

        With `warm_start` a second call goes on where the first one stopped: bit for bit like a
        fit that was not interrupted, if the rows are the same; `max_passes` counts all passes.
        """
        return self._fit(X, y, sample_weight)  # type: ignore[no-any-return]

    @available_if(learns_from_streams)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Go through these rows once, in their order, in batches of their own.

        The first call settles the bandwidth, the scaling and the number of columns.
        """
        return self._partial_fit(X, y, sample_weight)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predictions, float32 for float32 rows."""
        values = self._evaluate(X)
        return self._setup.targets.restore(values)  # type: ignore[attr-defined,no-any-return]

    def _arrays(self, X: Any, y: Any, *, reset: bool, least: int) -> tuple[Any, NDArray[Any]]:
        return self._numbers(X, y, reset=reset, least=least)

    def _targets(self, source: DataSource, loss: Loss, classes: Any) -> Targets:
        if not isinstance(loss, Regression):
            raise ValueError(
                f"A regressor needs a loss for numbers; {type(loss).__name__} is for labels. Use "
                "loss='squared', or KernelClassifier."
            )
        y = source.sample(1).y
        if y is None:
            name = type(self).__name__
            raise ValueError(f"{name} needs targets: give y, or blocks (X, y).")
        return Numbers.learn(y, self._copies(loss))

    def _copies(self, loss: Loss) -> int | None:
        """Return how many predictions a loss has of one number, None for one."""
        return None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags
