"""Solvers whose weights move at the end of a pass over all rows."""
