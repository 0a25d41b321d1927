"""The process of a link: `python -m loadpath.testbed.host`, started by `loadpath.testbed.link`.

It reads one line of JSON, makes the namespaces and becomes two processes: the second is the first
one of the link's process-id namespace, and runs the link. When standard input ends, the link stops
and its report is printed. When the parent, the first or the second process ends in any other way,
the kernel ends everything in the namespaces.
"""

import os
import select
import signal
import sys
from contextlib import suppress

import msgspec

from loadpath._core import (
    LoadpathError,
    Namespaces,
    Scenario,
    become_init,
    link_addresses,
)

_LOOK_S = 1.0
"""How often to look whether the link has failed by itself."""


class Request(msgspec.Struct):
    """The line that is read."""

    parent: int
    scenario: str
    congestion: str
    delay_ms: list[tuple[float, float]]
    """Towards the client and towards the server, path by path."""
    run: int
    tap: str | None


def main() -> int:
    """Run one link."""
    try:
        return _main()
    except LoadpathError as error:
        _print({"error": str(error), "hints": getattr(error, "__notes__", [])})
        return 1


def _main() -> int:
    parent = os.pidfd_open(os.getppid())
    line = sys.stdin.buffer.readline()
    if not line:
        return 1
    request = msgspec.json.decode(line, type=Request)
    # The parent may have ended before there was a descriptor to watch it by.
    if os.getppid() != request.parent:
        return 1
    namespaces = Namespaces.create()
    this = os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        # Only the child is to hold the ends of the pipes: they tell of its death.
        os.close(0)
        os.close(1)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status) and 1
    become_init()
    link = namespaces.start_link(
        Scenario.resolve(toml=(request.scenario, "scenario")),
        request.congestion,
        request.delay_ms,
        request.run,
        request.tap,
    )
    # Whatever ends in the namespaces without a parent is not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    client, server = namespaces.descriptors
    client_addresses, server_address, server_addresses = link_addresses()
    _print(
        {
            "client": client,
            "server": server,
            "client_addresses": client_addresses[: len(request.delay_ms)],
            "server_address": server_address,
            "server_addresses": server_addresses,
        }
    )
    while not select.select([0, parent, this], [], [], _LOOK_S)[0] and not link.failed:
        pass
    report = link.stop()
    # The parent may have been killed.
    with suppress(BrokenPipeError):
        os.write(1, report + b"\n")
    return 0


def _print(message: object) -> None:
    os.write(1, msgspec.json.encode(message) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
