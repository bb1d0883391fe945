"""Export models with dense features to ONNX."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bochner.estimators.inputs.targets import Inliers, Labels, Numbers
from bochner.features.centers.center_basis import CenterBasis, PrecomputedBasis
from bochner.features.centers.nystroem import NystroemBasis
from bochner.features.centring import Centring
from bochner.features.random.fourier import FourierBasis, PhaseBasis, WaveBasis
from bochner.features.random.leverage import SelectedBasis
from bochner.kernels import ColumnScaled, Gaussian, Laplacian, Polynomial, Scaled
from bochner.losses import Logistic, Probabilistic, Softmax, Squared
from bochner.losses.squared import DOUBT
from bochner.persist.files import Path
from bochner.replacing import replacing

OPSET = 17
MOST_NUMBERS = 1 << 26  # in the constants of a feature map
DOUBLE = 11  # of onnx.TensorProto


class Graph:
    """An ONNX graph that computes in double precision; values are known by their names."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError("to_onnx needs onnx: pip install 'bochner[onnx]'.") from error
        self.onnx: Any = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, options: dict[str, Any] | None = None) -> str:
        """Add an operator; return the name of its output."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        outputs = [name, f"{name}_places"] if operator == "TopK" else [name]
        node = self.onnx.helper.make_node(operator, list(inputs), outputs, **(options or {}))
        self.nodes.append(node)
        return name

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add a constant; return its name."""
        array: NDArray[Any] = np.asarray(value, dtype)
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def rename(self, name: str, wanted: str) -> None:
        """Give an output a name for users."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [name], [wanted]))

    def sum_of_columns(self, name: str, axis: int) -> str:
        """Add the sum over an axis, which is kept with length 1; return its name."""
        axes = self.constant([axis], np.int64)
        return self.add("ReduceSum", name, axes, options={"keepdims": 1})

    def model(self, columns: int, outputs: list[str]) -> Any:
        """Return the checked ONNX model with the input "X" of float32 and these outputs."""
        helper = self.onnx.helper
        rows = helper.make_tensor_value_info("X", self.onnx.TensorProto.FLOAT, ["rows", columns])
        values = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "bochner", [rows], values, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version, model.producer_name = 8, "bochner"
        model = self.onnx.shape_inference.infer_shapes(model)
        self.onnx.checker.check_model(model)
        return model


def functions(graph: Graph, basis: Any, X: str, count: int) -> str:
    """Add the first `count` functions of a basis at rows, (rows, count); return their name."""
    if isinstance(basis, WaveBasis):
        return _waves(graph, basis, X, np.arange(-(-count // basis.waves)), count)
    if isinstance(basis, SelectedBasis) and isinstance(basis.inner, FourierBasis):
        return _selected(graph, basis, X, count)
    if isinstance(basis, NystroemBasis):
        values = functions(graph, basis.inner, X, basis.inner.size)
        return graph.add("MatMul", values, graph.constant(basis.mixing[:, :count]))
    if isinstance(basis, CenterBasis) and not isinstance(basis, PrecomputedBasis):
        return _centers(graph, basis, X, count)
    raise ValueError(
        f"to_onnx needs Fourier features or centres; got a {type(basis).__name__}. Fit with "
        "features=Fourier(1000) or Centers(1000)."
    )


def _centred(graph: Graph, rows: Centring, X: str) -> str:
    if type(rows) is not Centring:
        raise ValueError("to_onnx supports no kernels of histograms. Choose another kernel.")
    return X if rows.centre is None else graph.add("Sub", X, graph.constant(rows.centre[None]))


def _waves(graph: Graph, basis: WaveBasis, X: str, draws: NDArray[Any], count: int) -> str:
    """Add a cos(2 pi t), or alternating cosines and sines, with t = x'W + b; return their name."""
    last = int(draws[-1]) + 1 if len(draws) else 0
    _require_room(basis.n_columns * last)
    still = np.zeros((1, basis.n_columns), basis.dtype)
    with basis.holding(0, last * basis.waves):
        shift = basis.turns(still, 0, last).astype(np.float64)
        turns = basis.turns(np.eye(basis.n_columns, dtype=basis.dtype), 0, last) - shift
    frequencies = graph.constant(2 * pi * turns[:, draws])
    phases = graph.add("MatMul", _centred(graph, basis.centring, X), frequencies)
    phases = graph.add("Add", phases, graph.constant(2 * pi * shift[:, draws]))
    if isinstance(basis, PhaseBasis):
        waves = graph.add("Cos", phases)
    else:
        # Each frequency is used twice: sin(z) = cos(z - pi / 2).
        twice = graph.constant(np.repeat(np.arange(len(draws)), 2)[:count], np.int64)
        quarter = np.tile([0.0, -pi / 2], len(draws))[None, :count]
        phases = graph.add("Gather", phases, twice, options={"axis": 1})
        waves = graph.add("Cos", graph.add("Add", phases, graph.constant(quarter)))
    return graph.add("Mul", waves, graph.constant(basis.amplitude))


