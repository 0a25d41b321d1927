"""A recorded load as the builder sees it: DevTools events, trace and bodies together."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from loadpath.errors import LoadpathError, hinted
from loadpath.graphs.build.computations import Computation, ThreadWork, computations_of
from loadpath.graphs.build.devtools import Pass, Request, read_events
from loadpath.graphs.build.html import Source
from loadpath.graphs.build.trace import Slice, Trace, read_trace

__all__ = ["Recording", "read_bodies", "read_recording"]


@dataclass
class Recording:
    """One load of a page.

    Attributes
    ----------
    events
        What DevTools told.
    threads
        What each main thread and worker did.
    bodies
        Decoded text of documents, style sheets and scripts, by URL.
    start
        When the navigation began, in microseconds of the trace's clock.
    """

    events: Pass
    trace: Trace
    threads: list[ThreadWork]
    bodies: dict[str, str]
    start: float
    sources: dict[str, Source] = field(default_factory=dict)
    _sends: dict[str, tuple[ThreadWork, Slice]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for work in self.threads:
            for found in work.thread.walk():
                if found.name == "ResourceSendRequest":
                    request = str(found.data.get("requestId", ""))
                    self._sends.setdefault(request, (work, found))

    def document_source(self, frame: str, url: str) -> Source | None:
        """The HTML source of a document in a frame, if its text is known."""
        return self.srcdocs.get(frame) if url == "about:srcdoc" else self.source(url)

    @cached_property
    def srcdocs(self) -> dict[str, Source]:
        """Documents that stand in an attribute of their frame's tag, by frame."""
        found: dict[str, Source] = {}
        taken: dict[str, int] = {}
        for frame in self.events.frames.values():
            parent = self.events.frames.get(frame.parent or "")
            if frame.url != "about:srcdoc" or parent is None:
                continue
            around = self.document_source(parent.id, parent.url)
            tags = [t for t in around.tags if "srcdoc" in t.attributes] if around else []
            index = taken.get(parent.id, 0)
            if around is not None and index < len(tags):
                text = tags[index].attributes["srcdoc"]
                found[frame.id] = Source(text, "about:srcdoc", around.base)
                taken[parent.id] = index + 1
        return found

    def source(self, url: str) -> Source | None:
        """The HTML source of a document, if its body was recorded."""
        if url not in self.sources and url in self.bodies:
            self.sources[url] = Source(self.bodies[url], url)
        return self.sources.get(url)

    def sending(self, request: Request) -> tuple[ThreadWork, Slice] | None:
        """The thread and the moment at which a request was made, if the trace has it."""
        return self._sends.get(request.id)

    def running_at(self, time: float) -> Iterator[Computation]:
        """The computations that cover a time, innermost first, on any thread."""
        for work in self.threads:
            covering = [c for c in work.computations if c.start <= time <= c.end]
            yield from sorted(covering, key=lambda c: c.end - c.start)

    def computations(self) -> list[Computation]:
        """All computations in order of starts."""
        everything = [c for work in self.threads for c in work.computations]
        return sorted(everything, key=lambda c: (c.start, -c.end))

    @cached_property
    def load(self) -> float:
        """When the page had loaded and began to tell its listeners; infinity if it never did."""
        events = self.events
        if events.load is None:
            return float("inf")
        dom = events.dom_content_loaded or float("-inf")
        told = self.told_complete(events.main_frame, dom, events.load)
        return min([events.load, *told, *self._complete_dispatches(events.main_frame)])

    def _complete_dispatches(self, frame: str) -> Iterator[float]:
        """When the dispatch of readyState complete began, after which the load event is marked."""
        for work in self.threads:
            for mark in work.thread.walk():
                if mark.name != "MarkLoad" or mark.data.get("frame") != frame:
                    continue
                if mark.start < self.start:
                    continue
                around = mark.parent.children if mark.parent is not None else work.thread.roots
                before = [s for s in around if s.start < mark.start and s.name == "EventDispatch"]
                for dispatch in reversed(before):
                    if dispatch.data.get("type") == "readystatechange":
                        yield dispatch.start
                        break

    def told_complete(self, frame: str, after: float, before: float) -> list[float]:
        """Starts of a frame's listeners of readyState complete and load between two times."""
        return [
            computation.start
            for computation in self.computations()
            if computation.frame == frame
            and computation.name in ("readystatechange", "load")
            and computation.told is not None
            and computation.told[1] in ("Document", "Window")
            and after <= computation.start < before
        ]


class _Content(msgspec.Struct, rename="camel"):
    text: str = ""
    encoding: str = ""
    mime_type: str = ""


class _Response(msgspec.Struct):
    content: _Content


class _AskedFor(msgspec.Struct):
    url: str


class _Entry(msgspec.Struct):
    request: _AskedFor
    response: _Response


class _Log(msgspec.Struct):
    entries: list[msgspec.Raw]


class _Har(msgspec.Struct):
    log: _Log


_TEXT = ("html", "css", "xml", "javascript")


def read_bodies(path: Path) -> dict[str, str]:
    """Text of the documents, style sheets and scripts in a HAR, by URL.

    Raises
    ------
    LoadpathError
        The file is no HAR.
    """
    bodies: dict[str, str] = {}
    try:
        har = msgspec.json.decode(path.read_bytes(), type=_Har)
        for raw in har.log.entries:
            entry = msgspec.json.decode(raw, type=_Entry)
            content = entry.response.content
            if not content.text or not any(kind in content.mime_type for kind in _TEXT):
                continue
            text = content.text
            if content.encoding == "base64":
                text = base64.b64decode(text).decode("utf-8", "replace")
            bodies.setdefault(entry.request.url.split("#")[0], text)
    except (OSError, msgspec.MsgspecError, binascii.Error) as error:
        raise hinted(
            LoadpathError(f"{path}: not a page archive: {error}"), "it is a HAR 1.2 with bodies"
        ) from None
    return bodies


def read_recording(folder: Path, archive: Path | None) -> Recording:
    """Read one pass of a profile; `archive` has the bodies."""
    events = read_events(folder / "events.jsonl.gz")
    trace = read_trace(folder / "trace.json.gz")
    threads = [computations_of(thread) for thread in trace.threads.values()]
    first = next((r for r in events.requests if r.type == "Document"), None)
    if first is None:
        raise hinted(
            LoadpathError(f"{folder}: no document was requested"),
            "the page did not load: see the profile's manifest",
        )
    bodies = read_bodies(archive) if archive is not None else {}
    return Recording(events, trace, threads, bodies, first.sent)
