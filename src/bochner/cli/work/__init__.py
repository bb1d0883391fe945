"""What the commands do; imported when a command runs, so that help comes at once."""
