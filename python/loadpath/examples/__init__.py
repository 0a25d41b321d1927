"""Pages that ship with the package, one JSON file each in `pages`."""
