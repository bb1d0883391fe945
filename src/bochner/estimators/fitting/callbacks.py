"""Progress through scikit-learn's own callbacks, where the installed version has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


__all__ = ["Asked", "CallbackSupportMixin", "PassReporter", "with_callbacks"]


@dataclass
class PassReporter:
    """Tells scikit-learn's callbacks about every pass, and notes when one of them asks to stop.

    A callback that wants a fitted estimator gets one that predicts by the function learned so
    far: `attributes` turns it into what an estimator needs. It is made only if it is asked for.
    """

    estimator: Any
    data: dict[str, Any]
    attributes: Callable[[Expansion], dict[str, Any]]
    asked: bool = False
    _fit: Any = None
    _pass: Any = None
    _progress: Progress | None = None

    def begin(self, max_passes: int | None) -> None:
        """Open the task of the fit."""
        if "_skl_callbacks" in vars(self.estimator):
            self._fit = self.estimator._init_callback_context(max_subtasks=max_passes)
            self._fit.call_on_fit_task_begin(estimator=self.estimator, **self.data)

    def __call__(self, progress: Progress) -> None:
        """Open and close the task of a pass, as the progress says."""
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
        if self._progress is None or self._progress.expansion is None:
            return None
        return self.attributes(self._progress.expansion())


@dataclass(frozen=True)
class Asked(Stop):
    """Stop when a callback asks for it."""

    reporter: PassReporter

    def __call__(self, progress: Progress) -> Reason | None:
        """Return a reason once a callback has asked."""
        return Reason("a callback asked to stop", converged=False) if self.reporter.asked else None
