"""DenseBasis: a basis that can write its columns, tile by tile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import add_row_products
from bochner.compute.pool import each_tile, sum_tiles
from bochner.data.batch import Batch
from bochner.features.basis import Basis, Code

# A tile of 256 rows and 1,024 columns fills an L2 cache of 1 MiB. The last tile is padded to the
# same height: BLAS uses other code for other heights, and the values at a row must not depend on
# the other rows, not even in the last bit.
TILE_ROWS = 256
BLOCK = 1024
# Threads share pieces of PIECE functions if there are at most FEW_TILES tiles of rows.
PIECE = 2 * BLOCK
FEW_TILES = 16
MOST_APART = 1 << 26  # bytes of partial sums


class NumberedRows(ABC):
    """A code that holds row numbers in place of values."""

    @abstractmethod
    def padded(self, height: int) -> NumberedRows:
        """Return these rows followed by any others, `height` in total."""


class DenseBasis(Basis):
    """A basis that computes Phi by dense tiles; subclasses implement `fill` and `encode`.

    Products with at most `few_outputs` columns of weights do not use BLAS, for which stored values
    would be copied. `width` functions, whole blocks, are computed at once: more if a part of them
    takes as long as all.
    """

    few_outputs: int = 0
    width: int = BLOCK

    dtype: np.dtype[Any]

    @abstractmethod
    def fill(self, code: Code, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the functions start, ..., stop - 1 at some rows into the C-contiguous `out`."""

    def encode_batch(self, batch: Batch) -> Code:
        """Return the code of a batch; a basis may find stored rows by their numbers."""
        return self.encode(batch.X)

    def spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Cut the functions into spans that are processed one after the other, for all rows."""
        yield start, stop

    def columns(
        self, code: Code, start: int = 0, stop: int | None = None, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return the functions start, ..., stop - 1 at all rows, (rows, functions)."""
        shape = (code.shape[0], self.end(stop) - start)
        out = np.empty(shape, code.dtype) if out is None else _checked(out, shape, code.dtype)
        for first, last in self.spans(start, start + shape[1]):
            place = out[:, first - start : last - start]
            each_tile(partial(self._write, code, first, last, place), len(out), TILE_ROWS)
        return out

    def evaluate(self, code: Code, weights: NDArray[Any], start: int = 0) -> NDArray[Any]:
        """Return sum_j phi_j(x_i) w_j in the dtype of the code; blocks are added in float64."""
        weights = np.ascontiguousarray(weights, dtype=code.dtype)
        out = np.zeros((code.shape[0], weights.shape[1]))
        for first, last in self.spans(start, start + len(weights)):
            self._add(code, first, weights[first - start : last - start], out)
        return out.astype(code.dtype, copy=False)

    def _add(self, code: Code, first: int, weights: NDArray[Any], out: NDArray[np.float64]) -> None:
        """Add the functions first, first + 1, ... by pieces, which threads share if rows are few.

        The order of the sums is the same for few rows and for many.
        """
        pieces = list(cuts(first, first + len(weights), PIECE))
        tiles = -(-len(out) // TILE_ROWS)
        apart = tiles <= FEW_TILES and out.nbytes * len(pieces) <= MOST_APART
        parts = [np.empty(out.shape) for _ in pieces] if apart else [out]

        def work(number: int, _: int) -> None:
            tile, place = divmod(number, len(parts))
            top, bottom = tile * TILE_ROWS, min(tile * TILE_ROWS + TILE_ROWS, len(out))
            rows = padded(code, top, bottom)
            for begin, end in pieces[place : place + 1] if apart else pieces:
                part = np.zeros((bottom - top, out.shape[1]))
                self._add_piece(rows, begin, weights[begin - first : end - first], part)
                if apart:
                    parts[place][top:bottom] = part
                else:
                    out[top:bottom] += part

        each_tile(work, len(parts) * tiles, 1)
        for part in parts if apart else ():
            out += part

    def project(
        self, code: Code, G: NDArray[Any], start: int = 0, stop: int | None = None
    ) -> NDArray[Any]:
        """Return sum_i phi_j(x_i) G_i in the dtype of the code; tiles are added in float64."""
        G = np.ascontiguousarray(G, dtype=code.dtype)
        out = np.empty((self.end(stop) - start, G.shape[1]), code.dtype)
        for first, last in self.spans(start, start + len(out)):
            shape = (last - first, G.shape[1])
            work = partial(self._projected, code, G, first, shape)
            out[first - start : last - start] = sum_tiles(work, len(G), TILE_ROWS, shape)
        return out

    def squares(self, code: Code, weight: NDArray[Any] | None, total: NDArray[Any]) -> None:
        """Add sum_i weight_i phi_j(x_i)^2 of all functions to `total`."""
        weight, size = np.ones(code.shape[0]) if weight is None else weight, self.end(None)

        def tile(top: int, bottom: int) -> NDArray[Any]:
            blocks = self.blocks(padded(code, top, bottom), 0, size)
            weights = padded(weight, top, bottom)
            return np.concatenate([weights @ np.square(block) for _, _, block in blocks])

        total += sum_tiles(tile, code.shape[0], TILE_ROWS, (size,))

    def _write(
        self, code: Code, first: int, last: int, out: NDArray[Any], top: int, bottom: int
    ) -> None:
        if bottom - top == TILE_ROWS and out.flags.c_contiguous:
            self.fill(code[top:bottom], first, last, out[top:bottom])
            return
        for begin, end, block in self.blocks(padded(code, top, bottom), first, last):
            out[top:bottom, begin - first : end - first] = block[: bottom - top]

    def _add_piece(
        self, tile: Code, first: int, weights: NDArray[Any], out: NDArray[np.float64]
    ) -> None:
        """Add functions first, first + 1, ... at the rows of a tile, by BLAS for many outputs."""
        last = first + len(weights)
        if weights.shape[1] > self.few_outputs:
            for begin, end, block in self.blocks(tile, first, last):
                out += (block @ weights[begin - first : end - first])[: len(out)]
            return
        for begin, end in cuts(first, last, BLOCK):
            some = np.array(weights[begin - first : end - first].T, order="C")  # not read-only
            self.add_products(tile, begin, end, some, out)

    def add_products(
        self, tile: Code, begin: int, end: int, weights: NDArray[Any], out: NDArray[np.float64]
    ) -> None:
        """Add the products of a tile's rows with the weights, (outputs, functions), of a block."""
        block = np.empty((TILE_ROWS, end - begin), tile.dtype)
        self.fill(tile, begin, end, block)
        add_row_products(block, np.arange(len(out)), 0, weights, out)

    def _projected(
        self, code: Code, G: NDArray[Any], first: int, shape: tuple[int, int], top: int, bottom: int
    ) -> NDArray[Any]:
        out = np.empty(shape, code.dtype)
        tile, values = padded(code, top, bottom), padded(G, top, bottom)
        for begin, end, block in self.blocks(tile, first, first + shape[0]):
            out[begin - first : end - first] = block.T @ values
        return out

    def blocks(self, tile: Code, first: int, last: int) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield begin, end and the columns begin, ..., end - 1 of a tile, block by block."""
        rows = tile.shape[0]
        space = np.empty(rows * min(self.width, last - first), tile.dtype)
        for start, stop in cuts(first, last, self.width):
            whole = space[: rows * (stop - start)].reshape(rows, stop - start)
            self.fill(tile, start, stop, whole)
            for begin, end in cuts(start, stop, BLOCK):
                yield begin, end, whole[:, begin - start : end - start]


def cuts(start: int, stop: int, width: int) -> Iterator[tuple[int, int]]:
    """Cut [start, stop) at the multiples of `width`."""
    while start < stop:
        end = min((start // width + 1) * width, stop)
        yield start, end
        start = end


def padded(rows: Any, top: int, bottom: int) -> Any:
    """Return the rows top, ..., bottom - 1, followed by zeros up to the height of a tile."""
    tile = rows[top:bottom]
    if bottom - top == TILE_ROWS:
        return tile
    if isinstance(tile, NumberedRows):
        return tile.padded(TILE_ROWS)
    if sp.issparse(tile):
        below = sp.csr_array((TILE_ROWS - bottom + top, tile.shape[1]), dtype=tile.dtype)
        return sp.vstack([tile, below], "csr")
    full = np.zeros((TILE_ROWS, *tile.shape[1:]), tile.dtype)
    full[: bottom - top] = tile
    return full


def _checked(out: NDArray[Any], shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    if out.shape == shape and out.dtype == dtype and out.flags.c_contiguous:
        return out
    raise ValueError(
        f"out must be a C-contiguous {dtype} array of shape {shape}; got {out.dtype}, {out.shape}."
    )
