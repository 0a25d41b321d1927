"""Page graphs from HAR files: approximate, and honest about what a HAR cannot tell.

A HAR has requests and their times, bodies at best, and no computations. So every script and style
sheet is there without duration. What is known is how long after the arrival of all that a request
waited for it was made: that time is kept as a wait in front of the request which does not occupy
the processor (it may have been computation, another script's turn, a timer). With the waits the
graph replays the recorded times on the recorded network; without them its load is a lower bound.
"""

from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

from loadpath.errors import LoadpathError, hinted
from loadpath.graphs.build import completion, documents, scripts
from loadpath.graphs.build.builder import Builder, graph_of
from loadpath.graphs.build.causes import Cause
from loadpath.graphs.build.completion import Ends
from loadpath.graphs.build.computations import Computation, ThreadWork
from loadpath.graphs.build.devtools import Document, FrameRecord, Pass, Request
from loadpath.graphs.build.html import Source
from loadpath.graphs.build.nodes import Node
from loadpath.graphs.build.recording import Recording
from loadpath.graphs.build.trace import Slice, Thread, Trace
from loadpath.graphs.har_causes import (
    ROUNDING_US,
    CauseFinder,
    KnownDocument,
    TextIndex,
    arrived,
)
from loadpath.graphs.har_file import MAX_MS, Entry, PageRecord, plain_url, read_har
from loadpath.graphs.import_report import ImportReport
from loadpath.graphs.skeleton import Mark, SkeletonSource
from loadpath.profiler.headers import request_header_bytes, response_header_bytes

__all__ = ["import_har"]

_MAIN = "main"
_GUESSES_SHOWN = 20
# Chromium's priorities of scripts that do not block the parser, and of style sheets for other media
# (blink, ResourceFetcher::ComputeLoadPriority).
_ASYNC_PRIORITY = "Low"
_OTHER_MEDIA_PRIORITY = "VeryLow"
_TAGS = {"Script": "script", "Stylesheet": "link", "Image": "img", "Document": "iframe"}


def import_har(
    path: Path, *, page: str | None = None, waits: bool = True, name: str = ""
) -> tuple[dict[str, Any], ImportReport]:
    """The page graph of a HAR file, as JSON values, and what the file could not tell.

    Parameters
    ----------
    path
        HAR 1.2 of any tool, plain or gzip; a profile's archive, too.
    page
        Which page of several: number from 1, id or title; by default the first.
    waits
        Keep the recorded time between what a request waited for and the request.
    name
        Of the graph; by default the host.

    Raises
    ------
    LoadpathError
        The file is no HAR, is damaged, too large, or holds no page load.
    NotFoundError
        It has no such page.
    """
    har = read_har(path)
    record = har.page(page, path)
    if not record.entries:
        raise hinted(
            LoadpathError(f"{path}: the page {record.id} has no requests"), "choose another"
        )
    if not any(_is_web(entry) for entry in record.entries):
        raise hinted(
            LoadpathError(f"{path}: no request of the page is for http: or https:"),
            "record the load of a web page",
        )
    is_ours = har.tool.startswith("Loadpath") and any(e.frame for e in record.entries)
    load = _Load(path, record, is_ours=is_ours)
    builder = load.build()
    ends = load.ends
    report = ImportReport(
        kind="archive" if is_ours else "har",
        tool=har.tool,
        url=load.requests[0].url,
        page=har.pages.index(record) + 1,
        pages=len(har.pages),
    )
    load.add_server_delays(report)
    load.add_header_sizes()
    if waits:
        load.add_waits(report)
    load.tell(report)
    graph = graph_of(builder, ends, name=name, source=f"imported from HAR of {har.tool}")
    report.activities = len(graph["activities"])
    return graph, report


