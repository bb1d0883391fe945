"""Targets: the coding of y as columns for a loss, and the way back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bochner.data import Batch
from bochner.data.statistics import RowStatistics
from bochner.estimators.inputs.ranges import LARGEST
from bochner.losses import Loss, Margin, Multinomial, Quantile, Regression
from bochner.records import Validated, require_sound
from bochner.wording import AdvisedError

MOST_OUTPUTS = 1 << 31


def require_single_labels(y: Any) -> None:
    """Refuse targets of several columns: a classifier has one label for each row."""
    try:
        shape = np.asarray(y).shape
    except ValueError:  # rows of different lengths, which scikit-learn refuses
        return
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"KernelClassifier needs one label for each row; got y of shape {shape}. For several "
            "labels of a row (a table of 0 and 1) give OneVsRestClassifier(KernelClassifier()) of "
            "sklearn.multiclass, for several targets MultiOutputClassifier(KernelClassifier()) of "
            "sklearn.multioutput."
        )


def class_factors(
    class_weight: Any, labels: NDArray[Any], counts: NDArray[Any] | None
) -> NDArray[np.float64] | None:
    """Return the weight of each class: n / (classes * rows of the class) if "balanced".

    `counts` are rows of each class or their weights. A class of no weight is not counted.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        return _from_dict(class_weight, labels)
    if not isinstance(class_weight, str) or class_weight != "balanced":
        raise ValueError(f"class_weight must be None, 'balanced' or a dict; got {class_weight!r}.")
    if counts is None:
        raise ValueError(
            "class_weight='balanced' needs the rows of each class to be counted first, which "
            "classes= and partial_fit leave out: give the weights as a dict."
        )
    factors, some = np.ones(len(labels)), counts > 0
    factors[some] = counts.sum() / (np.count_nonzero(some) * counts[some])
    return factors


def _from_dict(class_weight: dict[Any, Any], labels: NDArray[Any]) -> NDArray[np.float64]:
    known = labels.tolist()
    unknown = sorted(map(repr, set(class_weight) - set(known)))
    if unknown:
        raise ValueError(
            f"class_weight must be given for classes, which are {known}; got {', '.join(unknown)}."
        )
    factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
    if not (np.isfinite(factors) & (factors >= 0)).all() or not factors.any():
        raise ValueError(
            "class_weight must hold finite numbers from 0 on, and one above 0 at least; got "
            f"{class_weight!r}."
        )
    return factors


class TargetLearner(ABC):
    """Learns how targets are coded for a loss, from what the first pass over the rows has found."""

    needs_labels: ClassVar[bool] = False  # whether the first pass counts them
    needs_targets: ClassVar[bool] = True

    @abstractmethod
    def learn(self, rows: RowStatistics, classes: Any, loss: Loss) -> Targets:
        """Return the coding for a loss; `classes` are all labels, None if they are not given."""

    @property
    def parameters(self) -> str:
        """The parameters of the estimator on which the coding depends, as text."""
        return ""

    def without_weights(self) -> TargetLearner:
        """Return a learner of targets without weights."""
        return self


@dataclass(frozen=True)
class NumberLearner(TargetLearner):
    """Learns the coding of numbers; `quantiles` is the number of quantiles of the pinball loss."""

    estimator: str
    quantiles: int | None = None

    def learn(self, rows: RowStatistics, classes: Any, loss: Loss) -> Targets:
        """Return the coding of as many columns as y has."""
        if not isinstance(loss, Regression):
            raise AdvisedError(
                f"A regressor needs a loss for numbers; {type(loss).__name__} is for labels.",
                "Use loss='squared', or KernelClassifier.",
                "Give loss='squared', or task='classification'.",
            )
        y = rows.first_row.y
        if y is None:
            raise ValueError(f"{self.estimator} needs targets: give y, or blocks (X, y).")
        # The search for scales uses the squared loss, which needs no copies.
        return Numbers.learn(y, self.quantiles if isinstance(loss, Quantile) else None)


