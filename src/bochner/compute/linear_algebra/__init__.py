"""Products, factors and distances of matrices, the same for any number of threads."""
