"""`PYTHONPATH=tests python -m pagesite`: serves the pages until interrupted."""

import argparse
import contextlib
import shlex
import signal

from pagesite.server import Pieces, Site
from pagesite.truth import page_names


def main() -> None:
    parser = argparse.ArgumentParser(prog="pagesite", description=__doc__)
    parser.add_argument("--pieces", type=int, metavar="BYTES", help="serve HTML in pieces")
    parser.add_argument("--interval-ms", type=float, default=5.0, help="between pieces (default 5)")
    parser.add_argument("--http1", action="store_true", help="HTTP/1.1 over TLS too")
    options = parser.parse_args()
    pieces = Pieces(options.pieces, options.interval_ms) if options.pieces else None
    with Site(pieces=pieces, http2=not options.http1) as site:
        print("chromium-headless-shell", shlex.join(site.browser_flags()), "URL")
        for name in page_names():
            print(site.url(name, "https"), site.url(name, "http"))
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
