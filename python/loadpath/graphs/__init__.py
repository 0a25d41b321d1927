"""Page graphs: importers."""
