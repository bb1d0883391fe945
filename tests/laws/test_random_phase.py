"""Cosines of random phase approximate their kernel, by one function for each frequency."""

import numpy as np
import pytest
from scipy import stats

from bochner.data import ArraySource
from bochner.features import SAMPLE_ROWS, Drawing, RandomPhase
from bochner.kernels import Gaussian, Kernel

X = np.random.default_rng(0).normal(size=(40, 20))


def built(size, drawing="plain", kernel=None):
    sample = ArraySource(X).sample(SAMPLE_ROWS)
    return RandomPhase(size, drawing).build(kernel or Gaussian(4.0), sample, 0, np.float64)


def test_functions_are_what_they_say():
    basis = built(700)
    units = [basis.parameters(number) for number in range(3)]
    omega = np.concatenate([frequencies for frequencies, _ in units], axis=1)[:, :700]
    phases = np.concatenate([phase for _, phase in units])[:700]
    angles = 2 * np.pi * ((X - X.mean(axis=0)) @ omega + phases)
    Phi = basis.columns(basis.encode(X))
    np.testing.assert_allclose(Phi, np.sqrt(2 / 700) * np.cos(angles), atol=1e-12)
    assert stats.kstest(phases, stats.uniform.cdf).pvalue > 1e-3


@pytest.mark.parametrize("drawing", sorted(Drawing.registry))
def test_products_of_features_converge_to_the_kernel(drawing):
    basis = built(16_384, drawing, 3 * Gaussian(4.0))
    Phi = basis.columns(basis.encode(X))
    error = np.abs(Phi @ Phi.T - 3 * Gaussian(4.0)(X))
    assert error.max() < 3 * (6 / np.sqrt(16_384) + 0.02)


@pytest.mark.parametrize("size", [0, -2, 2.0, "many", True])
def test_sizes_that_are_no_counts_are_refused(size):
    with pytest.raises(ValueError, match="number from 1 on"):
        built(size)


def test_a_kernel_without_spectral_measure_is_refused():
    with pytest.raises(ValueError, match=r"shift-invariant kernels.*got FunctionKernel"):
        built(8, kernel=Kernel.resolve(lambda A, B: A @ B.T))
