"""Hyperparameters of the estimators: validation, records, and components by name."""
