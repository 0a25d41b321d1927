"""`python -m loadpath` is `loadpath`."""

from loadpath.cli import main

main()
