"""FeatureMap: a recipe that turns a kernel into a basis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bochner.component import Component
from bochner.compute.random import Random
from bochner.data.batch import Batch
from bochner.features.basis import Basis
from bochner.kernels import Kernel

SAMPLE_ROWS = 4096  # from which data-dependent defaults are taken


class FeatureMap(Component, ABC, family="features"):
    """A recipe for functions phi whose products approximate a kernel, phi(x)'phi(y) ~ k(x, y)."""

    @abstractmethod
    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> Basis:
        """Return the basis for a kernel without open defaults, given rows that stand for all.

        `memory` is the number of bytes that may be spent on what could be computed again; None
        means half of what is free.
        """


def prepare(
    kernel: Any,
    features: Any,
    sample: Batch,
    seed: int,
    dtype: Any = np.float32,
    memory: int | None = None,
) -> tuple[Kernel, Basis]:
    """Return the kernel with its defaults taken from the sample, and the basis made from it."""
    kernel = Kernel.resolve(kernel).resolved(sample.X, Random(seed))
    return kernel, FeatureMap.resolve(features).build(kernel, sample, seed, dtype, memory)
