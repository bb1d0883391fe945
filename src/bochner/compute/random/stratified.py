"""Stratified random numbers, and normal vectors that are orthogonal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.compute.random.counter_based import Random, Shape, gamma_quantiles


class StratifiedRandom(Random):
    """A stream in which n uniform numbers lie in n equal intervals, one in each, in random order.

    Each number is uniform, and sums over them have a smaller variance; the orders of two calls are
    independent (McKay, Beckman and Conover 1979, A comparison of three methods for selecting values
    of input variables in the analysis of output from a computer code: Latin hypercube sampling).
    Exponential, Cauchy and Gamma numbers use inverse distribution functions; normal ones are
    independent.

    Parameters
    ----------
    rng : Random
        The underlying stream.
    """

    def __init__(self, rng: Random) -> None:
        self.seed, self.path, self.bits = rng.seed, rng.path, rng.bits
        self.rng = rng

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Return numbers in (0, 1), one in each of as many intervals."""
        within = self.rng.uniform(shape)
        places = self.rng.permutation(within.size).reshape(within.shape)
        return np.minimum((places + within) / max(within.size, 1), 1 - 2.0**-53)

    def normal(self, shape: Shape) -> NDArray[np.float64]:
        """Return independent normal numbers."""
        return self.rng.normal(shape)

    def gamma(self, shape_parameter: float, shape: Shape) -> NDArray[np.float64]:
        """Return Gamma(shape_parameter, scale 1) numbers."""
        return gamma_quantiles(shape_parameter, self.uniform(shape))


class OrthogonalRandom(StratifiedRandom):
    """A stream of random numbers in which the columns of a normal matrix are orthogonal.

    Every column of `normal((n, size))` is a standard normal vector; n of them at a time have
    orthogonal directions (Yu, Suresh, Choromanski, Holtmann-Rice and Kumar 2016, Orthogonal random
    features, section 3). With G = Q R for a normal G and a positive diagonal of R, Q is uniform
    among the matrices with orthonormal columns and independent of R. The norms of the columns of G
    are those of R, so they serve as the lengths.

    Other numbers are drawn only for whole vectors, and stratified: most of the variance of a scale
    mixture is that of the lengths, so orthogonal directions alone would gain little.

    Parameters
    ----------
    rng : Random
        The underlying stream.
    user : object
        The kernel, for the message if it draws a matrix that is not normal.
    """

    def __init__(self, rng: Random, user: Any) -> None:
        super().__init__(rng)
        self.user = user

    def uniform(self, shape: Shape) -> NDArray[np.float64]:
        """Return stratified numbers, one for each vector."""
        if isinstance(shape, tuple) and len(shape) > 1:
            raise ValueError(
                "Orthogonal frequencies exist for kernels that draw normal vectors and multiply "
                "them by random lengths, as Gaussian, Matern, RationalQuadratic and "
                f"ExponentialPower do; {self.user!r} draws each column by itself. Give "
                "drawing='plain' or 'quasi_monte_carlo', or another kernel."
            )
        return super().uniform(shape)

    def normal(self, shape: Shape) -> NDArray[np.float64]:
        """Return normal numbers; the columns of a matrix are orthogonal, n at a time."""
        numbers = self.rng.normal(shape)
        if numbers.ndim != 2:
            return numbers
        out, n = np.empty_like(numbers), max(len(numbers), 1)
        full = numbers.shape[1] // n * n
        blocks = numbers[:, :full].reshape(n, -1, n).swapaxes(0, 1)
        with single_blas():  # the same bits for any number of threads
            out[:, :full] = _orthogonal(blocks).swapaxes(0, 1).reshape(n, full)
            out[:, full:] = _orthogonal(numbers[:, full:])
        return out


def _orthogonal(normal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return orthogonal columns with the lengths of the given ones, for each matrix of a stack."""
    q, r = np.linalg.qr(normal)
    signs = np.where(np.diagonal(r, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    lengths = signs * np.linalg.norm(normal, axis=-2)
    return q * lengths[..., None, :]  # type: ignore[no-any-return]
