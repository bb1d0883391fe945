"""`python -m bochner` is `bochner`."""

from bochner.cli import main

if __name__ == "__main__":
    main()
