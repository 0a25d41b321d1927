"""Server processing delays of a recorded profile (thesis section 3.4.1).

A response's first byte comes one round trip and the server's processing after the end of the
request. The browser knows both ends of that interval for every request, on HTTP/1, HTTP/2 and
HTTP/3 alike; the round trip is the least that was measured to the host. A packet capture, where
there is one, shows the server's processing on HTTP/1 without the round trip: from the
acknowledgement of the request to the response (Figure 3.2).
"""

import gzip
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urldefrag, urlsplit

import msgspec

from loadpath.errors import LoadpathError
from loadpath.graphs.build.devtools import Request, read_events
from loadpath.profiler.exchanges import Exchange, NetLog, read_exchanges
from loadpath.profiler.manifest import PassKind, read_manifest
from loadpath.profiler.packets import CapturedExchange, PacketTimes, read_capture

__all__ = [
    "DELAY_TYPES",
    "CrossCheck",
    "HostTimes",
    "RequestDelay",
    "ServerDelays",
    "apply_delays",
    "delay_type",
    "keyed_resources",
    "request_keys",
    "server_delays",
]

DELAY_TYPES = ["css", "image", "javascript", "text", "post", "other"]
"""Classes of resource whose delays are measured apart, as in server-delay files."""

MAX_EMPTY_MS = 10.0
"""Most that a response without a body gets when its delay has to be drawn (section 3.4.1)."""

MAX_TYPICAL_MS = 1000.0
"""Longer delays are outliers, no part of the distributions (section 3.4.1)."""

DELAYED_ACK_MS = 30.0
"""An acknowledgement that is this late waited for the server's timer: Linux's TCP_DELACK_MIN
(include/net/tcp.h) is HZ/25, 40 ms, less a tick of at most 10 ms; other systems wait longer.
"""

INITIAL_WINDOW_BYTES = 14600
"""What a new connection may send at once (RFC 6928): less than that delays no other response."""

CLOCK_MS = 0.001
"""DevTools' clock counts microseconds."""


class RequestDelay(msgspec.Struct, kw_only=True):
    """A request and how long its server thought.

    Attributes
    ----------
    ordinal
        How many requests of the same URL and method went before it.
    type
        One of `DELAY_TYPES`.
    status
        Of the response; 0 if there was none. The delays of 304s hold for their requests alone.
    size_bytes
        Of the response body as transmitted.
    cached
        Served without asking the server, by a cache or a service worker: there is no delay.
    delay_ms, source
        None if it is not known: draw it from the distribution of the type. Sources are those of
        page graphs: "timing", "capture", "censored" (an upper bound), "host".
    passes
        How many passes measured it.
    competing_bytes
        Of other responses on the same connection while it waited (HTTP/2, HTTP/3; median).
    """

    url: str
    method: str
    ordinal: int
    host: str
    type: str
    mime_type: str
    status: int
    protocol: str
    size_bytes: int
    cached: bool = False
    delay_ms: float | None = None
    source: str | None = None
    passes: int = 0
    competing_bytes: int = 0

    @property
    def is_typical(self) -> bool:
        """Whether it counts in the distribution of its type: measured, successful, no outlier."""
        return (
            self.delay_ms is not None
            and self.source != "host"
            and 200 <= self.status < 300
            and self.delay_ms <= MAX_TYPICAL_MS
        )

    @property
    def is_queued(self) -> bool:
        """Whether so much else came on its connection meanwhile that it had to wait for that."""
        return self.competing_bytes > INITIAL_WINDOW_BYTES


class HostTimes(msgspec.Struct, kw_only=True):
    """A host and the way to it; times are None where nothing was measured.

    Attributes
    ----------
    rtt_ms
        The least of all measurements.
    rtt_source
        "connect" (TCP handshakes by the browser), "capture" (SYN to SYN+ACK), "netlog" (TCP
        handshakes in whole milliseconds), "quic" (QUIC handshakes, which hold work of the server).
    connect_ms, tls_ms, dns_ms
        Medians. `connect_ms` is TCP's handshake, on HTTP/3 all of QUIC's.
    """

    host: str
    rtt_ms: float | None
    rtt_source: str | None
    connect_ms: float | None
    tls_ms: float | None
    dns_ms: float | None
    protocols: list[str]
    addresses: list[str]
    connections: int
    requests: int


class CrossCheck(msgspec.Struct, kw_only=True):
    """How far the network log's waiting times are from DevTools'."""

    requests: int
    median_ms: float
    worst_ms: float


