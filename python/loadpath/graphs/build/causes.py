"""What made the browser request each resource (rules 1, 2 and 5 to 8 of Table 3.1).

Order of trust: the computation that was running when the request was made; the tag that stands
where the browser says that its parser found the URL, if it holds the URL; the style sheet that
names it; the call stack. DevTools' own `initiator` alone is not believed: for images made by
timers, promises or animation frames it names the parser's current line.
"""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urldefrag, urlsplit

from loadpath.graphs.build.computations import Computation, ThreadWork
from loadpath.graphs.build.devtools import Request
from loadpath.graphs.build.html import Tag
from loadpath.graphs.build.recording import Recording
from loadpath.graphs.build.trace import Slice

_SENDS = frozenset({"ResourceSendRequest"})

__all__ = ["Cause", "cause_of", "find_causes"]


@dataclass
class Cause:
    """Why a resource was requested.

    Attributes
    ----------
    kind
        root, redirect, tag, computation, style, import (of a module), end (of parsing), nothing.
    evidence
        As in the page graph.
    document
        Of a tag or end: URL of the HTML document.
    frame
        Of a tag: the frame whose document it stands in.
    offset
        Of a tag: where it ends.
    request
        Of a redirect, style or import: the one that led here.
    is_worker
        It is the script of a worker, which delays no load event.
    """

    kind: str
    evidence: str
    document: str = ""
    frame: str = ""
    offset: int = 0
    tag: Tag | None = None
    computation: Computation | None = None
    request: Request | None = None
    preloaded: bool = False
    is_worker: bool = False


def find_causes(recording: Recording) -> dict[str, Cause]:
    """The cause of every request, by its key."""
    causes: dict[str, Cause] = {}
    before: dict[tuple[str, str], Request] = {}
    for request in recording.events.requests:
        if request.initiator.get("type") == "preflight":
            asked = (request.target, str(request.initiator.get("requestId", "")))
            if asked in before:
                # What asks for permission has the cause of what it asks for.
                causes[request.key] = replace(causes[before[asked].key])
                before[asked].preflight = request
                before[request.target, request.id] = request
                continue
        if request.hop:
            cause = Cause("redirect", "redirect", request=before[request.target, request.id])
        elif not causes:
            cause = Cause("root", "source")
        else:
            cause = cause_of(recording, request)
        causes[request.key] = cause
        before[request.target, request.id] = request
    for reference, cause in find_references(recording):
        recording.events.requests.append(reference)
        causes[reference.key] = cause
    recording.events.requests.sort(key=lambda request: request.sent)
    return causes


def find_references(recording: Recording) -> list[tuple[Request, Cause]]:
    """References that the page's session cache served: DevTools tells of none (section 3.4).

    The trace has a `requestResource` for each use of a URL. The first use is the request's own, or
    what the preload scanner had requested it for.
    """
    by_url = {
        urldefrag(r.url).url: r
        for r in reversed(recording.events.requests)
        if r.method == "GET" and not r.failed
    }
    uses: dict[str, int] = {}
    result: list[tuple[Request, Cause]] = []
    moments = [
        (found, work)
        for work in recording.threads
        for found in work.thread.walk()
        if found.name == "ResourceFetcher::requestResource"
    ]
    for found, work in sorted(moments, key=lambda moment: moment[0].start):
        url = urldefrag(str(found.data.get("url") or "")).url
        original = by_url.get(url)
        around = {a.name for a in found.ancestors()}
        if original is None or "HTMLDocumentParser::ScanAndPreload" in around:
            continue
        running = _scheduled_by(work.enclosing(found), work, found)
        parse = _parse_behind(found) if running is None else None
        if running is None and parse is None:
            continue
        if found.start > recording.load or any(c.name in _SENDS for c in found.children):
            uses[url] = max(uses.get(url, 0), 1)
            continue
        uses[url] = uses.get(url, 0) + 1
        if uses[url] == 1:
            continue
        cause = _cause_of_reference(recording, parse, running, url, uses[url])
        if cause is not None:
            reference = replace(
                original,
                id=f"{original.id}-{uses[url]}",
                sent=found.start,
                from_cache=True,
                refers_to=original,
            )
            result.append((reference, cause))
    return result


