"""Spectra: the top eigenpairs of kernels and features, and what they say about iterations."""

from bochner.spectra.iterations import Reach, iterations, step_bound
from bochner.spectra.spectrum import Spectrum, eigenpairs, singular

__all__ = ["Reach", "Spectrum", "eigenpairs", "iterations", "singular", "step_bound"]
