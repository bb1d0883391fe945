"""Encoded rows and columns of features that are stored between passes."""
