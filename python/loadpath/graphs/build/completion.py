"""Frame completion (section 3.5.2, Figure 3.9) and normalisation (section 3.7.4)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from loadpath.graphs.build.computations import Computation
from loadpath.graphs.build.devtools import Request
from loadpath.graphs.build.documents import ParsedDocument
from loadpath.graphs.build.nodes import Node
from loadpath.graphs.build.scripts import add_registrar
from loadpath.graphs.build.work import LEAST_MS

if TYPE_CHECKING:
    from loadpath.graphs.build.builder import Builder

__all__ = ["Ends", "add_completion", "normalise"]

# Chromium, Resource::IsLoadEventBlockingResourceType: these, and documents of iframes.
_DELAYS_LOAD = frozenset({"Image", "Stylesheet", "Script", "Font", "Document"})


@dataclass
class Ends:
    """The completion markers of the main frame."""

    dom_content_loaded: Node
    load: Node


def add_completion(builder: "Builder") -> Ends:
    """Completion markers of the main frame, and every frame's chain of completion listeners."""
    main = builder.recording.events.main_frame
    markers: dict[str, Node] = {}
    _complete(builder, main, markers)
    return Ends(markers["DOMContentLoaded"], markers["load"])


def _complete(builder: "Builder", frame: str, markers: dict[str, Node] | None) -> list[Node]:
    """Chain up a frame's completion (Figure 3.9); what ends the chain.

    `markers` receives the markers of the main frame; other frames have none, their listeners only.
    """
    load = builder.recording.load
    document = builder.document(frame, load)
    begin, end = _shown(builder, frame, document)
    dom_time = _dom_time(builder, frame, begin, end)
    if frame != builder.recording.events.main_frame:
        marked = _marked(builder, "MarkLoad", frame, begin, end)
        told = builder.recording.told_complete(frame, dom_time, marked)
        told += [c.start for c in _element_listeners(builder, frame) if begin <= c.start < end]
        load = min([load, marked, *told])
    states = _listeners(builder, frame, "readystatechange", begin, end)
    chain: list[Node] = []
    if document is not None and document.last_chunk is not None:
        chain = [document.last_chunk]
    chain = _chain(builder, chain, [c for c in states if c.start < dom_time])
    deferred = document.deferred if document is not None else []
    for script in deferred:
        builder.pieces[script][0][1].after(*chain)
    chain = chain + [node for script in deferred if (node := builder.last_piece(script))]
    if markers is not None:
        chain = [_marker(builder, "DOMContentLoaded", chain, markers)]
    chain = _chain(builder, chain, _listeners(builder, frame, "DOMContentLoaded", begin, end))
    chain = chain + _delays_load(builder, frame, load)
    complete = [c for c in states if c.start >= dom_time]
    chain = _chain(builder, chain, complete)
    for computation in complete:
        # They run before the load event, which the page's load time ends at.
        for _, node in builder.pieces[computation]:
            if markers is not None or computation.start < builder.recording.load:
                node.fields["phase"] = "load"
    if markers is not None:
        chain = [_marker(builder, "load", chain, markers)]
    return _chain(builder, chain, _listeners(builder, frame, "load", begin, end))


def _shown(builder: "Builder", frame: str, document: ParsedDocument | None) -> tuple[float, float]:
    """When the frame began and ceased to show a document."""
    begin, end = float("-inf"), float("inf")
    for other in builder.documents.get(frame) or []:
        if other.request is None or document is None or document.request is None:
            continue
        if other is document:
            begin = other.request.sent
        elif other.request.sent > document.request.sent:
            end = min(end, other.request.sent)
    return begin, end


def _listeners(
    builder: "Builder", frame: str, name: str, begin: float, end: float
) -> list[Computation]:
    """Listeners of a frame's window and document, in order of running."""
    found = [
        computation
        for computation in builder.pieces
        if computation.frame == frame
        and computation.kind == "event"
        and computation.name == name
        and computation.told is not None
        and computation.told[1] in ("Document", "Window")
        and computation.outer is None
        and begin <= computation.start < end
    ]
    return sorted(found, key=lambda computation: computation.start)


