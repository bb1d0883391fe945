"""The only compiled loops and the only threads: tiles, vector mathematics, random numbers."""
