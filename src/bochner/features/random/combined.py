"""Features of sums, products, column scales and chosen columns, made of those of the parts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from math import lcm, prod, sqrt
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.memory import memory_budget
from bochner.compute.random.counter_based import Random
from bochner.data.batch import Batch
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

PARTS = 0x9A275  # keeps the seeds of parts apart


class CombinedBasis(RandomBasis):
    """Functions made of those of `parts`; the code of rows is that of all parts side by side.

    `widths` are the columns of the parts' codes. `size` is None if there is no end to the
    functions; an atom of them then has the gain 1.
    """

    def __init__(
        self, parts: Sequence[RandomBasis], widths: Sequence[int], size: int | None
    ) -> None:
        self.parts, self.size, self.dtype = tuple(parts), size, parts[0].dtype
        ends = np.cumsum([0, *widths])
        self.places = [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def encode(self, X: Any) -> Any:
        """Return the codes of the parts side by side, sparse if all of them are."""
        codes = [part.encode(X) for part in self.parts]
        if len(codes) == 1:
            return codes[0]
        if all(sp.issparse(code) for code in codes):
            return sp.hstack(codes, "csr")
        return np.hstack([dense(code) for code in codes])

    @abstractmethod
    def inner(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the functions of each part that the functions first, ..., last - 1 are made of."""

    def values(self, code: Any, first: int, last: int) -> Iterator[NDArray[Any]]:
        """Yield the functions of each part that some functions are made of."""
        for part, place, (begin, end) in zip(
            self.parts, self.places, self.inner(first, last), strict=True
        ):
            block = np.empty((code.shape[0], end - begin), self.dtype)
            if begin < end:
                part.fill(code[:, place], begin, end, block)
            yield block

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return sqrt((self.atom if self.size is None else self.size) / width)

    def amplitude(self) -> float:
        """Return the factor of an atom of which all functions together approximate the kernel."""
        return 1.0 if self.size is None else sqrt(self.atom / self.size)

    def span(self) -> int:
        """Return as many functions as the parts have room for."""
        atoms = min(part.span() * self.share(part) for part in self.parts)
        return max(BLOCK, min(SPAN, int(atoms)) // BLOCK * BLOCK)

    @abstractmethod
    def share(self, part: RandomBasis) -> float:
        """Return how many functions there are for each function of a part."""

    @contextmanager
    def holding(self, start: int, stop: int) -> Iterator[None]:
        """Have the parameters of all parts ready in this context."""
        with ExitStack() as stack:
            for part, (begin, end) in zip(self.parts, self.inner(start, stop), strict=True):
                stack.enter_context(part.holding(begin, end))
            yield


class SumBasis(CombinedBasis):
    """The functions of several bases, `turn` of one after `turn` of another, round and round.

    k = sum_i factor_i k_i has the features (sqrt(factor_1) phi_1, sqrt(factor_2) phi_2, ...). In
    turns they are without end, and any block has all parts in it.
    """

    def __init__(
        self,
        parts: Sequence[RandomBasis],
        factors: Sequence[float],
        widths: Sequence[int],
        size: int | None,
    ) -> None:
        super().__init__(parts, widths, size)
        self.turn = lcm(*(part.atom for part in parts))
        self.atom = self.turn * len(parts)
        self.scales = [
            sqrt(factor) * part.gain(self.turn) * self.amplitude()
            for part, factor in zip(parts, factors, strict=True)
        ]

    def inner(self, first: int, last: int) -> list[tuple[int, int]]:
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
        """Write the functions start, ..., stop - 1, in turns."""
        count, turn, rows = len(self.parts), self.turn, code.shape[0]
        begin, end = start // turn, -(-stop // turn)
        whole = np.empty((rows, end - begin, turn), self.dtype)
        for i, block in enumerate(self.values(code, start, stop)):
            place = whole[:, (i - begin) % count :: count]
            np.multiply(block.reshape(place.shape), self.scales[i], out=place)
        flat = whole.reshape(rows, -1)
        out[:] = flat[:, start - begin * turn : stop - begin * turn]


class ProductBasis(CombinedBasis):
    """Products of the functions of several bases that are drawn independently of each other.

    For draws phi and psi of two bases, the inner product of the matrices phi(x) psi(x)' and
    phi(y) psi(y)' is phi(x)'phi(y) psi(x)'psi(y), the mean of which is k_1(x, y) k_2(x, y). So an
    atom is all products of their functions.
    """

    def __init__(
        self, parts: Sequence[RandomBasis], factor: float, widths: Sequence[int], size: int | None
    ) -> None:
        super().__init__(parts, widths, size)
        self.atom = prod(part.atom for part in parts)
        gains = prod(part.gain(part.atom) for part in parts)
        self.scale = sqrt(factor) * gains * self.amplitude()

    def inner(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return the whole draws of each part that have a function among these."""
        begin, end = first // self.atom, -(-last // self.atom)
        return [(begin * part.atom, end * part.atom) for part in self.parts]

    def share(self, part: RandomBasis) -> float:
        """Return the products that a function is in, of one draw."""
        return self.atom / part.atom

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1, draw by draw."""
        begin, end = start // self.atom, -(-stop // self.atom)
        rows, draws = code.shape[0], end - begin
        whole = np.full((rows, draws, 1), self.scale, self.dtype)
        for part, block in zip(self.parts, self.values(code, start, stop), strict=True):
            functions = block.reshape(rows, draws, 1, part.atom)
            whole = (whole[..., None] * functions).reshape(rows, draws, -1)
        flat = whole.reshape(rows, -1)
        out[:] = flat[:, start - begin * self.atom : stop - begin * self.atom]


class SeenBasis(RandomBasis):
    """The functions of another basis at rows as a kernel sees them."""

    def __init__(self, inner: RandomBasis, kernel: GeneralColumnScaled | OnColumns) -> None:
        self.inner, self.kernel, self.atom = inner, kernel, inner.atom
        self.size, self.dtype = inner.size, inner.dtype

    def encode(self, X: Any) -> Any:
        """Return the code of the rows that are seen."""
        return self.inner.encode(self.kernel.transform(checked_rows(X)))

    def fill(self, code: Any, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1."""
        self.inner.fill(code, start, stop, out)

    def gain(self, width: int) -> float:
        """Return the factor by which `width` functions alone approximate the kernel."""
        return self.inner.gain(width)

    def span(self) -> int:
        """Return that of the other basis."""
        return self.inner.span()

    def holding(self, start: int, stop: int) -> AbstractContextManager[None]:
        """Have the parameters of the other basis ready in this context."""
        return self.inner.holding(start, stop)


@dataclass
class SumFeatures(FeatureMap):
    """The features of a sum or a multiple of kernels: those of all parts side by side.

    Every part has as many functions as every other.

    Parameters
    ----------
    size : int or None
        The most functions: as many draws as there is room for. None means that there is no end to
        them.
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
    ) -> SumBasis:
        """Return the basis made of those of the parts."""
        numbers, kernels = zip(*terms(kernel), strict=True)
        parts = _parts(kernels, sample, seed, dtype, memory)
        widths = [_width(part, sample) for part in parts]
        size = whole_draws(self.size, SumBasis(parts, numbers, widths, None).atom)
        return SumBasis(parts, numbers, widths, size)


@dataclass
class ProductFeatures(FeatureMap):
    """The features of a product of kernels: products of independent draws of each.

    Parameters
    ----------
    size : int or None
        The most functions: as many draws as there is room for. None means that there is no end to
        them.
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
    ) -> ProductBasis:
        """Return the basis made of those of the factors."""
        number, kernels = factors(kernel)
        parts = _parts(kernels, sample, seed, dtype, memory)
        widths = [_width(part, sample) for part in parts]
        size = whole_draws(self.size, ProductBasis(parts, number, widths, None).atom)
        return ProductBasis(parts, number, widths, size)


@dataclass
class SeenFeatures(FeatureMap):
    """The features of a stretched kernel, or of one of some columns: at rows as the kernel sees.

    Parameters
    ----------
    size : int or None
        The number of functions; None means that there is no end to them.
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
    ) -> SeenBasis:
        """Return the basis of the kernel that is stretched, or that sees some columns."""
        assert isinstance(kernel, GeneralColumnScaled | OnColumns)  # no others have these features
        rows = replace(sample, X=kernel.transform(checked_rows(sample.X)))
        inner = random_basis(kernel.kernel, self.size, rows, seed, dtype, memory)
        return SeenBasis(inner, kernel)


MAPS.update(
    {
        GeneralSum: SumFeatures,
        GeneralScaled: SumFeatures,
        GeneralProduct: ProductFeatures,
        GeneralColumnScaled: SeenFeatures,
        OnColumns: SeenFeatures,
    }
)


def random_basis(
    kernel: Kernel,
    size: int | None,
    sample: Batch,
    seed: int,
    dtype: Any = np.float32,
    memory: int | None = None,
) -> RandomBasis:
    """Return the basis of the map of a kernel, of which any block approximates it.

    Where a map makes something else of a size, so many of its endless functions are taken.
    """
    own = map_of(kernel, size)
    features = own if issubclass(own.basis_type, RandomBasis) else SumFeatures(size)
    return cast(RandomBasis, features.build(kernel, sample, seed, dtype, memory))


def terms(kernel: Kernel) -> list[tuple[float, Kernel]]:
    """Return the kernels whose sum, times their numbers, is this one."""
    if isinstance(kernel, GeneralSum):
        return terms(kernel.left) + terms(kernel.right)
    if isinstance(kernel, GeneralScaled):
        return [(kernel.factor * number, part) for number, part in terms(kernel.kernel)]
    return [(1.0, kernel)]


def factors(kernel: Kernel) -> tuple[float, list[Kernel]]:
    """Return the number and the kernels whose product is this one."""
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
    """Return the endless bases of kernels, each with its own seed and a share of the memory."""
    share = memory_budget(memory) // len(kernels)
    seeds = [int(Random(seed, PARTS, i).integers(1)[0]) for i in range(len(kernels))]
    return [
        random_basis(kernel, None, sample, own, dtype, share)
        for kernel, own in zip(kernels, seeds, strict=True)
    ]


def _width(part: RandomBasis, sample: Batch) -> int:
    return int(part.encode(sample.X[:1]).shape[1])
