"""Formats of table files: paths, bytes, and readers of CSV, svmlight, Parquet and NumPy."""
