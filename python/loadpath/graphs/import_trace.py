"""Page graphs from traces that DevTools saved (Performance panel, "Save profile").

Such a trace has the main thread's work, and requests with initiators and priorities, so the graph
builder finds causes by what ran when the request was made. It has no bodies as a rule: where the
parser found a URL is known by line and column only, and stays unverified. Events of one page load
are taken: from a navigation of the main frame to the next.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlsplit

import ijson  # type: ignore[import-untyped]

from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.graphs.build.builder import build_graph
from loadpath.graphs.build.causes import Cause, find_causes
from loadpath.graphs.build.computations import Computation, ThreadWork, computations_of
from loadpath.graphs.build.devtools import Document, FrameRecord, Pass, Request
from loadpath.graphs.build.html import Source
from loadpath.graphs.build.recording import Recording
from loadpath.graphs.build.trace import (
    Slice,
    Trace,
    TraceEvent,
    open_trace,
    read_trace,
)
from loadpath.graphs.import_report import ImportReport
from loadpath.graphs.skeleton import Mark, SkeletonSource

__all__ = ["import_trace"]

MAX_REQUESTS = 100_000
"""Most requests, as of a HAR."""
MAX_BODIES_BYTES = 1 << 28
"""Most text of resources that is kept from a trace's metadata."""

_GUESSES_SHOWN = 20
_FRAME_EVENTS = frozenset({"FrameCommittedInBrowser", "CommitLoad"})
_TEXT = ("html", "css", "xml")
# The usual tag for what was fetched.
_TAGS = {"Script": "script", "Stylesheet": "link", "Image": "img", "Document": "iframe"}


@dataclass
class _Navigation:
    """A navigation of the main frame."""

    frame: str
    url: str
    time: float


@dataclass
class _Commit:
    """A document that a frame began to show."""

    frame: str
    parent: str
    url: str
    process: str
    time: float