class ServerDelays(msgspec.Struct, kw_only=True):
    """What a profile tells about its servers.

    Attributes
    ----------
    requests
        Those of the structure pass, in order of sending.
    hosts
        In order of first use.
    """

    profile: str
    url: str
    requests: list[RequestDelay]
    hosts: list[HostTimes]
    cross_check: CrossCheck | None = None
    warnings: list[str] = []


Key = tuple[str, str, int]
"""URL, method, ordinal."""


@dataclass
class _Sample:
    """A request in one pass."""

    key: Key
    request: Request
    waited_ms: float | None = None
    netlog: Exchange | None = None
    captured: CapturedExchange | None = None


@dataclass
class _Measured:
    """Measurements of the way to the hosts.

    `rtts_ms` by host and source; `by_address` for hosts that only ever used others' connections.
    """

    rtts_ms: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    by_address: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    connects_ms: dict[str, list[float]] = field(default_factory=dict)
    tls_ms: dict[str, list[float]] = field(default_factory=dict)
    dns_ms: dict[str, list[float]] = field(default_factory=dict)
    connections: Counter[str] = field(default_factory=Counter)
    addresses: dict[str, dict[str, None]] = field(default_factory=dict)

    def add_rtt(self, host: str, address: str, source: str, rtt_ms: float) -> None:
        for by_name, name in ((self.rtts_ms, host), (self.by_address, address)):
            if name:
                by_name.setdefault(name, {}).setdefault(source, []).append(rtt_ms)

    def rtt(self, host: str) -> tuple[float, str] | None:
        """The least round trip to a host, by the finest clock that has one, and its source."""
        found = self.rtts_ms.get(host)
        if found is None:
            found = {}
            for address in self.addresses.get(host, ()):
                for source, rtts in self.by_address.get(address, {}).items():
                    found.setdefault(source, []).extend(rtts)
        for sources in (("connect", "capture"), ("netlog",), ("quic",)):
            least = [(min(found[source]), source) for source in sources if source in found]
            if least:
                return min(least)
        return None


def server_delays(profile: Path) -> ServerDelays:
    """Find the server processing delays of a recorded profile, over all its passes.

    Raises
    ------
    LoadpathError
        The folder is no profile, or its first recorded pass cannot be read.
    """
    manifest = read_manifest(profile)
    names = [p.name for p in manifest.passes if p.kind is not PassKind.PLAIN]
    warnings: list[str] = []
    measured = _Measured()
    passes: list[list[_Sample]] = []
    for name in names:
        try:
            passes.append(_read_pass(profile / name, measured, warnings))
        except LoadpathError as error:
            if not passes:
                raise
            warnings.append(str(error))
    if not passes:
        raise LoadpathError(f"{profile}: no pass has requests: profile the page again")
    requests = _combine(passes, measured)
    _draw_missing(requests)
    hosts = [_host_times(host, requests, measured) for host in dict.fromkeys(_hosts(passes[0]))]
    warnings += _doubts(requests, hosts)
    return ServerDelays(
        profile=profile.resolve().name,
        url=manifest.url,
        requests=requests,
        hosts=hosts,
        cross_check=_cross_check(passes),
        warnings=warnings,
    )


# One pass.


def _read_pass(folder: Path, measured: _Measured, warnings: list[str]) -> list[_Sample]:
    events = folder / "events.jsonl.gz"
    samples = _samples(read_events(events).requests)
    hinted_early = _early_hints(events)
    for sample in samples:
        sample.waited_ms = _waited_ms(sample.request, sample.request.id in hinted_early)
        _take_connection(sample.request, measured)
    log = _optional_netlog(folder, warnings)
    if log is not None:
        _match_netlog(samples, log)
        _take_netlog(log, measured)
    packets = _optional_capture(folder, warnings)
    if packets is not None:
        _match_capture(samples, packets.exchanges)
        for host, addresses in measured.addresses.items():
            for rtts in (packets.rtts_ms.get(address, []) for address in addresses):
                for rtt_ms in rtts:
                    measured.add_rtt(host, "", "capture", rtt_ms)
    return samples


def _samples(requests: Iterable[Request]) -> list[_Sample]:
    keys = request_keys((r.url, r.method) for r in requests)
    found = zip(keys, requests, strict=True)
    return [_Sample(key, request) for key, request in found if not _is_local(request.url)]


