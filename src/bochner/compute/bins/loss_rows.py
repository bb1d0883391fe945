"""Losses row by row: update predictions by the moves of their bins, and the loss's derivatives.

Entry e is row rows[e] in bin bins[e], whose f changes by moves[bins[e]]. Each loop writes the first
and second derivatives (the second at least `floor`) times the weight of the row into the table
(rows, 2 outputs), and adds the increase of its loss to its bin. Expensive losses skip rows of bins
that do not move; for cheap ones the branch would cost more. Indices are unsigned: Numba checks
signed ones for negative values.
"""

from __future__ import annotations

import math

import numpy as np

from bochner.compute.compiled import compiled

# Targets and weights are float32 if that is exact: memory bandwidth limits these loops.
SIGNATURES = tuple(
    f"void({kind}[:, ::1], float64[:, ::1], {kind}[::1], int32[::1], int32[::1], "
    "float64[:, ::1], float64, float32[:, ::1], float64[::1])"
    for kind in ("float32", "float64")
)


@compiled(*SIGNATURES)
def squared(y, f, weight, rows, bins, moves, floor, table, rises):  # type: ignore[no-untyped-def]
    """Update by the loss (f - y)^2 / 2."""
    outputs = f.shape[1]
    for e in range(len(rows)):
        i, b = np.uint32(rows[e]), np.uint32(bins[e])
        for k in range(outputs):
            move, residual = moves[b, k], f[i, k] - y[i, k]
            f[i, k] += move
            table[i, k] = weight[i] * (residual + move)
            rises[b] += weight[i] * move * (residual + 0.5 * move)


@compiled(*SIGNATURES)
def squared_hinge(y, f, weight, rows, bins, moves, floor, table, rises):  # type: ignore[no-untyped-def]
    """Update by the loss max(0, 1 - y f)^2."""
    outputs = f.shape[1]
    for e in range(len(rows)):
        i, b = np.uint32(rows[e]), np.uint32(bins[e])
        row_weight = weight[i]
        for k in range(outputs):
            label, old = y[i, k], f[i, k]
            new = old + moves[b, k]
            f[i, k] = new
            before, gap = max(1.0 - label * old, 0.0), max(1.0 - label * new, 0.0)
            table[i, k] = -2.0 * row_weight * label * gap
            table[i, outputs + k] = row_weight * (2.0 if gap > 0 else floor)
            rises[b] += row_weight * (gap - before) * (gap + before)


@compiled(*SIGNATURES)
def logistic(y, f, weight, rows, bins, moves, floor, table, rises):  # type: ignore[no-untyped-def]
    """Update by the loss log(1 + exp(-y f))."""
    outputs = f.shape[1]
    for e in range(len(rows)):
        i, b = np.uint32(rows[e]), np.uint32(bins[e])
        for k in range(outputs):
            move = moves[b, k]
            if move != 0.0:
                margin = y[i, k] * f[i, k]
                before = math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
                f[i, k] += move
                margin = y[i, k] * f[i, k]
                small = math.exp(-abs(margin))
                share = (small if margin > 0 else 1.0) / (1.0 + small)
                rises[b] += weight[i] * (math.log1p(small) + max(-margin, 0.0) - before)
                table[i, k] = -weight[i] * y[i, k] * share
                table[i, outputs + k] = weight[i] * max(share * (1.0 - share), floor)


@compiled(*SIGNATURES)
def softmax(y, f, weight, rows, bins, moves, floor, table, rises):  # type: ignore[no-untyped-def]
    """Update by the loss log(sum exp f) - y'f; diag(p) - pp' is at most 2 diag(p (1 - p))."""
    outputs = f.shape[1]
    p = np.empty(outputs)
    for e in range(len(rows)):
        i, b = np.uint32(rows[e]), np.uint32(bins[e])
        top, total, stays = -math.inf, 0.0, True
        for k in range(outputs):
            stays = stays and moves[b, k] == 0.0
            top = max(top, f[i, k])
        if stays:
            continue
        for k in range(outputs):
            total += math.exp(f[i, k] - top)
        rise = -math.log(total) - top
        top, total = -math.inf, 0.0
        for k in range(outputs):
            f[i, k] += moves[b, k]
            rise -= y[i, k] * moves[b, k]
            top = max(top, f[i, k])
        for k in range(outputs):
            p[k] = math.exp(f[i, k] - top)
            total += p[k]
        rises[b] += weight[i] * (rise + math.log(total) + top)
        for k in range(outputs):
            p[k] /= total
            table[i, k] = weight[i] * (p[k] - y[i, k])
            table[i, outputs + k] = weight[i] * max(2.0 * p[k] * (1.0 - p[k]), floor)


@compiled(*(signature[:-1] + ", float64[:, ::1])" for signature in SIGNATURES))
def smoothed_absolute(y, f, weight, rows, bins, moves, floor, table, rises, shape):  # type: ignore[no-untyped-def]
    """Update by smoothed absolute values (losses.smoothed_absolute)."""
    outputs = f.shape[1]
    for e in range(len(rows)):
        i, b = np.uint32(rows[e]), np.uint32(bins[e])
        row_weight = weight[i]
        for k in range(outputs):
            move = moves[b, k]
            if move == 0.0:
                continue
            slope, half, epsilon, width = shape[0, k], shape[1, k] / 2, shape[2, k], shape[3, k]
            old = f[i, k] - y[i, k]
            new = old + move
            f[i, k] += move
            rise, steep, curved = 0.0, 0.0, 0.0
            for center in (-epsilon, epsilon):
                before, after = abs(old - center), abs(new - center)
                over, left = max(width - before, 0.0), max(width - after, 0.0)
                rise += after - before + (left * left - over * over) / (2.0 * width)
                farther = 1.0 / max(after, width)
                steep += (new - center) * farther
                curved += farther
            rises[b] += row_weight * (slope * move + half * rise)
            table[i, k] = row_weight * (slope + half * steep)
            table[i, outputs + k] = row_weight * max(half * curved, floor)
