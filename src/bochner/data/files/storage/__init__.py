"""Rows that were read, kept in memory or in temporary files."""
