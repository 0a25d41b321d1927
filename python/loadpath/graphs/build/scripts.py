"""What scripts, timers and callbacks wait for: rules 4, 10 to 21 and 25 of Table 3.1."""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from loadpath.graphs.build.computations import Computation
from loadpath.graphs.build.devtools import Request
from loadpath.graphs.build.documents import ParsedDocument
from loadpath.graphs.build.html import Tag
from loadpath.graphs.build.nodes import Node
from loadpath.graphs.build.trace import Slice

if TYPE_CHECKING:
    from loadpath.graphs.build.builder import Builder

__all__ = [
    "connect_callbacks",
    "connect_scripts",
    "find_registrations",
    "name_modules",
    "tell_events",
]

# The deferred scripts of each document, with the offsets of their tags.
Deferred = dict[int, tuple[ParsedDocument, list[tuple[int, Computation]]]]

FRAME_MS = 1000.0 / 60.0
"""Time between animation frames; Chromium's display runs at 60 Hz unless a screen says more."""


def connect_scripts(builder: "Builder") -> None:
    """Scripts and style sheets: their resources, the parser, the style sheets before them."""
    deferred: Deferred = {}
    ordered: dict[str, list[tuple[float, Computation]]] = {}
    for computation, pieces in builder.pieces.items():
        first = pieces[0][1]
        if computation.kind == "style":
            _connect_style(builder, computation, first)
        elif computation.kind == "script":
            request = (
                builder.modules.get(computation)
                if computation.is_module
                else _script_request(builder, computation)
            )
            if request is not None:
                builder.script_requests[computation] = request
            if computation.is_module and request is not None:
                imported = [r.key for r in _imports(builder, request)]
                first.after(*(builder.resource_of.get(key) for key in imported))
            _connect_script(builder, computation, request, deferred, ordered)
    for inserted in ordered.values():
        _order_inserted(builder, inserted)
    for document, entries in deferred.values():
        _order_deferred(builder, document, entries)
    _connect_failed(builder)


def _document_of(builder: "Builder", computation: Computation) -> ParsedDocument | None:
    """The document whose code it is, or that its frame showed at the time."""
    for document in builder.documents.get(computation.frame) or []:
        if computation in document.inline.values():
            return document
    return builder.document(computation.frame, computation.start)


def _connect_failed(builder: "Builder") -> None:
    """The parser waits for a synchronous script even if it never comes or does not run."""
    for request in builder.requests:
        if request.type != "Script" or request.redirected_to is not None:
            continue
        document = builder.document(request.frame, request.sent)
        tag = _tag(builder, document, request)
        if document is None or tag is None or tag.is_module:
            continue
        if "async" in tag.attributes or "defer" in tag.attributes:
            continue
        following = document.chunk_behind(tag.end)
        if following is not None:
            following.after(builder.resource_of.get(request.key))


def _connect_style(builder: "Builder", computation: Computation, first: Node) -> None:
    first.fields["blocking"] = "style"
    best = builder.sheet_of(computation)
    if best is not None:
        first.after(builder.resource_of.get(best.key))
    if computation.outer is None and best is None:
        first.after(builder.document_end(computation.frame, computation.start))


def _script_request(builder: "Builder", computation: Computation) -> Request | None:
    """The latest request for an external script before it ran, in its frame if possible."""
    found = None
    for request in builder.requests_for(computation.url):
        if request.sent > computation.start:
            continue
        if request.type not in ("Script", "Other", "Preload"):
            continue
        if found is None or request.frame == computation.frame or found.frame != request.frame:
            found = request
    while found is not None and found.redirected_to is not None:
        found = found.redirected_to
    return found


