"""Export models to ONNX: dense features, bins, and Gaussian processes."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from bochner.compute.linear_algebra.cholesky import solve_lower
from bochner.estimators import KernelGaussianProcess
from bochner.estimators.inputs.targets import Inliers, Labels, Numbers
from bochner.features import RandomBasis
from bochner.features.binning.binning_basis import BinningBasis
from bochner.features.centers.center_basis import CenterBasis, PrecomputedBasis
from bochner.features.centers.nystroem import NystroemBasis
from bochner.features.centers.whitened_basis import WhitenedBasis
from bochner.features.centring import Centring
from bochner.features.random.fourier import FourierBasis, PhaseBasis, WaveBasis
from bochner.features.random.leverage import SelectedBasis
from bochner.kernels import (
    ColumnScaled,
    Gaussian,
    Laplacian,
    Polynomial,
    Scaled,
    ShiftInvariant,
    Sum,
)
from bochner.losses import Logistic, Probabilistic, Softmax, Squared
from bochner.losses.squared import DOUBT
from bochner.persist.files import Path
from bochner.posterior import FeaturePosterior, FunctionPosterior, OperatorPosterior, Posterior
from bochner.problem import Expansion
from bochner.replacing import replacing
from bochner.wording import AdvisedError

OPSET, LABEL_OPSET = 17, 2
LABELS = "ai.onnx.ml"  # the domain of `LabelEncoder`
MOST_NUMBERS = 1 << 26  # in the constants of a feature map
DOUBLE, INTEGER, UNSIGNED = 11, 7, 13  # of onnx.TensorProto: double, int64, uint64


class Graph:
    """An ONNX graph that computes in double precision; values are known by their names."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ImportError("Export to ONNX needs onnx: pip install 'bochner[onnx]'.") from error
        self.onnx: Any = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(
        self, operator: str, *inputs: str, options: dict[str, Any] | None = None, domain: str = ""
    ) -> str:
        """Add an operator; return the name of its output."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        outputs = [name, f"{name}_places"] if operator == "TopK" else [name]
        node = self.onnx.helper.make_node(
            operator, list(inputs), outputs, domain=domain, **(options or {})
        )
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
        versions = {"": OPSET}
        if any(node.domain == LABELS for node in self.nodes):
            versions[LABELS] = LABEL_OPSET
        imports = [helper.make_opsetid(domain, known) for domain, known in versions.items()]
        model = helper.make_model(graph, opset_imports=imports)
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
    if isinstance(basis, BinningBasis):
        return _indicators(graph, basis, X, count)
    raise ValueError(
        f"Export to ONNX needs Fourier features, centres or bins; got a {type(basis).__name__}. "
        "Fit with features=Fourier(1000), Centers(1000) or Binning(64)."
    )


def evaluated(graph: Graph, expansion: Expansion, X: str) -> str:
    """Add f(x) = phi(x)' weights + intercept at rows, (rows, outputs); return its name."""
    basis, weights = expansion.basis, np.asarray(expansion.weights, np.float64)
    if isinstance(basis, BinningBasis):
        # A sum of the weights of a row's bins: all functions would be a large array.
        rows = graph.constant(np.vstack([basis.height * weights, np.zeros_like(weights[:1])]))
        chosen = graph.add("Gather", rows, _bins(graph, basis, X, len(weights)))
        axes = graph.constant([1], np.int64)
        f = graph.add("ReduceSum", chosen, axes, options={"keepdims": 0})
    else:
        values = functions(graph, basis, X, len(weights))
        f = graph.add("MatMul", values, graph.constant(weights))
    return graph.add("Add", f, graph.constant(expansion.intercept))


