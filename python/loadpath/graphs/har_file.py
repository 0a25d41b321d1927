"""Reading HAR 1.2 files as browsers, proxies and measuring services write them.

(http://www.softwareishard.com/blog/har-12-spec/.) What tools disagree on is settled here; the rest
of the importer sees one kind of entry. A field of the wrong type counts as absent; without URL or
date an entry is an error.

========================= ==========================================================================
tool                      its own ways
========================= ==========================================================================
Chrome DevTools           `_initiator` {type, url, lineNumber from 0, stack}, `_priority`,
                          `_resourceType`, `_fromCache`, `response._transferSize`, `response._error`
Firefox                   whole milliseconds, bodies, no initiators
WebPageTest               `_initiator` is a URL, `_initiator_line`, `_initiator_column` are strings,
                          `_request_type`, several pages (runs, first and repeat view)
sitespeed.io, Browsertime `_initiator` is a URL, `_initiator_detail` JSON text of DevTools'
                          initiator, a page for each run
mitmproxy, Charles        no pages, everything that went through the proxy, no initiators
Loadpath's page archive   DevTools' `_initiator` with asynchronous stacks, `_frameId`, bodies
========================= ==========================================================================
"""

import base64
import binascii
import gzip
import math
import re
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import msgspec

from loadpath.errors import LoadpathError, NotFoundError, hinted

__all__ = ["MAX_BYTES", "Entry", "HarFile", "Initiator", "PageRecord", "plain_url", "read_har"]

MAX_BYTES = 1 << 30
"""Largest file, unpacked: it is held in memory once."""
MAX_ENTRIES = 100_000
"""Most entries; the largest page of the HTTP Archive has a few tens of thousands."""
MAX_MS = 86_400_000.0
"""Longest time within one load: a day, as in page graphs."""
MAX_SIZE_BYTES = 1 << 40
"""Largest response, as in page graphs."""

# An escape in JSON: a pair of surrogates, half of one, any other.
_ESCAPE = re.compile(
    rb"\\(?:(u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2})|(u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.DOTALL,
)
# Request destinations (Fetch standard, section 2.2.5) and other tools' words, as DevTools types.
_TYPES = {
    "document": "Document",
    "iframe": "Document",
    "frame": "Document",
    "style": "Stylesheet",
    "stylesheet": "Stylesheet",
    "css": "Stylesheet",
    "script": "Script",
    "js": "Script",
    "image": "Image",
    "img": "Image",
    "font": "Font",
    "xhr": "XHR",
    "xmlhttprequest": "XHR",
    "fetch": "Fetch",
    "empty": "Fetch",
    "media": "Media",
    "video": "Media",
    "audio": "Media",
    "track": "TextTrack",
    "texttrack": "TextTrack",
    "manifest": "Manifest",
    "preflight": "Preflight",
    "ping": "Ping",
    "beacon": "Ping",
    "eventsource": "EventSource",
    "websocket": "WebSocket",
    "worker": "Script",
    "sharedworker": "Script",
    "serviceworker": "Script",
}


@dataclass(frozen=True)
class Initiator:
    """What a tool says made the browser ask.

    Attributes
    ----------
    kind
        parser, script, preload, preflight, other, or "" if the tool says nothing.
    url
        The document, style sheet or script.
    line, column
        From 1; 0 if unknown.
    frames
        Call stack, innermost first, through asynchronous parents: URL, line and column from 1.
    """

    kind: str = ""
    url: str = ""
    line: int = 0
    column: int = 0
    frames: tuple[tuple[str, int, int], ...] = ()