def _connect_script(
    builder: "Builder",
    computation: Computation,
    request: Request | None,
    deferred: "Deferred",
    ordered: dict[str, list[tuple[float, Computation]]],
) -> None:
    first = builder.pieces[computation][0][1]
    last = builder.last_piece(computation)
    document = _document_of(builder, computation)
    if request is not None:
        first.after(builder.resource_of.get(request.key))
        tag = _tag(builder, document, request)
        if document is not None and _is_written(builder, request):
            _connect_written(builder, document, computation, request)
            return
        if document is None or tag is None:
            first.fields["blocking"] = "async"
            ordered.setdefault(computation.frame, []).append((request.sent, computation))
            return
        _connect_tagged(builder, document, tag, computation, deferred)
        return
    tag = _inline_tag(document, computation)
    if tag is not None and document is not None:
        for _, piece in builder.pieces[computation]:
            piece.fields["position"] = [computation.line, computation.column]
        if tag.is_module:
            first.fields["blocking"] = "defer"
            deferred.setdefault(id(document), (document, []))[1].append((tag.end, computation))
            end = tag.close or tag.end
            first.after(document.chunk_at(end))
            for request in _imported_inline(builder, tag):
                first.after(builder.resource_of.get(request.key))
            return
        end = tag.close or len(document.source.text)
        first.after(document.chunk_at(end), *_styles_before(builder, document, tag.start))
        following = document.chunk_behind(end)
        if following is not None:
            following.after(last)
        return
    if computation.line and computation.url:
        for _, piece in builder.pieces[computation]:
            piece.fields["position"] = [computation.line, computation.column]
    if computation.outer is None:
        _connect_by_flow(builder, computation, first)


def _is_written(builder: "Builder", request: Request) -> bool:
    """Whether document.write put the script's tag into the parser's input."""
    cause = builder.causes[request.key]
    sending = builder.recording.sending(request)
    if cause.kind != "computation" or cause.computation is None or sending is None:
        return False
    for at in sending[1].ancestors():
        if at is cause.computation.slice:
            return False
        if at.name in ("ParseHTML", "HTMLDocumentParser::ScanAndPreload"):
            return True
    return False


def _connect_written(
    builder: "Builder", document: ParsedDocument, computation: Computation, request: Request
) -> None:
    """The parser goes on behind the writing script when the written one has run."""
    writer = builder.causes[request.key].computation
    for start, script in document.inline.items():
        tag = document.source.tag_ending_at(start)
        if script is writer and tag is not None:
            following = document.chunk_behind(tag.close or tag.end)
            if following is not None:
                following.after(builder.last_piece(computation))
    asked = builder.script_requests.get(writer) if writer is not None else None
    tag = _tag(builder, document, asked) if asked is not None else None
    if tag is not None:
        following = document.chunk_behind(tag.end)
        if following is not None:
            following.after(builder.last_piece(computation))


def _tag(builder: "Builder", document: ParsedDocument | None, request: Request) -> Tag | None:
    """The script tag that asked for a request, behind redirects."""
    if document is None:
        return None
    cause = builder.causes[request.key]
    while cause.kind == "redirect" and cause.request is not None:
        cause = builder.causes[cause.request.key]
    tag = cause.tag
    if cause.kind != "tag" or tag is None or cause.frame != document.frame:
        return None
    if cause.document != document.url:
        return None
    if tag.name == "script":
        return tag
    # Preloaded by a hint: the script's own tag stands elsewhere.
    for other in document.source.tags:
        if other.is_script and other.names(request.url, document.source.base):
            return other
    return None


def _inline_tag(document: ParsedDocument | None, computation: Computation) -> Tag | None:
    if document is None:
        return None
    for offset, found in document.inline.items():
        if found is computation:
            return document.source.tag_ending_at(offset)
    return None


def _connect_tagged(
    builder: "Builder",
    document: ParsedDocument,
    tag: Tag,
    computation: Computation,
    deferred: "Deferred",
) -> None:
    first = builder.pieces[computation][0][1]
    if "async" in tag.attributes:
        first.fields["blocking"] = "async"
        return
    if tag.is_module or "defer" in tag.attributes:
        first.fields["blocking"] = "defer"
        deferred.setdefault(id(document), (document, []))[1].append((tag.end, computation))
        return
    first.after(document.chunk_at(tag.end), *_styles_before(builder, document, tag.start))
    following = document.chunk_behind(tag.end)
    if following is not None:
        following.after(builder.last_piece(computation))


def _order_inserted(builder: "Builder", inserted: list[tuple[float, Computation]]) -> None:
    """Scripts that a script inserted with `async = false` run in order of insertion."""
    told = {
        urldefrag(str(at.data.get("message", "")).rpartition(" ")[2]).url
        for work in builder.recording.threads
        for at in work.thread.walk()
        if at.name == "TimeStamp" and " load Element ordered-script " in at.data.get("message", "")
    }
    before: Node | None = None
    for _, computation in sorted(inserted, key=lambda entry: entry[0]):
        if urldefrag(computation.url).url in told:
            builder.pieces[computation][0][1].after(before)
            before = builder.last_piece(computation)