def request_keys(named: Iterable[tuple[str, str]]) -> list[Key]:
    """Requests by name, numbered among their likes, as they are sent."""
    count: Counter[tuple[str, str]] = Counter()
    keys = []
    for url, method in named:
        name = (urldefrag(url).url, method)
        keys.append((*name, count[name]))
        count[name] += 1
    return keys


def _is_local(url: str) -> bool:
    return url.startswith(("data:", "blob:", "about:"))


def _early_hints(events: Path) -> set[str]:
    """Requests that were answered by a 103 first."""
    found = set()
    with gzip.open(events, "rb") as file:
        for line in file:
            if b'"Network.responseReceivedEarlyHints"' in line:
                found.add(str(msgspec.json.decode(line)["params"].get("requestId")))
    return found


def _waited_ms(request: Request, early_hints: bool) -> float | None:
    """From the end of the request to the start of its (final) response, by the browser."""
    timing = request.timing
    if request.from_cache or request.from_service_worker or timing.get("sendEnd", -1) < 0:
        return None
    # "Start" is that of the first headers, interim or not.
    responded = -1.0 if early_hints else timing.get("receiveHeadersStart", -1)
    if responded < 0:
        responded = timing.get("receiveHeadersEnd", -1)
    return max(0.0, responded - timing["sendEnd"]) if responded > 0 else None


def _take_connection(request: Request, measured: _Measured) -> None:
    host, timing = _host(request.url), request.timing
    if request.remote_address:
        address = request.remote_address.strip("[]")
        measured.addresses.setdefault(host, {})[address] = None
    # Of connections that were begun for others Chromium moves the start to that of the request
    # (net/url_request/url_request.cc, ConvertRealLoadTimesToBlockingTimes): no durations then.
    blocked_from = max(0.0, timing.get("proxyEnd", -1)) + CLOCK_MS
    start, end = timing.get("connectStart", -1), timing.get("connectEnd", -1)
    if request.from_cache or start <= blocked_from:
        return
    measured.connections[host] += 1
    if timing.get("dnsStart", -1) > blocked_from:
        measured.dns_ms.setdefault(host, []).append(timing["dnsEnd"] - timing["dnsStart"])
    tls_start = timing.get("sslStart", -1)
    if request.protocol.startswith(("h3", "quic")):
        rtt_ms, source = end - start, "quic"
    else:
        rtt_ms, source = (tls_start if tls_start > 0 else end) - start, "connect"
        if tls_start > 0:
            measured.tls_ms.setdefault(host, []).append(timing["sslEnd"] - tls_start)
    measured.connects_ms.setdefault(host, []).append(rtt_ms)
    measured.add_rtt(host, request.remote_address.strip("[]"), source, rtt_ms)


def _optional_netlog(folder: Path, warnings: list[str]) -> NetLog | None:
    path = folder / "netlog.json"
    if not path.exists():
        return None
    try:
        log = read_exchanges(path)
    except LoadpathError as error:
        warnings.append(str(error))
        return None
    if not log.is_complete:
        warnings.append(f"{folder.name}: the network log is cut off")
    return log


def _match_netlog(samples: list[_Sample], log: NetLog) -> None:
    """Give each request the first answered exchange of its URL and method that is not earlier."""
    waiting: dict[tuple[str, str], list[Exchange]] = {}
    for exchange in log.exchanges:
        if exchange.responded_ms is not None:
            waiting.setdefault((exchange.url, exchange.method), []).append(exchange)
    for sample in samples:
        if sample.request.from_cache or sample.request.from_service_worker:
            continue
        exchanges = waiting.get(sample.key[:2], [])
        asked_ms = sample.request.sent / 1000
        # The log's times are rounded down.
        while exchanges and exchanges[0].sent_ms < asked_ms - 1:
            exchanges.pop(0)
        if exchanges:
            sample.netlog = exchanges.pop(0)


def _take_netlog(log: NetLog, measured: _Measured) -> None:
    for connection in log.connections:
        if connection.connect_ms is not None:
            source = "quic" if connection.is_quic else "netlog"
            measured.add_rtt(connection.host, connection.address, source, connection.connect_ms)
    for host, durations in log.dns_ms.items():
        if host not in measured.dns_ms:
            measured.dns_ms[host] = list(durations)


