"""The fit: from checked rows to a fitted function."""
