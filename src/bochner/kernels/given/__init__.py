"""Kernels that a user gives: as a function, as a matrix, by frequencies or by random functions."""
