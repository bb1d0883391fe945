"""Two samples: density ratios, tests and witness functions."""
