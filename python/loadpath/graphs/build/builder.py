"""The graph builder: a recorded load in, a page graph out."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any
from urllib.parse import urldefrag, urlsplit

from loadpath.graphs.build import completion, documents, raised, scripts, styled, work
from loadpath.graphs.build.causes import Cause, find_causes
from loadpath.graphs.build.computations import Computation
from loadpath.graphs.build.devtools import Request
from loadpath.graphs.build.durations import Durations, numbered
from loadpath.graphs.build.nodes import Node, NodeSet
from loadpath.graphs.build.recording import Recording
from loadpath.graphs.build.trace import Slice

__all__ = ["BuildReport", "Builder", "build_graph", "graph_of"]

TRIM_TIMEOUT_MS = 1000.0
"""Timers that wait longer are meant to run in the background (thesis section 3.7.4)."""


@dataclass
class BuildReport:
    """What a build could and could not explain.

    Attributes
    ----------
    evidence
        Requests before the load event by how their cause is known.
    warnings
        For people.
    busy_ms, by_rules_ms, other_work_ms
        Of each timing pass: main-thread time before the load event; what of it computations and
        parsing cover; what other work with a known trigger covers.
    """

    evidence: Counter[str] = field(default_factory=Counter)
    fallback_urls: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    pruned: int = 0
    pruned_ms: float = 0.0
    cut_edges: int = 0
    busy_ms: list[float] = field(default_factory=list)
    by_rules_ms: list[float] = field(default_factory=list)
    other_work_ms: list[float] = field(default_factory=list)


class Builder:
    """State of one build; the modules beside this one each add their part."""

    def __init__(
        self,
        recording: Recording,
        timings: list[Recording],
        causes: Callable[[Recording], dict[str, Cause]] = find_causes,
    ) -> None:
        self.recording = recording
        self.timings = timings
        self.durations = Durations(timings)
        self.nodes = NodeSet()
        self.report = BuildReport()
        self.causes = causes(recording)
        self.requests = recording.events.requests
        self._by_url: dict[str, list[Request]] = {}
        for request in self.requests:
            self._by_url.setdefault(urldefrag(request.url).url, []).append(request)
        self.resource_of: dict[str, Node] = {}
        # A computation's pieces, with the time until which each lasts.
        self.pieces: dict[Computation, list[tuple[float, Node]]] = {}
        self.frame_ids: dict[str, int] = {}
        self.documents: dict[str, list[documents.ParsedDocument]] = {}
        self.modules: dict[Computation, Request] = {}
        self.script_requests: dict[Computation, Request] = {}
        # The last promise callbacks that followed a response.
        self.reactions: dict[str, Node] = {}
        self.blocking_sheets: dict[int, list[tuple[int, Node]]] = {}
        self.registrations: dict[str, list[tuple[Computation, Slice]]] = {}
        self.name_frames()

    def hinted_scripts(self) -> set[str]:
        """URLs of scripts that a hint had fetched before their own tag."""
        hinted = set()
        for request in self.requests:
            tag = self.causes[request.key].tag
            if request.type == "Script" and tag is not None and tag.is_hint:
                hinted.add(urldefrag(request.url).url)
        return hinted

    def requests_for(self, url: str) -> list[Request]:
        """The requests for a URL, whatever its fragment, in order."""
        return self._by_url.get(urldefrag(url).url, [])

    # Times and frames.

    def ms(self, time: float) -> float:
        """Milliseconds since the navigation began."""
        return max(0.0, round((time - self.recording.start) / 1000.0, 3))

    def name_frames(self) -> None:
        """Number the frames: 0 is the main one."""
        main = self.recording.events.main_frame
        self.frame_ids[main] = 0
        for frame in self.recording.events.frames:
            self.frame_ids.setdefault(frame, len(self.frame_ids))

    def frame(self, frame: str) -> int:
        """The number of a frame; unknown ones count as the main frame."""
        return self.frame_ids.get(frame, 0)

    def document(self, frame: str, time: float) -> documents.ParsedDocument | None:
        """The document that a frame showed, or was about to show, at a time."""
        shown = self.documents.get(frame) or []
        found = shown[0] if shown else None
        for document in shown:
            if document.request is None or document.request.sent <= time:
                found = document
        return found

    def document_end(self, frame: str, time: float) -> Node | None:
        """The chunk with which the parsing of that document ends."""
        document = self.document(frame, time)
        return document.last_chunk if document is not None else None

    def chunk_parsed_at(self, frame: str, time: float) -> Node | None:
        """The chunk behind the last inline script that the document's parser had waited for."""
        document = self.document(frame, time)
        if document is None:
            return None
        offset = 0
        for start, script in document.inline.items():
            tag = document.source.tag_ending_at(start)
            if script.end <= time and tag is not None and tag.close:
                offset = max(offset, tag.close)
        return document.chunk_behind(offset) if offset else document.chunk_at(0)

    # Resources.

    def add_resources(self) -> None:
        """One resource for each request, cached references too."""
        first_of: dict[tuple[str, str], Node] = {}
        for index, request in enumerate(self.requests):
            cause = self.causes[request.key]
            url = _named(urldefrag(request.url).url)
            node = self.nodes.add(
                f"download_{index}",
                request.sent,
                type="resource",
                url=url,
                method=request.method if request.method != "GET" else None,
                mime_type=_mime_type(request),
                size_bytes=request.body_bytes,
                cached=request.from_cache or None,
                browser_priority=request.priority or None,
                discovered_by="preload" if cause.preloaded else "parser",
                evidence=cause.evidence,
                failed=(request.responded is None and bool(request.failed)) or None,
                recorded_sent_ms=self.ms(request.sent),
                recorded_received_ms=(
                    self.ms(request.finished) if request.finished is not None else None
                ),
            )
            original = first_of.get((request.method, url))
            if request.from_cache and original is not None:
                node.fields["original"] = original.fields.get("original", original.id)
            else:
                first_of.setdefault((request.method, url), node)
            self.resource_of[request.key] = node
        root = next(iter(self.resource_of.values()))
        root.fields.pop("evidence", None)

    # Computations.

    def piece_at(self, computation: Computation, time: float) -> Node | None:
        """The piece of a computation that covers a time."""
        pieces = self.pieces.get(computation)
        if not pieces:
            return None
        for end, node in pieces:
            if time <= end:
                return node
        return pieces[-1][1]

    def last_piece(self, computation: Computation) -> Node | None:
        """The piece with which a computation ends."""
        pieces = self.pieces.get(computation)
        return pieces[-1][1] if pieces else None

    def add_computations(self) -> None:
        """The computations in pieces, cut where they issue requests or others run within."""
        sheets = {urldefrag(r.url).url: r for r in self.requests if r.type == "Stylesheet"}
        cuts: dict[Computation, list[float]] = {}
        for request in self.requests:
            cause = self.causes[request.key]
            if cause.kind == "computation" and cause.computation is not None:
                cuts.setdefault(cause.computation, []).append(request.sent)
        for request in self.requests:
            waiting = self._synchronous(request)
            if waiting is not None:
                cuts.setdefault(waiting, []).append(request.sent)
        for index, ((key, number), computation) in enumerate(numbered(self.recording)):
            computation.id = f"comp_{index}"
            sheet = sheets.get(urldefrag(computation.url).url)
            if computation.kind == "style" and sheet is not None:
                if not sheet.succeeded:
                    continue
                computation.frame = sheet.frame
            self._add_pieces(computation, cuts.get(computation, []))
            usual = self.durations.of(key, number)
            if usual is not None:
                self._rescale(computation, usual / 1000.0)
        for computation in self.pieces:
            self._order_inner(computation)

    def _rescale(self, computation: Computation, usual_ms: float) -> None:
        pieces = [node for _, node in self.pieces[computation]]
        recorded = sum(float(node.fields["duration_ms"]) for node in pieces)
        for node in pieces:
            share = float(node.fields["duration_ms"]) / recorded if recorded else 1 / len(pieces)
            node.fields["duration_ms"] = round(usual_ms * share, 4)

    def _synchronous(self, request: Request) -> Computation | None:
        """The computation that stood still until a synchronous XMLHttpRequest was answered."""
        cause = self.causes[request.key]
        if request.type != "XHR" or cause.kind != "computation" or cause.computation is None:
            return None
        for found in cause.computation.slice.walk():
            if found.name == "ResourceFinish" and found.data.get("requestId") == request.id:
                return cause.computation
        return None

    def connect_synchronous(self) -> None:
        """What follows a synchronous XMLHttpRequest waits for its response."""
        for request in self.requests:
            waiting = self._synchronous(request)
            if waiting is None:
                continue
            pieces = self.pieces[waiting]
            for (end, _), (_, following) in pairwise(pieces):
                if end >= request.sent:
                    following.after(self.resource_of.get(request.key))
                    stood = ((request.finished or request.sent) - request.sent) / 1000.0
                    ran = float(following.fields["duration_ms"])
                    following.fields["duration_ms"] = round(max(0.0, ran - stood), 4)
                    break

    def _add_pieces(self, computation: Computation, cuts: list[float]) -> None:
        inner = sorted(computation.inner, key=lambda c: c.start)
        ends = {min(max(cut, computation.start), computation.end) for cut in cuts}
        ends |= {c.start for c in inner} | {computation.end}
        pieces: list[tuple[float, Node]] = []
        begin = computation.start
        for number, end in enumerate(sorted(ends)):
            within = sum(min(c.end, end) - c.start for c in inner if begin <= c.start < end)
            duration = max(0.0, end - begin - within)
            node = self.nodes.add(
                computation.id if number == 0 else f"{computation.id}_{number}",
                begin,
                type="evaluation",
                frame=self.frame(computation.frame),
                kind=computation.kind,
                duration_ms=round(duration / 1000.0, 4),
                phase=self.phase(computation.start),
                url=urldefrag(computation.url).url or None,
                event_name=computation.name or None if computation.kind == "event" else None,
                event_target=_target(computation),
                continues=computation.id if number else None,
                recorded_start_ms=self.ms(begin),
            )
            if pieces:
                node.after(pieces[-1][1])
            pieces.append((end, node))
            begin = max(end, *(c.end for c in inner if c.start <= end), 0.0) if inner else end
        self.pieces[computation] = pieces

    def _order_inner(self, computation: Computation) -> None:
        """A computation that was interrupted goes on when the inner one has ended."""
        pieces = self.pieces[computation]
        for inner in computation.inner:
            if inner not in self.pieces:
                continue
            first, last = self.pieces[inner][0][1], self.last_piece(inner)
            before = [node for end, node in pieces if end <= inner.start]
            after = [node for end, node in pieces if node.time >= inner.end or end > inner.end]
            if before:
                first.after(before[-1])
            if after:
                after[0].after(last)

    def phase(self, time: float) -> str:
        """In which phase of the load something started (thesis section 3.7.4)."""
        events = self.recording.events
        if time >= self.recording.load:
            return "end"
        if events.dom_content_loaded is not None and time >= events.dom_content_loaded:
            return "load"
        return "dom"

    # Edges from causes to resources.

    def connect_resources(self) -> None:
        """Rules 1, 2 and 5 to 8: each resource waits for what made the browser request it."""
        for request in self.requests:
            node = self.resource_of.get(request.key)
            if node is None:
                continue
            cause = self.causes[request.key]
            if cause.kind == "root":
                continue
            parent = self._parent_of(request, cause)
            if parent is None:
                parent = self._anything_before(request)
                node.fields["evidence"] = "fallback"
            node.after(parent)
            if request.preflight is not None:
                node.after(self.resource_of.get(request.preflight.key))
            if cause.kind == "import" and cause.request is not None:
                node.after(self._own_tag(cause.request))
            if request.sent < self.recording.load:
                evidence = str(node.fields["evidence"])
                self.report.evidence[evidence] += 1
                if evidence == "fallback":
                    self.report.fallback_urls.append(request.url)

    def _parent_of(self, request: Request, cause: Cause) -> Node | None:
        if cause.kind in ("redirect", "import") and cause.request is not None:
            return self.resource_of.get(cause.request.key)
        if cause.kind == "computation" and cause.computation is not None:
            return self.piece_at(cause.computation, request.sent)
        if cause.kind == "style" and cause.request is not None:
            return self.style_of(cause.request)
        if cause.kind == "tag":
            for document in self.documents.get(cause.frame) or []:
                if document.url == cause.document:
                    return document.chunk_at(cause.offset)
        if cause.kind == "end":
            return self.document_end(cause.frame, request.sent)
        return None

    def _own_tag(self, script: Request) -> Node | None:
        """The chunk that ends with the tag of a script which a hint had fetched."""
        hint = self.causes[script.key].tag
        document = self.document(script.frame, script.sent)
        if hint is None or not hint.is_hint or document is None:
            return None
        for tag in document.source.tags:
            if tag.is_script and tag.names(script.url, document.source.base):
                return document.chunk_at(tag.end)
        return None

    def _anything_before(self, request: Request) -> Node | None:
        main = self.recording.events.main_frame
        return (
            self.document_end(request.frame, request.sent)
            or self.document_end(main, request.sent)
            or next(iter(self.resource_of.values()))
        )

    def add_style_sheets(self) -> None:
        """An evaluation for every style sheet that arrived."""
        for request in self.requests:
            if request.type == "Stylesheet" and request.succeeded:
                self.style_of(request)

    @cached_property
    def _sheets(self) -> dict[Computation, Request]:
        """Which reference to a style sheet each evaluation belongs to: the n-th to the n-th."""
        found: dict[Computation, Request] = {}
        evaluations: dict[str, list[Computation]] = {}
        for computation in self.pieces:
            if computation.kind == "style":
                evaluations.setdefault(urldefrag(computation.url).url, []).append(computation)
        for url, computations in evaluations.items():
            requests = [r for r in self.requests_for(url) if r.succeeded]
            for number, computation in enumerate(sorted(computations, key=lambda c: c.start)):
                earlier = [r for r in requests if r.sent <= computation.end]
                if earlier:
                    found[computation] = earlier[min(number, len(earlier) - 1)]
        return found

    @cached_property
    def _evaluated(self) -> dict[str, Computation]:
        found: dict[str, Computation] = {}
        for computation, request in self._sheets.items():
            found.setdefault(request.key, computation)
        return found

    def sheet_of(self, style: Computation) -> Request | None:
        """The request whose response a style evaluation evaluates."""
        return self._sheets.get(style)

    def style_of(self, sheet: Request) -> Node:
        """The evaluation of a style sheet; one without duration where the trace has none."""
        computation = self._evaluated.get(sheet.key)
        if computation is not None:
            return self.pieces[computation][-1][1]
        identity = f"style_{sheet.id}_{sheet.hop}"
        if identity not in self.nodes.by_id:
            time = sheet.finished if sheet.finished is not None else sheet.sent
            node = self.nodes.add(
                identity,
                time,
                type="evaluation",
                frame=self.frame(sheet.frame),
                kind="style",
                duration_ms=0.0,
                phase=self.phase(time),
                url=urldefrag(sheet.url).url,
                recorded_start_ms=self.ms(time),
            )
            node.after(self.resource_of.get(sheet.key))
        return self.nodes.by_id[identity]