def _order_deferred(
    builder: "Builder",
    document: ParsedDocument,
    entries: list[tuple[int, Computation]],
) -> None:
    """Deferred scripts run in order behind the document's end (rule 17)."""
    before: Node | None = None
    for end, computation in sorted(entries, key=lambda entry: entry[0]):
        first = builder.pieces[computation][0][1]
        first.after(document.last_chunk, before, *_styles_before(builder, document, end))
        before = builder.last_piece(computation)
        document.deferred.append(computation)


def _styles_before(builder: "Builder", document: ParsedDocument, offset: int) -> list[Node]:
    """Rules 11 and 13: the style sheets that stand before an offset, with their imports."""
    sheets = builder.blocking_sheets.get(id(document))
    if sheets is None:
        sheets = builder.blocking_sheets[id(document)] = list(_blocking_sheets(builder, document))
    return [node for end, node in sheets if end <= offset]


def _blocking_sheets(builder: "Builder", document: ParsedDocument) -> Iterator[tuple[int, Node]]:
    """The style sheets for which a document's scripts wait, with the offsets of their tags."""
    for request in builder.requests:
        if request.type != "Stylesheet" or request.frame != document.frame:
            continue
        top, cause = request, builder.causes[request.key]
        while cause.kind in ("redirect", "style", "computation"):
            if cause.kind == "computation":
                importer = cause.computation
                if importer is None or importer.kind != "style":
                    break
                sheet = _sheet(builder, importer)
            else:
                sheet = cause.request
            if sheet is None:
                break
            top, cause = sheet, builder.causes[sheet.key]
        tag = cause.tag
        if cause.kind != "tag" or tag is None or not tag.blocks_scripts:
            continue
        if top.frame != document.frame or request.redirected_to:
            continue
        if request.succeeded:
            yield cause.offset, builder.style_of(request)
        elif request.key in builder.resource_of:
            yield cause.offset, builder.resource_of[request.key]


def _sheet(builder: "Builder", style: Computation) -> Request | None:
    for request in builder.requests_for(style.url):
        if request.type == "Stylesheet":
            return request
    return None


def tell_events(builder: "Builder") -> None:
    """Targets of events that the added script missed.

    Chromium makes a document's script context, in which that script runs, when code first needs it:
    in documents without scripts that is the first handler which an attribute declares.
    """
    known: dict[str, Computation] = {}
    for computation in builder.recording.computations():
        dispatch = computation.dispatch
        if dispatch is None:
            continue
        if dispatch.name.startswith("XHR"):
            # Within other code the trace does not say which function ran; later it does.
            key = f"{dispatch.name} {dispatch.data.get('url')}"
            if computation.line:
                known.setdefault(key, computation)
            continue
        source = builder.recording.source(urldefrag(computation.url).url)
        if source is None or not computation.line:
            continue
        offset = source.offset(computation.line, computation.column)
        tag = source.tag_ending_at(offset) if offset is not None else None
        handler = f"on{computation.name}"
        if tag is None or handler not in tag.attributes:
            continue
        # V8 places such a handler behind its tag; readers look for the attribute.
        at = source.position(source.value_offset(tag, handler))
        computation.line, computation.column = at
        if computation.told is not None:
            continue
        if tag.name == "body":
            computation.told = (computation.name, "Window", "")
            continue
        for request in builder.requests:
            if request.finished is not None and request.finished <= computation.start:
                if source.chooses(tag, urldefrag(request.url).url):
                    computation.told = (computation.name, f"Element {tag.name}", request.url)
    for computation in builder.recording.computations():
        dispatch = computation.dispatch
        if dispatch is not None and not computation.line:
            same = known.get(f"{dispatch.name} {dispatch.data.get('url')}")
            if same is not None:
                computation.url, computation.line = same.url, same.line
                computation.column = same.column


def name_modules(builder: "Builder") -> dict[Computation, Request]:
    """Which module each evaluation of a module graph belongs to; the trace does not say."""
    found: dict[Computation, Request] = {}
    taken: set[str] = set()
    for computation in builder.recording.computations():
        if not computation.is_module:
            continue
        request = _module_by_flow(builder, computation, taken)
        if request is not None:
            found[computation] = request
            taken.add(request.key)
            computation.url = request.url
            computation.frame = computation.frame or request.frame
    return found


