"""Small pages whose dependency graphs are known, and the server that serves them.

`pages/NAME/` holds a page: `index.html`, its files, `graph.txt` (its true graph, written by hand)
and, where responses are special, `server.toml`. README.md has the rules.
"""

from pagesite.server import Pieces, Site
from pagesite.truth import PAGES, Page, as_seen, load_page, page_names

__all__ = ["PAGES", "Page", "Pieces", "Site", "as_seen", "load_page", "page_names"]