def _selected(graph: Graph, basis: SelectedBasis, X: str, count: int) -> str:
    assert isinstance(basis.inner, FourierBasis)  # checked by the caller
    size = basis.atom * len(basis.chosen)
    waves = _waves(graph, basis.inner, X, basis.chosen, size)
    scales = np.repeat(np.asarray(basis.scales, np.float64), basis.atom)[None]
    waves = graph.add("Mul", waves, graph.constant(scales))
    places = graph.constant(np.arange(count), np.int64)
    return graph.add("Gather", waves, places, options={"axis": 1})


def _centers(graph: Graph, basis: CenterBasis, X: str, count: int) -> str:
    if not isinstance(basis.centers, np.ndarray):
        raise ValueError("to_onnx needs dense centres; got sparse rows. Fit to X.toarray().")
    centers = basis.centers[:count].astype(np.float64)
    _require_room(centers.size)
    return _values(graph, basis.kernel, _centred(graph, basis.centring, X), centers)


def _values(graph: Graph, kernel: Any, X: str, centers: NDArray[np.float64]) -> str:
    """Add k(x, c), (rows, centres); return its name."""
    if isinstance(kernel, ColumnScaled):
        scales = np.asarray(kernel.scales, np.float64)[None]
        divided = graph.add("Div", X, graph.constant(scales))
        return _values(graph, kernel.kernel, divided, centers / scales)
    if isinstance(kernel, Scaled):
        values = _values(graph, kernel.kernel, X, centers)
        return graph.add("Mul", values, graph.constant(float(kernel.factor)))
    if isinstance(kernel, Gaussian):
        squares = _squared_distances(graph, X, centers)
        return _exponential(graph, squares, -0.5 / float(kernel.bandwidth) ** 2)
    if isinstance(kernel, Laplacian):
        rows = graph.add("Unsqueeze", X, graph.constant([1], np.int64))
        apart = graph.add("Abs", graph.add("Sub", rows, graph.constant(centers[None])))
        axes = graph.constant([2], np.int64)
        total = graph.add("ReduceSum", apart, axes, options={"keepdims": 0})
        return _exponential(graph, total, -1 / float(kernel.bandwidth))
    if isinstance(kernel, Polynomial):
        products = graph.add("MatMul", X, graph.constant(kernel.factor * centers.T))
        raised = graph.add("Add", products, graph.constant(float(kernel.constant)))
        return graph.add("Pow", raised, graph.constant(float(kernel.degree)))
    raise ValueError(
        "At centres, to_onnx supports the kernels Gaussian, Laplacian and Polynomial, also with "
        f"scales; got {kernel!r}. For other shift-invariant kernels use features=Fourier(1000)."
    )


def _squared_distances(graph: Graph, X: str, centers: NDArray[np.float64]) -> str:
    lengths = graph.sum_of_columns(graph.add("Mul", X, X), 1)
    products = graph.add("MatMul", X, graph.constant(-2 * centers.T))
    own = graph.constant(np.square(centers).sum(axis=1)[None])
    total = graph.add("Add", graph.add("Add", lengths, products), own)
    return graph.add("Max", total, graph.constant(0.0))


def _exponential(graph: Graph, values: str, factor: float) -> str:
    return graph.add("Exp", graph.add("Mul", values, graph.constant(factor)))


def _require_room(numbers: int) -> None:
    if numbers > MOST_NUMBERS:
        raise ValueError(
            f"An ONNX file may hold at most {MOST_NUMBERS:,} numbers; this model has {numbers:,}. "
            "Fit with fewer functions, features=Fourier(1000) or Centers(1000)."
        )


