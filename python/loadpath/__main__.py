"""`python -m loadpath` is `loadpath`."""

from loadpath.cli import main

if __name__ == "__main__":
    main()