def _chain(builder: "Builder", before: list[Node], listeners: list[Computation]) -> list[Node]:
    """Each listener behind the one before it; what now ends the chain."""
    for computation in listeners:
        builder.pieces[computation][0][1].after(*before)
        last = builder.last_piece(computation)
        before = [last] if last is not None else before
    return before


def _marker(builder: "Builder", name: str, before: list[Node], markers: dict[str, Node]) -> Node:
    is_load = name == "load"
    events = builder.recording.events
    time = events.load if is_load else events.dom_content_loaded
    node = builder.nodes.add(
        f"event_{name}",
        time if time is not None else builder.recording.start,
        type="evaluation",
        frame=0,
        kind="event",
        duration_ms=0.0,
        phase="load" if is_load else "dom",
        event_name=name,
        event_target="Window" if is_load else "Document",
        recorded_start_ms=builder.ms(time) if time is not None else None,
    )
    node.after(*before)
    markers[name] = node
    return node


def _dom_time(builder: "Builder", frame: str, begin: float, end: float) -> float:
    """When DOMContentLoaded had been handled."""
    events = builder.recording.events
    if frame == events.main_frame:
        time = events.dom_content_loaded
        return time if time is not None else float("inf")
    return _marked(builder, "MarkDOMContent", frame, begin, end)


def _marked(builder: "Builder", name: str, frame: str, begin: float, end: float) -> float:
    """When a frame's event had been handled, by the trace's mark; infinity if it never was."""
    for work in builder.recording.threads:
        for found in work.thread.walk():
            if found.name == name and found.data.get("frame") == frame:
                if begin <= found.start < end:
                    return found.start
    return float("inf")


def _delays_load(builder: "Builder", frame: str, load: float) -> list[Node]:
    """Resources, evaluations and subframes for which a frame's load event, at `load`, waited.

    The thesis lets the page wait for all of a subframe that any part of was downloaded before the
    load event (section 3.7.4); a browser waits only for what the subframe's own load event waits
    for, and so does this.
    """
    result: list[Node] = []
    for request in builder.requests:
        if request.frame != frame or request.sent >= load or not _is_waited_for(builder, request):
            continue
        if request.finished is None or request.finished >= load:
            continue
        node = builder.resource_of.get(request.key)
        if node is not None:
            result.append(node)
        if request.type == "Stylesheet" and request.succeeded:
            result.append(builder.style_of(request))
    children = [f.id for f in builder.recording.events.frames.values() if f.parent == frame]
    for child in children:
        ends = _subframe(builder, child, load)
        _connect_frame_element(builder, frame, child, ends)
        result += ends
    for computation, pieces in builder.pieces.items():
        if computation.frame != frame or computation.start >= load or computation.outer:
            continue
        is_element = computation.told is not None and computation.told[1].startswith("Element")
        if computation.kind in ("script", "style") or is_element:
            result.append(pieces[-1][1])
    return result


def _is_waited_for(builder: "Builder", request: Request) -> bool:
    # Documents count with their frames.
    if request.type not in _DELAYS_LOAD or request.type == "Document":
        return False
    if request.is_link_preload and not _is_used(builder, request):
        return False
    if builder.causes[request.key].is_worker:
        return False
    tag = builder.causes[request.key].tag
    return tag is None or tag.attributes.get("loading", "").lower() != "lazy"


def _is_used(builder: "Builder", preload: Request) -> bool:
    """Whether anything but its hint used what was preloaded, before the load event."""
    tag = builder.causes[preload.key].tag
    hints = 1 if tag is not None and tag.is_hint else 0
    uses = 0
    for work in builder.recording.threads:
        for found in work.thread.walk():
            if found.name != "ResourceFetcher::requestResource":
                continue
            if found.data.get("url") == preload.url and found.start < builder.recording.load:
                around = {a.name for a in found.ancestors()}
                uses += "HTMLDocumentParser::ScanAndPreload" not in around
    return uses > hints


def _subframe(builder: "Builder", frame: str, load: float) -> list[Node]:
    """What a subframe's completion ends with, if it began before the page's load event."""
    shown = builder.documents.get(frame) or []
    sent = [d.request.sent for d in shown if d.request is not None]
    if sent and min(sent) >= load:
        return []
    ends = list(_complete(builder, frame, None))
    for document in shown:
        if document.request is not None and document.request.sent < load:
            if document.request.key in builder.resource_of:
                ends.append(builder.resource_of[document.request.key])
    return ends