def _parse_behind(found: Slice) -> Slice | None:
    """The parser's slice in which something happened, or from which it was put off."""
    for at in found.ancestors():
        if at.name == "ParseHTML":
            return at
        if at.caused_by is not None and at.name == "AsyncTask Run":
            return _parse_behind(at.caused_by)
    return None


def _cause_of_reference(
    recording: Recording,
    parse: Slice | None,
    running: Computation | None,
    url: str,
    use: int,
) -> Cause | None:
    if running is not None:
        return Cause("computation", "trace", computation=running)
    if parse is None:
        return None
    frame = str(parse.data.get("frame") or "")
    document = urldefrag(str(parse.data.get("url") or "")).url
    source = recording.source(document)
    tags = [tag for tag in source.tags_naming(url) if not tag.is_hint] if source else []
    if len(tags) < use:
        return None
    tag = tags[use - 1]
    return Cause("tag", "source", document=document, frame=frame, offset=tag.end, tag=tag)


def cause_of(recording: Recording, request: Request) -> Cause:
    """The cause of a request that is neither the first nor a redirect's."""
    initiator = request.initiator
    kind = str(initiator.get("type", ""))
    url = urldefrag(str(initiator.get("url", ""))).url
    sending = recording.sending(request) if request.type != "Document" else None
    running = None
    preloaded = scanned = False
    if sending is not None:
        work, moment = sending
        running = work.enclosing(moment)
        names = {found.name for found in moment.ancestors()}
        scanned = "HTMLDocumentParser::ScanAndPreload" in names
        preloaded = scanned or "ParseHTML" not in names
        running = _scheduled_by(running, work, moment)
    sheet = _sheet_request(recording, url, request) if url else None
    if kind == "parser" and sheet is not None:
        # Found by style, perhaps while a script had the layout computed.
        return Cause("style", "style", request=sheet, computation=running)
    if running is not None and running.name == "promise" and not running.line and kind == "parser":
        # A microtask of the parser's, unless no tag before its position names the URL.
        found = _by_tag(recording, request, url, initiator)
        if found is not None:
            return found
    if running is not None and scanned:
        # document.write lets the scanner go on with the rest of the document, too.
        found = _by_text(recording, request)
        if found is not None and found.kind == "tag":
            found.preloaded = True
            return found
    if running is not None:
        return Cause("computation", "trace", computation=running)
    if kind == "parser":
        found = _by_tag(recording, request, url, initiator)
        if found is not None:
            found.preloaded = preloaded
            return found
    if kind == "script" and url:
        inline = _by_inline_module(recording, request, url, initiator)
        if inline is not None:
            return inline
    importer = _module_request(recording, url, request) if kind == "script" and url else None
    if importer is not None:
        return Cause("import", "source", request=importer)
    return (
        _by_stack(recording, request)
        or _by_text(recording, request)
        or _by_moment(recording, request)
        or _by_time(recording, request)
    )


def _scheduled_by(
    running: Computation | None, work: ThreadWork, moment: Slice
) -> Computation | None:
    """Of a request that a microtask made on its own: the computation that queued the microtask."""
    if running is None or running.name != "promise":
        return running
    for at in moment.ancestors():
        if at.name == "FunctionCall" or at is running.slice:
            return running
        if at.name == "AsyncTask Run" and at.caused_by is not None:
            if running.start <= at.caused_by.start <= running.end:
                return running
            return work.enclosing(at.caused_by)
    return running


def _by_inline_module(
    recording: Recording, request: Request, url: str, initiator: dict[str, Any]
) -> Cause | None:
    """An import of a module script that stands in the document."""
    frame = _initiating_frame(recording, request, url)
    source = recording.document_source(frame, url)
    line, column = initiator.get("lineNumber"), initiator.get("columnNumber")
    if source is None or line is None or column is None or request.type != "Script":
        return None
    offset = source.offset(int(line) + 1, int(column) + 1)
    for tag in source.tags:
        if tag.is_module and tag.close and offset is not None and tag.end <= offset < tag.close:
            return Cause("tag", "source", document=url, frame=frame, offset=tag.close, tag=tag)
    return None


def _by_moment(recording: Recording, request: Request) -> Cause | None:
    """The computation during which the browser noted the request, of a worker's script say."""
    for computation in recording.running_at(request.sent):
        if computation.kind != "style":
            is_worker = request.type == "Script" and request.initiator.get("type") == "other"
            return Cause("computation", "trace", computation=computation, is_worker=is_worker)
    return None


