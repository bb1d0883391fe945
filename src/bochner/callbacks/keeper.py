"""Keeper: a callback that is handed the model as it stands, to keep it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from bochner.progress import Progress


class Keeper(ABC):
    """A callback that kernel machines hand themselves to, as far as they have come.

    Estimators that cannot go on from the middle of a fit call it as any other callback: it refuses.
    """

    @abstractmethod
    def keep(self, progress: Progress, unfinished: Callable[[], Any]) -> None:
        """Be told the progress; `unfinished` makes a model whose next `fit` goes on from here."""

    def __call__(self, progress: Progress) -> None:
        """Refuse: nobody is there to be kept."""
        raise ValueError(
            f"{type(self).__name__} is for fit of KernelClassifier, KernelRegressor, "
            "KernelQuantileRegressor and KernelNoveltyDetector, which can go on from the middle. "
            "Leave it out of callbacks, and save the model once it is fitted."
        )
