"""Pages A, B and C of the SPDY study, divided over one, two or four servers.

The pages ship as examples; `examples/README.md` says how they were made from section 5.3.2 of the
draft. Section 5.3.2.1 divides their resources equally over the servers: here in turn, in document
order, the document being the first.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from loadpath.experiments.page_set import PageSet
from loadpath.pages import EXAMPLE_PREFIX, read_page

__all__ = ["PAGES", "SERVERS", "divided", "spdy_pages"]

PAGES = ("A", "B", "C")
SERVERS = (1, 2, 4)


@contextmanager
def spdy_pages() -> Iterator[PageSet]:
    """The nine websites of the study: pages, for each of them the numbers of servers."""
    with tempfile.TemporaryDirectory(prefix="loadpath-spdy-") as folder:
        files = []
        for page in PAGES:
            for servers in SERVERS:
                name = f"spdy-page-{page.lower()}-{servers}"
                file = Path(folder) / f"{name}.json"
                file.write_bytes(divided(page, servers))
                files.append((name, str(file)))
        yield PageSet(tuple(files))


def divided(page: str, servers: int) -> bytes:
    """The graph of a page ("A", "B", "C") whose resources come from so many servers."""
    data, _, _ = read_page(f"{EXAMPLE_PREFIX}spdy-page-{page.lower()}")
    graph = json.loads(data)
    number = 0
    moved: dict[str, str] = {}
    for activity in graph["activities"]:
        if activity["type"] != "resource":
            continue
        path = urlsplit(activity["url"]).path
        moved[activity["url"]] = f"https://server{number % servers + 1}.example{path}"
        number += 1
    for activity in graph["activities"]:
        if "url" in activity:
            activity["url"] = moved[activity["url"]]
    graph["name"] += f"-{servers}"
    return json.dumps(graph).encode()
