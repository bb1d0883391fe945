"""Matrix products, factors and distances, the same for any number of threads."""
