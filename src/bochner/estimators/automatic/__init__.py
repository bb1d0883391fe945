"""The choices of "auto": the plan and its costs, defaults, and learned scales."""