def _imported_inline(builder: "Builder", tag: Tag) -> list[Request]:
    """The modules that an inline module imports, directly or not."""
    direct = [r for r in builder.requests if builder.causes[r.key].tag is tag]
    return direct + [other for request in direct for other in _imports(builder, request)]


def _imports(builder: "Builder", module: Request) -> list[Request]:
    """The requests for the modules that a module imports, directly or not."""
    result: list[Request] = []
    pending = [module]
    while pending:
        at = pending.pop()
        for request in builder.requests:
            cause = builder.causes[request.key]
            if cause.kind == "import" and cause.request is at and request not in result:
                result.append(request)
                pending.append(request)
    return result


def _module_by_flow(
    builder: "Builder", computation: Computation, taken: set[str]
) -> Request | None:
    """By where the script element was prepared: at its tag, or in the computation that made it."""
    for ancestor in computation.slice.ancestors():
        origin = ancestor.caused_by
        for at in origin.ancestors() if origin is not None else ():
            if at.name == "HTMLParserScriptRunner::execute":
                return _module_at(builder, computation, at)
            if at.name in ("EvaluateScript", "FunctionCall", "v8.evaluateModule"):
                urls = {
                    str(c.data.get("url"))
                    for c in at.walk()
                    if c.name == "ResourceFetcher::requestResource"
                }
                for request in builder.requests:
                    if request.url in urls and request.type == "Script":
                        if request.key not in taken and request.sent <= computation.start:
                            return request
    return None


def _module_at(builder: "Builder", computation: Computation, prepared: Slice) -> Request | None:
    frame = next((str(a.data["frame"]) for a in prepared.ancestors() if a.name == "ParseHTML"), "")
    document = builder.document(frame, prepared.start)
    if document is None:
        return None
    offset = document.source.offset(
        int(prepared.data.get("lineNumber") or 0), int(prepared.data.get("columnNumber") or 0)
    )
    tag = document.source.tag_ending_at(offset) if offset is not None else None
    computation.frame = frame
    if tag is None:
        return None
    if "src" not in tag.attributes:
        computation.url = document.url
        computation.line, computation.column = document.source.position(tag.end)
        document.inline[tag.end] = computation
        return None
    for request in builder.requests:
        if request.type == "Script" and tag.names(request.url, document.source.base):
            return request
    return None


def connect_callbacks(builder: "Builder") -> None:
    """Timers, event handlers and callbacks (rules 14 to 16, 19 to 21, 25 and appendix A)."""
    for computation, pieces in builder.pieces.items():
        first = pieces[0][1]
        if computation.kind == "timer":
            _connect_timer(builder, computation, pieces)
        elif computation.kind == "event":
            for _, piece in pieces:
                if computation.line and computation.url:
                    piece.fields["position"] = [computation.line, computation.column]
            if computation.outer is None:
                _connect_event(builder, computation, first)


def _connect_timer(
    builder: "Builder", computation: Computation, pieces: list[tuple[float, Node]]
) -> None:
    first = pieces[0][1]
    identity = computation.slice.data.get("timerId")
    frame = computation.slice.data.get("frame")
    install = _install(computation, identity, frame)
    timeout = 0.0
    if install is not None:
        timeout = float(install.data.get("timeout") or 0.0)
        stack = install.data.get("stackTrace") or []
        if stack:
            for _, piece in pieces:
                piece.fields["url"] = urldefrag(str(stack[0].get("url") or "")).url or None
                piece.fields["position"] = [
                    int(stack[0].get("lineNumber") or 0),
                    int(stack[0].get("columnNumber") or 0),
                ]
        work = _thread_work(builder, computation)
        registrar = work.enclosing(install) if work else None
        earlier = _earlier_firing(builder, computation, identity, frame)
        if earlier is not None and not install.data.get("singleShot", True):
            first.after(builder.last_piece(earlier))
        elif registrar is not None:
            first.after(builder.piece_at(registrar, install.start))
    if not first.parents:
        _connect_by_flow(builder, computation, first)
    first.fields["timeout_ms"] = min(max(timeout, 0.0), 3_600_000.0)
    for _, piece in pieces:
        if not piece.fields.get("url"):
            piece.fields.pop("url", None)


def _thread_work(builder: "Builder", computation: Computation):  # type: ignore[no-untyped-def]
    for work in builder.recording.threads:
        if work.thread is computation.thread:
            return work
    return None


