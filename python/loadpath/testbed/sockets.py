"""What the kernel really uses for each TCP connection or MPTCP subflow, read back by `ss`.

What was asked for need not be what is used: a congestion controller of a route does not reach every
socket, MPTCP falls back to TCP in silence.
"""

import re
import subprocess

import msgspec

from loadpath.errors import LinkError
from loadpath.testbed.link import End, Link

__all__ = ["TcpSocket", "own_sockets", "parse_sockets", "read_sockets"]

_SS = ["ss", "--tcp", "--info", "--numeric", "--no-header", "--oneline"]
"""Established TCP sockets with what the kernel knows of them, a line each."""


class TcpSocket(msgspec.Struct, frozen=True, kw_only=True):
    """An established TCP socket."""

    local: tuple[str, int]
    peer: tuple[str, int]
    congestion: str
    """Congestion controller."""
    cwnd_segments: int
    rtt_ms: float | None
    """Smoothed."""
    mss: int
    bytes_sent: int
    """With those sent again."""
    bytes_received: int
    segments_out: int
    retransmissions: int
    """Segments sent again so far."""
    subflow: bool
    """It is a subflow of an MPTCP connection."""


def read_sockets(link: Link, end: End) -> list[TcpSocket]:
    """All established TCP sockets at an end.

    Raises
    ------
    LinkError
        `ss` of iproute2 failed.
    """
    result = link.run(end, _SS, capture_output=True, text=True)
    if result.returncode:
        raise LinkError(f"cannot read sockets: {result.stderr.strip()}")
    return parse_sockets(result.stdout)


def own_sockets() -> list[TcpSocket]:
    """The same for the namespace of this process."""
    return parse_sockets(subprocess.run(_SS, capture_output=True, text=True, check=True).stdout)


def parse_sockets(text: str) -> list[TcpSocket]:
    """What `ss` prints."""
    sockets = []
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] != "ESTAB":
            continue
        # State, two queues, two addresses; then the controller's name before what has colons.
        info = words[5:]
        values = dict(re.findall(r"\b([a-z_]+):(\S+)", line))
        rtt = values.get("rtt", "").partition("/")[0]
        sockets.append(
            TcpSocket(
                local=_address(words[3]),
                peer=_address(words[4]),
                congestion=next((word for word in info if ":" not in word and word.isalnum()), ""),
                cwnd_segments=int(values.get("cwnd", 0)),
                rtt_ms=float(rtt) if rtt else None,
                mss=int(values.get("mss", 0)),
                bytes_sent=int(values.get("bytes_sent", 0)),
                bytes_received=int(values.get("bytes_received", 0)),
                segments_out=int(values.get("segs_out", 0)),
                retransmissions=int(values.get("retrans", "0/0").rpartition("/")[2]),
                subflow="tcp-ulp-mptcp" in info,
            )
        )
    return sockets


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.partition("%")[0], int(port)