def _optional_capture(folder: Path, warnings: list[str]) -> PacketTimes | None:
    path, keys = folder / "capture.pcapng", folder / "sslkeys"
    if not path.exists():
        return None
    try:
        return read_capture(path, keys if keys.exists() else None)
    except LoadpathError as error:
        warnings.append(str(error))
        return None


def _match_capture(samples: list[_Sample], exchanges: list[CapturedExchange]) -> None:
    waiting: dict[tuple[str, str], list[CapturedExchange]] = {}
    for exchange in sorted(exchanges, key=lambda e: e.sent_ms):
        waiting.setdefault((exchange.url, exchange.method), []).append(exchange)
    for sample in samples:
        if sample.waited_ms is not None and waiting.get(sample.key[:2]):
            sample.captured = waiting[sample.key[:2]].pop(0)


# All passes.


def _combine(passes: list[list[_Sample]], measured: _Measured) -> list[RequestDelay]:
    """The requests of the first pass, each with its median over all passes.

    Passes differ by what the server does (it may be slower with cold caches) and by what disturbs
    the measurement. A minimum would be free of disturbances but is no typical delay; a median is,
    and is free of the rare ones.
    """
    by_key: dict[Key, list[_Sample]] = {}
    for samples in passes:
        for sample in samples:
            by_key.setdefault(sample.key, []).append(sample)
    return [_delay(by_key[sample.key], measured) for sample in passes[0]]


def _delay(samples: list[_Sample], measured: _Measured) -> RequestDelay:
    first = samples[0]
    request = first.request
    result = RequestDelay(
        url=first.key[0],
        method=first.key[1],
        ordinal=first.key[2],
        host=_host(request.url),
        type=delay_type(request.method, request.mime_type),
        mime_type=request.mime_type,
        status=request.status,
        protocol=request.protocol,
        size_bytes=request.body_bytes,
    )
    if request.from_cache or request.from_service_worker:
        result.cached = True
        return result
    found = measured.rtt(result.host)
    rtt_ms = found[0] if found else 0.0
    prompt, bounds = _captured(samples, rtt_ms)
    waits = [wait for wait in map(_wait_ms, samples) if wait is not None]
    if prompt:
        chosen, result.source = prompt, "capture"
    elif bounds:
        chosen, result.source = bounds, "censored"
    else:
        chosen = [max(0.0, wait - rtt_ms) for wait in waits]
        # Without a round trip, all of the wait may be the server's.
        result.source = "timing" if found else "censored"
    if not chosen:
        result.source = None
        return result
    result.delay_ms, result.passes = round(median(chosen), 3), len(chosen)
    competing = [s.netlog.competing_bytes for s in samples if s.netlog is not None]
    result.competing_bytes = round(median(competing)) if competing else 0
    return result


def _captured(samples: list[_Sample], rtt_ms: float) -> tuple[list[float], list[float]]:
    """Delays from the request's acknowledgement, and bounds where that came with the response.

    An acknowledgement that waited for the server's timer tells nothing: such exchanges are in
    neither list.
    """
    prompt, bounds = [], []
    for captured in (s.captured for s in samples if s.captured is not None):
        if not captured.ack_alone:
            bounds.append(max(0.0, captured.response_ms - rtt_ms))
        elif captured.ack_ms - rtt_ms < DELAYED_ACK_MS:
            prompt.append(captured.response_ms - captured.ack_ms)
    return prompt, bounds


def _wait_ms(sample: _Sample) -> float | None:
    if sample.waited_ms is not None:
        return sample.waited_ms
    return sample.netlog.wait_ms if sample.netlog is not None else None


def _draw_missing(requests: list[RequestDelay]) -> None:
    """Draw what is missing from the delays of the same host and MIME type.

    The URL decides which, so that a profile gives the same delays whenever it is read.
    """
    known: dict[tuple[str, bool, str], list[float]] = {}
    alone: dict[str, list[float]] = {}
    for request in requests:
        if request.delay_ms is not None and not request.is_queued and request.source == "timing":
            alone.setdefault(request.host, []).append(request.delay_ms)
    for request in requests:
        if request.is_queued and request.source == "timing" and alone.get(request.host):
            # On a shared connection the wait is mostly that for other responses, which a
            # simulation has anyway.
            usual = median(alone[request.host])
            if usual < (request.delay_ms or 0.0):
                request.delay_ms, request.source = usual, "host"
    for request in requests:
        if request.is_typical and request.delay_ms is not None:
            known.setdefault(_kin(request), []).append(request.delay_ms)
    for request in requests:
        if request.delay_ms is not None or request.cached:
            continue
        delays = sorted(known.get(_kin(request), []))
        if not delays:
            continue
        name = f"{request.method} {request.url} {request.ordinal}"
        digest = hashlib.sha256(name.encode()).digest()
        drawn = delays[int.from_bytes(digest[:8], "big") % len(delays)]
        is_empty = request.status == 204 or request.size_bytes == 0
        request.delay_ms = min(drawn, MAX_EMPTY_MS) if is_empty else drawn
        request.source = "host"


