"""Loops over the bytes of text files: records, fields, decimals and categories."""
