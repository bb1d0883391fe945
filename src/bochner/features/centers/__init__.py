"""Kernel functions at chosen rows, the centres."""
