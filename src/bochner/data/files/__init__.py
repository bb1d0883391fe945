"""Tables in files: text of any size, parsed in chunks."""
