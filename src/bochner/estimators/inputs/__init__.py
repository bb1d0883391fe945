"""Validation of rows and targets, which become sources of numbers."""
