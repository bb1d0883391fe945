"""Random numbers that are addressed by seed and path, and numbers that fill space more evenly."""

from bochner.compute.random.counter_based import Random

__all__ = ["Random"]
