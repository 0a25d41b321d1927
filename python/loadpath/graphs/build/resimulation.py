"""A profiled page in simulation, on the network that it was profiled on."""

from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import msgspec

from loadpath.api import simulate
from loadpath.graphs.build.profile import BuildSummary, write_profile_graph
from loadpath.profiler import PassKind, read_manifest
from loadpath.profiler.delays import HostTimes, server_delays

__all__ = ["Resimulation", "resimulate"]

RATE = "1gbit"
"""A profile does not tell the rate of its network: this one leaves the time to RTTs and pages."""

CONNECTIONS = {"h1": 6, "h2": 1}
"""Chromium, net/socket/client_socket_pool_manager.cc: six a host, one for HTTP/2."""


class Resimulation(msgspec.Struct, kw_only=True):
    """Measured and simulated load of a profiled page, in milliseconds.

    Attributes
    ----------
    graph
        How well the graph explains the load.
    rtt_ms, rate, http
        The simulated network: the least round trip that was measured to the page's host, a rate
        that does not matter, the HTTP version that the host spoke.
    measured_ms, measured_dom_content_loaded_ms
        Median of the plain passes (observed), or of the timing passes if there are none.
    simulated_ms, simulated_dom_content_loaded_ms
        Profile `linux` (simulated).
    """

    graph: BuildSummary
    rtt_ms: float
    rate: str
    http: str
    measured_ms: float | None
    measured_dom_content_loaded_ms: float | None
    simulated_ms: float | None
    simulated_dom_content_loaded_ms: float | None


def resimulate(folder: Path, *, force: bool = False) -> Resimulation:
    """Build the graph of a profile and load it in simulation.

    Raises
    ------
    LoadpathError
        The profile is damaged, or its graph exists and `force` is not given.
    """
    summary = write_profile_graph(folder, force=force)
    manifest = read_manifest(folder)
    host = _host(server_delays(folder).hosts, urlsplit(manifest.url).hostname or "")
    http = "h2" if host is not None and "h2" in host.protocols else "h1"
    rtt_ms = host.rtt_ms if host is not None and host.rtt_ms is not None else 0.0
    parameters: dict[str, Any] = {"profile": "linux", "rate": RATE, "rtt_ms": max(rtt_ms, 0.1)}
    is_secure = urlsplit(manifest.url).scheme == "https"
    [outcome] = simulate(
        summary.path,
        http=http,
        connections=CONNECTIONS[http],
        set={"http.tls": "1.3" if is_secure else "none"},
        **parameters,
    )
    plain = [p for p in manifest.passes if p.kind is PassKind.PLAIN and p.load_ms is not None]
    timing = [p for p in manifest.passes if p.kind is PassKind.TIMING and p.load_ms is not None]
    passes = plain or timing
    return Resimulation(
        graph=summary,
        rtt_ms=parameters["rtt_ms"],
        rate=RATE,
        http=http,
        measured_ms=_median([p.load_ms for p in passes]),
        measured_dom_content_loaded_ms=_median([p.dom_content_loaded_ms for p in passes]),
        simulated_ms=outcome.plt_ms,
        simulated_dom_content_loaded_ms=outcome.dcl_ms,
    )


def _host(hosts: list[HostTimes], name: str) -> HostTimes | None:
    return next((host for host in hosts if host.host == name), None)


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
