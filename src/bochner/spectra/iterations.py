"""The iterations that gradient descent needs along each eigenvector, and a safe step size."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bochner.compute.linear_algebra.products import transposed_product
from bochner.compute.random.counter_based import Random
from bochner.kernels import Kernel
from bochner.kernels.rows import checked_rows
from bochner.spectra.spectrum import eigenpairs
from bochner.validation import require


def iterations(
    values: NDArray[Any], coefficients: NDArray[Any], epsilon: float = 1e-4
) -> NDArray[np.float64]:
    """Return the iterations that gradient descent needs along each eigenvector.

    t_i = lambda_1 / (2 lambda_i) ln(|<e_i, v>| / epsilon), for descending eigenvalues `values` and
    the coefficients <e_i, v> of the targets v, (directions,) or (directions, targets); 0 where a
    coefficient is at most epsilon (Ma and Belkin 2017, Eq. 9). The step is 2 / lambda_1, the
    largest stable one; half of it needs twice as many iterations. The paper calls this a lower
    bound, but ln(1 - x) < -x with x = 2 lambda_i / lambda_1 makes it an upper bound; the two agree
    for small x.

    >>> iterations(np.array([1.0, 0.1]), np.array([1.0, 1.0])).round(1)
    array([ 4.6, 46.1])
    """
    values = np.asarray(values, dtype=np.float64)
    if not (len(values) and (values > 0).all() and epsilon > 0):
        raise ValueError(
            "The number of iterations needs positive eigenvalues and a positive epsilon; got "
            f"{len(values)} eigenvalues, the least {values.min(initial=np.inf)!r}, and {epsilon!r}."
        )
    sizes = np.maximum(np.abs(np.asarray(coefficients, dtype=np.float64)) / epsilon, 1.0)
    return ((values[0] / (2 * values)) * np.log(sizes).T).T  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class IterationBound:
    """How many iterations gradient descent needs, with and without EigenPro.

    Along e_i it needs t_i > lambda_1 / (2 lambda_i) ln(|<e_i, v>| / epsilon) iterations (Ma and
    Belkin 2017, Eq. 9, Figure 1). Preconditioning with k eigenvectors lowers the top k eigenvalues
    to lambda_{k+1} (Eq. 16), which replaces lambda_1. `Reach` is an older name of this class.

    Parameters
    ----------
    values : array of shape (directions,)
        The eigenvalues lambda_i of K / s, descending.
    coefficients : array of shape (directions, targets)
        The coefficients <e_i, v> of the targets.
    epsilon : float
        The error along a direction at which to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner.spectra import IterationBound
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> bound = IterationBound.of("gaussian", X, np.sign(X[:, 0] * X[:, 1]))
    >>> [round(float(t[29, 0])) for t in (bound.plain, bound.preconditioned(20))]
    [4036, 17]
    """

    values: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    epsilon: float = 1e-4

    @classmethod
    def of(
        cls, kernel: Any, X: Any, y: Any, subsample: int = 2_000, rng: Random | None = None
    ) -> IterationBound:
        """Return the bound for a kernel, or its name, on a subsample of rows and their targets.

        `y` holds numbers, in one or several columns, for example one for each class.
        """
        X, rng = checked_rows(X), rng or Random(0)
        y = _columns(y, X)
        places = np.sort(rng.permutation(len(y))[:subsample])
        rows = X[places]
        K = Kernel.resolve(kernel).resolved(rows, rng)(rows)
        spectrum = eigenpairs(K.astype(np.float64, copy=False), len(K), rng)
        return cls(spectrum.values, transposed_product(spectrum.vectors, y[places]))

    @property
    def plain(self) -> NDArray[np.float64]:
        """The iterations of gradient descent, (directions, targets)."""
        return iterations(self.values, self.coefficients, self.epsilon)

    def preconditioned(self, k: int) -> NDArray[np.float64]:
        """Return the iterations after preconditioning with k eigenvectors."""
        if not 0 <= k < len(self.values):
            raise ValueError(
                f"k must be from 0 to {len(self.values) - 1}, one less than the eigenvalues above "
                f"the floor; got {k!r}."
            )
        flattened = np.minimum(self.values, self.values[k])
        return iterations(flattened, self.coefficients, self.epsilon)

    def plot(self, k: int = 160, ax: Any = None) -> Any:
        """Plot the iterations over the number of the direction, one line for each target.

        At most 10 targets are plotted, and k is at most what `preconditioned` takes. `ax` are
        matplotlib Axes, new ones by default; they are returned. `report` has the display, which
        this package must not import before it is asked for.
        """
        return import_module("bochner.report").IterationBoundDisplay(self).plot(k, ax).ax_


Reach = IterationBound  # the name of earlier versions


def _columns(given: Any, X: Any) -> NDArray[np.float64]:
    y: NDArray[Any] = np.asarray(given)
    if y.dtype.kind not in "buif" or y.ndim not in (1, 2) or len(y) != X.shape[0]:
        raise ValueError(
            "y must hold numbers, one or several columns with as many rows as X; got an array of "
            f"{y.dtype} and shape {y.shape} for {X.shape[0]} rows. Turn classes into columns first "
            "(sklearn.preprocessing.LabelBinarizer)."
        )
    return y.reshape(len(y), -1).astype(np.float64)


def step_bound(tail: float, kappa: float, batch: int, size: int, delta: float = 0.05) -> float:
    """Return an upper bound of |P H_m|, whose reciprocal is a safe step size.

    With probability 1 - delta, for a batch of m rows and L = ln(2 d / delta),

        |P H_m| <= tail + 2 (tail + kappa) / (3 m) L + sqrt(2 tail kappa / m L)

    (Ma and Belkin 2017, Theorem 1, Eq. 18), where H_m = sum_i x_i x_i' / m over the batch and P
    lowers the eigenvalues of H above `tail` to it. In the paper kappa bounds |x|^2 / d, since its H
    has a factor 1 / d; here features have the scale of their kernel, x'x = k(x, x).

    Parameters
    ----------
    tail : float
        lambda_{k+1} of H, the largest eigenvalue that P leaves; lambda_1 without P.
    kappa : float
        The largest |x|^2 of all rows: max k(x, x), 1 for a normalised kernel.
    batch : int
        m, the number of rows in a batch.
    size : int
        d, the number of features; for a kernel matrix its number of rows.
    delta : float
        The probability with which a batch may exceed the bound.

    Examples
    --------
    >>> from bochner.spectra import step_bound
    >>> bounds = [step_bound(0.001, 1.0, batch, size=10_000) for batch in (256, 10**6)]
    >>> [round(bound, 4) for bound in bounds]
    [0.0447, 0.0012]
    """
    require(tail >= 0, "tail", tail, "a number from 0 on")
    require(kappa > 0, "kappa", kappa, "a positive number")
    require(batch >= 1, "batch", batch, "a number of rows from 1 on")
    require(size >= 1, "size", size, "a number of features from 1 on")
    require(0 < delta < 1, "delta", delta, "a probability between 0 and 1")
    share = log(2 * size / delta) / batch
    return tail + 2 * (tail + kappa) / 3 * share + sqrt(2 * tail * kappa * share)
