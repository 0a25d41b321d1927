"""One load without recording, as the profiler's plain pass; its result is a line of JSON.

It has to run where the network is: `self_consistency.py` starts it at the client's end of a link.

usage: studies/plain_load.py URL RESOLVER_RULES SPKI TIMEOUT_S
"""

import asyncio
import sys
import tempfile
from pathlib import Path

from loadpath.cli.console import print_error, print_json
from loadpath.errors import LoadpathError
from loadpath.profiler import PassKind
from loadpath.profiler.chromium import find_browser
from loadpath.profiler.passes import run_pass
from serving import Server


def main() -> int:
    """Load and print."""
    url, rules, spki, timeout_s = sys.argv[1:]
    server = Server(resolver_rules=rules, spki=spki, paths={})
    settings = server.settings(timeout_s=float(timeout_s))
    with tempfile.TemporaryDirectory(prefix="loadpath-load-") as folder:
        kind = PassKind.PLAIN
        try:
            output = asyncio.run(
                run_pass(url, "plain", kind, settings, find_browser(), Path(folder))
            )
        except LoadpathError as error:
            print_error(error)
            return 1
        print_json(output.result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