def _sheet_request(recording: Recording, url: str, of: Request) -> Request | None:
    for request in recording.events.requests:
        if request.type == "Stylesheet" and urldefrag(request.url).url == url:
            if request is not of and request.sent <= of.sent:
                return request
    return None


def _module_request(recording: Recording, url: str, of: Request) -> Request | None:
    """The module that imports: the initiator is a script without a call stack."""
    if (of.initiator.get("stack") or {}).get("callFrames") or of.type != "Script":
        return None
    for request in recording.events.requests:
        if request.type == "Script" and urldefrag(request.url).url == url and request is not of:
            return request
    return None


def _by_tag(
    recording: Recording, request: Request, url: str, initiator: dict[str, Any]
) -> Cause | None:
    frame = _initiating_frame(recording, request, url)
    source = recording.document_source(frame, url)
    if source is None:
        return None
    offset = source.offset(
        int(initiator.get("lineNumber", -1)) + 1, int(initiator.get("columnNumber", -1)) + 1
    )
    # The position is how far the parser had come: behind the tag, or further. Of several tags the
    # first one made it request what all of them name.
    before = [
        tag
        for tag in source.tags_naming(urldefrag(request.url).url)
        if offset is not None and tag.end <= offset
    ]
    if before:
        tag = before[0]
        return Cause("tag", "source", document=url, frame=frame, offset=tag.end, tag=tag)
    return None


def _initiating_frame(recording: Recording, request: Request, url: str) -> str:
    """The frame that shows the document at `url`: the request's, or the one around it."""
    frames = recording.events.frames
    at: str | None = request.frame
    if request.type == "Document" and at in frames:
        at = frames[at].parent
    while at is not None and at in frames:
        if any(document.url == url for document in frames[at].documents):
            return at
        at = frames[at].parent
    return recording.events.main_frame


def _by_stack(recording: Recording, request: Request) -> Cause | None:
    """The latest computation before the request whose code its call stack names."""
    stack = request.initiator.get("stack") or {}
    if not stack and request.type == "Document" and request.frame in recording.events.frames:
        stack = recording.events.frames[request.frame].attached_by or {}
    urls = []
    while stack:
        urls += [urldefrag(str(f.get("url", ""))).url for f in stack.get("callFrames", [])]
        stack = stack.get("parent") or {}
    if not urls:
        return None
    for computation in recording.running_at(request.sent):
        return Cause("computation", "stack", computation=computation)
    earlier = [c for c in recording.computations() if c.start <= request.sent]
    for computation in reversed(earlier):
        if urldefrag(computation.url).url in urls:
            return Cause("computation", "stack", computation=computation)
    return None


def _by_text(recording: Recording, request: Request) -> Cause | None:
    """A tag that names the URL, where the browser gave no usable position."""
    frames = recording.events.frames
    record = frames.get(request.frame)
    if record is None:
        return None
    if request.type == "Document" and record.parent in frames:
        record = frames[record.parent]
    for document in reversed(record.documents):
        source = recording.document_source(record.id, document.url)
        tags = source.tags_naming(urldefrag(request.url).url) if source else []
        tag = next((t for t in tags if not (t.is_hint and request.type == "Font")), None)
        if tag is not None:
            return Cause(
                "tag", "source", document=document.url, frame=record.id, offset=tag.end, tag=tag
            )
        style = source.style_naming(urldefrag(request.url).url) if source else None
        if style is not None and request.type == "Stylesheet":
            # An import: the parser requests it at the style element's end.
            return Cause(
                "tag",
                "style",
                document=document.url,
                frame=record.id,
                offset=style.close or style.end,
                tag=style,
            )
        if style is not None:
            return Cause("end", "style", document=document.url, frame=record.id)
    return None


def _by_time(recording: Recording, request: Request) -> Cause:
    """The last computation before the request whose code names it; else the last, a guess."""
    before = None
    name = urlsplit(request.url).path.rpartition("/")[2]
    for computation in reversed(recording.computations()):
        if computation.start > request.sent or computation.kind == "style":
            continue
        before = before or computation
        if name and name in recording.bodies.get(urldefrag(computation.url).url, ""):
            is_worker = request.type == "Script"
            return Cause("computation", "source", computation=computation, is_worker=is_worker)
    if before is not None:
        return Cause("computation", "fallback", computation=before)
    return Cause("end", "fallback", frame=recording.events.main_frame)
