"""Random numbers addressed by seed and path, stratified, orthogonal and quasi-random ones."""

from bochner.compute.random.counter_based import Random

__all__ = ["Random"]
