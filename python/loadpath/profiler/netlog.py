"""Chromium's network log (`--log-net-log`): one JSON document, one event a line.

(https://www.chromium.org/developers/design-documents/network-stack/netlog/) A browser that is
killed leaves it without its end, which does no harm here.
"""

import base64
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from loadpath.profiler.manifest import TlsHandshake

__all__ = ["NetLogEvent", "read_netlog", "tls_handshakes"]

PHASE_END = 2
"""`NetLogEventPhase::END`."""


class NetLogEvent(msgspec.Struct, frozen=True):
    """One event; its time is in ms on the clock of DevTools' monotonic times."""

    name: str
    source: int
    phase: int
    time_ms: float
    params: dict[str, Any]


class _Source(msgspec.Struct):
    id: int


class _Line(msgspec.Struct):
    source: _Source
    time: str
    type: int
    phase: int = 0
    params: dict[str, Any] = {}


_LINE = msgspec.json.Decoder(_Line)


def read_netlog(path: Path, names: Collection[str]) -> Iterator[NetLogEvent]:
    """The events of these types, in order; others are not even decoded."""
    with path.open("rb") as file:
        head = msgspec.json.decode(file.readline().rstrip().rstrip(b",") + b"}")
        numbers = head["constants"]["logEventTypes"]
        wanted = {str(numbers[name]).encode(): name for name in names if name in numbers}
        for line in file:
            # The type is each line's last member.
            name = wanted.get(line.rpartition(b'"type":')[2].rstrip(b"}],\n\r "))
            if name is None or not line.startswith(b"{"):
                continue
            try:
                event = _LINE.decode(line.rstrip(b"],\n\r "))
            except msgspec.DecodeError:
                continue
            yield NetLogEvent(name, event.source.id, event.phase, float(event.time), event.params)


def tls_handshakes(path: Path) -> list[TlsHandshake]:
    """Sizes of the TLS handshakes over TCP; those of QUIC are not told apart in the log."""
    sizes: dict[int, list[int]] = {}
    addresses: dict[int, str] = {}
    handshakes = []
    for event in read_netlog(
        path,
        (
            "TCP_CONNECT",
            "SSL_HANDSHAKE_MESSAGE_SENT",
            "SSL_HANDSHAKE_MESSAGE_RECEIVED",
            "SSL_CONNECT",
        ),
    ):
        if event.name == "TCP_CONNECT":
            addresses[event.source] = event.params.get("remote_address", "")
        elif event.name.startswith("SSL_HANDSHAKE_MESSAGE"):
            sent_received = sizes.setdefault(event.source, [0, 0])
            size = len(base64.b64decode(event.params.get("bytes", "")))
            if event.name.endswith("RECEIVED"):
                sent_received[1] += size
            elif sent_received[0] == 0:
                # The first message is the ClientHello.
                sent_received[0] = size
        elif event.phase == PHASE_END and sizes.get(event.source, [0])[0]:
            # What comes later are session tickets.
            client, server = sizes.pop(event.source)
            handshakes.append(
                TlsHandshake(
                    address=addresses.get(event.source, ""),
                    client_hello_bytes=client,
                    server_flight_bytes=server,
                    resumed=bool(event.params.get("is_resumed")),
                )
            )
    return handshakes
