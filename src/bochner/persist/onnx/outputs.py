"""Outputs: predictions, labels and probabilities as a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from bochner.estimators.targets import Inliers, Labels, Numbers
from bochner.losses import Logistic, Probabilistic, Softmax, Squared
from bochner.losses.squared import DOUBT
from bochner.persist.onnx.graph import Graph


def predictions(graph: Graph, model: Any, f: str) -> list[str]:
    """Name what a model makes of its function: what `predict` gives, and probabilities."""
    targets = model._setup.targets
    if isinstance(targets, Numbers):
        graph.rename(_restored(graph, targets, f), "predictions")
        return ["predictions"]
    if isinstance(targets, Inliers):
        outside = graph.add("Less", f, graph.constant(0.0))
        signs = [graph.constant([[sign]], np.int64) for sign in (-1, 1)]
        graph.rename(graph.add("Where", outside, *signs), "labels")
        graph.rename(f, "scores")
        return ["labels", "scores"]
    return _classes(graph, model, targets, f)


def _restored(graph: Graph, targets: Numbers, f: str) -> str:
    """Return predictions with two axes, or three where there are several of a target."""
    if targets.copies is None:
        return f
    shape = graph.constant([-1, targets.outputs // targets.copies, targets.copies], np.int64)
    values, count = graph.add("Reshape", f, shape), graph.constant([targets.copies], np.int64)
    return graph.add("TopK", values, count, options={"axis": 2, "largest": 0, "sorted": 1})


def _classes(graph: Graph, model: Any, targets: Labels, f: str) -> list[str]:
    if targets.outputs == 1:
        place = graph.add("Cast", graph.add("Greater", f, graph.constant([0.0])), options={"to": 7})
        place = graph.add("Squeeze", place, graph.constant([1], np.int64))
    else:
        place = graph.add("ArgMax", f, options={"axis": 1, "keepdims": 0})
    classes = targets.classes
    if classes.dtype.kind in "UO":
        labels = graph.constant([str(label) for label in classes], object)
    else:
        labels = graph.constant(classes, classes.dtype)
    graph.rename(graph.add("Gather", labels, place), "labels")
    calibration = model._setup.calibration
    if calibration.rows == 0 and not isinstance(model.loss_, Probabilistic):
        graph.rename(f, "scores")
        return ["labels", "scores"]
    graph.rename(_probabilities(graph, model.loss_, calibration, targets, f), "probabilities")
    return ["labels", "probabilities"]


def _probabilities(graph: Graph, loss: Any, calibration: Any, targets: Labels, f: str) -> str:
    own = _own(graph, loss, targets.outputs, f) if isinstance(loss, Probabilistic) else None
    if calibration.rows == 0:
        assert own is not None  # others have none
        return graph.add("Exp", own)
    columns = f
    if targets.outputs == 1:
        columns = graph.add("MatMul", f, graph.constant([[-0.5, 0.5]]))
    scores = graph.add("Mul", columns, graph.constant(calibration.slope))
    if own is not None:
        scores = graph.add("Add", scores, graph.add("Mul", own, graph.constant(calibration.power)))
    return graph.add("Softmax", scores, options={"axis": 1})


def _own(graph: Graph, loss: Any, outputs: int, f: str) -> str:
    """Return the logarithms of the probabilities that a loss has by itself."""
    both = f
    if outputs == 1:
        both = graph.add("MatMul", f, graph.constant([[-1.0, 1.0]]))
    if isinstance(loss, Softmax):
        return graph.add("LogSoftmax", f, options={"axis": 1})
    if isinstance(loss, Logistic):
        positive = graph.add("Neg", _log_one_plus_exp(graph, graph.add("Neg", both)))
        return positive if outputs == 1 else graph.add("LogSoftmax", positive, options={"axis": 1})
    if isinstance(loss, Squared):
        return _shares(graph, both, max(2, outputs))
    raise ValueError(f"to_onnx knows no probabilities of the loss {type(loss).__name__}.")


def _log_one_plus_exp(graph: Graph, z: str) -> str:
    size = graph.add("Exp", graph.add("Neg", graph.add("Abs", z)))
    logarithm = graph.add("Log", graph.add("Add", size, graph.constant(1.0)))
    return graph.add("Add", graph.add("Max", z, graph.constant(0.0)), logarithm)


def _shares(graph: Graph, both: str, classes: int) -> str:
    """Return log of (1 + f) / 2 as a share of the sum, with a hyperbola below a floor."""
    floor = DOUBT / classes
    half, least = graph.constant(0.5), graph.constant(floor)
    p = graph.add("Mul", graph.add("Add", both, graph.constant(1.0)), half)
    below = graph.add("Sub", graph.constant(1 + floor), graph.add("Min", p, least))
    p = graph.add("Where", graph.add("Greater", p, least), p, graph.add("Div", least, below))
    return graph.add("Log", graph.add("Div", p, graph.sum_of_columns(p, 1)))
