"""Made rows for the golden tests: whole numbers over powers of two, the same bits everywhere.

Checkpoints resume only on the rows that they were fitted to, so no row may depend on the
mathematical functions of a platform. `RandomState` is a stream that NumPy keeps for ever.
"""

import numpy as np
import pandas as pd
import scipy.sparse as sp

NAMES = np.array(["ash", "beech", "oak"])


def rows(count, columns=3, seed=0):
    """Return rows of mean about 0 and deviation about 1, in steps of 1/32."""
    whole = np.random.RandomState(seed).randint(0, 65, size=(4, count, columns))
    return (whole.sum(axis=0) - 128) / 32.0


def numbers(X, seed=1):
    """Return noisy targets of a deviation of about 1."""
    noise = np.random.RandomState(seed).randint(-8, 9, size=len(X)) / 64.0
    return X[:, 0] * X[:, 1] / 2 + X[:, 1] - X[:, 0] ** 2 / 4 + noise


def several(X):
    """Return two outputs."""
    return np.stack([numbers(X), -numbers(X, 2) / 2], axis=1)


def labels(X):
    """Return texts of three classes, some of them wrong."""
    noise = np.random.RandomState(3).randint(-16, 17, size=len(X)) / 32.0
    return NAMES[(X[:, 0] + noise > 0.25).astype(int) + (X[:, 1] + noise > 0)]


def histograms(count, columns=3, seed=4):
    """Return rows without negative entries."""
    return np.random.RandomState(seed).randint(1, 65, size=(count, columns)) / 64.0


def categories(count, columns=3, seed=5):
    """Return rows of whole numbers below 4."""
    return np.random.RandomState(seed).randint(0, 4, size=(count, columns)).astype(float)


def weights(count, seed=6):
    """Return positive weights of rows."""
    return np.random.RandomState(seed).randint(1, 9, size=count) / 4.0


def sparse(count, columns=12, seed=7):
    """Return sparse rows, a quarter of whose entries are not zero."""
    X = rows(count, columns, seed)
    return sp.csr_array(X * (np.random.RandomState(seed).randint(0, 4, size=X.shape) == 0))


def table(count, seed=8):
    """Return a mixed table: numbers with missing cells, texts, truth values, and a target."""
    state = np.random.RandomState(seed)
    X, trees = rows(count, 2, seed), state.randint(0, 3, size=count)
    holes = state.randint(0, 10, size=count) == 0
    frame = pd.DataFrame(
        {
            "height": np.where(holes, np.nan, X[:, 0]),
            "tree": pd.Series(np.where(trees == 2, None, NAMES[trees]), dtype=object),
            "age": X[:, 1],
            "tall": X[:, 0] > 0.5,
        }
    )
    return frame, trees - X[:, 0] * X[:, 1] / 2


def kernel_matrix(X, Y):
    """Return the values of a kernel, (1 + x'y)^2 / 4."""
    return (1 + X @ Y.T) ** 2 / 4
