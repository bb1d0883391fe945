"""Block Krylov iteration: many top eigenpairs of a large matrix from a few products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import product, transposed_product
from bochner.compute.random.counter_based import Random
from bochner.spectra.operators import Operator, Pairs, factors, orthonormal, top_pairs

# Blocks of an eighth of the wanted pairs, and 3 columns for each pair with some more for few of
# them, leave residuals below a hundredth of the eigenvalues on kernel matrices of many kinds.
SHARE, NARROWEST = 8, 16
PER_PAIR, MORE = 3, 48
LEAST = 100  # roundings: a column that is shorter has no direction


def krylov(operator: Operator, shape: tuple[int, int], count: int, rng: Random) -> Pairs:
    """Return approximate top eigenpairs of an operator A, by products with a block, step by step.

    They are the best ones in the span of B, A B, ..., A^(steps - 1) B, where B is a random block
    and shape = (its width, steps) (Musco and Musco 2015, Randomized block Krylov methods for
    stronger and faster approximate singular value decomposition, Algorithm 2). Randomised range
    finding (Halko, Martinsson and Tropp 2011, Algorithm 4.4) keeps the last block alone, which is
    then as wide as the number of pairs; narrow blocks that are all kept come much closer with as
    many columns, also where eigenvalues are close to each other.
    """
    b, steps = shape
    Q = np.empty((operator.side, steps * b), operator.dtype)
    images = np.empty(Q.shape)
    Q[:, :b] = orthonormal(rng.normal((operator.side, b)).astype(operator.dtype))
    for end in range(b, steps * b, b):
        images[:, end - b : end] = operator(Q[:, end - b : end])
        Q[:, end : end + b] = _beyond(Q[:, :end], images[:, end - b : end], rng)
    images[:, -b:] = operator(Q[:, -b:])
    return _ritz(Q, images, count)


def block_shape(count: int, effort: int = 1) -> tuple[int, int]:
    """Return the width of the block and the number of steps for `count` pairs."""
    width = max(-(-count // SHARE), NARROWEST)
    return width, -(-effort * (PER_PAIR * count + MORE) // width)


def _beyond(known: NDArray[Any], image: NDArray[Any], rng: Random) -> NDArray[Any]:
    """Return an orthonormal basis of what an image has beyond the known directions.

    Twice, since what is left of a long column leans on what was taken away. Of columns that leave
    nothing but rounding, as happens when the rank is exhausted, random ones take the place.
    """
    block = image.astype(known.dtype)
    least = LEAST * np.finfo(block.dtype).eps * np.linalg.norm(block, axis=0)
    block, R = factors(_without(known, block))
    empty = np.abs(np.diagonal(R)) <= least
    if empty.any():
        block[:, empty] = rng.normal((len(block), int(empty.sum())))
    return orthonormal(_without(known, block))


def _without(known: NDArray[Any], block: NDArray[Any]) -> NDArray[Any]:
    """Return what is orthogonal to the known directions."""
    shares = transposed_product(known, block).astype(known.dtype)
    return (block - product(known, shares)).astype(known.dtype)


def _ritz(Q: NDArray[Any], image: NDArray[np.float64], count: int) -> Pairs:
    """Return the Rayleigh-Ritz pairs of an operator in the span of orthonormal columns Q."""
    T = transposed_product(Q.astype(np.float64, copy=False), image)
    values, U = top_pairs((T + T.T) / 2, count)
    vectors = product(Q, U.astype(Q.dtype)).astype(Q.dtype)
    return Pairs(values, vectors, product(image, U))