@dataclass(frozen=True)
class LabelLearner(TargetLearner):
    """Learns the coding of labels; `class_weight` is as in scikit-learn."""

    class_weight: Any = None
    needs_labels: ClassVar[bool] = True

    def learn(self, rows: RowStatistics, classes: Any, loss: Loss) -> Targets:
        """Return the coding of all labels, those of the rows unless `classes` are given."""
        require_single_labels(rows.first_row.y)
        if classes is None and rows.source.once:
            raise ValueError(
                "An iterator can be read only once, so its classes cannot be collected first: give "
                "all of them as classes=."
            )
        labels, counts = rows.labels if classes is None else (np.unique(classes), None)
        if len(labels) < 2:
            raise AdvisedError(
                f"A classifier needs at least two classes; got one class, {labels.tolist()}.",
                "Give rows of another class too, or all labels as classes=.",
                "Give rows of another class too, or task='novelty' to learn what is usual.",
            )
        return Labels.learn(labels, loss, class_factors(self.class_weight, labels, counts))

    @property
    def parameters(self) -> str:
        """The weights of the classes."""
        return f", class_weight={self.class_weight!r}"

    def without_weights(self) -> LabelLearner:
        """Return a learner of labels without weights."""
        return LabelLearner()


@dataclass(frozen=True)
class InlierLearner(TargetLearner):
    """Codes rows without targets."""

    needs_targets: ClassVar[bool] = False

    def learn(self, rows: RowStatistics, classes: Any, loss: Loss) -> Targets:
        """Return the coding of one class."""
        return Inliers()


