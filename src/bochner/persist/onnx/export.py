"""to_onnx: a model for runtimes that know neither Python nor this library."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from bochner.persist.files import Path
from bochner.persist.onnx.graph import OPSET, Graph
from bochner.persist.onnx.maps import functions
from bochner.persist.onnx.outputs import predictions
from bochner.persist.replacing import replacing

DOUBLE = 11  # of onnx.TensorProto


def to_onnx(model: Any, path: Path) -> None:
    """Write a model as an ONNX file, for models whose map is dense: waves, centres, Nystroem.

    The input "X" is (rows, columns) of float32 or, in the file, whatever is cast to it; the graph
    computes in double precision. What is missing (NaN) is filled in, and columns are scaled, as by
    the model. Outputs are "predictions"; or "labels" and "probabilities", or "scores" where the
    model has no probabilities; or "features" of a transformer.

    Parameters
    ----------
    model : fitted estimator
        A kernel machine or a transformer. Bins, columns of text, learned maps of columns and
        kernels other than Gaussian, Laplacian and polynomial at centres are refused.
    path : str or path
        Where to; a file that is there is replaced as a whole.
    """
    onnx = _onnx()
    check_is_fitted(model)
    graph = Graph()
    X = graph.add("Cast", "X", options={"to": DOUBLE})
    names = _outputs(graph, model, _prepared(graph, model, X))
    made = _file(onnx, graph, names, int(model.n_features_in_))
    with replacing(path) as file:
        file.write(made.SerializeToString())


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs onnx: pip install 'bochner[onnx]'.") from error
    return onnx


def _prepared(graph: Graph, model: Any, X: str) -> str:
    """Return rows with what is missing filled in, scaled as the model scales them."""
    known = vars(model)
    if known.get("_table") is not None:
        raise ValueError("to_onnx is for columns of numbers; this model has columns of text.")
    if known.get("warping_") is not None:
        raise ValueError(
            "to_onnx is for columns as they are; this model sees some through maps that it has "
            "learned. Fit with tuning=Tuning(warp=False), or scales=None."
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
        raise ValueError(f"to_onnx is for kernel machines and maps; got {type(model).__name__}.")
    values = functions(graph, expansion.basis, X, len(expansion.weights))
    products = graph.add("MatMul", values, graph.constant(expansion.weights))
    return predictions(
        graph, model, graph.add("Add", products, graph.constant(expansion.intercept))
    )


def _file(onnx: Any, graph: Graph, names: list[str], columns: int) -> Any:
    helper, proto = onnx.helper, onnx.TensorProto
    given = helper.make_tensor_value_info("X", proto.FLOAT, ["rows", columns])
    made = helper.make_graph(
        graph.nodes, "bochner", [given], [helper.make_empty_tensor_value_info(n) for n in names],
        graph.constants,
    )  # fmt: skip
    file = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)])
    file.ir_version, file.producer_name = 8, "bochner"
    file = onnx.shape_inference.infer_shapes(file)
    onnx.checker.check_model(file)
    return file
