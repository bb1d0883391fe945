"""Solvers that are made for bins."""
