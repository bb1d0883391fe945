"""What "auto" stands for: the plan, its costs, defaults, and learned scales."""
