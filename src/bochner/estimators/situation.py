"""Situation: what the choice of a method depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bochner.estimators.costs import Costs
from bochner.features import has_map
from bochner.kernels import Kernel, is_separable

PATIENCE = 120.0  # seconds that an exact machine may take if there is an approximate one


@dataclass(frozen=True)
class Situation:
    """What the choice depends on: the rows, the kernel, the loss, memory and time.

    `costs` is None for streams whose length nobody knows, `once` says that rows can be read only
    once, `categories` that columns hold text; `gain` finds out on a sample by what share four times
    as many centres lower the loss. An exact machine may take so many `seconds`. `scaled` says that
    a scale for each column is learned, `judged` that held-out rows end the fit, `given` that the
    kernel is not one that bins may replace by theirs.
    """

    costs: Costs | None
    once: bool
    categories: bool
    kernel: Kernel
    loss: type[Any]
    gain: Callable[[], float]
    seconds: float = PATIENCE
    scaled: bool = False
    judged: bool = False
    given: bool = False

    @property
    def rows(self) -> int | None:
        """The number of rows, None if nobody knows."""
        return None if self.costs is None else self.costs.rows

    @property
    def suits_bins(self) -> bool:
        """Whether bins take the kernel, or may choose one."""
        return not self.given or is_separable(self.kernel)

    def require_features(self) -> None:
        """Refuse a loss with kinks for kernels without random features: no solver takes both."""
        if has_map(self.kernel):
            return
        raise ValueError(
            f"The loss {self.loss.__name__} has kinks, which only the doubly stochastic solver "
            f"takes, and that needs a kernel with random features; got {self.kernel!r}. Choose a "
            "smooth loss, such as 'squared_hinge', or another kernel."
        )

    def require_bins(self) -> None:
        """Refuse text that a kernel takes for numbers where no bins can help."""
        if self.suits_bins:
            return
        raise ValueError(
            f"This kernel takes columns of text for numbers: {self.kernel!r}. Let it see the "
            "others, kernel.on([...]), and those of text by Delta().on([...]), or take "
            "kernel='laplacian', for which bins take text as it is."
        )
