"""DevTools events of one pass: requests, frames and scripts.

Times are microseconds of Chromium's monotonic clock, the one of traces.
"""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from loadpath.errors import LoadpathError, hinted

__all__ = ["Document", "FrameRecord", "Pass", "Request", "read_events"]


class _Event(msgspec.Struct):
    method: str
    params: dict[str, Any]
    session: str = ""
    target: str = ""


@dataclass
class Request:
    """One request and its response; each hop of a redirect is one of its own.

    Attributes
    ----------
    id
        The protocol's id, shared by the hops of a redirect.
    hop
        0, or how many redirects went before.
    sent, responded, finished
        When it was sent, its response began, its response was complete.
    refers_to
        Of a reference that the page's session cache served: the request that fetched it.
    preflight
        The request that asked the other host's permission for this one.
    timing
        The protocol's ResourceTiming, in milliseconds after its `requestTime` (seconds).
    """

    id: str
    hop: int
    url: str
    method: str
    type: str
    frame: str
    loader: str
    session: str
    target: str
    sent: float
    initiator: dict[str, Any]
    priority: str = ""
    raised: float | None = None
    wall_time: float = 0.0
    responded: float | None = None
    finished: float | None = None
    status: int = 0
    mime_type: str = ""
    protocol: str = ""
    connection: int = 0
    remote_address: str = ""
    timing: dict[str, float] = field(default_factory=dict)
    header_bytes: int = 0
    encoded_bytes: int = 0
    decoded_bytes: int = 0
    from_cache: bool = False
    from_service_worker: bool = False
    failed: str = ""
    redirected_to: "Request | None" = None
    refers_to: "Request | None" = None
    preflight: "Request | None" = None
    is_link_preload: bool = False

    @property
    def key(self) -> str:
        """Unique among the requests of a pass."""
        return f"{self.target}/{self.id}/{self.hop}"

    @property
    def succeeded(self) -> bool:
        """Whether it brought what was asked for: no failure, HTTP error or redirect."""
        return not self.failed and self.status < 400 and self.redirected_to is None

    @property
    def body_bytes(self) -> int:
        """Bytes of the response body as transmitted."""
        if not self.encoded_bytes:
            return self.decoded_bytes
        if self.encoded_bytes > self.header_bytes:
            return self.encoded_bytes - self.header_bytes
        # On HTTP/2 what counts as header may be all that had come until the response was noticed.
        return min(self.encoded_bytes, self.decoded_bytes)


@dataclass
class Document:
    """A document that a frame showed."""

    frame: str
    loader: str
    url: str
    committed: int = 0


@dataclass
class FrameRecord:
    """A frame, in order of attachment."""

    id: str
    parent: str | None
    target: str
    documents: list[Document] = field(default_factory=list)
    attached_by: dict[str, Any] | None = None

    @property
    def url(self) -> str:
        """URL of its last document."""
        return self.documents[-1].url if self.documents else ""


@dataclass
class Pass:
    """What DevTools told about one load.

    Attributes
    ----------
    requests
        In order of sending.
    frames
        By id, main frame first.
    dom_content_loaded, load
        Start of these events of the main frame's last document, in microseconds.
    navigation
        The navigation entry of the Performance timeline, if recorded.
    """

    requests: list[Request] = field(default_factory=list)
    frames: dict[str, FrameRecord] = field(default_factory=dict)
    main_frame: str = ""
    dom_content_loaded: float | None = None
    load: float | None = None
    navigation: dict[str, Any] = field(default_factory=dict)
    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    web_sockets: int = 0
    service_workers: int = 0
    web_transports: int = 0
    dialogs: int = 0

    def document_request(self, frame: str, loader: str) -> Request | None:
        """The request for a frame's document, behind all redirects."""
        found = None
        for request in self.requests:
            if request.type == "Document" and request.frame == frame and request.loader == loader:
                found = request
        return found


def read_events(path: Path) -> Pass:
    """Read the DevTools events of a pass.

    Raises
    ------
    LoadpathError
        The file is missing, damaged, or no list of events.
    """
    result = Pass()
    latest: dict[tuple[str, str], Request] = {}
    try:
        for event in _lines(path):
            _take(result, latest, event)
    except (OSError, EOFError, msgspec.MsgspecError) as error:
        raise hinted(
            LoadpathError(f"{path}: {error}"),
            "the recording is damaged or cut off: profile the page again",
        ) from None
    result.requests.sort(key=lambda request: request.sent)
    return result


def _lines(path: Path) -> Iterator[_Event]:
    decoder = msgspec.json.Decoder(_Event)
    with gzip.open(path, "rb") as file:
        for line in file:
            yield decoder.decode(line)