def _bins(graph: Graph, basis: BinningBasis, X: str, count: int) -> str:
    """Add the numbers of the bins of rows, (rows, grids), `count` for all others; return its name.

    Fingerprints are sums modulo 2^64, which unsigned numbers are in every runtime.
    """
    _require_room(count + 3 * len(basis.grids) * basis.n_columns)
    parts = ("inverse", "shift", "multiplier")
    inverse, shift, multiplier = (
        np.stack([getattr(grid, part) for grid in basis.grids])[:, None] for part in parts
    )
    rows = graph.add("Unsqueeze", X, graph.constant([0], np.int64))  # (grids, rows, columns)
    moved = graph.add("Mul", rows, graph.constant(inverse))
    cells = graph.add("Round", graph.add("Sub", moved, graph.constant(shift)))
    whole = graph.add("Cast", cells, options={"to": INTEGER})
    whole = graph.add("Cast", whole, options={"to": UNSIGNED})
    columns = graph.constant(multiplier.transpose(0, 2, 1), np.uint64)
    prints = graph.add("MatMul", whole, columns)
    prints = graph.add("Cast", prints, options={"to": INTEGER})
    found = [_places(graph, basis, prints, r, count) for r in range(len(basis.grids))]
    return graph.add("Concat", *found, options={"axis": 1}) if len(found) > 1 else found[0]


def _places(graph: Graph, basis: BinningBasis, prints: str, r: int, count: int) -> str:
    """Add the numbers of the bins of one grid, (rows, 1); return their name."""
    own = graph.add("Gather", prints, graph.constant(r, np.int64), options={"axis": 0})
    known = basis.tables[r].fingerprints(int(basis.counts[r])).view(np.int64)
    places = basis.starts[r] + np.arange(len(known))
    used = places < count
    options = {
        "keys_int64s": [*known[used].tolist()] or [0],
        "values_int64s": [*places[used].tolist()] or [count],
        "default_int64": count,
    }
    return graph.add("LabelEncoder", own, options=options, domain=LABELS)


def _indicators(graph: Graph, basis: BinningBasis, X: str, count: int) -> str:
    """Add the functions of the first bins, (rows, count); return their name."""
    bins = _bins(graph, basis, X, count)
    rows = graph.add("Shape", X, options={"start": 0, "end": 1})
    shape = graph.add("Concat", rows, graph.constant([count + 1], np.int64), options={"axis": 0})
    nothing = graph.add("Expand", graph.constant(0.0), shape)
    heights = graph.add("Expand", graph.constant(basis.height), graph.add("Shape", bins))
    values = graph.add("ScatterElements", nothing, bins, heights, options={"axis": 1})
    ends = (graph.constant(end, np.int64) for end in ([0], [count], [1]))
    return graph.add("Slice", values, *ends)


def _centred(graph: Graph, rows: Centring, X: str) -> str:
    if type(rows) is not Centring:
        raise ValueError("Export to ONNX supports no kernels of histograms. Choose another kernel.")
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
    # cos(z) = sin(z + pi / 2): onnxruntime up to 1.28 has no cosine in double precision.
    phases = graph.add("Add", phases, graph.constant(2 * pi * shift[:, draws] + pi / 2))
    if isinstance(basis, PhaseBasis):
        waves = graph.add("Sin", phases)
    else:
        # Each frequency is used twice: sin(z) = cos(z - pi / 2).
        twice = graph.constant(np.repeat(np.arange(len(draws)), 2)[:count], np.int64)
        quarter = np.tile([0.0, -pi / 2], len(draws))[None, :count]
        phases = graph.add("Gather", phases, twice, options={"axis": 1})
        waves = graph.add("Sin", graph.add("Add", phases, graph.constant(quarter)))
    return graph.add("Mul", waves, graph.constant(_row(basis.amplitude, count)))


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
        raise AdvisedError(
            "Export to ONNX needs dense centres; got sparse rows.",
            "Fit to X.toarray().",
            "Write the rows in a dense format, by `bochner convert rows.svm rows.csv`, and fit to "
            "these.",
        )
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
        return graph.add("Mul", values, graph.constant(_row(kernel.factor, len(centers))))
    if isinstance(kernel, Sum):
        parts = (_values(graph, part, X, centers) for part in (kernel.left, kernel.right))
        return graph.add("Add", *parts)
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
        "At centres, export to ONNX supports the kernels Gaussian, Laplacian and Polynomial, also "
        f"with scales, and sums of the first two; got {kernel!r}. For other "
        "shift-invariant kernels use features=Fourier(1000)."
    )


