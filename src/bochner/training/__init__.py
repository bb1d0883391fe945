"""The training loop: the only one, with its progress and its interruption."""
