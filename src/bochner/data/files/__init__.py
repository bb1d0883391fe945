"""Tables in files: formats, schemas, and sources that read files of any size in chunks."""