class _Load:
    """One page load of a HAR on its way to a graph."""

    builder: Builder
    ends: Ends
    request_of: dict[str, Request]

    def __init__(self, path: Path, record: PageRecord, *, is_ours: bool) -> None:
        self.path = path
        self.record = record
        self.entries = _entries_of_load(record)
        self.ignored = len(record.entries) - len(self.entries)
        self.unplaced = 0
        self.origin = self.entries[0].start
        self.events = Pass(main_frame=self.entries[0].frame or _MAIN)
        self.thread = ThreadWork(Thread(0, 0, "CrRendererMain"))
        self.sources: dict[str, Source] = {}
        self.causes: dict[str, Cause] = {}
        self.modules: dict[Computation, Request] = {}
        self.entry_of: dict[str, Entry] = {}
        self._check_times()
        self._read_page_times()
        self.requests = self._requests()
        self.finder = CauseFinder(self._index(), trusts_stacks=is_ours)
        self.finder.main_frame = self.events.main_frame
        self._find_causes()

    # Times: microseconds since the first request.

    def _check_times(self) -> None:
        last = self.entries[-1]
        if (last.start - self.origin) / 1000.0 > MAX_MS:
            hours = (last.start - self.origin) / 3.6e9
            raise hinted(
                LoadpathError(
                    f"{self.path}: log.entries[{last.index}].startedDateTime: {hours:.0f} h after "
                    f"the page's first request (allowed: {MAX_MS / 3.6e6:.0f} h)"
                ),
                "a graph is of one page load: choose a page with --page",
            )

    def _read_page_times(self) -> None:
        begin = self.record.start if self.record.start is not None else self.origin
        # Some tools date the page by another clock; then its first request is the better origin.
        if abs(begin - self.origin) > MAX_MS * 1000.0:
            begin = self.origin
        for name, value in (
            ("dom_content_loaded", self.record.dom_content_loaded_ms),
            ("load", self.record.load_ms),
        ):
            if value is not None and value > 0:
                time = begin - self.origin + value * 1000.0
                setattr(self.events, name, max(time, 0.0))

    # Requests.

    def _requests(self) -> list[Request]:
        result: list[Request] = []
        awaited: dict[str, Request] = {}
        for entry in self.entries:
            request = self._request(entry)
            before = awaited.pop(urldefrag(entry.url).url, None)
            if before is not None and arrived(before, request):
                request.id, request.hop = before.id, before.hop + 1
                before.redirected_to = request
                request.loader = request.id
            if entry.redirect_url:
                awaited[urldefrag(entry.redirect_url).url] = request
            result.append(request)
        for request in reversed(result):
            if request.redirected_to is not None:
                request.type = request.redirected_to.type
        result[0].type = "Document"
        first: Request | None = result[0]
        while first is not None:
            first.type = "Document"
            first = first.redirected_to
        for entry, request in zip(self.entries, result, strict=True):
            self.entry_of[request.key] = entry
        self.events.requests = result
        return result

    def _request(self, entry: Entry) -> Request:
        return Request(
            id=str(entry.index),
            hop=0,
            url=entry.url,
            method=entry.method,
            type=entry.type,
            frame=entry.frame,
            loader=str(entry.index),
            session="",
            target="",
            sent=entry.start - self.origin,
            initiator={},
            priority=entry.priority,
            responded=entry.first_byte - self.origin if not entry.failed else None,
            finished=entry.end - self.origin if entry.end is not None else None,
            status=entry.status,
            mime_type=entry.mime_type,
            remote_address=entry.address,
            decoded_bytes=entry.size_bytes,
            from_cache=entry.from_cache,
            failed=entry.failed,
            is_link_preload=entry.is_link_preload,
        )

    # Code.

    def _index(self) -> TextIndex:
        index = TextIndex(urldefrag(request.url).url for request in self.requests)
        for request in self.requests:
            body = self.entry_of[request.key].body
            if body is None:
                continue
            if request.type == "Script":
                index.add(request.key, body)
            elif request.type == "Document" and request.redirected_to is None:
                source = Source(body, urldefrag(request.url).url)
                self.sources.setdefault(source.url, source)
                for number, tag in enumerate(source.tags):
                    if tag.is_script and "src" not in tag.attributes:
                        index.add(f"{request.key}#{number}", source.text[tag.end : tag.close])
                    handlers = [v for name, v in tag.attributes.items() if name.startswith("on")]
                    if handlers:
                        index.add(f"{request.key}@{number}", " ".join(handlers))
        return index

    def _source(self, request: Request) -> Source:
        """The document's text, or where the tool says that its parser found what."""
        url = urldefrag(request.url).url
        if url not in self.sources:
            marks = []
            columns: Counter[int] = Counter()
            for other in self.requests:
                said = self.entry_of[other.key].initiator
                if said.kind != "parser" or said.url != url or not said.line or other.hop:
                    continue
                columns[said.line] += 1
                marks.append(
                    Mark(
                        said.line,
                        said.column or columns[said.line],
                        _TAGS.get(other.type, "link"),
                        urldefrag(other.url).url,
                        _guess_attributes(other),
                    )
                )
            size = max(self.entry_of[request.key].decoded_bytes, request.decoded_bytes)
            self.sources[url] = SkeletonSource(url, size, marks)
        return self.sources[url]

    def _run(self, key: str, url: str, frame: str, time: float, **fields: Any) -> Computation:
        slice_ = Slice("EvaluateScript", time, time, {})
        run = Computation(
            kind="script",
            slice=slice_,
            thread=self.thread.thread,
            start=time,
            end=time,
            url=url,
            frame=frame,
            id=key,
            **fields,
        )
        self.thread.computations.append(run)
        return run

    # Causes.

    def _find_causes(self) -> None:
        before: dict[str, Request] = {}
        for number, request in enumerate(self.requests):
            entry = self.entry_of[request.key]
            if number:
                self._place(request, entry)
            if request.hop:
                earlier = before[request.id]
                request.frame = earlier.frame
                cause = Cause("redirect", "redirect", request=earlier)
            elif not number:
                request.frame = self.events.main_frame
                cause = Cause("root", "source")
            else:
                cause = self.finder.find(request, entry)
                self._adopt_frame(request, entry, cause)
            if cause.tag is not None and cause.tag.is_hint:
                request.is_link_preload = True
            self.causes[request.key] = cause
            before[request.id] = request
            self.finder.add_request(request)
            self._add_code(request, entry, cause)

    def _place(self, request: Request, entry: Entry) -> None:
        """The frame: as told, else that of the referrer, else that of the initiator."""
        if entry.frame:
            request.frame = entry.frame
            return
        said = entry.initiator
        referrer = plain_url(entry.request_headers.get("referer", ""))
        for url in (referrer, said.url, *(frame[0] for frame in said.frames)):
            found = self.finder.frame_showing(url) if url else None
            if found is not None:
                request.frame = found
                return
        request.frame = self.events.main_frame
        # With one frame there is no other.
        self.unplaced += len(self.events.frames) > 1

    def _adopt_frame(self, request: Request, entry: Entry, cause: Cause) -> None:
        """Documents behind the first are of frames of their own; others may follow their cause."""
        if request.type != "Document":
            if not entry.frame and cause.kind == "style" and cause.request is not None:
                request.frame = cause.request.frame
            return
        parent = request.frame
        if cause.frame:
            parent = cause.frame
        elif cause.computation is not None:
            parent = cause.computation.frame
        if entry.frame:
            if entry.frame not in self.events.frames:
                known = parent if parent in self.events.frames else self.events.main_frame
                self.events.frames[entry.frame] = FrameRecord(entry.frame, known, "")
            return
        if entry.request_headers.get("sec-fetch-dest") == "document":
            request.frame = self.events.main_frame
            return
        request.frame = f"frame_{request.id}"
        self.events.frames[request.frame] = FrameRecord(request.frame, parent, "")

    def _add_code(self, request: Request, entry: Entry, cause: Cause) -> None:
        if request.redirected_to is not None:
            return
        if request.type == "Document":
            self._add_document(request)
        elif request.type == "Stylesheet" and request.succeeded:
            self.finder.add_sheet(request, entry.body)
        elif request.type == "Script" and request.succeeded and request.finished is not None:
            if cause.tag is not None and "prefetch" in cause.tag.attributes.get("rel", ""):
                return
            is_module = cause.kind == "import" or (cause.tag is not None and cause.tag.is_module)
            url = urldefrag(request.url).url
            run = self._run(request.key, url, request.frame, request.finished, is_module=is_module)
            if is_module:
                self.modules[run] = request
            self.finder.add_script(request.key, request, run, entry.body)

    def _add_document(self, request: Request) -> None:
        frames = self.events.frames
        if request.frame not in frames:
            parent = None if not frames else self.events.main_frame
            frames[request.frame] = FrameRecord(request.frame, parent, "")
        url = urldefrag(request.url).url
        frames[request.frame].documents.append(Document(request.frame, request.loader, url))
        source = self._source(request)
        known = KnownDocument(request.frame, request, source)
        time = request.responded if request.responded is not None else request.sent
        for number, tag in enumerate(source.tags):
            if isinstance(source, SkeletonSource) or not tag.is_script or "src" in tag.attributes:
                continue
            line, column = source.position(tag.end)
            run = self._run(
                f"{request.key}#{number}",
                url,
                request.frame,
                time,
                line=line,
                column=column,
                is_module=tag.is_module,
            )
            known.inline.append((tag, run))
        self.finder.add_document(known)

    # The graph.

    def build(self) -> Builder:
        """The graph but for delays and waits."""
        recording = Recording(
            self.events, Trace(), [self.thread], {}, self.requests[0].sent, sources=self.sources
        )
        builder = Builder(recording, [], lambda _: self.causes)
        builder.add_resources()
        self.request_of = {
            node.id: request
            for request in self.requests
            if (node := builder.resource_of.get(request.key)) is not None
        }
        documents.add_documents(builder)
        builder.modules = self.modules
        builder.add_computations()
        builder.connect_resources()
        builder.add_style_sheets()
        scripts.connect_scripts(builder)
        self._connect_preflights(builder)
        self.ends = completion.add_completion(builder)
        completion.normalise(builder, self.ends)
        self._keep_late(builder)
        builder.report.cut_edges = builder.nodes.drop_backward_edges()
        self.builder = builder
        return builder

    def _connect_preflights(self, builder: Builder) -> None:
        """A request that is preceded by a CORS preflight waits for its response (Fetch, 4.8)."""
        asked: dict[str, Request] = {}
        for request in self.requests:
            url = urldefrag(request.url).url
            if request.type == "Preflight" or request.method == "OPTIONS":
                asked[url] = request
            elif url in asked and request.type in ("XHR", "Fetch"):
                preflight = asked.pop(url)
                node = builder.resource_of.get(request.key)
                if node is not None and (preflight.finished or 0.0) <= request.sent + ROUNDING_US:
                    node.after(builder.resource_of.get(preflight.key))

    def _keep_late(self, builder: Builder) -> None:
        """What code requested after the load event stays behind it: its callback is unknown."""
        load = builder.recording.load
        late = {self.ends.load.id}
        for node in builder.nodes.in_order():
            request = self.request_of.get(node.id)
            if not late.isdisjoint(node.parents):
                late.add(node.id)
                continue
            is_late = request is not None and request.sent >= load
            if is_late and request and self.causes[request.key].kind == "computation":
                node.after(self.ends.load)
                late.add(node.id)

    def add_server_delays(self, report: ImportReport) -> None:
        """Time to the first byte less the host's least round trip: the fastest TCP handshake."""
        rtt_ms: dict[str, float] = {}
        for entry in self.entries:
            for key in (entry.host, entry.address):
                if entry.connect_ms is not None and key:
                    rtt_ms[key] = min(rtt_ms.get(key, entry.connect_ms), entry.connect_ms)
        for request in self.requests:
            node = self.builder.resource_of.get(request.key)
            if node is None or request.from_cache or not request.url.startswith("http"):
                continue
            entry = self.entry_of[request.key]
            rtt = rtt_ms.get(entry.host, rtt_ms.get(entry.address))
            if rtt is None or entry.wait_ms is None or request.failed:
                report.unknown_server_delays += 1
                continue
            delay = min(max(0.0, entry.wait_ms - rtt), 3_600_000.0)
            node.fields["server_delay_ms"] = round(delay, 3)
            node.fields["server_delay_source"] = "timing"

    def add_header_sizes(self) -> None:
        """Of the exchanges whose headers the file has."""
        for request in self.requests:
            node, entry = self.builder.resource_of.get(request.key), self.entry_of[request.key]
            if node is None or request.from_cache or not request.url.startswith("http"):
                continue
            if entry.request_headers and entry.response_headers:
                node.fields["request_header_bytes"] = request_header_bytes(
                    entry.method, entry.url, entry.request_headers.items()
                )
                node.fields["response_header_bytes"] = response_header_bytes(
                    entry.status, entry.response_headers.items()
                )

    def add_waits(self, report: ImportReport) -> None:
        """Recorded time between what a request or a marker waited for and itself."""
        markers = {
            self.ends.load.id: self.events.load,
            self.ends.dom_content_loaded.id: self.events.dom_content_loaded,
        }
        load = self.events.load if self.events.load is not None else float("inf")
        ready: dict[str, float] = {}
        for node in list(self.builder.nodes.in_order()):
            begin = max((ready[parent] for parent in node.parents), default=0.0)
            request = self.request_of.get(node.id)
            started = request.sent if request is not None else markers.get(node.id)
            if started is not None and node.parents and started <= load:
                wait = min(started - begin, MAX_MS * 1000.0 / 24.0)
                if wait > ROUNDING_US:
                    self._wait(node, begin, wait, report)
                    begin += wait
            ready[node.id] = self._ready(node, request, begin)

    def _ready(self, node: Node, request: Request | None, begin: float) -> float:
        """When the recording had finished an activity that could begin at a time."""
        if request is not None:
            return request.finished if request.finished is not None else request.sent
        if node.type == "download_chunk":
            return max(begin, self._arrival(node))
        return begin

    def _arrival(self, chunk: Node) -> float:
        resource = self.builder.nodes.by_id[chunk.fields["resource"]]
        request = self.request_of[resource.id]
        if request.finished is None or request.responded is None:
            return request.sent
        size = max(1, int(resource.fields["size_bytes"]))
        end = int(chunk.fields["offset_bytes"]) + int(chunk.fields["size_bytes"])
        part = end / size
        return request.responded + (request.finished - request.responded) * min(part, 1.0)

    def _wait(self, node: Node, begin: float, wait: float, report: ImportReport) -> None:
        timer = self.builder.nodes.add(
            f"wait_{node.id}",
            begin,
            type="evaluation",
            frame=0,
            kind="timer",
            duration_ms=0.0,
            phase="dom" if node is self.ends.dom_content_loaded else self.builder.phase(begin),
            timeout_ms=round(wait / 1000.0, 3),
            recorded_start_ms=self.builder.ms(begin + wait),
        )
        timer.after(*node.parents.values())
        node.after(timer)
        report.waits += 1
        report.waits_ms += wait / 1000.0

    def tell(self, report: ImportReport) -> None:
        """What is in the graph, and what the file did not say."""
        built, nodes = self.builder.report, self.builder.nodes.by_id.values()
        report.requests = len(self.builder.resource_of)
        report.ignored = self.ignored
        report.evidence = dict(built.evidence)
        report.guessed = built.fallback_urls[:_GUESSES_SHOWN]
        report.frames = len(self.builder.frame_ids)
        report.unplaced = self.unplaced
        markers = (self.ends.load, self.ends.dom_content_loaded)
        report.unknown_durations = sum(
            node.type == "parse_chunk" or (node.type == "evaluation" and node not in markers)
            for node in nodes
        )
        report.unknown_durations -= report.waits
        for request in self.requests:
            if request.redirected_to is not None or request.failed:
                continue
            entry = self.entry_of[request.key]
            is_code = request.type in ("Document", "Stylesheet", "Script")
            report.missing_bodies += is_code and entry.body is None
            unknown = not entry.size_bytes and not entry.from_cache and request.status == 200
            report.unknown_sizes += unknown and not entry.has_body
        if self.events.load is None:
            report.warnings.append("load event unknown: every request counts as before it")
        else:
            report.load_ms = self.events.load / 1000.0
        if self.events.dom_content_loaded is not None:
            report.dom_content_loaded_ms = self.events.dom_content_loaded / 1000.0
        if built.cut_edges:
            report.warnings.append(f"{built.cut_edges} dependencies cut: they formed circles")


