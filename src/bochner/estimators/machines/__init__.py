"""Kernel machines for labels, numbers, quantiles and novelty."""
