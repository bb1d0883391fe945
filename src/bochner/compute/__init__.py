"""All threads and compiled loops: tiles, linear algebra, parsing, bins, random numbers."""