def _kin(request: RequestDelay) -> tuple[str, bool, str]:
    return request.host, request.type == "post", request.mime_type


def _hosts(samples: Iterable[_Sample]) -> Iterator[str]:
    return (_host(sample.request.url) for sample in samples)


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _host_times(host: str, requests: list[RequestDelay], measured: _Measured) -> HostTimes:
    own = [request for request in requests if request.host == host]
    rtt = measured.rtt(host)

    def middle(durations: dict[str, list[float]]) -> float | None:
        return round(median(durations[host]), 3) if durations.get(host) else None

    return HostTimes(
        host=host,
        rtt_ms=round(rtt[0], 3) if rtt else None,
        rtt_source=rtt[1] if rtt else None,
        connect_ms=middle(measured.connects_ms),
        tls_ms=middle(measured.tls_ms),
        dns_ms=middle(measured.dns_ms),
        protocols=sorted({request.protocol for request in own} - {""}),
        addresses=list(measured.addresses.get(host, {})),
        connections=measured.connections[host],
        requests=len(own),
    )


def _cross_check(passes: list[list[_Sample]]) -> CrossCheck | None:
    differences = [
        abs(sample.netlog.wait_ms - sample.waited_ms)
        for samples in passes
        for sample in samples
        if sample.waited_ms is not None
        and sample.netlog is not None
        and sample.netlog.wait_ms is not None
    ]
    if not differences:
        return None
    return CrossCheck(
        requests=len(differences),
        median_ms=round(median(differences), 3),
        worst_ms=round(max(differences), 3),
    )


def _doubts(requests: list[RequestDelay], hosts: list[HostTimes]) -> list[str]:
    doubts = [
        f"{host.host}: no connection was measured, so the round trip counts as server delay"
        for host in hosts
        if host.rtt_ms is None and any(r.host == host.host and r.passes for r in requests)
    ]
    competing = sum(1 for r in requests if r.source == "timing" and r.is_queued)
    if competing:
        doubts.append(
            f"{competing} of {len(requests)} requests waited while other responses came on their "
            "connection: their delays may be too long on slow networks (--http1 has no such effect)"
        )
    return doubts


# For page graphs.


def delay_type(method: str, mime_type: str) -> str:
    """The type of a request, one of `DELAY_TYPES`; the engine has the same rule.

    >>> delay_type("GET", "text/javascript"), delay_type("POST", "text/javascript")
    ('javascript', 'post')
    """
    mime_type = mime_type.lower()
    if method.upper() == "POST":
        return "post"
    if "html" in mime_type:
        return "text"
    if "css" in mime_type:
        return "css"
    if "javascript" in mime_type or "ecmascript" in mime_type:
        return "javascript"
    if mime_type.startswith("image/"):
        return "image"
    return "text" if mime_type.startswith("text/") else "other"


def keyed_resources(graph: dict[str, Any]) -> Iterator[tuple[Key, dict[str, Any]]]:
    """The resources of a page graph (as JSON values) in order of sending, with their keys."""
    resources = [a for a in graph["activities"] if a["type"] == "resource"]
    resources.sort(key=lambda resource: resource.get("recorded_sent_ms", 0.0))
    keys = request_keys((r["url"], r.get("method", "GET")) for r in resources)
    yield from zip(keys, resources, strict=True)


def apply_delays(graph: dict[str, Any], delays: ServerDelays) -> None:
    """Give the resources of a page graph (as JSON values) their server delays.

    Resources that another's response serves, or a cache, get none; nor do those whose delay is not
    known, for which the simulation draws from the distribution of the type.
    """
    known = {(d.url, d.method, d.ordinal): d for d in delays.requests}
    for key, resource in keyed_resources(graph):
        found = known.get(key)
        if found is None or found.delay_ms is None:
            continue
        if "original" not in resource and not resource.get("cached"):
            resource["server_delay_ms"] = found.delay_ms
            resource["server_delay_source"] = found.source
