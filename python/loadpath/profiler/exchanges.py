"""Chromium's network log: when requests left, when their responses came, how connections began.

The log is one event a line, so it is read as a stream, and one that was cut off with the browser is
good up to the cut. Its times are whole milliseconds of the clock of DevTools; both ends of an
interval are rounded down, so that an interval is right within 1 ms. Names of events and their
parameters: Chromium `net/log/net_log_event_type_list.h`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import msgspec

from loadpath.errors import LoadpathError, hinted
from loadpath.profiler.netlog import NetLogEvent, read_netlog

__all__ = ["Connection", "Exchange", "NetLog", "read_exchanges"]


@dataclass
class Exchange:
    """A request that went out, and when the final headers of its response came.

    Attributes
    ----------
    sent_ms, responded_ms
        On the browser's monotonic clock.
    competing_bytes
        Bodies of other streams that came on the same connection in between: the response may have
        waited behind them.
    """

    url: str
    method: str
    sent_ms: float
    responded_ms: float | None = None
    competing_bytes: int = 0

    @property
    def wait_ms(self) -> float | None:
        """From the end of the request to the response."""
        return None if self.responded_ms is None else self.responded_ms - self.sent_ms


@dataclass
class Connection:
    """A transport connection as it was made.

    Attributes
    ----------
    address
        Without the port.
    connect_ms
        TCP: the handshake. QUIC: from the first packet sent to the first received, which
        includes the server's share of the TLS handshake.
    tls_ms
        The TLS handshake after TCP's.
    """

    host: str
    is_quic: bool = False
    address: str = ""
    connect_ms: float | None = None
    tls_ms: float | None = None


@dataclass
class NetLog:
    """What a network log holds.

    Attributes
    ----------
    exchanges
        In order of sending.
    dns_ms
        Durations of look-ups that were not answered from a cache, by host.
    is_complete
        False if the browser ended before it had written the last line.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    dns_ms: dict[str, list[float]] = field(default_factory=dict)
    is_complete: bool = False


_BEGIN, _END = 1, 2

# Chromium writes a group as "https://host:port <isolation key>", sometimes with a prefix.
_GROUP = re.compile(r"https?://(\[[^\]]*\]|[^\s/:<>]+)")


def read_exchanges(path: Path) -> NetLog:
    """Read a network log.

    Raises
    ------
    LoadpathError
        The file cannot be read, or is no network log.
    """
    reader = _Reader()
    try:
        for event in read_netlog(path, reader.handlers):
            reader.handlers[event.name](event)
        reader.log.is_complete = _is_complete(path)
    except (OSError, KeyError, msgspec.MsgspecError) as error:
        raise hinted(
            LoadpathError(f"{path}: not a network log: {error}"),
            "Chromium writes one with --log-net-log",
        ) from None
    return reader.log


def _is_complete(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 16))
        return file.read().rstrip().endswith(b"\n}")


