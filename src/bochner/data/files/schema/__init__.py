"""Schemas of tables: columns and categories, and the first pass that learns them."""
