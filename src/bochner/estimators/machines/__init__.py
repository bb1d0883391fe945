"""Kernel machines: classification, regression, quantiles and novelty detection."""
