"""What the columns of a table are, and how that is learned in one pass."""