@dataclass
class Entry:
    """A request and its response.

    Attributes
    ----------
    index
        Place in the file, from 0.
    start, end
        Microseconds since 1970; `end` is None if the response never was complete.
    first_byte
        When the response began.
    body
        Text of HTML, CSS and JavaScript, None if not recorded.
    connect_ms, wait_ms
        Of the TCP handshake and of waiting for the first byte; None if not measured.
    request_headers, response_headers
        Names in lower case.
    """

    index: int
    url: str
    method: str
    start: float
    first_byte: float
    end: float | None
    type: str
    status: int
    mime_type: str
    size_bytes: int
    page: str
    initiator: Initiator
    request_headers: dict[str, str]
    redirect_url: str = ""
    body: str | None = None
    has_body: bool = False
    decoded_bytes: int = 0
    priority: str = ""
    frame: str = ""
    address: str = ""
    from_cache: bool = False
    failed: str = ""
    connect_ms: float | None = None
    wait_ms: float | None = None
    is_link_preload: bool = False
    response_headers: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Host and port."""
        return urlsplit(self.url).netloc


@dataclass
class PageRecord:
    """A page of the file; a file without pages has one, or one a top-level navigation.

    Attributes
    ----------
    start
        Microseconds since 1970, None if the file does not say.
    dom_content_loaded_ms, load_ms
        After `start`; None if unknown.
    """

    id: str
    title: str = ""
    start: float | None = None
    dom_content_loaded_ms: float | None = None
    load_ms: float | None = None
    entries: list[Entry] = field(default_factory=list)


@dataclass
class HarFile:
    """A HAR file's pages, each with its entries in order of time."""

    tool: str
    pages: list[PageRecord]

    def page(self, wanted: str | None, path: Path) -> PageRecord:
        """The page of a number from 1, an id or a title; the only one, or first, by default.

        Raises
        ------
        NotFoundError
            There is none, or none with requests.
        """
        with_entries = [page for page in self.pages if page.entries]
        if wanted is None:
            return with_entries[0]
        for page in self.pages:
            if wanted in (page.id, page.title):
                return page
        if wanted.isdecimal() and 1 <= int(wanted[:9]) <= len(self.pages):
            return self.pages[int(wanted[:9]) - 1]
        known = ", ".join(f"{n} ({p.id} {p.title[:60]})" for n, p in enumerate(self.pages[:20], 1))
        raise hinted(NotFoundError(f"{path}: no page {wanted!r}"), f"its pages are {known}")


class _Log(msgspec.Struct):
    entries: list[msgspec.Raw]
    pages: list[dict[str, Any]] | None = None
    creator: dict[str, Any] | None = None
    browser: dict[str, Any] | None = None


class _File(msgspec.Struct):
    log: _Log


def read_har(path: Path) -> HarFile:
    """Read a HAR file, plain or gzip.

    Raises
    ------
    LoadpathError
        It cannot be read, is no HAR, is too large, or holds no request.
    """
    try:
        file = _decode(_unpack(path))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise hinted(
            LoadpathError(f"{path}: not a HAR file: {error}"),
            'HAR 1.2 is JSON with {"log": {"entries": [...]}}',
        ) from None
    log = file.log
    if len(log.entries) > MAX_ENTRIES:
        raise LoadpathError(
            f"{path}: log.entries: {len(log.entries)} are too many (allowed: {MAX_ENTRIES})"
        )
    entries = []
    for index, raw in enumerate(log.entries):
        where = f"{path}: log.entries[{index}]"
        try:
            item = _mapping(msgspec.json.decode(raw))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise LoadpathError(f"{where}: {error}") from None
        entries.append(_entry(item, index, where))
    if not entries:
        raise hinted(LoadpathError(f"{path}: log.entries is empty"), "record a page load first")
    entries.sort(key=lambda entry: entry.start)
    creator = _mapping(log.creator)
    tool = f"{_text(creator.get('name'))} {_text(creator.get('version'))}".strip()
    pages = [_page(item, f"{path}: log.pages[{n}]") for n, item in enumerate(log.pages or [])]
    return HarFile(tool or "unknown tool", _assign(pages, entries))