def _install(computation: Computation, identity: object, frame: object) -> Slice | None:
    found = None
    for at in computation.thread.walk():
        if at.start > computation.start:
            break
        if at.name == "TimerInstall" and at.data.get("timerId") == identity:
            if at.data.get("frame") == frame:
                found = at
    return found


def _earlier_firing(
    builder: "Builder", computation: Computation, identity: object, frame: object
) -> Computation | None:
    found = None
    for other in builder.pieces:
        if other.kind == "timer" and other.start < computation.start:
            data = other.slice.data
            if data.get("timerId") == identity and data.get("frame") == frame:
                found = other
    return found


def _connect_event(builder: "Builder", computation: Computation, first: Node) -> None:
    name = computation.name
    if computation.thread.is_worker:
        # A worker handles messages when its script has run.
        work = _thread_work(builder, computation)
        started = next((c for c in work.computations if c.kind == "script"), None) if work else None
        if started is not None and started in builder.pieces:
            first.after(builder.last_piece(started))
    if computation.dispatch is not None:
        earlier = [
            other
            for other in builder.pieces
            if other.dispatch is computation.dispatch and other.start < computation.start
        ]
        if earlier:
            # Capture, target, bubble: one listener after the other.
            first.after(builder.last_piece(earlier[-1]))
            add_registrar(builder, computation, first)
            return
        if computation.dispatch.name in ("XHRReadyStateChange", "XHRLoad"):
            _connect_xhr(builder, computation, first)
            return
        if computation.told and computation.told[1].startswith("Element"):
            if computation.told[1] in ("Element iframe", "Element frame", "Element body"):
                return  # Part of the frame completion chain.
            request = _element_request(builder, computation)
            tag = builder.causes[request.key].tag if request is not None else None
            is_hint = tag is not None and tag.is_hint
            is_sheet = request is not None and request.type == "Stylesheet"
            if request is not None and is_sheet and request.succeeded and not is_hint:
                first.after(builder.style_of(request))
                add_registrar(builder, computation, first)
                return
            if request is not None:
                _connect_element(builder, computation, first, request)
                return
    if name == "promise":
        request = _response_in_task(builder, computation)
        if request is not None:
            first.after(builder.resource_of.get(request.key))
            # What reads a response's body runs behind what got the response.
            first.after(builder.reactions.get(request.key))
            builder.reactions[request.key] = builder.pieces[computation][-1][1]
            return
    if name in ("requestAnimationFrame", "requestIdleCallback"):
        _connect_by_flow(builder, computation, first)
        first.fields["kind"] = "timer"
        origin = computation.slice.caused_by or next(
            (c.caused_by for c in computation.slice.children if c.caused_by), None
        )
        waited = (computation.start - origin.start) / 1000.0 if origin else 0.0
        first.fields["timeout_ms"] = round(min(waited, FRAME_MS), 3)
        for _, piece in builder.pieces[computation][1:]:
            piece.fields["kind"] = "timer"
        return
    if (
        computation.told
        and computation.told[1] in ("Document", "Window")
        and name
        in (
            "readystatechange",
            "DOMContentLoaded",
            "load",
        )
    ):
        return  # Part of the frame completion chain.
    _connect_by_flow(builder, computation, first)


def _connect_element(
    builder: "Builder", computation: Computation, first: Node, request: Request
) -> None:
    """An element's load or error event: its resource, and who registered the listener."""
    first.after(builder.resource_of.get(request.key))
    if computation.told and computation.told[1].endswith("script"):
        ran = None
        for script in builder.pieces:
            if script.kind == "script" and script.end <= computation.start:
                if builder.script_requests.get(script) is request:
                    ran = script
        if ran is not None:
            first.after(builder.last_piece(ran))
        # The parser goes on when the script's events have been handled.
        document = builder.document(request.frame, request.sent)
        tag = _tag(builder, document, request)
        if document is not None and tag is not None and not tag.is_module:
            if "async" not in tag.attributes and "defer" not in tag.attributes:
                following = document.chunk_behind(tag.end)
                if following is not None:
                    following.after(builder.last_piece(computation))
    add_registrar(builder, computation, first)


def add_registrar(builder: "Builder", computation: Computation, first: Node) -> None:
    """A listener cannot run before the computation that registered it.

    Neither trace nor protocol tells which one that was: it is the latest that registered a listener
    of this type and whose code is in the same script.
    """
    url = urldefrag(computation.url).url
    found: tuple[Computation, Slice] | None = None
    for registrar, moment in builder.registrations.get(computation.name, []):
        if moment.start < computation.start and urldefrag(registrar.url).url == url:
            if _holds(registrar, computation):
                found = (registrar, moment)
    if found is not None and found[0] is not computation:
        first.after(builder.piece_at(found[0], found[1].start))