@dataclass
class _Loose:
    """Events outside the threads' slices."""

    navigations: list[_Navigation] = field(default_factory=list)
    commits: list[_Commit] = field(default_factory=list)
    # When each frame was made, when browsers sent navigations' requests, page events by frame.
    made: dict[str, float] = field(default_factory=dict)
    sent: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    page_events: dict[tuple[str, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )
    seen: set[str] = field(default_factory=set)

    def take(self, event: TraceEvent) -> None:
        """Look at an event."""
        args = event.args or {}
        data = args.get("data")
        data = data if isinstance(data, dict) else {}
        frame = str(args.get("frame") or data.get("frame") or "")
        if event.name == "navigationStart":
            self.made.setdefault(frame, event.ts)
            url = str(data.get("documentLoaderURL") or "")
            is_main = data.get("isOutermostMainFrame", data.get("isLoadingMainFrame"))
            if is_main and url.startswith(("http:", "https:")):
                identity = str(data.get("navigationId") or f"{frame} {event.ts}")
                if identity not in self.seen:
                    self.seen.add(identity)
                    self.navigations.append(_Navigation(frame, url, event.ts))
        elif event.name in _FRAME_EVENTS:
            process = data.get("processId") or (event.pid if event.name == "CommitLoad" else "")
            self.commits.append(
                _Commit(
                    frame,
                    str(data.get("parent") or ""),
                    str(data.get("url") or ""),
                    str(process),
                    event.ts,
                )
            )
        elif event.name == "ResourceWillSendRequest":
            self.sent[str(data.get("requestId") or "")].append(event.ts)
        elif event.name in (
            "domContentLoadedEventStart",
            "loadEventStart",
            "MarkDOMContent",
            "MarkLoad",
        ):
            self.page_events[event.name, frame].append(event.ts)


def import_trace(
    path: Path, *, page: str | None = None, name: str = ""
) -> tuple[dict[str, Any], ImportReport]:
    """The page graph of a trace, as JSON values, and what the trace could not tell.

    Parameters
    ----------
    path
        JSON, plain or gzip; read as a stream, so memory follows the page, not the trace.
    page
        Which navigation of several: number from 1; by default the first.
    name
        Of the graph; by default the host.

    Raises
    ------
    LoadpathError
        The file is no trace, is damaged, or holds no page load.
    NotFoundError
        It has no such navigation.
    """
    try:
        load = _Load(path, page)
        graph, built = build_graph(
            load.recording,
            name=name,
            source="imported from a trace of DevTools",
            causes=load.causes,
        )
        load.add_server_delays(graph)
    except RecursionError:
        raise LoadpathError(f"{path}: nested too deeply") from None
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise hinted(
            LoadpathError(f"{path}: an event has a field of the wrong type: {error}"),
            "the trace is damaged, or not of Chromium: record it again",
        ) from error
    report = load.report
    report.requests = len(load.recording.events.requests)
    report.activities = len(graph["activities"])
    report.evidence = dict(built.evidence)
    report.guessed = built.fallback_urls[:_GUESSES_SHOWN]
    report.frames = len(graph["frames"])
    return graph, report


class _Load:
    """One page load of a trace as a recording."""

    def __init__(self, path: Path, page: str | None) -> None:
        self.path = path
        loose = _Loose()
        trace = read_trace(path, loose.take)
        loose.commits.sort(key=lambda commit: commit.time)
        loose.navigations.sort(key=lambda navigation: navigation.time)
        navigation, end, number = _choose(path, loose, page)
        self.loose = loose
        self.start, self.end = navigation.time, end
        self.events = Pass(main_frame=navigation.frame)
        self.report = ImportReport(
            kind="trace",
            tool="DevTools",
            url=navigation.url,
            page=number,
            pages=len(loose.navigations),
        )
        self._find_frames(navigation)
        self._cut(trace)
        self.threads = [computations_of(thread) for thread in trace.threads.values()]
        self._find_requests(trace)
        self._find_documents()
        self._find_page_events()
        self.bodies = _read_bodies(path)
        self.sources: dict[str, Source] = {}
        first = self.events.requests[0]
        self.recording = Recording(
            self.events, trace, self.threads, self.bodies, first.sent, sources=self.sources
        )
        self._add_skeletons()
        self._tell()

    # Frames and threads.

    def _find_frames(self, navigation: _Navigation) -> None:
        frames = self.events.frames
        frames[navigation.frame] = FrameRecord(navigation.frame, None, "")
        if not self.loose.commits:
            self.report.warnings.append("no frames in the trace: all requests count as one frame's")
        for commit in self.loose.commits:
            if not self.start <= commit.time < self.end:
                continue
            if commit.frame not in frames and commit.parent in frames:
                frames[commit.frame] = FrameRecord(commit.frame, commit.parent, "")
            if commit.frame in frames and commit.process:
                frames[commit.frame].target = commit.process

    def _cut(self, trace: Trace) -> None:
        """Keep the page's threads, from its navigation to the next."""
        processes = {record.target for record in self.events.frames.values()} - {""}
        for key, thread in list(trace.threads.items()):
            thread.roots = [r for r in thread.roots if r.end >= self.start and r.start < self.end]
            if not thread.roots or (processes and str(key[0]) not in processes):
                del trace.threads[key]

    # Requests.

    def _find_requests(self, trace: Trace) -> None:
        moments: dict[str, list[Slice]] = defaultdict(list)
        for thread in trace.threads.values():
            for found in thread.walk():
                if found.name.startswith("Resource") and found.data.get("requestId"):
                    moments[str(found.data["requestId"])].append(found)
        if len(moments) > MAX_REQUESTS:
            raise LoadpathError(
                f"{self.path}: {len(moments)} requests are too many (allowed: {MAX_REQUESTS})"
            )
        requests: list[Request] = []
        for identity, found_there in moments.items():
            found_there.sort(key=lambda found: found.start)
            hops = self._hops(identity, found_there)
            for before, after in pairwise(hops):
                before.redirected_to = after
                before.finished = before.responded = after.sent
                before.status = 302
            requests += hops
        self.report.ignored = sum(not self._belongs(r) for r in requests)
        requests = [request for request in requests if self._belongs(request)]
        requests.sort(key=lambda request: (request.sent, request.hop))
        root = next(
            (
                index
                for index, request in enumerate(requests)
                if request.type == "Document" and request.frame == self.events.main_frame
            ),
            None,
        )
        if root is None:
            raise hinted(
                LoadpathError(f"{self.path}: the trace has no request for the page's document"),
                "record with DevTools' network events: Performance panel, Record and reload",
            )
        self.report.ignored += root
        self.events.requests = requests[root:]

    def _belongs(self, request: Request) -> bool:
        frames = self.events.frames
        return not request.frame or request.frame in frames or len(frames) == 1

    def _hops(self, identity: str, moments: list[Slice]) -> list[Request]:
        hops: list[Request] = []
        for found in moments:
            data = found.data
            if found.name == "ResourceSendRequest":
                hops.append(self._request(identity, len(hops), found))
                continue
            if not hops:
                continue
            request = hops[-1]
            if found.name == "ResourceReceiveResponse":
                _responded(request, found)
            elif found.name == "ResourceReceivedData":
                request.decoded_bytes += _whole(data.get("encodedDataLength"))
            elif found.name == "ResourceMarkAsCached":
                request.from_cache = True
            elif found.name == "ResourceFinish":
                finish = _number(data.get("finishTime"))
                request.finished = finish * 1e6 if finish > 0 else found.start
                request.encoded_bytes = _whole(data.get("encodedDataLength"))
                request.decoded_bytes = _whole(data.get("decodedBodyLength"))
                if data.get("didFail"):
                    request.failed = "failed"
        if hops and hops[0].type == "Document":
            # The renderer learns of its document when it is committed; the browser sent earlier.
            sent = [time for time in self.loose.sent.get(identity, []) if time >= self.start]
            for request, time in zip(hops, sent, strict=False):
                request.sent = min(time, request.sent)
            begun = _number(hops[-1].timing.get("requestTime")) * 1e6
            if begun > 0:
                hops[-1].sent = begun
        return hops

    def _request(self, identity: str, hop: int, found: Slice) -> Request:
        data = found.data
        url = str(data.get("url") or "")
        kind = str(data.get("resourceType") or "") or _type_of(data)
        return Request(
            id=identity,
            hop=hop,
            url=url,
            method=str(data.get("requestMethod") or "GET"),
            type=kind,
            frame=str(data.get("frame") or "") or self.events.main_frame,
            loader=identity,
            session="",
            target="",
            sent=found.start,
            initiator=_initiator(data),
            priority=str(data.get("priority") or ""),
            is_link_preload=bool(data.get("isLinkPreload")),
        )

    # Documents and page events.

    def _find_documents(self) -> None:
        asked: dict[tuple[str, str], list[Request]] = defaultdict(list)
        for request in self.events.requests:
            if request.type == "Document" and request.redirected_to is None:
                asked[request.frame, urldefrag(request.url).url].append(request)
        for request in self.events.requests:
            # Frames whose commit the trace does not have.
            if request.type == "Document" and request.frame not in self.events.frames:
                self.events.frames[request.frame] = FrameRecord(
                    request.frame, self.events.main_frame, ""
                )
        shown: set[tuple[str, str]] = set()
        for commit in self.loose.commits:
            record = self.events.frames.get(commit.frame)
            url = urldefrag(commit.url).url
            if record is None or not self.start <= commit.time < self.end:
                continue
            if (commit.frame, url) in shown:
                # The browser and the renderer both tell.
                continue
            shown.add((commit.frame, url))
            requests = asked.pop((commit.frame, url), [])
            loader = requests[0].loader if requests else ""
            record.documents.append(Document(commit.frame, loader, url))
        for (frame, url), requests in asked.items():
            self.events.frames[frame].documents.append(Document(frame, requests[0].loader, url))

    def _find_page_events(self) -> None:
        main = self.events.main_frame
        for field_name, names in (
            ("dom_content_loaded", ("domContentLoadedEventStart", "MarkDOMContent")),
            ("load", ("loadEventStart", "MarkLoad")),
        ):
            begin = self.events.requests[0].sent
            for event in names:
                times = [t for t in self.loose.page_events[event, main] if begin <= t < self.end]
                if times:
                    setattr(self.events, field_name, min(times))
                    break

    # Documents without text.

    def _add_skeletons(self) -> None:
        sizes = {
            urldefrag(r.url).url: r.decoded_bytes
            for r in self.events.requests
            if r.type == "Document"
        }
        marks: dict[str, list[Mark]] = defaultdict(list)
        for request in self.events.requests:
            said = request.initiator
            if said.get("type") == "parser" and not request.hop and said.get("lineNumber") != -1:
                marks[urldefrag(str(said.get("url"))).url].append(self._mark(request, said))
        for computation in self.recording.computations():
            if computation.kind == "script" and computation.outer is None:
                url = urldefrag(computation.url).url
                marks[url].append(Mark(computation.line, computation.column, "script"))
        self._mark_frames(marks)
        for frame in self.events.frames.values():
            for document in frame.documents:
                url = document.url
                if url not in self.bodies and url not in self.sources and document.loader:
                    self.sources[url] = SkeletonSource(url, sizes.get(url, 0), marks[url])

    def _mark(self, request: Request, said: dict[str, Any]) -> Mark:
        attributes: tuple[tuple[str, str], ...] = ()
        if request.type == "Script":
            attributes = self._script_attributes(request, said)
        elif request.type == "Stylesheet":
            # Style sheets for other media block nothing (Chromium, RenderBlockingBehavior).
            media = "print" if said.get("renderBlocking") == "non_blocking" else ""
            attributes = (("rel", "stylesheet"), ("media", media))
        return Mark(
            int(said["lineNumber"]) + 1,
            int(said["columnNumber"]) + 1,
            _TAGS.get(request.type, "link"),
            urldefrag(request.url).url,
            attributes,
        )

    def _script_attributes(
        self, request: Request, said: dict[str, Any]
    ) -> tuple[tuple[str, str], ...]:
        """Whether the parser waited for the script, by what Chromium says and by when it ran."""
        run = self._run_of(request)
        if run is not None and run.is_module:
            return (("type", "module"),)
        blocking = str(said.get("renderBlocking") or "")
        if "blocking" in blocking and not blocking.endswith("non_blocking"):
            return ()
        if not blocking and request.priority != "Low":
            return ()
        parsed = max(
            (
                work.start + work.slice.duration
                for thread in self.threads
                for work in thread.work
                if work.kind == "parse" and work.frame == request.frame
            ),
            default=0.0,
        )
        dom = self.events.dom_content_loaded
        if run is not None and dom is not None and parsed <= run.start <= dom:
            return (("defer", ""),)
        return (("async", ""),)

    def _run_of(self, request: Request) -> Computation | None:
        url = urldefrag(request.url).url
        for computation in self.recording.computations():
            if computation.kind == "script" and urldefrag(computation.url).url == url:
                return computation
        return None

    def _mark_frames(self, marks: dict[str, list[Mark]]) -> None:
        """Frames that the parser made: at which line is known from when they were made."""
        columns: Counter[tuple[str, int]] = Counter()
        for request in self.events.requests:
            record = self.events.frames.get(request.frame)
            if request.type != "Document" or record is None or record.parent is None or request.hop:
                continue
            made = self.loose.made.get(request.frame)
            parent = self.events.frames[record.parent]
            line = self._line_at(parent.id, made) if made is not None else None
            if line is None or not parent.documents:
                continue
            url = parent.documents[-1].url
            columns[url, line] += 1
            column = columns[url, line]
            request.initiator = {
                "type": "parser",
                "url": url,
                "lineNumber": line - 1,
                "columnNumber": column - 1,
            }
            marks[url].append(Mark(line, column, "iframe", urldefrag(request.url).url))

    def _line_at(self, frame: str, time: float) -> int | None:
        """The line at which a frame's parser was, from 1; None if it did not run."""
        for thread in self.threads:
            for work in thread.work:
                if work.kind != "parse" or work.frame != frame:
                    continue
                if work.slice.start <= time <= work.slice.end:
                    if thread.enclosing(thread.thread.at(time), time) is not None:
                        return None
                    begin = _whole(work.slice.data.get("startLine"))
                    last = _whole((work.slice.args.get("endData") or {}).get("endLine")) or begin
                    part = (time - work.slice.start) / max(work.slice.duration, 1.0)
                    line = 1 + begin + int((max(last, begin) - begin) * part)
                    return max(line, self._line_of_last_script(thread, frame, time))
        return None

    def _line_of_last_script(self, thread: ThreadWork, frame: str, time: float) -> int:
        """The line of the last inline script that had run by then."""
        urls = {document.url for document in self.events.frames[frame].documents}
        return max(
            (
                c.line
                for c in thread.computations
                if c.frame == frame and c.end <= time and urldefrag(c.url).url in urls
            ),
            default=0,
        )

    def add_server_delays(self, graph: dict[str, Any]) -> None:
        """Time to the first byte less the host's least round trip: the fastest TCP handshake."""
        rtt_ms: dict[str, float] = {}
        waited: dict[tuple[str, float], Request] = {}
        begin = self.events.requests[0].sent
        for request in self.events.requests:
            timing = request.timing
            connect = _span(timing, "connectStart", "connectEnd")
            if connect is not None:
                rtt = max(0.0, connect - (_span(timing, "sslStart", "sslEnd") or 0.0))
                host = urlsplit(request.url).netloc
                rtt_ms[host] = min(rtt_ms.get(host, rtt), rtt)
            sent_ms = max(0.0, round((request.sent - begin) / 1000.0, 3))
            waited[urldefrag(request.url).url, sent_ms] = request
        for activity in graph["activities"]:
            if activity["type"] != "resource" or activity.get("cached"):
                continue
            found = waited.get((activity["url"], activity["recorded_sent_ms"]))
            rtt_of = rtt_ms.get(urlsplit(activity["url"]).netloc)
            wait = _span(found.timing, "sendEnd", "receiveHeadersStart") if found else None
            if wait is None and found is not None:
                wait = _span(found.timing, "sendEnd", "receiveHeadersEnd")
            if wait is None or rtt_of is None:
                self.report.unknown_server_delays += 1
                continue
            activity["server_delay_ms"] = round(max(0.0, wait - rtt_of), 3)
            activity["server_delay_source"] = "timing"

    def causes(self, recording: Recording) -> dict[str, Cause]:
        """The builder's, but for what only a position says."""
        found = find_causes(recording)
        for request in recording.events.requests:
            cause = found[request.key]
            if cause.kind == "tag" and isinstance(self.sources.get(cause.document), SkeletonSource):
                # Of frames not even Chromium says where they stand.
                cause.evidence = "fallback" if request.type == "Document" else "unverified"
        return found

    def _tell(self) -> None:
        report, events = self.report, self.events
        report.url = events.requests[0].url
        begin = events.requests[0].sent
        if events.load is None:
            report.warnings.append("load event unknown: every request counts as before it")
        else:
            report.load_ms = (events.load - begin) / 1000.0
        if events.dom_content_loaded is not None:
            report.dom_content_loaded_ms = (events.dom_content_loaded - begin) / 1000.0
        for request in events.requests:
            if request.redirected_to is not None or request.failed:
                continue
            is_text = request.type in ("Document", "Stylesheet", "Script")
            report.missing_bodies += is_text and urldefrag(request.url).url not in self.bodies
            report.unknown_sizes += request.finished is None
        if not any(thread.computations for thread in self.threads):
            report.warnings.append("no scripts, style sheets or callbacks in the trace")


def _choose(path: Path, loose: _Loose, page: str | None) -> tuple[_Navigation, float, int]:
    """The wanted navigation, when the next begins, and its number."""
    navigations = loose.navigations
    if not navigations:
        raise hinted(
            LoadpathError(f"{path}: the trace has no navigation of a page"),
            "record with the Performance panel's Record and reload",
        )
    number = 1 if page is None else int(page[:9]) if page.isdecimal() else 0
    if not 1 <= number <= len(navigations):
        known = ", ".join(f"{n} ({one.url[:60]})" for n, one in enumerate(navigations[:20], 1))
        raise hinted(NotFoundError(f"{path}: no page {page!r}"), f"its pages are {known}")
    chosen = navigations[number - 1]
    later = [one.time for one in navigations[number:] if one.frame == chosen.frame]
    return chosen, min(later, default=float("inf")), number


def _read_bodies(path: Path) -> dict[str, str]:
    """Text of documents and style sheets, if the trace was saved with resource content."""
    bodies: dict[str, str] = {}
    size = 0
    try:
        if not _mentions(path, b'"resources"'):
            return {}
        with open_trace(path) as file:
            for item in ijson.items(file, "metadata.resources.item"):
                url, text = item.get("url"), item.get("content")
                mime_type = str(item.get("mimeType") or "")
                if not isinstance(url, str) or not isinstance(text, str):
                    continue
                size += len(text)
                if any(kind in mime_type for kind in _TEXT) and size <= MAX_BODIES_BYTES:
                    bodies.setdefault(urldefrag(url).url, text)
    except (OSError, EOFError, ijson.JSONError, AttributeError, UnicodeDecodeError) as error:
        raise LoadpathError(f"{path}: metadata.resources: {error}") from None
    return bodies


def _mentions(path: Path, word: bytes) -> bool:
    with open_trace(path) as file:
        before = b""
        while block := file.read(1 << 20):
            if word in before + block:
                return True
            before = block[-len(word) :]
    return False


def _responded(request: Request, found: Slice) -> None:
    data = found.data
    timing = data.get("timing")
    if isinstance(timing, dict):
        request.timing = {str(name): _number(value) for name, value in timing.items()}
    begun = request.timing.get("requestTime", 0.0)
    headers = request.timing.get("receiveHeadersEnd", 0.0)
    request.responded = begun * 1e6 + headers * 1e3 if begun > 0 and headers > 0 else found.start
    request.status = _whole(data.get("statusCode"))
    request.mime_type = str(data.get("mimeType") or "").lower()
    request.protocol = str(data.get("protocol") or "")
    request.connection = _whole(data.get("connectionId"))
    request.header_bytes = _whole(data.get("encodedDataLength"))
    request.from_cache = request.from_cache or bool(data.get("fromCache"))
    request.from_service_worker = bool(data.get("fromServiceWorker"))


def _initiator(data: dict[str, Any]) -> dict[str, Any]:
    """As DevTools' protocol has it: lines and columns from 0, as here, -1 if unknown."""
    said = data.get("initiator")
    said = dict(said) if isinstance(said, dict) else {}
    for name in ("lineNumber", "columnNumber"):
        said[name] = _whole(said[name]) if isinstance(said.get(name), int | float) else -1
    said["renderBlocking"] = str(data.get("renderBlocking") or "")
    stack = data.get("stackTrace")
    if isinstance(stack, list):
        said["stack"] = {"callFrames": [frame for frame in stack if isinstance(frame, dict)]}
        if not said.get("type"):
            said["type"] = "script"
    return said


def _type_of(data: dict[str, Any]) -> str:
    """Older traces have no type: what a URL ends with."""
    end = urldefrag(str(data.get("url") or "")).url.split("?")[0].rpartition(".")[2].lower()
    by_end = {"js": "Script", "mjs": "Script", "css": "Stylesheet", "woff2": "Font"}
    images = ("png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "ico")
    return by_end.get(end, "Image" if end in images else "Other")


def _span(timing: dict[str, float], start: str, end: str) -> float | None:
    """Milliseconds between two moments of a ResourceTiming; None if one does not apply."""
    begun, ended = timing.get(start, -1.0), timing.get(end, -1.0)
    return ended - begun if begun >= 0 and ended > 0 else None


def _number(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else 0.0  # type: ignore[arg-type]


def _whole(value: object) -> int:
    return max(0, int(_number(value)))
