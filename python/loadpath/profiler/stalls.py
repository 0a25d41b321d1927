"""What the browser takes from asking for a resource until its network stack acts on it.

A request passes from the renderer to the network service, on threads that are busy with other
things; a navigation passes through the browser process first. DevTools has both ends: when it was
asked for, and when the network stack began to look the name up, to connect, or, on a connection
that was there, to send. Waits for a connection are left out, since they depend on the network. So
is how long Chromium's scheduler holds back what is less urgent (`browser.tight_mode` simulates it):
that gets what the others take at most.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from loadpath.errors import LoadpathError
from loadpath.graphs.build.devtools import Request, read_events
from loadpath.profiler.delays import Key, keyed_resources, request_keys

__all__ = ["apply_stalls", "request_stalls"]

HELD_BACK = frozenset({"Medium", "Low", "VeryLow"})
"""Priorities of requests that Chromium may hold back: third_party/blink/renderer/platform/loader/
fetch/resource_load_scheduler.cc."""


def request_stalls(profile: Path) -> dict[Key, float]:
    """Stalls in ms, medians over a profile's timing passes that can be read."""
    samples: dict[Key, list[float]] = defaultdict(list)
    held_back: set[Key] = set()
    roots: set[Key] = set()
    for folder in sorted(profile.glob("timing-*")):
        try:
            requests = read_events(folder / "events.jsonl.gz").requests
        except LoadpathError:
            # The builder warns of it.
            continue
        keys = request_keys((request.url, request.method) for request in requests)
        roots.update(keys[:1])
        for key, request, stalled in zip(keys, requests, _in_order(requests), strict=True):
            if stalled is not None:
                samples[key].append(stalled)
                if request.priority in HELD_BACK:
                    held_back.add(key)
    found = {key: median(values) for key, values in samples.items()}
    urgent = [stall for key, stall in found.items() if key not in held_back | roots]
    if urgent:
        most = median(urgent)
        found |= {key: min(found[key], most) for key in held_back if key in found}
    return found


def apply_stalls(graph: dict[str, Any], stalls: dict[Key, float]) -> None:
    """Give the resources of a page graph (as JSON values) their stalls."""
    for key, resource in keyed_resources(graph):
        stalled = stalls.get(key)
        if stalled is not None and "original" not in resource and not resource.get("cached"):
            resource["stalled_ms"] = round(stalled, 3)


def _in_order(requests: Sequence[Request]) -> list[float | None]:
    """Stalls of a pass, of which none lasts until after a later request was acted on.

    Requests reach the network stack in order, but for navigations, which come by another process.
    What keeps a single one back further, like the writing of its frame, is not the browser's way.
    """
    stalls = [_stalled_ms(request) for request in requests]
    acted_on = math.inf
    for place in sorted(range(len(requests)), key=lambda i: (requests[i].sent, i), reverse=True):
        stalled, request = stalls[place], requests[place]
        if stalled is not None and request.type != "Document":
            asked_ms = request.sent / 1000
            acted_on = min(acted_on, asked_ms + stalled)
            stalls[place] = max(0.0, acted_on - asked_ms)
    return stalls


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
