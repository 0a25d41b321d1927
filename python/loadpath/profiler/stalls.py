"""What the browser takes from asking for a resource until its network stack acts on it.

A request passes from the renderer to the network service, on threads that are busy with other
things; a navigation passes through the browser process first. DevTools has both ends: when it was
asked for, and when the network stack began to look the name up, to connect, or, on a connection
that was there, to send. Waits for a connection are left out, since they depend on the network. So
is how long Chromium's scheduler keeps back what can be delayed (priorities below medium), which
gets what the others take at most.
"""

from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from loadpath.errors import LoadpathError
from loadpath.graphs.build.devtools import Request, read_events
from loadpath.profiler.delays import Key, keyed_resources, request_keys

__all__ = ["apply_stalls", "request_stalls"]

DELAYABLE = frozenset({"Low", "VeryLow"})
"""Chromium's services/network/resource_scheduler: requests below medium priority."""


def request_stalls(profile: Path) -> dict[Key, float]:
    """Stalls in ms, medians over a profile's timing passes that can be read."""
    samples: dict[Key, list[float]] = defaultdict(list)
    delayable: set[Key] = set()
    roots: set[Key] = set()
    for folder in sorted(profile.glob("timing-*")):
        try:
            requests = read_events(folder / "events.jsonl.gz").requests
        except LoadpathError:
            # The builder warns of it.
            continue
        keys = request_keys((request.url, request.method) for request in requests)
        roots.update(keys[:1])
        for key, request in zip(keys, requests, strict=True):
            stalled = _stalled_ms(request)
            if stalled is not None:
                samples[key].append(stalled)
                if request.priority in DELAYABLE:
                    delayable.add(key)
    found = {key: median(values) for key, values in samples.items()}
    urgent = [stall for key, stall in found.items() if key not in delayable | roots]
    if urgent:
        most = median(urgent)
        found |= {key: min(found[key], most) for key in delayable if key in found}
    return found


def apply_stalls(graph: dict[str, Any], stalls: dict[Key, float]) -> None:
    """Give the resources of a page graph (as JSON values) their stalls."""
    for key, resource in keyed_resources(graph):
        stalled = stalls.get(key)
        if stalled is not None and "original" not in resource and not resource.get("cached"):
            resource["stalled_ms"] = round(stalled, 3)


def _stalled_ms(request: Request) -> float | None:
    timing = request.timing
    if request.from_cache or request.from_service_worker or timing.get("sendStart", -1) < 0:
        return None
    # Redirects keep their first request's time of asking.
    if request.hop:
        return None
    begun = [timing[name] for name in ("dnsStart", "connectStart") if timing.get(name, -1) >= 0]
    if not begun and not request.protocol.startswith("http/1"):
        begun = [timing["sendStart"]]
    asked_ms = request.sent / 1000
    return max(0.0, 1000 * timing["requestTime"] - asked_ms + min(begun, default=0.0))
