"""Makes the page graphs in ``examples/pages``: run ``examples/generate.py``."""
