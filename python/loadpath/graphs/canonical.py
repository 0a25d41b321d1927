"""The canonical form of page graphs, for comparing them.

A canonical graph is a set of nodes, named by what they are and where they stand in the source, with
their parents. It has neither times nor ids, so that two recordings of the same page give the same
one. As text it has one line a node, `NODE <- PARENT, PARENT`, sorted; `#` starts a comment line.

========================== =========================================================================
`resource URL`             a download; each hop of a redirect is one
`parse URL LINE:COLUMN`    the parser having read the tag that ends there; `end`: the whole document
`script URL [POSITION]`    an external (no position) or inline script, by where its code begins
`style URL`                an external style sheet
`timer URL POSITION`       a timer's callback, by the call that registered it
`event NAME URL POSITION`  a listener or other callback, by its function
`event load`,              markers of the main frame
`event DOMContentLoaded`
========================== =========================================================================

URLs are without scheme and without the page's own host. Later nodes of the same name end in `#2`,
`#3`, in order of start; a piece of a computation that something interrupted in `+1`, `+2`.

What is left out, its parents taking over its children: download chunks, main-thread work other than
computations, inline style sheets, completion markers of subframes, about: documents' downloads,
chunks of parsing on which only the next chunk hangs, timers and events on which nothing hangs (or
only the rest of the computation that they interrupted), later pieces of computations that neither
request anything nor lead to timers or events. A resource that a style sheet named hangs on that
alone. Edges that follow from others are left out (transitive reduction).
"""

import heapq
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from loadpath.errors import GraphError

__all__ = [
    "CanonicalGraph",
    "Difference",
    "canonical",
    "canonical_activities",
    "difference",
    "format_text",
    "parse_text",
]

CanonicalGraph = dict[str, frozenset[str]]
"""Names of the nodes and of their parents."""

_KINDS = ("resource", "parse", "script", "style", "timer", "event")
_COMPLETION_EVENTS = ("readystatechange", "DOMContentLoaded", "load")


class Difference(msgspec.Struct, frozen=True):
    """How a graph differs from the one expected; false if it does not.

    `missing` and `extra` are nodes; `parents` gives, for nodes of both graphs, the parents that are
    missing and those that are extra.
    """

    missing: tuple[str, ...]
    extra: tuple[str, ...]
    parents: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.parents)

    def __str__(self) -> str:
        lines = [f"- {node}" for node in self.missing]
        lines += [f"+ {node}" for node in self.extra]
        for node, (missing, extra) in self.parents.items():
            lines.append(f"  {node}")
            lines += [f"    - <- {parent}" for parent in missing]
            lines += [f"    + <- {parent}" for parent in extra]
        return "\n".join(lines)


def canonical(page: Mapping[str, Any]) -> CanonicalGraph:
    """The canonical form of a page graph, given as its parsed JSON.

    Raises
    ------
    GraphError
        Its activities depend on each other in a circle, or name activities that do not exist.
    """
    return _Reduction(page).result()


def canonical_activities(page: Mapping[str, Any]) -> tuple[CanonicalGraph, dict[str, str]]:
    """The canonical form, and for each node the id of its activity, of several pieces the first.

    Raises
    ------
    GraphError
        As `canonical`.
    """
    reduction = _Reduction(page)
    graph = reduction.result()
    return graph, {name: id_ for id_, name in reduction.names.items()}


