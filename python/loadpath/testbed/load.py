"""What a real load gives: times, requests, and how far it can be believed.

Times are milliseconds since the navigation's fetchStart, sizes bytes.
"""

from typing import Literal, TypeAlias

import msgspec

from loadpath.profiler.manifest import TlsHandshake
from loadpath.testbed.machine import Machine
from loadpath.testbed.report import LinkReport
from loadpath.testbed.sockets import TcpSocket

__all__ = ["Http", "Load", "LoadStatus", "PageLoad", "Request"]

Http: TypeAlias = Literal["h1", "h2", "h3"]
"""HTTP version, as browsers' network panels shorten it."""

LoadStatus: TypeAlias = Literal["complete", "partial", "failed"]
"""Partial: the load event did not come, but what had come until then is there."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request of the page, as Chromium's Network domain told of it; each redirect is one."""

    url: str
    method: str = "GET"
    kind: str = ""
    """Document, Stylesheet, Script, Image, ... (Network.ResourceType)."""
    mime_type: str = ""
    status: int = 0
    protocol: str = ""
    """ALPN name of the protocol that was used: "http/1.1", "h2", "h3"."""
    priority: str = ""
    """The browser's, when it sent the request: VeryLow to VeryHigh."""
    address: str = ""
    """The server's, with its port."""
    connection: int = 0
    """The browser's number of the connection; 0 if there was none."""
    reused: bool = False
    """Another request had opened that connection."""
    start_ms: float
    """When the page asked for it."""
    dns_start_ms: float | None = None
    connect_start_ms: float | None = None
    connect_end_ms: float | None = None
    """With TLS."""
    send_start_ms: float | None = None
    send_end_ms: float | None = None
    response_start_ms: float | None = None
    """First byte of the response's headers."""
    end_ms: float | None = None
    """Last byte of the body; None if it did not come."""
    body_bytes: int = 0
    """As transferred, that is compressed."""
    transferred_bytes: int = 0
    """With headers, as they were on the wire."""
    cached: bool = False
    error: str | None = None
    """Why there is no response."""


class PageLoad(msgspec.Struct, kw_only=True):
    """What the browser says of a load."""

    status: LoadStatus
    reason: str | None = None
    load_ms: float | None = None
    """loadEventStart."""
    dom_content_loaded_ms: float | None = None
    """domContentLoadedEventStart."""
    first_contentful_paint_ms: float | None = None
    largest_contentful_paint_ms: float | None = None
    """The last candidate until half a second after the load event."""
    rum_speed_index_ms: float | None = None
    """An estimate of the Speed Index without pictures: see `paint.js`."""
    requests: list[Request] = []
    browser: str = ""
    """Product and version."""
    tls: list[TlsHandshake] = []
    """Sizes of handshakes, if there is a network log of everything."""
    warnings: list[str] = []


class Load(PageLoad, kw_only=True):
    """A load with its surroundings."""

    http: Http | None = None
    """The version that was forced."""
    sockets: list[TcpSocket] = []
    """Connections at the server's end; none over QUIC, or without a link."""
    machine: Machine | None = None
    link: LinkReport | None = None
    misses: list[str] = []
    """URLs that the page asked for and the server has no response to."""
    doubts: list[str] = []
    """Why the load is not to be believed: a late link, a busy machine, another protocol."""

    @property
    def believed(self) -> bool:
        """Whether the page's load event came, over a link on time on an idle machine."""
        return self.load_ms is not None and not self.doubts
