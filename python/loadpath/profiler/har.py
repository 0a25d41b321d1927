"""The page archive: HAR 1.2 with bodies, from the events of a structure pass.

(http://www.softwareishard.com/blog/har-12-spec/, with Chrome's `_` fields.) Events are read and
entries written one by one; what is kept for each request is its events as text.
"""

import gzip
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from loadpath import __version__

__all__ = ["Bodies", "RecordedEvent", "read_events", "write_archive"]


class RecordedEvent(msgspec.Struct, frozen=True):
    """A line of `events.jsonl.gz`."""

    session: str
    target: str
    method: str
    params: msgspec.Raw

    def decode(self) -> dict[str, Any]:
        """The parameters."""
        params: dict[str, Any] = msgspec.json.decode(self.params)
        return params


_EVENT = msgspec.json.Decoder(RecordedEvent)


def read_events(path: Path) -> Iterator[RecordedEvent]:
    """The events of a pass in order of arrival."""
    with gzip.open(path, "rb") as file:
        for line in file:
            yield _EVENT.decode(line)


class Bodies:
    """Response bodies on disk, until they are in the archive."""

    def __init__(self, folder: Path) -> None:
        """Use a file in `folder` that has no name and goes with this object."""
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._offsets: dict[str, int] = {}

    def __enter__(self) -> "Bodies":
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def add(self, request: str, body: dict[str, Any]) -> None:
        """Keep the result of Network.getResponseBody."""
        self._offsets[request] = self._file.seek(0, 2)
        self._file.write(msgspec.json.encode(body) + b"\n")

    def get(self, request: str) -> dict[str, Any] | None:
        """The body of a request, if there is one."""
        offset = self._offsets.get(request)
        if offset is None:
            return None
        self._file.seek(offset)
        body: dict[str, Any] = msgspec.json.decode(self._file.readline())
        return body


@dataclass(slots=True)
class _Hop:
    """A request and its response; a redirect begins the next hop."""

    event: RecordedEvent
    response: dict[str, Any] | None = None
    has_extra_info: bool = False


@dataclass(slots=True)
class _Request:
    hops: list[_Hop] = field(default_factory=list)
    request_extra: list[msgspec.Raw] = field(default_factory=list)
    response_extra: list[msgspec.Raw] = field(default_factory=list)
    received_bytes: int = 0
    decoded_bytes: int = 0
    ended: msgspec.Raw | None = None
    failed: bool = False
    from_memory: bool = False


def write_archive(
    events: Path,
    bodies: Bodies,
    path: Path,
    *,
    title: str,
    on_content_load_ms: float | None,
    on_load_ms: float | None,
) -> None:
    """Write the archive of the pass that recorded `events`."""
    requests, order = _collect(events)
    head = {
        "version": "1.2",
        "creator": {"name": "Loadpath", "version": __version__},
        "pages": [
            {
                "startedDateTime": _started(order[0]) if order else _date(0.0),
                "id": "page_1",
                "title": title,
                "pageTimings": {
                    "onContentLoad": -1 if on_content_load_ms is None else on_content_load_ms,
                    "onLoad": -1 if on_load_ms is None else on_load_ms,
                },
            }
        ],
    }
    with path.open("wb") as file:
        file.write(b'{"log":' + msgspec.json.encode(head)[:-1] + b',"entries":[')
        separator = b"\n"
        for hop in order:
            request_id = hop.event.decode()["requestId"]
            file.write(separator + msgspec.json.encode(_entry(requests[request_id], hop, bodies)))
            separator = b",\n"
        file.write(b"\n]}}\n")


