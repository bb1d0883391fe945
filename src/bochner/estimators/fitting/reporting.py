"""What a fit reports: passes to scikit-learn's callbacks, and warnings where it ended too early."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bochner.problem import Expansion
from bochner.stopping import Stop
from bochner.training.loop import FAILED
from bochner.training.progress import Progress, Reason

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin where there is none."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "PassReporter", "StopAsked", "with_callbacks"]


@dataclass
class PassReporter:
    """Reports every pass to scikit-learn's callbacks, and notes when one of them asks to stop.

    A callback that wants a fitted estimator gets one that predicts by the function learned so far;
    `attributes` turns that function into the attributes of an estimator when it is asked for.
    """

    estimator: Any = None
    data: dict[str, Any] = field(default_factory=dict)
    attributes: Callable[[Expansion], dict[str, Any]] | None = None
    asked: bool = False
    _fit: Any = None
    _pass: Any = None
    _progress: Progress | None = None

    def begin(
        self, max_passes: int | None, attributes: Callable[[Expansion], dict[str, Any]]
    ) -> None:
        """Open the task of the fit."""
        self.attributes = attributes
        if self.estimator is not None and "_skl_callbacks" in vars(self.estimator):
            self._fit = self.estimator._init_callback_context(max_subtasks=max_passes)
            self._fit.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def __call__(self, progress: Progress) -> None:
        """Open the task of a pass at its first batch, and close it at its end."""
        if self._fit is None or progress.reason is FAILED:
            return
        self._progress = progress
        if progress.reason is None and progress.position > 0:
            self._begin_pass()
        else:
            self._end_pass()

    def finish(self) -> None:
        """Close the task of the fit, which may have been several runs."""
        if self._fit is not None:
            self._end(self._fit)
        self._progress = None  # it holds the state of the fit

    def _begin_pass(self) -> None:
        if self._pass is None:
            self._pass = self._fit.subcontext(task_name="pass")
            self._pass.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def _end_pass(self) -> None:
        if self._pass is not None:
            context, self._pass = self._pass, None
            self.asked |= bool(self._end(context))

    def _end(self, context: Any) -> Any:
        return context.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=self._fitted, **self.data
        )

    def _fitted(self) -> dict[str, Any] | None:
        if self._progress is None or self._progress.expansion is None or self.attributes is None:
            return None
        return self.attributes(self._progress.expansion())


@dataclass(frozen=True)
class StopAsked(Stop):
    """Stop when a callback asks for it."""

    reporter: PassReporter

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once a callback has asked."""
        return Reason("a callback asked to stop", converged=False) if self.reporter.asked else None


def warn_if_unfinished(reason: Reason | None, progress: Progress | None, tol: float) -> None:
    """Warn the caller of `fit` if a limit ended it while the training loss still changed."""
    if reason is None or progress is None:
        return
    fall = progress.fall
    if reason.converged or abs(fall) <= tol / 10:
        return
    far = _distance(progress, f"tol / 10 is {tol / 10:g}")
    warnings.warn(
        f"The fit ended before it converged: {reason}, and {far}. Raise max_passes or "
        "max_seconds, or give neither, to fit until the held-out loss stops falling.",
        ConvergenceWarning,
        stacklevel=4,
    )


def warn_of_limits(ends: Sequence[Progress], tol: float, what: str) -> None:
    """Warn the caller if a limit ended one of several fits before it converged.

    A solver that measures its optimality says whether it has converged; for another one the
    training loss must no longer change.
    """
    early = [end for end in ends if not _converged(end, tol)]
    if not early:
        return
    last = early[-1]
    far = _distance(last, f"tol is {tol:g}")
    warnings.warn(
        f"{what} ended before it converged: {last.reason}, and {far}. Raise the limits of passes "
        "or time if you gave any, or choose another solver or regularisation.",
        ConvergenceWarning,
        stacklevel=4,
    )


def warn_of_unseen_rows(ends: Sequence[Progress], rows: int | None) -> None:
    """Warn the caller of `fit` if the time limit came before all rows were seen."""
    early = [end for end in ends if end.reason is not None and not end.reason.converged]
    if not early:
        return
    end = early[-1]
    part = f"the first {end.rows:,} rows of a stream"
    if rows is not None:
        part = f"{end.rows:,} of {rows:,} rows"
    warnings.warn(
        f"The fit ended before all rows were seen: {end.reason}. The posterior is that given "
        f"{part}, with accordingly wide standard deviations. Raise max_seconds, or give none, to "
        "see all rows.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _converged(end: Progress, tol: float) -> bool:
    if end.reason is None or end.reason.converged:
        return True
    return bool(np.isinf(end.optimality)) and abs(end.fall) <= tol


def _distance(end: Progress, enough: str) -> str:
    """Say how far a fit is from the minimum."""
    fall = end.fall
    if np.isfinite(end.optimality):
        return f"the optimality residual is {end.optimality:.2g}"
    if not np.isfinite(fall):
        return "one pass does not show how far it was from the minimum"
    return (
        f"in the last pass the training loss {'fell' if fall > 0 else 'rose'} by "
        f"{abs(fall):.2g} of its first value ({enough})"
    )