class Targets(Validated, ABC):
    """A coding of y as columns for a loss."""

    outputs: int

    def validate(self) -> None:
        """Check the number of outputs."""
        require_sound(0 < self.outputs < MOST_OUTPUTS, "its number of outputs is out of range")

    @abstractmethod
    def columns(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return y as (rows, outputs)."""

    def __call__(self, batch: Batch) -> Batch:
        """Code the targets of a batch."""
        if batch.y is None:
            raise ValueError(
                "This estimator needs targets: give y, or a source or blocks that have y."
            )
        return replace(batch, y=self.columns(batch.y))


@dataclass(frozen=True)
class Numbers(Targets):
    """Targets of a regression; `flat` if y is 1-d.

    With `copies` each column is repeated, once for each quantile.
    """

    outputs: int
    flat: bool
    copies: int | None = None

    def validate(self) -> None:
        """Check the numbers of outputs and of copies of each."""
        super().validate()
        copies = 1 if self.copies is None else self.copies
        require_sound(
            copies > 0 and self.outputs % copies == 0,
            "its number of copies does not divide its outputs",
        )

    @classmethod
    def learn(cls, y: NDArray[Any], copies: int | None = None) -> Numbers:
        """Return the coding for targets like these."""
        columns = 1 if y.ndim == 1 else y.shape[1]
        return cls(columns * (copies or 1), y.ndim == 1, copies)

    def columns(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return y as float64 columns; refuse anything but finite numbers."""
        try:
            columns = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Targets must be numbers; got {np.asarray(y).dtype}.") from error
        copies = self.copies or 1
        if columns.shape[1] * copies != self.outputs:
            raise ValueError(
                f"y must have {self.outputs // copies} column(s), as at first; got "
                f"{columns.shape[1]}."
            )
        if not np.isfinite(columns).all():
            raise ValueError("y contains NaN or infinity. Drop those rows or fill them in first.")
        if np.abs(columns).max(initial=0.0) > LARGEST:
            raise ValueError(
                f"Targets must be at most {LARGEST:g}, since steps are made in single precision; "
                f"got {np.abs(columns).max():g}. Divide them by their size."
            )
        return columns if copies == 1 else np.repeat(columns, copies, axis=1)

    def restore(self, f: NDArray[Any]) -> NDArray[Any]:
        """Return predictions in the shape of y, those of copies sorted along a last axis."""
        if self.copies is not None:
            f = np.sort(f.reshape(len(f), -1, self.copies), axis=2)
        return f[:, 0] if self.flat else f


@dataclass(frozen=True)
class Inliers(Targets):
    """No targets: all rows are of one class, a column of ones."""

    outputs: int = 1

    def __call__(self, batch: Batch) -> Batch:
        """Replace the targets of a batch by ones."""
        return replace(batch, y=self.columns(batch.index))

    def columns(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return a one for each row."""
        return np.ones((len(y), 1))


@dataclass(frozen=True)
class Labels(Targets):
    """Targets of a classification: labels as -1/+1 or one-hot columns, depending on the loss."""

    classes: NDArray[Any]
    outputs: int
    one_hot: bool
    class_factors: NDArray[np.float64] | None = None

    def validate(self) -> None:
        """Check that outputs and weights are as many as the classes."""
        super().validate()
        count, factors = len(self.classes), self.class_factors
        require_sound(self.classes.ndim == 1 and count > 0, "its classes are not 1-d")
        fits = self.outputs in (1, count)
        require_sound(fits, "it has another number of outputs than classes")
        fits = factors is None or factors.shape == (count,)
        require_sound(fits, "weights and classes differ in number")

    @classmethod
    def learn(
        cls, classes: NDArray[Any], loss: Loss, class_factors: NDArray[np.float64] | None
    ) -> Labels:
        """Return the coding of these classes for a loss."""
        if not isinstance(loss, Multinomial | Margin):
            raise ValueError(
                f"A classifier needs a loss for labels; {type(loss).__name__} is for numbers. "
                "Use loss='softmax', 'logistic', 'hinge', 'squared_hinge' or 'squared'."
            )
        one_hot = isinstance(loss, Multinomial)
        outputs = 1 if len(classes) == 2 and not one_hot else len(classes)
        return cls(classes, outputs, one_hot, class_factors)

    def __call__(self, batch: Batch) -> Batch:
        """Code the labels of a batch, and multiply its weights by those of the classes."""
        coded, factors = super().__call__(batch), self.class_factors
        if factors is None or batch.y is None:
            return coded
        factor = factors[self.numbers(batch.y)]
        return replace(coded, weight=factor if batch.weight is None else batch.weight * factor)

    def numbers(self, y: NDArray[Any]) -> NDArray[np.int64]:
        """Return the index of each label among the classes."""
        y = np.asarray(y).reshape(len(y))
        indices = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        unknown = self.classes[indices] != y
        if unknown.any():
            raise ValueError(
                f"y has a label that is not among the classes: {y[unknown][0]!r}. Known are "
                f"{', '.join(map(str, self.classes[:10]))}; give all of them as classes=."
            )
        return indices

    def columns(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Return labels as columns."""
        indices = self.numbers(y)
        low = 0.0 if self.one_hot else -1.0
        if self.outputs == 1:
            return np.where(indices == 1, 1.0, low)[:, None]
        columns = np.full((len(indices), self.outputs), low)
        columns[np.arange(len(indices)), indices] = 1.0
        return columns

    def decision(self, f: NDArray[Any]) -> NDArray[Any]:
        """Return scores in scikit-learn's form: one number per row for two classes."""
        if len(self.classes) > 2:
            return f
        return f[:, 0] if f.shape[1] == 1 else f[:, 1] - f[:, 0]

    def labels(self, decision: NDArray[Any]) -> NDArray[Any]:
        """Return the label with the highest score of each row."""
        if decision.ndim == 1:
            return self.classes[(decision > 0).astype(np.int64)]
        return np.asarray(self.classes[decision.argmax(axis=1)])


def require_classes(targets: Targets, classes: Any) -> None:
    """Refuse classes other than those of the first call; None is accepted."""
    if not isinstance(targets, Labels) or classes is None:
        return
    if not np.array_equal(np.unique(classes), targets.classes):
        raise ValueError(
            f"classes must be those of the first call, {targets.classes.tolist()}; got "
            f"{np.unique(classes).tolist()}. Leave them out, or start a new fit with fit."
        )
