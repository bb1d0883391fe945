"""Kernels made of other kernels: sums, products, scales per column, chosen columns, linear maps."""