def predictions(graph: Graph, model: Any, f: str) -> list[str]:
    """Add the outputs of a model given those of its function; return their names."""
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
    """Add predictions with two axes, or three if each target has several; return their name."""
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
    own = None
    if isinstance(loss, Probabilistic):
        own = _log_probabilities(graph, loss, targets.outputs, f)
    if calibration.rows == 0:
        assert own is not None  # the others have no probabilities
        return graph.add("Exp", own)
    columns = f
    if targets.outputs == 1:
        columns = graph.add("MatMul", f, graph.constant([[-0.5, 0.5]]))
    scores = graph.add("Mul", columns, graph.constant(calibration.slope))
    if own is not None:
        scores = graph.add("Add", scores, graph.add("Mul", own, graph.constant(calibration.power)))
    return graph.add("Softmax", scores, options={"axis": 1})


def _log_probabilities(graph: Graph, loss: Any, outputs: int, f: str) -> str:
    """Add the log probabilities of a loss without calibration; return their name."""
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
    raise ValueError(f"to_onnx does not support the probabilities of {type(loss).__name__}.")


def _log_one_plus_exp(graph: Graph, z: str) -> str:
    size = graph.add("Exp", graph.add("Neg", graph.add("Abs", z)))
    logarithm = graph.add("Log", graph.add("Add", size, graph.constant(1.0)))
    return graph.add("Add", graph.add("Max", z, graph.constant(0.0)), logarithm)


def _shares(graph: Graph, both: str, classes: int) -> str:
    """Add the log of (1 + f) / 2 divided by its sum, with a hyperbola below a floor."""
    floor = DOUBT / classes
    half, least = graph.constant(0.5), graph.constant(floor)
    p = graph.add("Mul", graph.add("Add", both, graph.constant(1.0)), half)
    below = graph.add("Sub", graph.constant(1 + floor), graph.add("Min", p, least))
    p = graph.add("Where", graph.add("Greater", p, least), p, graph.add("Div", least, below))
    return graph.add("Log", graph.add("Div", p, graph.sum_of_columns(p, 1)))


def to_onnx(model: Any, path: Path) -> None:
    """Write a model with dense features (Fourier features, centres, Nystroem) as an ONNX file.

    The input "X" is an array (rows, columns) of float32; the graph computes in double precision.
    Missing values (NaN) are filled in and columns are scaled as the model does. The outputs are
    "predictions" of a regressor; "labels" of a classifier with "probabilities", or with "scores" if
    it has no probabilities; or "features" of a transformer.

    Parameters
    ----------
    model : fitted estimator
        A kernel machine or a transformer. Bins, columns of text, learned maps of columns, and at
        centres kernels other than Gaussian, Laplacian and polynomial ones are refused.
    path : str or path
        The file to write; an existing file is replaced.
    """
    graph = Graph()
    check_is_fitted(model)
    X = graph.add("Cast", "X", options={"to": DOUBLE})
    outputs = _outputs(graph, model, _preprocess(graph, model, X))
    made = graph.model(int(model.n_features_in_), outputs)
    with replacing(path) as file:
        file.write(made.SerializeToString())


def _preprocess(graph: Graph, model: Any, X: str) -> str:
    """Add the filling and scaling of rows as the model does it; return the name of the rows."""
    known = vars(model)
    if known.get("_table") is not None:
        raise ValueError("to_onnx needs columns of numbers; this model has columns of text.")
    if known.get("warping_") is not None:
        raise ValueError(
            "to_onnx does not support learned maps of columns, which this model has. Fit with "
            "tuning=Tuning(warp=False), or scales=None."
        )
    if (filling := known.get("_filling")) is not None:
        values = graph.constant(filling.values[None])
        X = graph.add("Where", graph.add("IsNaN", X), values, X)
    if (scaling := known.get("scaling_")) is not None:
        moved = graph.add("Sub", X, graph.constant(scaling.location[None]))
        X = graph.add("Mul", moved, graph.constant(scaling.factor[None]))
    return X


def _outputs(graph: Graph, model: Any, X: str) -> list[str]:
    if hasattr(model, "transform") and hasattr(model, "basis_"):
        graph.rename(functions(graph, model.basis_, X, model.basis_.end(None)), "features")
        return ["features"]
    expansion = getattr(model, "expansion_", None)
    if expansion is None or not hasattr(getattr(model, "_setup", None), "targets"):
        raise ValueError(f"to_onnx needs a machine or a transformer; got {type(model).__name__}.")
    values = functions(graph, expansion.basis, X, len(expansion.weights))
    products = graph.add("MatMul", values, graph.constant(expansion.weights))
    f = graph.add("Add", products, graph.constant(expansion.intercept))
    return predictions(graph, model, f)