def _unpack(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            if file.read(2) == b"\x1f\x8b":
                with gzip.open(path, "rb") as unpacked:
                    data = unpacked.read(MAX_BYTES + 1)
            else:
                file.seek(0)
                data = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise LoadpathError(f"cannot read {path}: {error}") from None
    if len(data) > MAX_BYTES:
        raise hinted(
            LoadpathError(f"{path}: larger than {MAX_BYTES >> 20} MiB"),
            "save it without the bodies of images and media",
        )
    return data.removeprefix(b"\xef\xbb\xbf")


def _decode(data: bytes) -> _File:
    try:
        return msgspec.json.decode(data, type=_File)
    except msgspec.DecodeError:
        # JavaScript's strings, and so DevTools' files, may hold halves of pairs of surrogates.
        mended = _ESCAPE.sub(lambda found: b"\\ufffd" if found[2] else found[0], data)
        if mended == data:
            raise
        return msgspec.json.decode(mended, type=_File)


def _assign(pages: list[PageRecord], entries: list[Entry]) -> list[PageRecord]:
    by_id = {page.id: page for page in pages}
    if pages and any(entry.page in by_id for entry in entries):
        for entry in entries:
            if entry.page in by_id:
                by_id[entry.page].entries.append(entry)
        return pages
    if len(pages) == 1:
        pages[0].entries = entries
        return pages
    # A proxy's file: each top-level navigation begins a page (Fetch Metadata, Sec-Fetch-Dest).
    found: list[PageRecord] = []
    redirected: set[str] = set()
    for entry in entries:
        is_navigation = entry.request_headers.get("sec-fetch-dest", "") == "document"
        if not found or (is_navigation and entry.url not in redirected):
            found.append(PageRecord(f"page_{len(found) + 1}", entry.url))
        if entry.redirect_url:
            redirected.add(entry.redirect_url)
        found[-1].entries.append(entry)
    if len(found) > 1 and "sec-fetch-dest" not in entries[0].request_headers:
        # What went through the proxy before the first navigation is no page.
        found = found[1:] or found
    return found


def _page(item: dict[str, Any], where: str) -> PageRecord:
    timings = _mapping(item.get("pageTimings"))
    started = item.get("startedDateTime")
    return PageRecord(
        id=_text(item.get("id")),
        title=_text(item.get("title")),
        start=_time(started, f"{where}.startedDateTime") if isinstance(started, str) else None,
        dom_content_loaded_ms=_ms(timings, "onContentLoad", f"{where}.pageTimings"),
        load_ms=_ms(timings, "onLoad", f"{where}.pageTimings"),
    )


def _entry(item: dict[str, Any], index: int, where: str) -> Entry:
    request, response = _mapping(item.get("request")), _mapping(item.get("response"))
    content, timings = _mapping(response.get("content")), _mapping(item.get("timings"))
    url = request.get("url")
    if not isinstance(url, str) or not plain_url(url):
        raise hinted(
            LoadpathError(f"{where}.request.url: {_shown(url)} is no URL"),
            "every entry of a HAR has an absolute URL",
        )
    headers = _headers(request.get("headers"))
    received = _headers(response.get("headers"))
    start = _time(item.get("startedDateTime"), f"{where}.startedDateTime")
    parts = {
        name: _ms(timings, name, f"{where}.timings")
        for name in ("blocked", "dns", "connect", "ssl", "send", "wait", "receive")
    }
    total = sum(parts[name] or 0.0 for name in parts if name != "ssl")
    time_ms = _ms(item, "time", where)
    duration = total if time_ms is None or (total > 0 and not time_ms) else time_ms
    status = _whole(response.get("status"))
    mime_type = _text(content.get("mimeType")) or received.get("content-type", "")
    mime_type = mime_type.split(";")[0].strip().lower()
    mime_type = "" if mime_type == "x-unknown" else mime_type
    failed = _text(response.get("_error")) or _text(item.get("_error"))
    if not failed and status <= 0 and not url.startswith(("data:", "blob:", "about:")):
        failed = "no response"
    redirect = _text(response.get("redirectURL")) or received.get("location", "")
    entry = Entry(
        index=index,
        url=url,
        method=_method(request.get("method")),
        start=start,
        first_byte=start + max(0.0, duration - (parts["receive"] or 0.0)) * 1000.0,
        end=None if "unfinished" in failed else start + duration * 1000.0,
        type=_type(item, headers, mime_type, url),
        status=max(status, 0),
        mime_type=mime_type,
        size_bytes=_size(item, response, content, received, where),
        page=_text(item.get("pageref")),
        initiator=_initiator(item),
        request_headers=headers,
        redirect_url=_absolute(redirect, url) if 300 <= status < 400 and redirect else "",
        decoded_bytes=_whole(content.get("size")),
        priority=_text(item.get("_priority")) or _text(item.get("_initialPriority")),
        frame=_text(item.get("_frameId")),
        address=_text(item.get("serverIPAddress")) or _text(item.get("_ip_addr")),
        from_cache=_is_cached(item, response, status),
        failed=failed,
        wait_ms=parts["wait"],
        is_link_preload=item.get("_isLinkPreload") is True,
        response_headers=received,
    )
    # HAR counts the TLS handshake as part of connecting.
    if parts["connect"]:
        entry.connect_ms = max(0.0, parts["connect"] - (parts["ssl"] or 0.0)) or None
    entry.has_body = bool(content.get("text"))
    if entry.has_body and _is_code(entry):
        entry.body = _body(content)
    return entry


def _is_code(entry: Entry) -> bool:
    kinds = ("html", "css", "javascript", "ecmascript", "xml", "jscript")
    return entry.type in ("Document", "Stylesheet", "Script") or any(
        kind in entry.mime_type for kind in kinds
    )


def _body(content: dict[str, Any]) -> str | None:
    text = content.get("text")
    if not isinstance(text, str):
        return None
    if content.get("encoding") != "base64":
        return text
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return None


def _type(item: dict[str, Any], headers: dict[str, str], mime_type: str, url: str) -> str:
    """DevTools' word for the type: what the tool says, what was asked for, what came."""
    for said in (item.get("_resourceType"), item.get("_request_type")):
        found = _TYPES.get(_text(said).lower())
        if found:
            return found
    destination = headers.get("sec-fetch-dest", "")
    if destination in _TYPES and destination != "empty":
        return _TYPES[destination]
    if destination == "empty":
        return "XHR" if headers.get("x-requested-with") else "Fetch"
    for part, found in (
        ("html", "Document"),
        ("css", "Stylesheet"),
        ("javascript", "Script"),
        ("ecmascript", "Script"),
        ("image/", "Image"),
        ("font", "Font"),
        ("video/", "Media"),
        ("audio/", "Media"),
        ("json", "XHR"),
    ):
        if part in mime_type:
            return found
    suffix = urlsplit(url).path.rpartition(".")[2].lower()
    by_suffix = {"js": "Script", "mjs": "Script", "css": "Stylesheet", "woff2": "Font"}
    return by_suffix.get(suffix, "Other")


def plain_url(url: str) -> str:
    """A URL without its fragment; "" if it is none."""
    try:
        urlsplit(url)
        return urldefrag(url).url
    except ValueError:
        return ""


def _initiator(item: dict[str, Any]) -> Initiator:
    said = item.get("_initiator")
    detail = item.get("_initiator_detail")
    if isinstance(detail, str) and detail.startswith("{"):
        with suppress(msgspec.MsgspecError, RecursionError):
            said = msgspec.json.decode(detail)
    if isinstance(said, dict):
        return _devtools_initiator(said)
    url = _text(said)
    kind = _text(item.get("_initiator_type")).lower()
    if not url and not kind:
        return Initiator()
    line, column = _whole(item.get("_initiator_line")), _whole(item.get("_initiator_column"))
    frames = ((plain_url(url), line, column),) if kind == "script" and url else ()
    return Initiator(kind or "other", plain_url(url), line, column, frames)


def _devtools_initiator(said: dict[str, Any]) -> Initiator:
    """DevTools counts lines and columns from 0."""
    frames: list[tuple[str, int, int]] = []
    stack = _mapping(said.get("stack"))
    while stack and len(frames) < 1000:
        for frame in _list(stack.get("callFrames")):
            frame = _mapping(frame)
            url = plain_url(_text(frame.get("url")))
            line, column = _whole(frame.get("lineNumber")), _whole(frame.get("columnNumber"))
            frames.append((url, line + 1, column + 1))
        stack = _mapping(stack.get("parent"))
    has_line = isinstance(said.get("lineNumber"), int | float)
    has_column = isinstance(said.get("columnNumber"), int | float)
    return Initiator(
        _text(said.get("type")).lower() or "other",
        plain_url(_text(said.get("url"))),
        _whole(said.get("lineNumber")) + 1 if has_line else 0,
        _whole(said.get("columnNumber")) + 1 if has_column else 0,
        tuple(frames),
    )


def _size(
    item: dict[str, Any],
    response: dict[str, Any],
    content: dict[str, Any],
    headers: dict[str, str],
    where: str,
) -> int:
    """Bytes of the body as transmitted, or the best that the file has."""
    body = _whole(response.get("bodySize"), -1)
    decoded = _whole(content.get("size"), -1)
    transferred = max(_whole(o.get("_transferSize"), -1) for o in (item, response))
    encoded = "content-encoding" in headers
    found = 0
    if body > 0:
        found = body
    elif transferred > 0:
        # With headers, whose size HTTP/2 hides; an unpacked body cannot be larger than itself.
        found = transferred if encoded or decoded < 0 else min(transferred, decoded)
    elif _whole(item.get("_objectSize")) > 0:
        found = _whole(item.get("_objectSize"))
    elif decoded > 0:
        found = max(0, decoded - max(0, _whole(content.get("compression"))))
    elif headers.get("content-length", "").isdecimal():
        found = int(headers["content-length"][:20]) if body != 0 else 0
    if found > MAX_SIZE_BYTES:
        raise LoadpathError(
            f"{where}.response: {found} bytes are too many (allowed: {MAX_SIZE_BYTES})"
        )
    return found


def _is_cached(item: dict[str, Any], response: dict[str, Any], status: int) -> bool:
    if _text(item.get("_fromCache")) in ("memory", "disk", "prefetch"):
        return True
    if _text(response.get("_fromCache")) in ("memory", "disk", "prefetch"):
        return True
    return bool(_mapping(item.get("cache")).get("beforeRequest")) and status == 200


def _headers(value: object) -> dict[str, str]:
    found: dict[str, str] = {}
    for header in _list(value):
        if isinstance(header, dict):
            name, text = _text(header.get("name")).lower(), _text(header.get("value"))
            found.setdefault(name, text)
    return found


def _method(value: object) -> str:
    method = _text(value).upper()
    return method if method.isascii() and method.isalpha() else "GET"


def _absolute(url: str, base: str) -> str:
    try:
        return plain_url(urljoin(base, url))
    except ValueError:
        return ""


def _time(value: object, where: str) -> float:
    try:
        if not isinstance(value, str):
            raise ValueError
        found = datetime.fromisoformat(value.strip())
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        return found.timestamp() * 1e6
    except (ValueError, OverflowError):
        raise hinted(
            LoadpathError(f"{where}: {_shown(value)} is no date"),
            "HAR's dates are ISO 8601: 2026-01-31T12:00:00.000Z",
        ) from None


def _ms(item: dict[str, Any], name: str, where: str) -> float | None:
    """A time; None where it is -1, null, absent or no number."""
    value = _float(item.get(name))
    if value is None or value < 0:
        return None
    if value > MAX_MS:
        raise LoadpathError(f"{where}.{name}: {value:g} ms is too long (allowed: {MAX_MS:g})")
    return value


def _float(value: object) -> float | None:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _whole(value: object, default: int = 0) -> int:
    found = _float(value)
    return default if found is None else int(found)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _shown(value: object) -> str:
    return repr(value)[:80]
