"""What is in a page graph, counted."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from loadpath.graphs.graph import Activity, Graph, Kind

__all__ = ["Computation", "Statistics", "host_of", "requested_by", "served_by", "statistics"]

ABSENT = "not recorded"


class Computation(msgspec.Struct, frozen=True):
    """Main-thread work of one kind."""

    activities: int
    duration_ms: float


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of a page graph; every table over resources adds up to `resources`.

    Attributes
    ----------
    page, url, source
        What the graph says of itself.
    activities, edges, depth, frames, processes
        Sizes of the graph; `depth` counts the activities of the longest chain.
    activities_by_kind
        Sum: `activities`.
    resources, bytes
        Downloads, and the bytes of those that no cache and no other response served.
    hosts
        Hosts of http and https resources.
    resources_by_type, bytes_by_type
        By MIME type; bytes as in `bytes`.
    served_by
        "network", "cache" of the recording, "another response" (`original`), "no network" (other
        schemes than http and https).
    requested_by
        Kinds of a resource's parents, joined by " + "; "nothing" of the root.
    evidence
        How it is known what requested a resource.
    fallback_share
        Part of the resources with evidence that only a fallback rule explains, 0 to 1; None if
        none has evidence.
    discovered_by, server_delay_sources, browser_priorities
        As recorded.
    computation
        Main-thread work by kind.
    explained_share
        Part of the recorded main-thread time before the load event that activities account for;
        None if the graph does not say how long the recording's main threads were busy.
    pruned
        Timers and events that the recording ran after the load event or that were pruned: loads do
        not execute them.
    after_load
        Activities of any kind that do not happen before the load event.
    """

    page: str
    url: str
    source: str
    activities: int
    edges: int
    depth: int
    frames: int
    processes: int
    activities_by_kind: dict[str, int]
    resources: int
    bytes: int
    hosts: int
    resources_by_type: dict[str, int]
    bytes_by_type: dict[str, int]
    served_by: dict[str, int]
    requested_by: dict[str, int]
    evidence: dict[str, int]
    fallback_share: float | None
    discovered_by: dict[str, int]
    server_delay_sources: dict[str, int]
    browser_priorities: dict[str, int]
    computation: dict[str, Computation]
    explained_share: float | None
    pruned: dict[str, int]
    after_load: int


def statistics(graph: Graph) -> Statistics:
    """Count what is in a page graph.

    >>> from loadpath.graphs import read_graph
    >>> statistics(read_graph("example:figure-3-1")).requested_by
    {'nothing': 1, 'parse chunk': 2, 'timer': 1}
    """
    resources = {id: graph.activities[id] for id in _of_kind(graph, Kind.RESOURCE)}
    fetched = [r for r in resources.values() if served_by(r) == "network"]
    evidence = _count(r.get("evidence", ABSENT) for r in resources.values())
    known = len(resources) - evidence.get(ABSENT, 0)
    computation = _computation(graph)
    return Statistics(
        page=graph.name,
        url=str(graph.data["url"]),
        source=str(graph.data.get("source", "")),
        activities=len(graph.activities),
        edges=sum(map(len, graph.children.values())),
        depth=_depth(graph),
        frames=len(graph.frames),
        processes=len({frame.get("process", 0) for frame in graph.frames.values()}),
        activities_by_kind=_count(kind.value for kind in graph.kinds.values()),
        resources=len(resources),
        bytes=sum(r["size_bytes"] for r in fetched),
        hosts=len({host for r in resources.values() if (host := host_of(r["url"]))}),
        resources_by_type=_count(r.get("mime_type") or ABSENT for r in resources.values()),
        bytes_by_type=_sum(fetched, lambda r: (r.get("mime_type") or ABSENT, r["size_bytes"])),
        served_by=_count(map(served_by, resources.values())),
        requested_by=_count(requested_by(graph, id) for id in resources),
        evidence=evidence,
        fallback_share=evidence.get("fallback", 0) / known if known else None,
        discovered_by=_count(r.get("discovered_by", ABSENT) for r in resources.values()),
        server_delay_sources=_count(_delay_source(r) for r in resources.values()),
        browser_priorities=_count(r.get("browser_priority", ABSENT) for r in resources.values()),
        computation=computation,
        explained_share=_explained(graph),
        pruned=_count(
            graph.kinds[id].value
            for id in _of_kind(graph, Kind.TIMER, Kind.EVENT)
            if graph.activities[id].get("phase") in ("end", "load_plus")
        ),
        after_load=len(graph.activities) - len(graph.until_load),
    )


def _of_kind(graph: Graph, *kinds: Kind) -> list[str]:
    return [id for id, kind in graph.kinds.items() if kind in kinds]


def _count(names: Iterable[str]) -> dict[str, int]:
    """By name, in alphabetical order."""
    return dict(sorted(Counter(names).items()))


def _sum(
    activities: Iterable[Activity], entry: Callable[[Activity], tuple[str, int]]
) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, amount in map(entry, activities):
        sums[name] = sums.get(name, 0) + amount
    return dict(sorted(sums.items()))


def _depth(graph: Graph) -> int:
    depth: dict[str, int] = {}
    for id in graph.topological_order:
        depth[id] = 1 + max((depth[parent] for parent in graph.parents[id]), default=0)
    return max(depth.values(), default=0)


def host_of(url: str) -> str | None:
    """Host of an http or https URL in lower case, `None` of others and of malformed ones."""
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return None


def served_by(resource: Mapping[str, Any]) -> str:
    """What served a resource in the recording, as in `Statistics.served_by`."""
    if "original" in resource:
        return "another response"
    if not str(resource["url"]).lower().startswith(("http:", "https:")):
        return "no network"
    return "cache" if resource.get("cached") else "network"


def requested_by(graph: Graph, id: str) -> str:
    """Kinds of a resource's parents, as in `Statistics.requested_by`."""
    kinds = {graph.kinds[parent].value for parent in graph.parents[id]}
    return " + ".join(sorted(kinds)) or "nothing"


def _delay_source(resource: Mapping[str, Any]) -> str:
    if "server_delay_ms" not in resource:
        return "no delay"
    return str(resource.get("server_delay_source", ABSENT))


def _explained(graph: Graph) -> float | None:
    busy_ms = graph.data.get("recorded_busy_ms")
    if not busy_ms:
        return None
    durations = (graph.activities[id].get("duration_ms", 0.0) for id in graph.until_load)
    return float(sum(durations) / busy_ms)


def _computation(graph: Graph) -> dict[str, Computation]:
    found: dict[str, list[float]] = {}
    for id, kind in graph.kinds.items():
        if kind not in (Kind.RESOURCE, Kind.DOWNLOAD):
            found.setdefault(kind.value, []).append(graph.activities[id]["duration_ms"])
    return {
        kind: Computation(activities=len(durations), duration_ms=sum(durations))
        for kind, durations in sorted(found.items())
    }