def parse_text(text: str, source: str = "canonical graph") -> CanonicalGraph:
    """The graph that a text describes; `source` names it in errors.

    Raises
    ------
    GraphError
        A line is not of the form, a node comes twice, a parent is no node.
    """
    graph: CanonicalGraph = {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        node, _, parents = (part.strip() for part in line.partition("<-"))
        names = [name for name in re.split(r", +", parents) if name]
        for name in (node, *names):
            if name.split(" ")[0] not in _KINDS or " " not in name:
                kinds = ", ".join(_KINDS)
                raise GraphError(f"{source}:{number}: {name!r} does not begin with one of {kinds}")
        if node in graph:
            raise GraphError(f"{source}:{number}: {node!r} stands in line {lines[node]} already")
        graph[node], lines[node] = frozenset(names), number
    for node, names_of_parents in graph.items():
        for name in sorted(names_of_parents - graph.keys()):
            raise GraphError(f"{source}:{lines[node]}: the parent {name!r} is not a node")
    return graph


def format_text(graph: CanonicalGraph) -> str:
    """The graph as text, a line a node."""
    return "".join(
        f"{node} <- {', '.join(_sorted(graph[node]))}".removesuffix(" <- ") + "\n"
        for node in _sorted(graph)
    )


def difference(expected: CanonicalGraph, actual: CanonicalGraph) -> Difference:
    """What the actual graph lacks of the expected one, and has beyond it."""
    parents = {
        node: (
            tuple(_sorted(expected[node] - actual[node])),
            tuple(_sorted(actual[node] - expected[node])),
        )
        for node in _sorted(expected.keys() & actual.keys())
        if expected[node] != actual[node]
    }
    return Difference(
        missing=tuple(_sorted(expected.keys() - actual.keys())),
        extra=tuple(_sorted(actual.keys() - expected.keys())),
        parents=parents,
    )


def _sorted(names: Iterable[str]) -> list[str]:
    """Sorted with numbers by value."""
    return sorted(
        names, key=lambda name: [part.zfill(9) if part.isdigit() else part for part in _parts(name)]
    )


def _parts(name: str) -> list[str]:
    return re.split(r"(\d+)", name)


def transitive_reduction(parents: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """The graph without the edges that follow from others.

    Raises
    ------
    GraphError
        There is a circle.
    """
    order = _topological(parents, key=lambda _: 0.0)
    bit = {node: 1 << place for place, node in enumerate(order)}
    # Bit sets of ancestors; a node's own bit is not among them.
    ancestors: dict[str, int] = {}
    reduced: dict[str, set[str]] = {}
    for node in order:
        direct = set(parents[node])
        inherited = 0
        for parent in direct:
            inherited |= ancestors[parent]
        reduced[node] = {parent for parent in direct if not bit[parent] & inherited}
        ancestors[node] = inherited
        for parent in direct:
            ancestors[node] |= bit[parent]
    return reduced


def _topological(parents: Mapping[str, Iterable[str]], key: Callable[[str], float]) -> list[str]:
    """Parents before children; where there is a choice, the least key, then the first given."""
    place = {node: index for index, node in enumerate(parents)}
    waiting = {node: len(set(parents[node])) for node in parents}
    children: dict[str, list[str]] = defaultdict(list)
    for node in parents:
        for parent in set(parents[node]):
            children[parent].append(node)
    ready = [(key(node), place[node], node) for node, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)[-1]
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, (key(child), place[child], child))
    if len(order) < len(place):
        stuck = next(node for node, count in waiting.items() if count > 0)
        raise GraphError(f"the activities around {stuck!r} wait for each other in a circle")
    return order


class _Reduction:
    """A page graph on its way to the canonical form."""

    def __init__(self, page: Mapping[str, Any]) -> None:
        self.activities: dict[str, dict[str, Any]] = {a["id"]: a for a in page["activities"]}
        self.markers = {
            page["load_event"]: "event load",
            page["dom_content_loaded_event"]: "event DOMContentLoaded",
        }
        self.host = urlsplit(page["url"]).netloc
        self.frame_urls = {frame["id"]: self._url(frame["url"]) for frame in page["frames"]}
        self.parents: dict[str, set[str]] = {id_: set() for id_ in self.activities}
        self.children: dict[str, set[str]] = {id_: set() for id_ in self.activities}
        for id_, activity in self.activities.items():
            for child in activity.get("children", ()):
                self._connect(id_, child)
            if activity["type"] == "download_chunk":
                self._connect(activity["resource"], id_)
        self.continued = {a["continues"] for a in page["activities"] if a.get("continues")}
        starts = {id_: _start_ms(activity) for id_, activity in self.activities.items()}
        order = _topological(self.parents, key=lambda id_: starts[id_])
        self.place = {id_: index for index, id_ in enumerate(order)}
        self.documents = {
            id_: self._document(id_)
            for id_ in order
            if self.activities[id_]["type"] == "parse_chunk"
        }
        last: dict[tuple[int, str], str] = {}
        for id_, document in self.documents.items():
            last[self.activities[id_]["frame"], document] = id_
        self.last_chunks = set(last.values())

    def result(self) -> CanonicalGraph:
        for id_ in list(self.parents):
            self._bind_to_style(id_)
        for id_ in list(self.parents):
            if self._is_unnamed(id_):
                self._dissolve(id_)
        self._prune()
        for id_ in list(self.parents):
            if self._is_idle_piece(id_):
                self._dissolve(id_)
        self._merge_pieces()
        self._reduce()
        for id_ in list(self.parents):
            if self._is_idle_boundary(id_) or self._goes_on_reacting(id_):
                self._dissolve(id_)
        self._reduce()
        self.names = names = self._names()
        return {
            names[id_]: frozenset(names[parent] for parent in self.parents[id_])
            for id_ in self.parents
        }

    def _goes_on_reacting(self, id_: str) -> bool:
        """Promise callbacks without a place that only follow others cannot be told from them."""
        parents = self.parents[id_]
        return self._is_reaction(id_) and len(parents) == 1 and all(map(self._is_reaction, parents))

    def _is_reaction(self, id_: str) -> bool:
        activity = self.activities[id_]
        return activity.get("event_name") == "promise" and not _position(activity)

    def _document(self, chunk: str) -> str:
        """The document that a chunk is part of: a frame may show several."""
        for parent in self.parents[chunk]:
            if self.activities[parent]["type"] == "download_chunk":
                return self._url(self.activities[self.activities[parent]["resource"]]["url"])
        return self.frame_urls[self.activities[chunk]["frame"]]

    def _connect(self, parent: str, child: str) -> None:
        for id_ in (parent, child):
            if id_ not in self.parents:
                raise GraphError(f"there is no activity {id_!r}, though another names it")
        self.parents[child].add(parent)
        self.children[parent].add(child)

    def _disconnect(self, parent: str, child: str) -> None:
        self.parents[child].discard(parent)
        self.children[parent].discard(child)

    def _dissolve(self, id_: str) -> None:
        """Takes a node out; its parents take over its children."""
        parents, children = self.parents[id_], self.children[id_]
        for parent in list(parents):
            self._disconnect(parent, id_)
            for child in children:
                self._connect(parent, child)
        for child in list(children):
            self._disconnect(id_, child)
        del self.parents[id_], self.children[id_]

    def _reduce(self) -> None:
        for child, reduced in transitive_reduction(self.parents).items():
            for parent in self.parents[child] - reduced:
                self._disconnect(parent, child)

    def _kind(self, id_: str) -> str:
        """Type of activity, or what it evaluates."""
        activity = self.activities[id_]
        kind: str = activity["type"]
        if kind == "evaluation":
            kind = activity["kind"]
        # Callbacks that wait for a frame or for idle time are modelled as timers with a name.
        return "event" if kind == "timer" and activity.get("event_name") else kind

    def _is_external_style(self, id_: str) -> bool:
        activity = self.activities[id_]
        return self._kind(id_) == "style" and bool(activity.get("url")) and not _position(activity)

    def _bind_to_style(self, id_: str) -> None:
        """When an element appeared that makes a style sheet's reference needed, nobody records."""
        parents = self.parents[id_]
        if self._kind(id_) != "resource" or not any(map(self._is_external_style, parents)):
            return
        for parent in list(parents):
            if not self._is_external_style(parent):
                self._disconnect(parent, id_)

    def _is_unnamed(self, id_: str) -> bool:
        activity, kind = self.activities[id_], self._kind(id_)
        if kind == "style":
            return not self._is_external_style(id_)
        if kind == "event":
            # Markers that a builder sets for subframes have no code.
            return (
                id_ not in self.markers
                and activity.get("event_name") in _COMPLETION_EVENTS
                and activity.get("event_target", "") in ("", "Document", "Window")
                and not activity.get("url")
                and not _position(activity)
            )
        if kind == "resource":
            return str(activity["url"]).startswith("about:")
        return kind in ("download_chunk", "other") or activity["type"] == "main_thread"

    def _prune(self) -> None:
        """Takes out timers, events and later pieces that lead nowhere."""
        waiting = sorted(self.parents, key=self.place.__getitem__)
        while waiting:
            id_ = waiting.pop()
            if id_ not in self.parents or not self._leads_nowhere(id_):
                continue
            # Whatever it leaves behind may lead nowhere now.
            waiting += self.parents[id_]
            self._dissolve(id_)

    def _leads_nowhere(self, id_: str) -> bool:
        activity, children = self.activities[id_], self.children[id_]
        if id_ in self.markers:
            return False
        if activity.get("continues"):
            return not children
        if self._kind(id_) not in ("timer", "event"):
            return False
        # What it interrupts comes after it, whether or not it leads to anything.
        return all(
            self.activities[child].get("continues") not in (None, self._computation(id_))
            for child in children
        )

    def _computation(self, id_: str) -> str:
        """Name of the computation of which an activity is a piece."""
        name = self.activities[id_].get("continues")
        if name:
            return str(name)
        short = id_.removesuffix("_0")
        return short if short in self.continued else id_

    def _merge_pieces(self) -> None:
        """Merges later pieces into those before, where nothing came in between."""
        self.piece: dict[str, tuple[str, int]] = {}
        computations: dict[str, list[str]] = defaultdict(list)
        for id_ in sorted(self.parents, key=self.place.__getitem__):
            if self.activities[id_]["type"] == "evaluation":
                computations[self._computation(id_)].append(id_)
        for first, *later in computations.values():
            head, number = first, 0
            for id_ in later:
                if self._leads_around(head, id_):
                    head, number = id_, number + 1
                    self.piece[id_] = (first, number)
                else:
                    self._merge(head, id_)

    def _leads_around(self, first: str, last: str) -> bool:
        """Whether another node lies between the two."""
        stack, seen = [child for child in self.children[first] if child != last], set()
        while stack:
            id_ = stack.pop()
            if id_ == last:
                return True
            if id_ not in seen:
                seen.add(id_)
                stack += self.children[id_]
        return False

    def _merge(self, first: str, second: str) -> None:
        self._disconnect(first, second)
        for parent in list(self.parents[second]):
            self._connect(parent, first)
            self._disconnect(parent, second)
        for child in list(self.children[second]):
            self._connect(first, child)
            self._disconnect(second, child)
        del self.parents[second], self.children[second]

    def _is_idle_piece(self, id_: str) -> bool:
        """Whether a later piece of a computation makes nothing, but for what comes after it."""
        return bool(self.activities[id_].get("continues")) and not any(
            self._kind(child) in ("resource", "timer", "event") and child not in self.markers
            for child in self.children[id_]
        )

    def _is_idle_boundary(self, id_: str) -> bool:
        """Whether nothing but the next chunk hangs on a chunk of parsing."""
        if self._kind(id_) != "parse_chunk" or id_ in self.last_chunks:
            return False
        frame = self.activities[id_]["frame"]
        return all(
            self._kind(child) == "parse_chunk" and self.activities[child]["frame"] == frame
            for child in self.children[id_]
        )

    def _names(self) -> dict[str, str]:
        counts: dict[str, int] = defaultdict(int)
        names: dict[str, str] = {}
        for id_ in sorted(self.parents, key=self.place.__getitem__):
            if id_ in self.piece:
                first, number = self.piece[id_]
                names[id_] = f"{names[first]} +{number}"
                continue
            name = self.markers.get(id_) or self._name(id_)
            counts[name] += 1
            names[id_] = name if counts[name] == 1 else f"{name} #{counts[name]}"
        return names

    def _name(self, id_: str) -> str:
        activity, kind = self.activities[id_], self._kind(id_)
        if kind == "resource":
            return f"resource {self._url(activity['url'])}"
        if kind == "parse_chunk":
            end = activity.get("position")
            position = "end" if id_ in self.last_chunks else f"{end[2]}:{end[3]}" if end else "?"
            return f"parse {self.documents[id_]} {position}"
        words = [kind]
        if kind == "event":
            words.append(_escape(activity.get("event_name") or "?").replace(",", "%2C"))
        # A recording need not say where code stands.
        words.append(self._url(activity["url"]) if activity.get("url") else "?")
        return " ".join(words) + _position(activity)

    def _url(self, url: str) -> str:
        if url.startswith("blob:"):
            return "blob:"  # the rest is drawn anew in every load
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            return _escape(url or "about:blank")
        host = "" if parts.netloc == self.host else f"//{parts.netloc}"
        query = f"?{parts.query}" if parts.query else ""
        return _escape(f"{host}{parts.path or '/'}{query}")


def _start_ms(activity: Mapping[str, Any]) -> float:
    start = activity.get("recorded_start_ms", activity.get("recorded_sent_ms"))
    return float("inf") if start is None else start


def _position(activity: Mapping[str, Any]) -> str:
    position = activity.get("position")
    return f" {position[0]}:{position[1]}" if position else ""


def _escape(text: str) -> str:
    """Names have no white space but between their words."""
    return "".join(f"%{ord(c):02X}" if c.isspace() else c for c in text)
