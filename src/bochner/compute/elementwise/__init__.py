"""Functions of every entry of an array, or of every pair of entries."""
