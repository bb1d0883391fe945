"""Loops that decrease a quadratic function of a few bounded variables, one or two at a time.

The function is b'Kb/2 - p'b for low <= b <= high. The loops keep its gradient g = Kb - p up to
date and stop when no feasible direction descends by more than `tol`, or after `most` steps.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np

from bochner.compute.compiled import compiled

FLATTEST = 1e-12  # curvature along a direction, relative to the largest k(x, x)


@compiled(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], float64, int64)"
)
def pair_steps(K, low, high, b, g, tol, most):
    """Move pairs of variables, so that their sum stays; return the number of steps.

    The variable i that may rise has the least gradient; of those that may fall, j is the one with
    which the decrease of the function would be largest without bounds (Fan, Chen and Lin 2005,
    Working set selection using second order information, WSS 2).
    """
    size, steps = len(b), 0
    diagonal = np.empty(size)
    flat = 0.0
    for t in range(size):
        diagonal[t] = K[t, t]
        flat = max(flat, FLATTEST * K[t, t])
    while steps < most:
        i, least, greatest = -1, np.inf, -np.inf
        for t in range(size):
            if b[t] < high[t] and g[t] < least:
                i, least = t, g[t]
            if b[t] > low[t] and g[t] > greatest:
                greatest = g[t]
        if i < 0 or not greatest - least > tol:
            break
        row, own = K[i], diagonal[i]
        j, best = -1, 0.0
        for t in range(size):
            slope = g[t] - least
            if b[t] > low[t] and slope > 0.0:
                gain = slope * slope / max(own + diagonal[t] - 2.0 * row[t], flat)
                if gain > best:
                    j, best = t, gain
        if j < 0:  # the slope is so small that its square is 0
            break
        step = (g[j] - least) / max(own + diagonal[j] - 2.0 * row[j], flat)
        rise, fall = high[i] - b[i], b[j] - low[j]
        step = min(step, rise, fall)
        # At a bound a variable is equal to it, not close to it.
        b[i] = high[i] if step == rise else b[i] + step
        b[j] = low[j] if step == fall else b[j] - step
        other = K[j]
        for t in range(size):
            g[t] += step * (row[t] - other[t])
        steps += 1
    return steps


@compiled(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], float64, int64)"
)
def single_steps(K, low, high, b, g, tol, most):
    """Move one variable at a time, that with the largest decrease; return the number of steps."""
    size, steps = len(b), 0
    flat = 0.0
    for t in range(size):
        flat = max(flat, FLATTEST * K[t, t])
    while steps < most:
        i, best, move, largest = -1, 0.0, 0.0, 0.0
        for t in range(size):
            curvature = max(K[t, t], flat)
            step = min(max(-g[t] / curvature, low[t] - b[t]), high[t] - b[t])
            if step == 0.0:
                continue
            largest = max(largest, abs(g[t]))
            gain = -step * (g[t] + 0.5 * step * curvature)
            if gain > best:
                i, best, move = t, gain, step
        if i < 0 or not largest > tol:
            break
        if move == high[i] - b[i]:
            b[i] = high[i]
        elif move == low[i] - b[i]:
            b[i] = low[i]
        else:
            b[i] += move
        row = K[i]
        for t in range(size):
            g[t] += move * row[t]
        steps += 1
    return steps
