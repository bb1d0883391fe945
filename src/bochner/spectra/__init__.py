"""Spectra: the top eigenpairs of kernels and features, and what they say about iterations."""

from bochner.spectra.reach import Reach, iterations
from bochner.spectra.spectrum import Spectrum, eigenpairs, singular
from bochner.spectra.step_bound import step_bound

__all__ = ["Reach", "Spectrum", "eigenpairs", "iterations", "singular", "step_bound"]
