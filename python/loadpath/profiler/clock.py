"""Whether DevTools, the trace and the network log tell the same time.

All three count from the same origin (`base::TimeTicks`): DevTools in seconds, the trace in
microseconds, the network log in whole milliseconds.
"""

import gzip
from pathlib import Path

import msgspec

from loadpath.profiler.har import read_events
from loadpath.profiler.manifest import ClockCheck
from loadpath.profiler.netlog import read_netlog

__all__ = ["MAX_DIFFERENCE_MS", "check_clock"]

MAX_DIFFERENCE_MS = 5.0
"""Clocks that are one differ by the network log's rounding and the way between two processes."""


def check_clock(folder: Path, events: str, trace: str, netlog: str) -> ClockCheck | None:
    """Find the first request of a pass in all three."""
    document = _document(folder / events)
    if document is None:
        return None
    sent_s, url, origin_s = document
    trace_us = _navigation_start_us(folder / trace, url)
    netlog_ms = _request_ms(folder / netlog, url)
    return ClockCheck(
        request=url,
        trace_minus_devtools_ms=(
            None if trace_us is None or origin_s is None else trace_us / 1000 - origin_s * 1000
        ),
        netlog_minus_devtools_ms=None if netlog_ms is None else netlog_ms - sent_s * 1000,
    )


def _document(events: Path) -> tuple[float, str, float | None] | None:
    """Time of the first request, its URL, the monotonic origin of the navigation."""
    first = origin = None
    for event in read_events(events):
        if event.method == "Network.responseReceived" and first is None:
            response = event.decode()["response"]
            if "timing" in response:
                first = response["timing"]["requestTime"], response["url"]
        elif event.method == "Loadpath.navigation":
            origin = event.decode()["monotonic_origin_s"]
    return None if first is None else (*first, origin)


def _navigation_start_us(trace: Path, url: str) -> float | None:
    if not trace.exists():
        return None
    with gzip.open(trace, "rb") as file:
        for line in file:
            if b'"navigationStart"' not in line:
                continue
            event = msgspec.json.decode(line.rstrip().rstrip(b","))
            data = event.get("args", {}).get("data", {})
            if data.get("isOutermostMainFrame") and data.get("documentLoaderURL") == url:
                return float(event["ts"])
    return None


def _request_ms(netlog: Path, url: str) -> float | None:
    if not netlog.exists():
        return None
    for event in read_netlog(netlog, ("URL_REQUEST_START_JOB",)):
        if event.params.get("url") == url:
            return event.time_ms
    return None