def _diagonal(graph: Graph, kernel: Any, X: str) -> str:
    """Add k(x, x), (rows, 1) or one number; return its name."""
    if isinstance(kernel, ColumnScaled):
        scales = graph.constant(np.asarray(kernel.scales, np.float64)[None])
        return _diagonal(graph, kernel.kernel, graph.add("Div", X, scales))
    if isinstance(kernel, Scaled):
        values = _diagonal(graph, kernel.kernel, X)
        return graph.add("Mul", values, graph.constant(float(kernel.factor)))
    if isinstance(kernel, Polynomial):
        squares = graph.sum_of_columns(graph.add("Mul", X, X), 1)
        products = graph.add("Mul", squares, graph.constant(float(kernel.factor)))
        raised = graph.add("Add", products, graph.constant(float(kernel.constant)))
        return graph.add("Pow", raised, graph.constant(float(kernel.degree)))
    if isinstance(kernel, ShiftInvariant):
        return graph.constant([[float(kernel.variance)]])
    raise ValueError(
        f"Export to ONNX does not support the variance of {kernel!r}. Choose another kernel."
    )


def _row(number: float, count: int) -> NDArray[np.float64]:
    """Return a row of a number: onnxruntime makes a scalar beside a MatMul single precision."""
    return np.full((1, count), float(number))


def _squared_distances(graph: Graph, X: str, centers: NDArray[np.float64]) -> str:
    if centers.shape[1] == 1:  # the scale of one column would be a scalar beside a MatMul
        apart = graph.add("Sub", X, graph.constant(centers.T))
        return graph.add("Mul", apart, apart)
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


def process_outputs(graph: Graph, model: Any, X: str) -> list[str]:
    """Add mean and deviations of a Gaussian process; return the names of the outputs."""
    posterior, units = model.posterior_, model._units
    mean, variance = _moments(graph, posterior, X)
    size = graph.constant(units.deviation[None])
    mean = graph.add("Add", graph.add("Mul", mean, size), graph.constant(units.location[None]))
    graph.rename(mean, "predictions")
    if variance is None:
        return ["predictions"]
    noisy = graph.add("Add", variance, graph.constant(model._noises[None]))
    for value, name in ((variance, "deviations"), (noisy, "deviations_with_noise")):
        graph.rename(graph.add("Mul", graph.add("Sqrt", value), size), name)
    return ["predictions", "deviations", "deviations_with_noise"]


def _moments(graph: Graph, posterior: Posterior, X: str) -> tuple[str, str | None]:
    """Add mean and variance, (rows, outputs); there is no variance of functions of test rows."""
    if isinstance(posterior, FunctionPosterior):
        return evaluated(graph, posterior.expansion, X), None
    if isinstance(posterior, OperatorPosterior):
        return _operator_moments(graph, posterior, X)
    assert isinstance(posterior, FeaturePosterior)  # the third kind
    return _feature_moments(graph, posterior, X)


def _feature_moments(graph: Graph, posterior: FeaturePosterior, X: str) -> tuple[str, str]:
    """Add phi'A^-1 Z'Wy and k(x, x) - phi'(I - noise A^-1) phi, (rows, outputs).

    Centres are not whitened: where k(Z, Z) is all but singular that would enlarge the rounding.
    """
    basis, size = posterior.basis, posterior.weights.shape[0]
    _require_room(size**2 * len(posterior.factors))
    weights, roots = posterior.weights, {n: _root(posterior, n) for n in posterior.factors}
    if isinstance(basis, WhitenedBasis):
        weights = basis.prediction_weights(weights)
        roots = {noise: basis.prediction_weights(root) for noise, root in roots.items()}
        basis = basis.inner
    values = functions(graph, basis, X, size)
    if posterior.spans_kernel:
        prior = graph.sum_of_columns(graph.add("Mul", values, values), 1)
    else:
        prior = _diagonal(graph, posterior.kernel, X)
    left = {}
    for noise, root in roots.items():
        known = graph.add("MatMul", values, graph.constant(root))
        explained = graph.sum_of_columns(graph.add("Mul", known, known), 1)
        left[noise] = graph.add("Sub", prior, explained)
    mean = graph.add("MatMul", values, graph.constant(weights))
    return mean, _clipped(graph, [left[noise] for noise in posterior.noises.tolist()], prior)