def _connect_frame_element(builder: "Builder", parent: str, child: str, ends: list[Node]) -> None:
    """Load listeners of a frame's element follow the completion of the frame."""
    for computation in _element_listeners(builder, child):
        if computation.frame == parent:
            first = builder.pieces[computation][0][1]
            first.after(*ends)
            add_registrar(builder, computation, first)


def _element_listeners(builder: "Builder", child: str) -> list[Computation]:
    """Load listeners of a frame's element, which run in the document around it."""
    urls = {d.url for d in builder.recording.events.frames[child].documents}
    return [
        computation
        for computation in builder.pieces
        if computation.told is not None
        and computation.outer is None
        and computation.told[1] in ("Element iframe", "Element frame")
        and urldefrag(computation.told[2]).url in urls
    ]


def normalise(builder: "Builder", ends: Ends) -> None:
    """Mark what ran after the load event, trim long timers, drop callbacks that lead nowhere."""
    from loadpath.graphs.build.builder import TRIM_TIMEOUT_MS

    for node in builder.nodes.by_id.values():
        if node.fields.get("timeout_ms", 0.0) > TRIM_TIMEOUT_MS:
            node.fields["phase"] = "end"
    _mark_late(builder, ends)
    _prune(builder, ends)
    for node in builder.nodes.by_id.values():
        if not node.parents and node.type != "resource":
            node.after(next(iter(builder.resource_of.values())))


def _mark_late(builder: "Builder", ends: Ends) -> None:
    """What was requested after the load event stays behind it, unless its causes do already."""
    load = builder.recording.load
    sent = {
        node.id: request.sent
        for request in builder.requests
        if (node := builder.resource_of.get(request.key)) is not None
    }
    # What style or a guess explains might be requested earlier on another network.
    loose = {
        node.id
        for request in builder.requests
        if (node := builder.resource_of.get(request.key)) is not None
        and builder.causes[request.key].kind in ("style", "end", "nothing")
    }
    late: dict[str, bool] = {}
    for node in builder.nodes.in_order():
        late[node.id] = node.fields.get("phase") == "end" or any(
            late.get(parent, False) for parent in node.parents
        )
        if not late[node.id] and sent.get(node.id, 0.0) >= load and node.id in loose:
            node.after(ends.load)
            late[node.id] = True


def _prune(builder: "Builder", ends: Ends) -> None:
    """Drop timers and callbacks that lead to no request (section 3.5.1.1), latest first.

    Listeners of events stay: what they depend on is known. What is dropped counts as other
    main-thread work, so that executors which look at that lose nothing.
    """
    load = builder.recording.load
    markers = {ends.load.id, ends.dom_content_loaded.id}
    dropped: dict[str, float] = {}
    for computation, pieces in sorted(builder.pieces.items(), key=lambda item: -item[0].start):
        is_callback = computation.kind == "timer" or (
            computation.kind == "event" and computation.dispatch is None
        )
        if not is_callback and computation.start < load:
            continue
        own = {node.id for _, node in pieces}
        led = {child for _, node in pieces for child in node.children} - own
        if any(_matters(builder.nodes.by_id.get(child), markers) for child in led):
            continue
        duration = sum(float(node.fields["duration_ms"]) for _, node in pieces)
        before = [p for p in pieces[0][1].parents.values() if p.type != "main_thread"]
        if computation.start < load and before:
            parent = max(before, key=lambda node: node.time).id
            dropped[parent] = dropped.get(parent, 0.0) + duration
        builder.report.pruned += 1
        builder.report.pruned_ms += duration
        builder.nodes.remove([node for _, node in reversed(pieces)])
    for number, (identity, duration) in enumerate(dropped.items()):
        parent_node = builder.nodes.by_id.get(identity)
        if parent_node is None or duration < LEAST_MS:
            continue
        node = builder.nodes.add(
            f"callbacks_{number}",
            parent_node.time,
            type="main_thread",
            frame=parent_node.fields.get("frame", 0),
            kind="callbacks",
            duration_ms=round(duration, 4),
        )
        node.after(parent_node)


def _matters(node: Node | None, markers: set[str]) -> bool:
    return node is not None and node.id not in markers and node.type != "main_thread"
