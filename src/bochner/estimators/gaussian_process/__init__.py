"""Gaussian process regression."""
