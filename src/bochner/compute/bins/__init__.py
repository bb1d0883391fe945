"""Loops over bins of random grids: hashing, sums, and steps of the solvers."""
