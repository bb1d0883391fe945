"""What is done to rows before they are learned from, and again before predicting."""