class _Reader:
    """Follows requests, streams and sockets through the events; a method for each kind."""

    def __init__(self) -> None:
        self.log = NetLog()
        self._asked: dict[int, tuple[str, str]] = {}
        self._http1: dict[int, Exchange] = {}
        self._streams: dict[tuple[int, int], Exchange] = {}
        self._received: dict[int, int] = {}
        self._received_before: dict[tuple[int, int], int] = {}
        self._groups: dict[int, str] = {}
        self._sockets: dict[int, Connection] = {}
        self._begun: dict[tuple[int, str], float] = {}
        self._look_ups: dict[int, tuple[str, float]] = {}
        self.handlers: dict[str, Callable[[NetLogEvent], None]] = {
            "URL_REQUEST_START_JOB": self._job,
            "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": self._request_headers,
            "HTTP_TRANSACTION_SEND_REQUEST": self._request,
            "HTTP_TRANSACTION_READ_HEADERS": self._response,
            "HTTP2_SESSION_SEND_HEADERS": self._request_on_stream,
            "HTTP2_SESSION_SEND_DATA": self._body_sent_on_stream,
            "HTTP2_SESSION_RECV_HEADERS": self._response_on_stream,
            "HTTP2_SESSION_RECV_DATA": self._body_on_stream,
            "HTTP3_HEADERS_SENT": self._request_on_stream,
            "HTTP3_DATA_SENT": self._body_sent_on_stream,
            "HTTP3_HEADERS_DECODED": self._response_on_stream,
            "HTTP3_DATA_FRAME_RECEIVED": self._body_on_stream,
            "SOCKET_POOL_CONNECT_JOB_CREATED": self._connect_job,
            "SOCKET_ALIVE": self._socket,
            "TCP_CONNECT_ATTEMPT": self._tcp_handshake,
            "SSL_CONNECT": self._tls_handshake,
            "QUIC_SESSION": self._quic_session,
            "QUIC_SESSION_PACKET_SENT": self._quic_packet_sent,
            "QUIC_SESSION_PACKET_RECEIVED": self._quic_packet_received,
            "HOST_RESOLVER_MANAGER_JOB": self._look_up,
        }

    # HTTP/1: the exchange is told by the request's own events.

    def _job(self, event: NetLogEvent) -> None:
        if event.phase == _BEGIN:
            url = urldefrag(event.params.get("url", "")).url
            self._asked[event.source] = (url, event.params.get("method", "GET"))
            self._http1.pop(event.source, None)

    def _request_headers(self, event: NetLogEvent) -> None:
        asked = self._asked.get(event.source)
        if asked is not None:
            exchange = Exchange(*asked, sent_ms=event.time_ms)
            self._http1[event.source] = exchange
            self.log.exchanges.append(exchange)

    def _request(self, event: NetLogEvent) -> None:
        exchange = self._http1.get(event.source)
        if exchange is not None and event.phase == _END:
            exchange.sent_ms = event.time_ms

    def _response(self, event: NetLogEvent) -> None:
        exchange = self._http1.get(event.source)
        if exchange is not None and event.phase == _END and "net_error" not in event.params:
            exchange.responded_ms = event.time_ms

    # HTTP/2 and HTTP/3: by the streams of their sessions.

    def _request_on_stream(self, event: NetLogEvent) -> None:
        fields = _pseudo_headers(event.params)
        url = f"{fields.get(':scheme')}://{fields.get(':authority')}{fields.get(':path')}"
        stream = _stream(event)
        exchange = Exchange(url, fields.get(":method", ""), sent_ms=event.time_ms)
        self._streams[stream] = exchange
        self._received_before[stream] = self._received.get(event.source, 0)
        self.log.exchanges.append(exchange)

    def _response_on_stream(self, event: NetLogEvent) -> None:
        stream = _stream(event)
        exchange = self._streams.get(stream)
        status = _pseudo_headers(event.params).get(":status", "")
        # Interim responses (RFC 9110 section 15.2) say nothing about the final one.
        if exchange is None or exchange.responded_ms is not None or status.startswith("1"):
            return
        exchange.responded_ms = event.time_ms
        received = self._received.get(event.source, 0)
        exchange.competing_bytes = received - self._received_before[stream]

    def _body_sent_on_stream(self, event: NetLogEvent) -> None:
        exchange = self._streams.get(_stream(event))
        if exchange is not None and exchange.responded_ms is None:
            exchange.sent_ms = event.time_ms

    def _body_on_stream(self, event: NetLogEvent) -> None:
        # HTTP/2 says "size", HTTP/3 "payload_length".
        size = int(event.params.get("size", event.params.get("payload_length", 0)))
        self._received[event.source] = self._received.get(event.source, 0) + size

    # Connections.

    def _connect_job(self, event: NetLogEvent) -> None:
        found = _GROUP.search(event.params.get("group_id", ""))
        if found:
            self._groups[event.source] = found[1].strip("[]").lower()

    def _socket(self, event: NetLogEvent) -> None:
        if event.phase == _BEGIN:
            job = event.params.get("source_dependency", {}).get("id")
            if job in self._groups:
                self._sockets[event.source] = Connection(self._groups[job])

    def _duration_ms(self, event: NetLogEvent) -> float | None:
        """Of a pair of events that ended well."""
        key = (event.source, event.name)
        if event.phase == _BEGIN:
            self._begun[key] = event.time_ms
            return None
        begun = self._begun.pop(key, None)
        return None if begun is None or "net_error" in event.params else event.time_ms - begun

    def _tcp_handshake(self, event: NetLogEvent) -> None:
        connection = self._sockets.get(event.source)
        if connection is None:
            return
        if event.phase == _BEGIN:
            connection.address = _without_port(event.params.get("address", ""))
        connection.connect_ms = self._duration_ms(event)
        if connection.connect_ms is not None:
            self.log.connections.append(connection)

    def _tls_handshake(self, event: NetLogEvent) -> None:
        connection = self._sockets.get(event.source)
        if connection is not None:
            connection.tls_ms = self._duration_ms(event)

    def _quic_session(self, event: NetLogEvent) -> None:
        if event.phase == _BEGIN:
            host = str(event.params.get("host", "")).strip("[]").lower()
            self._sockets[event.source] = Connection(host, is_quic=True)

    def _quic_packet_sent(self, event: NetLogEvent) -> None:
        self._begun.setdefault((event.source, ""), event.time_ms)

    def _quic_packet_received(self, event: NetLogEvent) -> None:
        connection = self._sockets.get(event.source)
        begun = self._begun.get((event.source, ""))
        if connection is not None and connection.connect_ms is None and begun is not None:
            connection.connect_ms = event.time_ms - begun
            connection.address = _without_port(event.params.get("peer_address", ""))
            self.log.connections.append(connection)

    # Look-ups.

    def _look_up(self, event: NetLogEvent) -> None:
        if event.phase == _BEGIN:
            host = event.params.get("host", "")
            found = _GROUP.search(host)
            self._look_ups[event.source] = ((found[1] if found else host).lower(), event.time_ms)
        elif event.source in self._look_ups and "net_error" not in event.params:
            host, begun = self._look_ups.pop(event.source)
            self.log.dns_ms.setdefault(host, []).append(event.time_ms - begun)


def _stream(event: NetLogEvent) -> tuple[int, int]:
    """Session and stream."""
    return event.source, event.params.get("stream_id", -1)


def _pseudo_headers(params: dict[str, Any]) -> dict[str, str]:
    """The fields ":name: value", which come first (RFC 9113 section 8.3)."""
    fields = {}
    for line in params.get("headers", []):
        if not line.startswith(":"):
            break
        name, _, value = line[1:].partition(": ")
        fields[f":{name}"] = value
    return fields


def _without_port(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")
