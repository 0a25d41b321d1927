"""One command behind a link, with servers at the other end: what `loadpath link` does."""

import os
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from loadpath.errors import LinkError
from loadpath.output import refuse_existing, write_atomic
from loadpath.parameters import scenario_values
from loadpath.testbed.link import LinkSettings, open_link
from loadpath.testbed.report import LinkReport

__all__ = ["Session", "drops"]


_DROP = re.compile(r"([0-9]{1,5}:)?[0-9]{1,15}")


def drops(option: str, text: str | None) -> list[str] | None:
    """Numbers of packets, or flows and their numbers, "3,7,0:12".

    >>> drops("--drop-up", "3, 0:12")
    ['3', '0:12']
    """
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    if not all(map(_DROP.fullmatch, words)):
        raise LinkError(
            f"{option} {text}: expected numbers from 0 or FLOW:NUMBER, separated by commas"
        )
    return words


@dataclass(frozen=True)
class Session:
    """A command, the link before it, and the servers behind that."""

    settings: LinkSettings
    servers: Sequence[str]
    """Commands for the shell."""
    wait_ports: Sequence[str]
    """See `Link.start_server`."""
    command: Sequence[str]
    """Arguments; empty for a shell."""

    def run(
        self, json: Path | None, *, force: bool, note: Callable[[str], object]
    ) -> tuple[int, LinkReport]:
        """Run it all; the exit status of the command, and what the link did.

        Raises
        ------
        LinkError
            There can be no link, or a server did not start.
        """
        tap = self.settings.get("tap")
        for file in (json, tap):
            if file is not None:
                refuse_existing(Path(file), force=force)
        with open_link(**self.settings) as link:
            note(link.describe())
            servers = [link.start_server(server, stdout=2) for server in self.servers]
            for port in self.wait_ports:
                link.wait_for_port(port, servers)
            command = self.command or [os.environ.get("SHELL", "/bin/sh")]
            process = link.popen("client", command)
            # Ctrl-C is for the command: whether it ends is its own decision.
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                status = process.wait()
            finally:
                signal.signal(signal.SIGINT, before)
            report = link.close()
        if json is not None:
            record = {"scenario": scenario_values(link.scenario), "report": report}
            write_atomic(json, msgspec.json.encode(record) + b"\n", force=force)
        return status, report