def _take(result: Pass, latest: dict[tuple[str, str], Request], event: _Event) -> None:
    domain, _, name = event.method.partition(".")
    kind = result.targets.get(event.target, {}).get("type")
    if domain == "Network" and kind != "service_worker":
        _take_network(result, latest, name, event)
    elif domain == "Page":
        _take_page(result, name, event)
    elif event.method == "Loadpath.attached":
        info = event.params.get("targetInfo", event.params)
        result.targets[str(info.get("targetId", event.target))] = info
        result.service_workers += info.get("type") == "service_worker"
    elif event.method == "Loadpath.navigation":
        result.navigation = event.params.get("entry", event.params)


_URGENT = frozenset({"VeryHigh", "High"})
"""Priorities of requests that Chromium's network service never holds back."""


def _take_network(
    result: Pass, latest: dict[tuple[str, str], Request], name: str, event: _Event
) -> None:
    params = event.params
    key = (event.target, str(params.get("requestId", "")))
    if name == "requestWillBeSent":
        _sent(result, latest, key, event)
        return
    if name.startswith("webSocket"):
        result.web_sockets += name == "webSocketCreated"
        return
    if name.startswith("webTransport"):
        result.web_transports += name == "webTransportCreated"
        return
    request = latest.get(key)
    if request is None:
        return
    if name == "responseReceived":
        _responded(request, params["response"], params["timestamp"] * 1e6)
        request.type = params.get("type", request.type)
    elif name == "dataReceived":
        request.decoded_bytes += int(params.get("dataLength", 0))
    elif name == "loadingFinished":
        request.finished = params["timestamp"] * 1e6
        request.encoded_bytes = int(params.get("encodedDataLength", 0))
    elif name == "loadingFailed":
        request.finished = params["timestamp"] * 1e6
        request.failed = str(params.get("errorText", "failed") or "failed")
    elif name == "requestServedFromCache":
        request.from_cache = True
    elif name == "resourceChangedPriority" and params.get("newPriority") in _URGENT:
        if request.raised is None and request.priority not in _URGENT:
            request.raised = params["timestamp"] * 1e6


def _sent(
    result: Pass, latest: dict[tuple[str, str], Request], key: tuple[str, str], event: _Event
) -> None:
    params = event.params
    before = latest.get(key)
    hop = 0
    if before is not None and "redirectResponse" in params:
        time = params["timestamp"] * 1e6
        _responded(before, params["redirectResponse"], time)
        before.finished = time
        hop = before.hop + 1
    elif before is not None:
        # The service worker's fallback and workers' scripts may repeat an id.
        return
    asked = params["request"]
    request = Request(
        id=key[1],
        hop=hop,
        url=asked["url"],
        method=asked.get("method", "GET"),
        type=params.get("type", "Other"),
        frame=params.get("frameId", ""),
        loader=params.get("loaderId", ""),
        session=event.session,
        target=event.target,
        sent=params["timestamp"] * 1e6,
        wall_time=params.get("wallTime", 0.0),
        initiator=params.get("initiator", {}),
        priority=asked.get("initialPriority", ""),
        is_link_preload=bool(asked.get("isLinkPreload", False)),
    )
    if before is not None:
        before.redirected_to = request
    latest[key] = request
    result.requests.append(request)


def _responded(request: Request, response: dict[str, Any], time: float) -> None:
    request.responded = time
    request.status = int(response.get("status", 0))
    request.mime_type = str(response.get("mimeType", "")).lower()
    request.protocol = str(response.get("protocol", ""))
    request.connection = int(response.get("connectionId", 0))
    request.remote_address = str(response.get("remoteIPAddress", ""))
    request.timing = response.get("timing") or {}
    request.header_bytes = int(response.get("encodedDataLength", 0))
    request.from_cache = request.from_cache or bool(
        response.get("fromDiskCache") or response.get("fromPrefetchCache")
    )
    request.from_service_worker = bool(response.get("fromServiceWorker"))


def _take_page(result: Pass, name: str, event: _Event) -> None:
    params = event.params
    if name == "frameAttached":
        frame = params["frameId"]
        record = result.frames.get(frame)
        if record is None:
            record = FrameRecord(frame, params.get("parentFrameId"), event.target)
            result.frames[frame] = record
        record.attached_by = params.get("stack")
    elif name == "frameNavigated":
        _navigated(result, params["frame"], event.target)
    elif name == "javascriptDialogOpening":
        result.dialogs += 1
    elif name == "lifecycleEvent" and params.get("frameId") == result.main_frame:
        if params["name"] == "commit":
            result.dom_content_loaded = result.load = None
        elif params["name"] == "DOMContentLoaded":
            result.dom_content_loaded = params["timestamp"] * 1e6
        elif params["name"] == "load":
            result.load = params["timestamp"] * 1e6


def _navigated(result: Pass, frame: dict[str, Any], target: str) -> None:
    identity = frame["id"]
    record = result.frames.get(identity)
    if record is None:
        record = FrameRecord(identity, frame.get("parentId"), target)
        result.frames[identity] = record
    record.target = target
    if record.parent is None and not result.main_frame:
        result.main_frame = identity
    url = frame.get("url", "") + frame.get("urlFragment", "")
    record.documents.append(Document(identity, frame.get("loaderId", ""), url.split("#")[0]))
