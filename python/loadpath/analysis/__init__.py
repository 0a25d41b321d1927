"""Statistics and figures."""