LONGEST_DATA_URL = 500
"""Longer data URLs, which hold images mostly, are named by a digest."""


def _named(url: str) -> str:
    if not url.startswith("data:") or len(url) <= LONGEST_DATA_URL:
        return url
    return f"{url.partition(',')[0]},sha256-{hashlib.sha256(url.encode()).hexdigest()}"


# What browsers ask for, where the answer was an error page.
_ASKED_FOR = {
    "Script": "text/javascript",
    "Stylesheet": "text/css",
    "Image": "image/*",
    "Font": "font/*",
}


def _mime_type(request: Request) -> str:
    if request.status >= 400 or not request.mime_type:
        return _ASKED_FOR.get(request.type, request.mime_type)
    return request.mime_type


def _target(computation: Computation) -> str | None:
    if computation.told is None:
        return None
    return computation.told[1].split(" ")[0]


def build_graph(
    recording: Recording,
    timings: Sequence[Recording] = (),
    *,
    name: str = "",
    source: str = "",
    causes: Callable[[Recording], dict[str, Cause]] = find_causes,
) -> tuple[dict[str, Any], BuildReport]:
    """The page graph of a recording, as JSON values, and what the build could not explain.

    Parameters
    ----------
    recording
        The structure pass.
    timings
        Further loads of the page, for the durations of computations.
    name
        The graph's; by default the host of the page.
    source
        Where the graph came from, for people.
    causes
        Finds what made the browser request each resource.
    """
    builder = Builder(recording, list(timings), causes)
    builder.add_resources()
    documents.add_documents(builder)
    builder.modules = scripts.name_modules(builder)
    scripts.tell_events(builder)
    builder.registrations = scripts.find_registrations(builder)
    builder.add_computations()
    builder.connect_resources()
    builder.connect_synchronous()
    builder.add_style_sheets()
    scripts.connect_scripts(builder)
    styled.connect_styled(builder)
    scripts.connect_callbacks(builder)
    ends = completion.add_completion(builder)
    work.add_other_work(builder)
    completion.normalise(builder, ends)
    raised.add_raises(builder)
    for measured in timings or [recording]:
        busy = work.busy_time(measured)
        builder.report.busy_ms.append(busy.busy / 1000.0)
        builder.report.by_rules_ms.append(busy.by_rules / 1000.0)
        builder.report.other_work_ms.append(busy.other / 1000.0)
    builder.report.cut_edges = builder.nodes.drop_backward_edges()
    return graph_of(builder, ends, name=name, source=source), builder.report


def graph_of(
    builder: Builder, ends: completion.Ends, *, name: str = "", source: str = ""
) -> dict[str, Any]:
    """The page graph of a finished build."""
    root = next(iter(builder.resource_of.values()))
    url = root.fields["url"]
    return {
        "format": "loadpath-page-graph",
        "version": 1,
        "name": name or urlsplit(url).hostname or "page",
        "url": url,
        "source": source or "profiled",
        "root": root.id,
        "load_event": ends.load.id,
        "dom_content_loaded_event": ends.dom_content_loaded.id,
        "frames": documents.frames(builder),
        "activities": builder.nodes.activities(),
    }
