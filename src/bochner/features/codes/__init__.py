"""Encoded rows, and columns of features, that are kept between passes."""