def _root(posterior: FeaturePosterior, noise: float) -> NDArray[np.float64]:
    """Return R with R R' = I - noise A^-1."""
    factor = posterior.factors[noise]
    inverse = solve_lower(factor, np.eye(len(factor)))
    values, vectors = eigh(np.eye(len(factor)) - noise * inverse.T @ inverse)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _operator_moments(graph: Graph, posterior: OperatorPosterior, X: str) -> tuple[str, str]:
    expansion, outputs = posterior.expansion, posterior.outputs
    assert isinstance(expansion.basis, RandomBasis)
    size = int(expansion.basis.end(None))
    weights = np.zeros((size, expansion.weights.shape[1]))
    weights[: len(expansion.weights)] = expansion.weights
    _require_room(weights.size)
    phi = functions(graph, expansion.basis, X, size)
    intercept = np.broadcast_to(expansion.intercept, weights.shape[1:])
    known = graph.add("MatMul", phi, graph.constant(weights[:, :-outputs]))
    known = graph.add("Add", known, graph.constant(intercept[None, :-outputs]))
    mean = graph.add("MatMul", phi, graph.constant(weights[:, -outputs:]))
    mean = graph.add("Add", mean, graph.constant(intercept[None, -outputs:]))
    prior = graph.sum_of_columns(graph.add("Mul", phi, phi), 1)
    explained = graph.sum_of_columns(graph.add("Mul", phi, known), 1)
    left = graph.add("Sub", prior, explained)
    return mean, _clipped(graph, [left] * outputs, prior)


def _clipped(graph: Graph, columns: list[str], prior: str) -> str:
    """Add variances from 0 to the prior, (rows, outputs); return their name."""
    found = graph.add("Concat", *columns, options={"axis": 1}) if len(columns) > 1 else columns[0]
    return graph.add("Max", graph.add("Min", found, prior), graph.constant(0.0))


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
    raise ValueError(f"Export to ONNX does not support the probabilities of {type(loss).__name__}.")


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
    """Write a model (Fourier features, centres, Nystroem features or bins) as an ONNX file.

    The input "X" is an array (rows, columns) of float32; the graph computes in double precision.
    Missing values (NaN) are filled in and columns are scaled as the model does. The outputs are
    "predictions" of a regressor; "labels" of a classifier with "probabilities", or with "scores" if
    it has no probabilities; or "features" of a transformer. A Gaussian process also has the
    standard "deviations" of the function and, of new observations, "deviations_with_noise", unless
    its variance is "functions", for which predicting is fitting.

    Parameters
    ----------
    model : fitted estimator
        A kernel machine, a Gaussian process or a transformer. Columns of text, learned maps of
        columns, and at centres kernels other than Gaussian, Laplacian and polynomial ones and sums
        of the first two are refused.
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
        raise ValueError(
            "Export to ONNX needs columns of numbers; here are columns of text or times."
        )
    if known.get("warping_") is not None:
        raise ValueError(
            "Export to ONNX does not support learned maps of columns, which this model has. Fit "
            "with tuning=Tuning(warp=False), or scales=None."
        )
    if (filling := known.get("_filling")) is not None:
        values = graph.constant(filling.values[None])
        X = graph.add("Where", graph.add("IsNaN", X), values, X)
    scaling = known.get("scaling_") or getattr(known.get("_setup"), "scaling", None)
    if scaling is not None:
        moved = graph.add("Sub", X, graph.constant(scaling.location[None]))
        X = graph.add("Mul", moved, graph.constant(scaling.factor[None]))
    return X


def _outputs(graph: Graph, model: Any, X: str) -> list[str]:
    if hasattr(model, "transform") and hasattr(model, "basis_"):
        graph.rename(functions(graph, model.basis_, X, model.basis_.end(None)), "features")
        return ["features"]
    if isinstance(model, KernelGaussianProcess):
        return process_outputs(graph, model, X)
    expansion = getattr(model, "expansion_", None)
    if expansion is None or not hasattr(getattr(model, "_setup", None), "targets"):
        raise ValueError(
            f"Export to ONNX needs a machine or a transformer; got {type(model).__name__}."
        )
    return predictions(graph, model, evaluated(graph, expansion, X))
