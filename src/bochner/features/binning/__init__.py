"""Random binning: indicator functions of the cells of random grids."""