def _collect(path: Path) -> tuple[dict[str, _Request], list[_Hop]]:
    requests: dict[str, _Request] = {}
    order: list[_Hop] = []
    for event in read_events(path):
        if not event.method.startswith("Network."):
            continue
        params = event.decode()
        request_id = params.get("requestId")
        if request_id is None:
            continue
        request = requests.setdefault(request_id, _Request())
        match event.method:
            case "Network.requestWillBeSent":
                if request.hops and "redirectResponse" in params:
                    request.hops[-1].response = params["redirectResponse"]
                    request.hops[-1].has_extra_info = params.get("redirectHasExtraInfo", False)
                elif request.hops:
                    # Frames of other processes tell of their document twice.
                    continue
                request.hops.append(_Hop(event))
                order.append(request.hops[-1])
            case "Network.requestWillBeSentExtraInfo":
                request.request_extra.append(event.params)
            case "Network.responseReceivedExtraInfo":
                request.response_extra.append(event.params)
            case "Network.responseReceived" if request.hops:
                request.hops[-1].response = params["response"] | {"_type": params["type"]}
                request.hops[-1].has_extra_info = params.get("hasExtraInfo", False)
            case "Network.dataReceived":
                request.received_bytes += params["encodedDataLength"]
                request.decoded_bytes += params["dataLength"]
            case "Network.requestServedFromCache":
                request.from_memory = True
            case "Network.loadingFinished" | "Network.loadingFailed":
                request.ended = event.params
                request.failed = event.method == "Network.loadingFailed"
    return requests, order


def _entry(request: _Request, hop: _Hop, bodies: Bodies) -> dict[str, Any]:
    sent = hop.event.decode()
    index = request.hops.index(hop)
    is_last = hop is request.hops[-1]
    ended = msgspec.json.decode(request.ended) if is_last and request.ended is not None else {}
    request_extra = _nth(request.request_extra, index)
    response_extra = _nth(request.response_extra, index) if hop.has_extra_info else {}
    response = hop.response or {}
    end_s = ended.get("timestamp")
    if not is_last:
        end_s = request.hops[index + 1].event.decode()["timestamp"]
    timings = _timings(sent["timestamp"], response.get("timing"), end_s)
    entry: dict[str, Any] = {
        "pageref": "page_1",
        "startedDateTime": _date(sent["wallTime"]),
        "time": sum(value for name, value in timings.items() if name != "ssl" and value >= 0),
        "request": _request(sent, request_extra, response),
        "response": _response(request, hop, response, response_extra, is_last, sent, bodies),
        "cache": {},
        "timings": timings,
        "_requestId": sent["requestId"],
        "_frameId": sent.get("frameId"),
        "_session": hop.event.session,
        "_initiator": sent.get("initiator"),
        "_priority": sent["request"].get("initialPriority"),
        "_resourceType": str(sent.get("type") or response.get("_type", "Other")).lower(),
        "_protocol": response.get("protocol"),
        "_fromCache": _cache(request, response),
        "_transferSize": ended.get("encodedDataLength", response.get("encodedDataLength")),
    }
    if request.failed and is_last:
        entry["response"]["_error"] = entry["_error"] = ended.get("errorText", "")
        entry["_canceled"] = ended.get("canceled", False)
        entry["_blockedReason"] = ended.get("blockedReason")
    elif is_last and request.ended is None:
        entry["response"]["_error"] = entry["_error"] = "unfinished when the recording ended"
    if response.get("remoteIPAddress"):
        entry["serverIPAddress"] = response["remoteIPAddress"].strip("[]")
    if response.get("connectionId"):
        entry["connection"] = str(response["connectionId"])
    return entry


def _nth(extras: list[msgspec.Raw], index: int) -> dict[str, Any]:
    if index >= len(extras):
        return {}
    extra: dict[str, Any] = msgspec.json.decode(extras[index])
    return extra


