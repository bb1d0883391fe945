"""Kernels made of other kernels: sums, products, column scales, chosen columns, linear maps."""
