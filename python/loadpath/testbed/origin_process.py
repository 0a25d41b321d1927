"""The process of an origin: `python -m loadpath.testbed.origin_process`, started by
`loadpath.testbed.origin`.

The first line of standard input is its configuration (`crates/origin/src/config.rs`). It prints a
line when it is ready, a report for each further line of input, and a report when the input ends.
"""

import os
import resource
import sys

import msgspec

from loadpath._core import LoadpathError, run_origin

__all__: list[str] = []


def main() -> int:
    """Serve an archive."""
    # Without a buffer: what follows the line, once the server is ready, is the server's to read.
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 1 << 16)
        if not piece:
            return 1
        line += piece
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        run_origin(bytes(line))
    except LoadpathError as error:
        failure = {"error": str(error), "hints": getattr(error, "__notes__", [])}
        os.write(1, msgspec.json.encode(failure) + b"\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
