"""Doubly stochastic gradients: stochastic in the rows and in the functions."""
