"""How close predictions must be to those of another library."""

import numpy as np

SINGLE = 1e-5  # of the targets' deviation: what single precision leaves of an exact method


def assert_agree(found, expected, targets, tolerance=SINGLE):
    """Compare predictions, with a tolerance in deviations of the targets, column by column."""
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape
    off = np.abs(found - expected).max(axis=0) / np.std(targets, axis=0)
    assert (off <= tolerance).all(), f"off by {off} deviations of the targets"


def distance(found, expected, targets):
    """Return the largest difference of predictions in deviations of the targets."""
    return float(np.max(np.abs(found - expected)) / np.std(targets))