def _request(
    sent: dict[str, Any], extra: dict[str, Any], response: dict[str, Any]
) -> dict[str, Any]:
    request = sent["request"]
    headers = extra.get("headers") or response.get("requestHeaders") or request["headers"]
    cookies = [
        {"name": item["cookie"]["name"], "value": item["cookie"]["value"]}
        for item in extra.get("associatedCookies", [])
        if not item.get("blockedReasons")
    ]
    result = {
        "method": request["method"],
        "url": request["url"] + request.get("urlFragment", ""),
        "httpVersion": response.get("protocol", ""),
        "cookies": cookies,
        "headers": _headers(headers),
        "queryString": [
            {"name": name, "value": value}
            for name, value in parse_qsl(urlsplit(request["url"]).query, keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": len(request.get("postData", "").encode()),
    }
    if request.get("hasPostData"):
        result["postData"] = {
            "mimeType": _header(headers, "content-type") or "",
            "text": request.get("postData", ""),
        }
    return result


def _response(
    request: _Request,
    hop: _Hop,
    response: dict[str, Any],
    extra: dict[str, Any],
    is_last: bool,
    sent: dict[str, Any],
    bodies: Bodies,
) -> dict[str, Any]:
    headers = extra.get("headers") or response.get("headers", {})
    content: dict[str, Any] = {
        "size": request.decoded_bytes if is_last else 0,
        "mimeType": response.get("mimeType", ""),
    }
    body = bodies.get(sent["requestId"]) if is_last else None
    if body is not None:
        content["text"] = body["body"]
        if body["base64Encoded"]:
            content["encoding"] = "base64"
    failed = request.failed and is_last and not response
    return {
        "status": 0 if failed else extra.get("statusCode", response.get("status", 0)),
        "statusText": response.get("statusText", ""),
        "httpVersion": response.get("protocol", ""),
        "cookies": _set_cookies(headers),
        "headers": _headers(headers),
        "content": content,
        "redirectURL": _header(headers, "location") or "" if not is_last else "",
        "headersSize": -1,
        "bodySize": _body_size(request, response) if is_last else 0,
    }


def _body_size(request: _Request, response: dict[str, Any]) -> int:
    """Bytes of the body on the wire."""
    if request.received_bytes or request.ended is None:
        return request.received_bytes
    # Of documents, DevTools tells no bytes by piece: all of the response less those of its headers.
    total = msgspec.json.decode(request.ended).get("encodedDataLength", 0)
    return max(0, int(total - response.get("encodedDataLength", 0)))


def _headers(headers: dict[str, str]) -> list[dict[str, str]]:
    # DevTools joins the values of a repeated header by line feeds.
    return [
        {"name": name, "value": value}
        for name, values in headers.items()
        for value in values.split("\n")
    ]


def _header(headers: dict[str, str], wanted: str) -> str | None:
    return next((value for name, value in headers.items() if name.lower() == wanted), None)


def _set_cookies(headers: dict[str, str]) -> list[dict[str, Any]]:
    cookies = []
    for line in (_header(headers, "set-cookie") or "").split("\n"):
        name, separator, value = line.split(";")[0].partition("=")
        if separator:
            cookies.append({"name": name.strip(), "value": value.strip()})
    return cookies


def _cache(request: _Request, response: dict[str, Any]) -> str | None:
    if request.from_memory:
        return "memory"
    for key, name in (
        ("fromDiskCache", "disk"),
        ("fromServiceWorker", "service-worker"),
        ("fromPrefetchCache", "prefetch"),
    ):
        if response.get(key):
            return name
    return None


def _timings(
    sent_s: float, timing: dict[str, float] | None, end_s: float | None
) -> dict[str, float]:
    """HAR's phases in ms; -1 is "does not apply". `wait` ends with the response headers."""
    if timing is None:
        total = max(0.0, (end_s - sent_s) * 1000) if end_s is not None else 0.0
        return {
            "blocked": total,
            "dns": -1,
            "connect": -1,
            "ssl": -1,
            "send": 0,
            "wait": 0,
            "receive": 0,
        }
    origin_ms = (timing["requestTime"] - sent_s) * 1000

    def span(start: str, end: str) -> float:
        return timing[end] - timing[start] if timing[start] >= 0 else -1.0

    starts = [
        timing[name] for name in ("dnsStart", "connectStart", "sendStart") if timing[name] >= 0
    ]
    blocked = max(0.0, origin_ms + (min(starts) if starts else 0.0))
    headers_ms = timing["receiveHeadersEnd"]
    receive = 0.0 if end_s is None else (end_s - timing["requestTime"]) * 1000 - headers_ms
    return {
        "blocked": blocked,
        "dns": span("dnsStart", "dnsEnd"),
        "connect": span("connectStart", "connectEnd"),
        "ssl": span("sslStart", "sslEnd"),
        "send": max(0.0, span("sendStart", "sendEnd")),
        "wait": max(0.0, headers_ms - max(0.0, timing["sendEnd"])),
        "receive": max(0.0, receive),
    }


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds")


def _started(hop: _Hop) -> str:
    return _date(hop.event.decode()["wallTime"])
