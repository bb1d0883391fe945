"""The one-class machine beside scikit-learn's exact one."""

import numpy as np
import pytest
from sklearn.svm import OneClassSVM

from bochner import KernelNoveltyDetector
from bochner.kernels import Gaussian


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_function_and_threshold_are_those_of_the_exact_machine(nu):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(2_000, 2)), 1.5 * rng.normal(size=(2_000, 2))
    ours = KernelNoveltyDetector(Gaussian(0.7), nu, max_passes=200, random_state=0)
    with pytest.warns(UserWarning, match="max_passes"):
        ours.fit(X)
    exact = OneClassSVM(nu=nu, gamma=0.5 / 0.7**2).fit(X)
    # scikit-learn's h is a sum over the rows with weights up to 1, ours has a total weight of 1.
    size = nu * len(X)
    h, expected = ours.score_samples(T), exact.score_samples(T) / size
    assert np.abs(h - expected).max() < 0.06 * expected.max()
    assert ours.offset_ == pytest.approx(float(exact.offset_[0]) / size, rel=0.05)
    assert (ours.predict(T) == exact.predict(T)).mean() > 0.95
