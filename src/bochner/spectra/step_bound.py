"""The step bound: how long a step on a random batch may be."""

from __future__ import annotations

from math import log, sqrt


def step_bound(tail: float, kappa: float, batch: int, size: int, delta: float = 0.05) -> float:
    """Return a bound of |P H_m|, whose reciprocal is a safe step.

    With probability 1 - delta, for a batch of m rows and L = ln(2 d / delta),

        |P H_m| <= tail + 2 (tail + kappa) / (3 m) L + sqrt(2 tail kappa / m L)

    (Ma and Belkin 2017, Theorem 1, Eq. 18), where H_m = sum_i x_i x_i' / m over the batch and P
    flattens the eigenvalues of H above `tail` to it. In the paper kappa bounds |x|^2 / d since
    its H has 1 / d in it; here features have the scale of their kernel, x'x = k(x, x).

    Parameters
    ----------
    tail : float
        lambda_{k+1} of H, the largest eigenvalue that is left; lambda_1 without P.
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
    _require("tail", tail, tail >= 0, "a number from 0 on")
    _require("kappa", kappa, kappa > 0, "a positive number")
    _require("batch", batch, batch >= 1, "a number of rows from 1 on")
    _require("size", size, size >= 1, "a number of features from 1 on")
    _require("delta", delta, 0 < delta < 1, "a probability between 0 and 1")
    share = log(2 * size / delta) / batch
    return tail + 2 * (tail + kappa) / 3 * share + sqrt(2 * tail * kappa * share)


def _require(name: str, value: float, valid: bool, kind: str) -> None:
    if not valid:
        raise ValueError(f"{name} must be {kind}; got {value!r}.")
