"""Transformers to features of kernels."""
