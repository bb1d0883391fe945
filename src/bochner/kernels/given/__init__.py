"""Kernels given by the user: as a function, a matrix, by frequencies or by random functions."""
