"""Features of composite kernels: sums, products, column scales and kernels on some columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from math import lcm, prod, sqrt
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
from bochner.features.centring import MOST_FUNCTIONS
from bochner.features.dense_basis import BLOCK
from bochner.features.feature_map import MAPS, FeatureMap, map_of, whole_draws
from bochner.features.random.random_basis import SPAN, RandomBasis
from bochner.kernels import (
    GeneralColumnScaled,
    GeneralProduct,
    GeneralScaled,
    GeneralSum,
    Kernel,
    OnColumns,
)
from bochner.kernels.rows import checked_rows, dense
from bochner.records import require_sound

PARTS = 0x9A275  # separates the seeds of parts
MOST_PRODUCTS = 4096  # of an atom


@dataclass(init=False, eq=False, repr=False)
class CombinedBasis(RandomBasis):
    """Functions of functions of `parts`; a code is the codes of all parts side by side.

    `size` is None for an infinite basis, of which an atom has the gain 1.
    """

    size: int | None
    dtype: np.dtype[Any]
    parts: tuple[RandomBasis, ...]
    atom: int = field()
    places: list[slice]

    def __init__(self, parts: Sequence[RandomBasis], size: int | None) -> None:
        self.parts, self.size, self.dtype = tuple(parts), size, parts[0].dtype
        self.places = code_places(self.parts)

    def validate(self) -> None:
        """Check that the parts have their places in the code, and the dtype of the basis."""
        require_sound(len(self.parts) > 0, "it has no parts")
        require_sound(self.size is None or 0 < self.size < MOST_FUNCTIONS, "its size is impossible")
        require_sound(self.places == code_places(self.parts), "its parts have wrong places")
        equal = all(part.dtype == self.dtype for part in self.parts)
        require_sound(equal, "its parts have another dtype")

    @property
    def code_columns(self) -> int:
        """The number of columns of a code."""
        return int(self.places[-1].stop)

    def encode(self, X: Any) -> Any:
        """Return the codes of the parts side by side, sparse if all of them are."""
        codes = [part.encode(X) for part in self.parts]
        if len(codes) == 1:
            return codes[0]
        if all(sp.issparse(code) for code in codes):
            return sp.hstack(codes, "csr")
        return np.hstack([dense(code) for code in codes])

    @abstractmethod
    def ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the range of each part's functions that functions first, ..., last - 1 need."""

    def values(self, code: Any, first: int, last: int) -> Iterator[NDArray[Any]]:
        """Yield the values of each part's functions that functions first, ..., last - 1 need."""
        ranges = self.ranges(first, last)
        for part, place, (begin, end) in zip(self.parts, self.places, ranges, strict=True):
            block = np.empty((code.shape[0], end - begin), self.dtype)
            if begin < end:
                part.fill(code[:, place], begin, end, block)
            yield block

    def amplitude(self) -> float:
        """Return the factor of an atom with which all functions together approximate the kernel."""
        return 1.0 if self.size is None else sqrt(self.atom / self.size)

    def span(self) -> int:
        """Return as many functions as the spans of the parts allow."""
        atoms = min(part.span() * self.share(part) for part in self.parts)
        return max(BLOCK, min(SPAN, int(atoms)) // BLOCK * BLOCK)

    @abstractmethod
    def share(self, part: RandomBasis) -> float:
        """Return the number of functions for each function of a part."""

    @contextmanager
    def holding(self, start: int, stop: int) -> Iterator[None]:
        """Keep the parameters of all parts in this context."""
        with ExitStack() as stack:
            for part, (begin, end) in zip(self.parts, self.ranges(start, stop), strict=True):
                stack.enter_context(part.holding(begin, end))
            yield


@dataclass(init=False, eq=False, repr=False)
class SumBasis(CombinedBasis):
    """The functions of several bases alternately, `turn` functions of each at a time.

    k = sum_i factor_i k_i has the features (sqrt(factor_1) phi_1, sqrt(factor_2) phi_2, ...). So
    the basis can be infinite, and any block has functions of all parts.
    """

    turn: int
    scales: list[float]

    def __init__(
        self, parts: Sequence[RandomBasis], factors: Sequence[float], size: int | None
    ) -> None:
        super().__init__(parts, size)
        self.turn = lcm(*(part.atom for part in parts))
        self.atom = self.turn * len(parts)
        self.scales = [
            sqrt(factor) * part.gain(self.turn) * self.amplitude()
            for part, factor in zip(parts, factors, strict=True)
        ]

    def validate(self) -> None:
        """Check that turns and scales are those of the parts."""
        super().validate()
        require_sound(self.turn == lcm(*(part.atom for part in self.parts)), "its turn is wrong")
        require_sound(self.atom == self.turn * len(self.parts), "its draws have a wrong size")
        require_sound(len(self.scales) == len(self.parts), "scales and parts differ in number")

    def ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the whole turns of each part that have a function among these."""
        count, turn = len(self.parts), self.turn
        begin, end = first // turn, -(-last // turn)
        return [
            (-(-(begin - i) // count) * turn, -(-(end - i) // count) * turn) for i in range(count)
        ]

    def share(self, part: RandomBasis) -> float:
        """Return the number of parts."""
        return len(self.parts)

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1."""
        count, turn, rows = len(self.parts), self.turn, code.shape[0]
        begin, end = start // turn, -(-stop // turn)
        whole = np.empty((rows, end - begin, turn), self.dtype)
        for i, block in enumerate(self.values(code, start, stop)):
            place = whole[:, (i - begin) % count :: count]
            np.multiply(block.reshape(place.shape), self.scales[i], out=place)
        flat = whole.reshape(rows, -1)
        out[:] = flat[:, start - begin * turn : stop - begin * turn]


@dataclass(init=False, eq=False, repr=False)
class ProductBasis(CombinedBasis):
    """Products of the functions of several bases that are drawn independently of each other.

    For draws phi and psi of two bases, the inner product of the matrices phi(x) psi(x)' and
    phi(y) psi(y)' is phi(x)'phi(y) psi(x)'psi(y), the mean of which is k_1(x, y) k_2(x, y). So an
    atom is all products of their functions.
    """

    scale: float

    def __init__(self, parts: Sequence[RandomBasis], factor: float, size: int | None) -> None:
        super().__init__(parts, size)
        self.atom = prod(part.atom for part in parts)
        gains = prod(part.gain(part.atom) for part in parts)
        self.scale = sqrt(factor) * gains * self.amplitude()

    def validate(self) -> None:
        """Check that an atom is all products of the parts' functions."""
        super().validate()
        atom = prod(part.atom for part in self.parts)
        require_sound(self.atom == atom <= MOST_PRODUCTS, "its draws have a wrong size")

    def ranges(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the whole draws of each part that have a function among these."""
        begin, end = first // self.atom, -(-last // self.atom)
        return [(begin * part.atom, end * part.atom) for part in self.parts]

    def share(self, part: RandomBasis) -> float:
        """Return the number of products that contain a function, in one draw."""
        return self.atom / part.atom

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1."""
        begin, end = start // self.atom, -(-stop // self.atom)
        rows, draws = code.shape[0], end - begin
        whole = np.full((rows, draws, 1), self.scale, self.dtype)
        for part, block in zip(self.parts, self.values(code, start, stop), strict=True):
            functions = block.reshape(rows, draws, 1, part.atom)
            whole = (whole[..., None] * functions).reshape(rows, draws, -1)
        flat = whole.reshape(rows, -1)
        out[:] = flat[:, start - begin * self.atom : stop - begin * self.atom]


@dataclass(init=False, eq=False, repr=False)
class TransformedRowsBasis(RandomBasis):
    """The functions of another basis at rows whose columns a kernel scales or selects."""

    size: int | None
    dtype: np.dtype[Any]
    inner: RandomBasis
    kernel: GeneralColumnScaled | OnColumns
    atom: int = field()

    def __init__(self, inner: RandomBasis, kernel: GeneralColumnScaled | OnColumns) -> None:
        self.inner, self.kernel, self.atom = inner, kernel, inner.atom
        self.size, self.dtype = inner.size, inner.dtype

    def validate(self) -> None:
        """Check that size, dtype and atom are those of the other basis."""
        require_sound(self.size == self.inner.size, "its size is not that of its inner basis")
        require_sound(self.dtype == self.inner.dtype, "its dtypes differ")
        require_sound(self.atom == self.inner.atom, "its draws have a wrong size")

    @property
    def code_columns(self) -> int:
        """The number of columns of a code."""
        return self.inner.code_columns

    def encode(self, X: Any) -> Any:
        """Return the code of the scaled or selected columns."""
        return self.inner.encode(self.kernel.transform(checked_rows(X)))

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1."""
        self.inner.fill(code, start, stop, out)

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return self.inner.gain(width)

    def span(self) -> int:
        """Return the span of the other basis."""
        return self.inner.span()

    def holding(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Keep the parameters of the other basis in this context."""
        return self.inner.holding(start, stop)


@dataclass
class CombinedFeatures(FeatureMap):
    """The random features of a composite kernel, or of one kernel with a given number of them.

    The features of a sum are those of its parts side by side, as many of each; those of a product
    are products of independent draws of its factors. A kernel with column scales, or of some
    columns, has the features of the inner kernel at the transformed rows.

    Parameters
    ----------
    size : int or None
        The maximal number of functions; whole draws are taken. None means infinitely many.
    """

    basis_type: ClassVar[type[Any]] = RandomBasis
    size: int | None = None

    def build(
        self,
        kernel: Kernel,
        sample: Batch,
        seed: int,
        dtype: Any = np.float32,
        memory: int | None = None,
    ) -> RandomBasis:
        """Return the basis."""
        if isinstance(kernel, GeneralColumnScaled | OnColumns):
            rows = replace(sample, X=kernel.transform(checked_rows(sample.X)))
            features = random_map(kernel.kernel, self.size)
            inner = features.build(kernel.kernel, rows, seed, dtype, memory)
            return TransformedRowsBasis(cast(RandomBasis, inner), kernel)
        if isinstance(kernel, GeneralProduct):
            number, kernels = factors(kernel)
            parts = _parts(kernels, sample, seed, dtype, memory)
            size = whole_draws(self.size, ProductBasis(parts, number, None).atom)
            return ProductBasis(parts, number, size)
        numbers, kernels = map(list, zip(*terms(kernel), strict=True))
        parts = _parts(kernels, sample, seed, dtype, memory)
        size = whole_draws(self.size, SumBasis(parts, numbers, None).atom)
        return SumBasis(parts, numbers, size)


for kind in (GeneralSum, GeneralScaled, GeneralProduct, GeneralColumnScaled, OnColumns):
    MAPS[kind] = CombinedFeatures


def random_map(kernel: Kernel, size: int | None) -> FeatureMap:
    """Return a feature map of a kernel that builds a `RandomBasis`.

    If the map of the kernel builds another type of basis for a given size, functions of its
    infinite basis are used.
    """
    own = map_of(kernel, size)
    return own if issubclass(own.basis_type, RandomBasis) else CombinedFeatures(size)


def terms(kernel: Kernel) -> list[tuple[float, Kernel]]:
    """Return factors and kernels whose weighted sum is this kernel."""
    if isinstance(kernel, GeneralSum):
        return terms(kernel.left) + terms(kernel.right)
    if isinstance(kernel, GeneralScaled):
        return [(kernel.factor * number, part) for number, part in terms(kernel.kernel)]
    return [(1.0, kernel)]


def factors(kernel: Kernel) -> tuple[float, list[Kernel]]:
    """Return a factor and the kernels whose product is this kernel."""
    if isinstance(kernel, GeneralProduct):
        (one, left), (two, right) = factors(kernel.left), factors(kernel.right)
        return one * two, left + right
    if isinstance(kernel, GeneralScaled):
        number, kernels = factors(kernel.kernel)
        return kernel.factor * number, kernels
    return 1.0, [kernel]


def _parts(
    kernels: Any, sample: Batch, seed: int, dtype: Any, memory: int | None
) -> list[RandomBasis]:
    """Return infinite bases of kernels, each with its own seed and a share of the memory."""
    share = memory_budget(memory) // len(kernels)
    seeds = [int(Random(seed, PARTS, i).integers(1)[0]) for i in range(len(kernels))]
    bases = [
        random_map(kernel, None).build(kernel, sample, own, dtype, share)
        for kernel, own in zip(kernels, seeds, strict=True)
    ]
    return cast(list[RandomBasis], bases)


def code_places(parts: Sequence[RandomBasis]) -> list[slice]:
    """Return the columns of the codes of several bases, one after the other."""
    ends = accumulate((part.code_columns for part in parts), initial=0)
    return [slice(begin, end) for begin, end in pairwise(ends)]
