"""Loops over the bins of random grids: fingerprints, sums, and moves of weights."""
