"""Maps: the functions of a basis as a graph, for bases that are a few products of matrices."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.features.centers.center_basis import CenterBasis, PrecomputedBasis
from bochner.features.centers.nystroem import NystroemBasis
from bochner.features.centring import Centring
from bochner.features.random.fourier import FourierBasis, PhaseBasis, WaveBasis
from bochner.features.random.leverage import SelectedBasis
from bochner.kernels import Gaussian, Laplacian, Polynomial, Scaled, Stretched
from bochner.persist.onnx.graph import Graph

MOST_NUMBERS = 1 << 26  # of the constants of a map


def functions(graph: Graph, basis: Any, X: str, count: int) -> str:
    """Return the first so many functions of a basis at rows, (rows, count)."""
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
        f"to_onnx is for waves and centres, which are products of matrices; got a "
        f"{type(basis).__name__}. Fit with features=Fourier(1000) or Centers(1000)."
    )


def _centred(graph: Graph, rows: Centring, X: str) -> str:
    if type(rows) is not Centring:
        raise ValueError("to_onnx is for kernels of numbers; got one of histograms.")
    return X if rows.centre is None else graph.add("Sub", X, graph.constant(rows.centre[None]))


def _waves(graph: Graph, basis: WaveBasis, X: str, draws: NDArray[Any], count: int) -> str:
    """Return a cos(2 pi t), or cosines and sines in turns, of turns t = x'W + b."""
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
        # Every frequency is there twice: sin(z) is cos(z - pi / 2).
        twice = graph.constant(np.repeat(np.arange(len(draws)), 2)[:count], np.int64)
        quarter = np.tile([0.0, -pi / 2], len(draws))[None, :count]
        phases = graph.add("Gather", phases, twice, options={"axis": 1})
        waves = graph.add("Cos", graph.add("Add", phases, graph.constant(quarter)))
    return graph.add("Mul", waves, graph.constant(basis.amplitude))


def _selected(graph: Graph, basis: SelectedBasis, X: str, count: int) -> str:
    assert isinstance(basis.inner, FourierBasis)  # the caller has looked
    size = basis.atom * len(basis.chosen)
    waves = _waves(graph, basis.inner, X, basis.chosen, size)
    scales = np.repeat(np.asarray(basis.scales, np.float64), basis.atom)[None]
    waves = graph.add("Mul", waves, graph.constant(scales))
    places = graph.constant(np.arange(count), np.int64)
    return graph.add("Gather", waves, places, options={"axis": 1})


def _centers(graph: Graph, basis: CenterBasis, X: str, count: int) -> str:
    if not isinstance(basis.centers, np.ndarray):
        raise ValueError("to_onnx is for dense rows; got centres that are sparse.")
    centers = basis.centers[:count].astype(np.float64)
    _require_room(centers.size)
    return _values(graph, basis.kernel, _centred(graph, basis.centring, X), centers)


def _values(graph: Graph, kernel: Any, X: str, centers: NDArray[np.float64]) -> str:
    """Return k(x, c), (rows, centres)."""
    if isinstance(kernel, Stretched):
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
        total = graph.add(
            "ReduceSum", apart, graph.constant([2], np.int64), options={"keepdims": 0}
        )
        return _exponential(graph, total, -1 / float(kernel.bandwidth))
    if isinstance(kernel, Polynomial):
        products = graph.add("MatMul", X, graph.constant(kernel.factor * centers.T))
        raised = graph.add("Add", products, graph.constant(float(kernel.constant)))
        return graph.add("Pow", raised, graph.constant(float(kernel.degree)))
    raise ValueError(
        f"to_onnx knows the kernels Gaussian, Laplacian and Polynomial at centres, also with "
        f"scales; got {kernel!r}. Other shift-invariant kernels have waves: features=Fourier(1000)."
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
            f"An ONNX file of this model would hold {numbers:,} numbers, and not "
            f"{MOST_NUMBERS:,} at most. "
            "Fit with fewer functions, features=Fourier(1000) or Centers(1000)."
        )
