"""Graph: operators of ONNX one after the other, each known by the name of what it makes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

OPSET = 17


class Graph:
    """Nodes and constants of a graph that computes in double precision."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, options: dict[str, Any] | None = None) -> str:
        """Return the name of what an operator makes of its inputs."""
        from onnx import helper

        name = f"{operator.lower()}_{len(self.nodes)}"
        made = [name, f"{name}_places"] if operator == "TopK" else [name]
        self.nodes.append(helper.make_node(operator, list(inputs), made, **(options or {})))
        return name

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Return the name of a constant."""
        from onnx import numpy_helper

        array: NDArray[Any] = np.asarray(value, dtype)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def rename(self, name: str, wanted: str) -> None:
        """Give what was made a name by which users know it."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [name], [wanted]))

    def sum_of_columns(self, name: str, axis: int) -> str:
        """Return sums over an axis, which stays as one of length 1."""
        axes = self.constant([axis], np.int64)
        return self.add("ReduceSum", name, axes, options={"keepdims": 1})