def _holds(registrar: Computation, computation: Computation) -> bool:
    """Whether the listener's code may stand in the registrar's: not before the script's start."""
    return (computation.line, computation.column) >= (registrar.line, registrar.column)


def find_registrations(builder: "Builder") -> dict[str, list[tuple[Computation, Slice]]]:
    """Who registered listeners, by type of event, as the added script told."""
    found: dict[str, list[tuple[Computation, Slice]]] = {}
    for work in builder.recording.threads:
        for at in work.thread.walk():
            message = str(at.data.get("message") or "") if at.name == "TimeStamp" else ""
            if message.startswith("loadpath:listen "):
                registrar = work.enclosing(at)
                if registrar is not None:
                    found.setdefault(message.split(" ")[1], []).append((registrar, at))
    return found


def _connect_xhr(builder: "Builder", computation: Computation, first: Node) -> None:
    dispatch = computation.dispatch
    url = urldefrag(str(dispatch.data.get("url") or "")).url if dispatch else ""
    earlier = None
    for other in builder.pieces:
        if other.start >= computation.start or other.dispatch is None:
            continue
        if other.dispatch.name.startswith("XHR") and other.dispatch.data.get("url") == url:
            if other.outer is None:
                earlier = other
    found = None
    for request in builder.requests:
        if request.type in ("XHR", "Fetch", "Other") and request.sent <= computation.start:
            if urldefrag(request.url).url == url:
                found = request
    while found is not None and found.redirected_to is not None:
        found = found.redirected_to
    if found is not None:
        first.after(builder.resource_of.get(found.key))
    if earlier is not None:
        first.after(builder.last_piece(earlier))
    if not first.parents:
        _connect_by_flow(builder, computation, first)


def _element_request(builder: "Builder", computation: Computation) -> Request | None:
    """The resource whose arrival an element's load or error event tells."""
    told = computation.told
    found = None
    for request in builder.requests_for(told[2]) if told else ():
        finished = request.finished if request.finished is not None else float("inf")
        if finished <= computation.start:
            found = request
    while found is not None and found.redirected_to is not None:
        found = found.redirected_to
    return found


def _response_in_task(builder: "Builder", computation: Computation) -> Request | None:
    """The response whose arrival, in the same task, resolved the promise."""
    task = next((a for a in computation.slice.ancestors() if a.parent is None), computation.slice)
    found = None
    read_body = False
    for at in task.walk():
        if at.start > computation.start:
            break
        if at.name in ("ResourceFinish", "ResourceReceivedData", "ResourceReceiveResponse"):
            found = str(at.data.get("requestId", ""))
        # Reading a fetched body resolves its promise in a task of its own (Chromium, body.cc).
        read_body = read_body or str(at.data.get("src_file", "")).endswith("core/fetch/body.cc")
    latest = None
    for request in builder.requests:
        if request.redirected_to is not None:
            continue
        if request.id == found:
            return request
        finished = request.finished
        if read_body and request.type == "Fetch" and finished and finished <= computation.start:
            if latest is None or finished > (latest.finished or 0.0):
                latest = request
    return latest


def _connect_by_flow(builder: "Builder", computation: Computation, first: Node) -> None:
    """By the arrow from where the task was scheduled; else by what ran before it."""
    work = _thread_work(builder, computation)
    candidates = [*computation.slice.ancestors(), *computation.slice.children]
    for at in candidates:
        origin = at.caused_by
        if origin is None:
            continue
        for thread in builder.recording.threads:
            registrar = thread.enclosing(origin)
            if registrar is not None and registrar is not computation:
                first.after(builder.piece_at(registrar, origin.start))
                return
        for outer in origin.ancestors():
            if outer.name == "ParseHTML":
                first.after(builder.chunk_parsed_at(str(outer.data.get("frame")), origin.start))
                return
    if work is None:
        return
    before = None
    for other in work.computations:
        if other.end <= computation.start and other.outer is None and other.kind != "style":
            before = other
    if before is not None:
        first.after(builder.last_piece(before))
    else:
        first.after(builder.document_end(computation.frame, computation.start))
