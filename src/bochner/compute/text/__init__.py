"""Loops over the bytes of text files: fields, decimals and categories."""
