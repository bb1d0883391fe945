"""Hyperparameters: what they may be, and components that are given by name."""
