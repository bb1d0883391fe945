"""Spectra: the top eigenpairs of kernels and features, and the iterations that follow from them."""

from bochner.spectra.iterations import IterationBound, Reach, iterations, step_bound
from bochner.spectra.spectrum import Spectrum, eigenpairs, singular

__all__ = [
    "IterationBound",
    "Reach",
    "Spectrum",
    "eigenpairs",
    "iterations",
    "singular",
    "step_bound",
]
