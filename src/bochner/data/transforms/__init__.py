"""Transforms of rows: scaling, principal components, missing values, monotone maps."""