def _guess_attributes(request: Request) -> tuple[tuple[str, str], ...]:
    """What a tag must have been for its request's priority."""
    if request.type == "Script" and request.priority == _ASYNC_PRIORITY:
        return (("async", ""),)
    if request.type == "Stylesheet":
        other = request.priority == _OTHER_MEDIA_PRIORITY
        return (("rel", "stylesheet"), ("media", "print" if other else ""))
    return ()


def _is_web(entry: Entry) -> bool:
    return entry.url.startswith(("http:", "https:"))


def _entries_of_load(record: PageRecord) -> list[Entry]:
    """The page's entries from the main document's first request on."""
    entries = record.entries
    title = plain_url(record.title.strip())
    web = [entry for entry in entries if _is_web(entry)]
    root = next((e for e in web if title and urldefrag(e.url).url == title), None)
    if root is None:
        root = next((e for e in web if e.type == "Document" and e.status < 400), web[0])
    # Back to where the redirects began that led here.
    sources = {urldefrag(e.redirect_url).url: e for e in web if e.redirect_url}
    seen = {root.index}
    while (before := sources.get(urldefrag(root.url).url)) is not None:
        if before.index in seen or before.start > root.start:
            break
        seen.add(before.index)
        root = before
    rest = [e for e in entries if e.start >= root.start and e is not root]
    return [root, *rest]
