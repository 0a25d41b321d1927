"""Writes the predictions of example pages that a test holds on to.

usage: scripts/validation_baseline.py FOLDER

Run it when predictions are meant to move, and say in CHANGELOG.md how far they did.
"""

import sys
from itertools import product
from pathlib import Path

from loadpath.pages import load_graph
from loadpath.validation.baseline import Kept, keep
from loadpath.validation.cells import NETWORKS, PROTOCOLS
from loadpath.validation.predict import predict

PAGES = ("mobile-10-large", "mobile-365-small", "shape-google", "shape-wikipedia", "spdy-page-b")
"""Few and many resources, one host and many, small and large."""


def main() -> None:
    """Predict and write."""
    cells = list(product(PAGES, PROTOCOLS, NETWORKS))
    graphs = {page: load_graph(f"example:{page}") for page in PAGES}
    found = predict([(graphs[page], network, http, {}) for page, http, network in cells], pcp=False)
    kept = [
        Kept(
            page=page,
            graph=f"example:{page}",
            http=http,
            network=network.name,
            load_ms=prediction.load_ms,
        )
        for (page, http, network), prediction in zip(cells, found, strict=True)
    ]
    print(keep(Path(sys.argv[1]), kept))


if __name__ == "__main__":
    main()
