"""Chrome trace JSON, as DevTools' Performance panel and Perfetto open it.

Format: "Trace Event Format" (Chromium project); the names of main-thread and network events are
those of DevTools' `models/trace/types/TraceEvents.ts`. Times are microseconds.
"""

import json
from typing import Any

from loadpath import _core
from loadpath.outcome import MainThreadRecord, Outcome, Resource
from loadpath.reports.context import ExportContext

__all__ = ["write_chrome_trace"]

_BROWSER, _RENDERER, _NETWORK = 1, 2, 3
_MAIN_THREAD = 1
_FRAME = "F0"
_NAVIGATION = "N0"
# DevTools takes a first timestamp of 0 for "none".
_START_US = 1_000_000

_EVENT_NAMES = {
    "parse": "ParseHTML",
    "script": "EvaluateScript",
    "style": "ParseAuthorStyleSheet",
    "timer": "TimerFire",
    "event": "EventDispatch",
    "other": "RunTask",
}


def write_chrome_trace(outcome: Outcome, context: ExportContext) -> bytes:
    """The load as Chrome trace JSON."""
    url = context.page_url(outcome)
    events = [*_metadata(outcome), *_navigation(outcome, url)]
    if outcome.trace is not None:
        events += [_slice(record, url) for record in outcome.trace.main_thread]
        events += [
            _counter(record.t_ms, record.connection, record.cwnd_bytes, record.in_flight_bytes)
            for record in outcome.trace.windows
        ]
    for index, resource in enumerate(outcome.resources):
        events += _request(index, resource, context)
        if resource.connection is not None and resource.end_ms is not None:
            events += _on_connection(index, resource, resource.connection)
    for number, connection in enumerate(outcome.connections):
        if connection.established_ms is not None:
            events.append(
                _event(
                    "X",
                    "connect",
                    connection.opened_ms,
                    pid=_NETWORK,
                    tid=number + 1,
                    dur=_us(connection.established_ms) - _us(connection.opened_ms),
                    args={"host": connection.host},
                )
            )
    metadata = [event for event in events if event["ph"] == "M"]
    timed = sorted(
        (event for event in events if event["ph"] != "M"), key=lambda event: int(event["ts"])
    )
    return json.dumps(
        {
            "traceEvents": metadata + timed,
            "displayTimeUnit": "ms",
            "metadata": {
                "source": f"Loadpath {_core.__version__}",
                "label": outcome.label,
                "seed": outcome.seed,
                "run": outcome.run,
            },
        }
    ).encode()


def _us(t_ms: float) -> int:
    return _START_US + round(t_ms * 1000)


def _event(
    phase: str,
    name: str,
    t_ms: float,
    *,
    category: str = "devtools.timeline",
    pid: int = _RENDERER,
    tid: int = _MAIN_THREAD,
    args: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    event = {"ph": phase, "name": name, "cat": category, "pid": pid, "tid": tid, "ts": _us(t_ms)}
    if phase in "Ii":
        event["s"] = "t"
    return event | more | {"args": args or {}}


def _metadata(outcome: Outcome) -> list[dict[str, Any]]:
    def name(kind: str, pid: int, tid: int, value: str) -> dict[str, Any]:
        return {
            "ph": "M",
            "name": kind,
            "cat": "__metadata",
            "pid": pid,
            "tid": tid,
            "ts": 0,
            "args": {"name": value},
        }

    return [
        name("process_name", _BROWSER, 0, "Browser"),
        name("thread_name", _BROWSER, _MAIN_THREAD, "CrBrowserMain"),
        name("process_name", _RENDERER, 0, "Renderer"),
        name("thread_name", _RENDERER, _MAIN_THREAD, "CrRendererMain"),
        name("process_name", _NETWORK, 0, "Connections"),
        *(
            name("thread_name", _NETWORK, number + 1, f"{number}: {connection.host}")
            for number, connection in enumerate(outcome.connections)
        ),
    ]


def _navigation(outcome: Outcome, url: str) -> list[dict[str, Any]]:
    frame = {"frame": _FRAME, "isMainFrame": True, "isOutermostMainFrame": True, "page": _FRAME}
    started = {
        "frameTreeNodeId": 1,
        "persistentIds": True,
        "frames": [
            {
                "frame": _FRAME,
                "url": url,
                "name": "",
                "processId": _RENDERER,
                "isOutermostMainFrame": True,
                "isInPrimaryMainFrame": True,
            }
        ],
    }
    events = [
        _event(
            "I",
            "TracingStartedInBrowser",
            0.0,
            category="disabled-by-default-devtools.timeline",
            pid=_BROWSER,
            args={"data": started},
        ),
        _event(
            "R",
            "navigationStart",
            0.0,
            category="blink.user_timing",
            args={
                "frame": _FRAME,
                "data": {
                    "documentLoaderURL": url,
                    "isLoadingMainFrame": True,
                    "isOutermostMainFrame": True,
                    "navigationId": _NAVIGATION,
                },
            },
        ),
    ]
    for name, mark, at in (
        ("domContentLoadedEventStart", "MarkDOMContent", outcome.dcl_ms),
        ("loadEventStart", "MarkLoad", outcome.plt_ms),
    ):
        if at is not None:
            events.append(
                _event(
                    "R",
                    name,
                    at,
                    category="blink.user_timing",
                    args={"frame": _FRAME, "data": {"navigationId": _NAVIGATION}},
                )
            )
            events.append(_event("I", mark, at, args={"data": frame}))
    return events


def _slice(record: MainThreadRecord, url: str) -> dict[str, Any]:
    data: dict[str, Any] = {"frame": _FRAME, "activity": record.id, "frameId": record.frame}
    args: dict[str, Any] = {"data": data}
    match record.kind:
        case "parse":
            args = {"beginData": data | {"url": url, "startLine": 0}, "endData": {"endLine": 0}}
        case "script":
            data |= {"url": record.detail or url, "lineNumber": 0, "columnNumber": 0}
        case "style":
            data |= {"styleSheetUrl": record.detail}
        case "event":
            data |= {"type": record.detail}
        case "timer":
            data |= {"timerId": 0}
    return _event(
        "X",
        _EVENT_NAMES.get(record.kind, record.kind),
        record.start_ms,
        args=args,
        dur=_us(record.end_ms) - _us(record.start_ms),
    )


def _counter(t_ms: float, connection: int, cwnd_bytes: int, in_flight: int) -> dict[str, Any]:
    return _event(
        "C",
        f"window of connection {connection}",
        t_ms,
        category="loadpath",
        pid=_NETWORK,
        tid=connection + 1,
        args={"cwnd_bytes": cwnd_bytes, "in_flight_bytes": in_flight},
    )


def _request(index: int, resource: Resource, context: ExportContext) -> list[dict[str, Any]]:
    request = {"requestId": f"{index}", "frame": _FRAME}
    send = request | {
        "url": resource.url,
        "requestMethod": context.activities.get(resource.id, {}).get("method", "GET"),
        "priority": context.priority(resource),
        "renderBlocking": "non_blocking",
    }
    events = [_event("I", "ResourceSendRequest", resource.start_ms, args={"data": send})]
    phases = resource.phases
    if phases is None or resource.end_ms is None:
        return events
    setup = phases.connection_setup_ms
    send_start = setup + phases.client_queue_ms
    first_byte_ms = resource.end_ms - phases.transfer_ms
    unused = dict.fromkeys(
        (
            *("proxyStart", "proxyEnd", "dnsStart", "dnsEnd", "sslStart", "sslEnd"),
            *("workerStart", "workerReady", "workerFetchStart", "workerRespondWithSettled"),
        ),
        -1,
    )
    timing = unused | {
        "requestTime": _us(resource.start_ms) / 1e6,
        "connectStart": 0 if setup > 0 else -1,
        "connectEnd": setup if setup > 0 else -1,
        "sendStart": send_start,
        "sendEnd": send_start,
        "receiveHeadersStart": first_byte_ms - resource.start_ms,
        "receiveHeadersEnd": first_byte_ms - resource.start_ms,
        "pushStart": 0,
        "pushEnd": 0,
    }
    response = request | {
        "statusCode": 200,
        "mimeType": resource.mime_type,
        "protocol": context.http_version,
        "encodedDataLength": 0,
        "fromCache": False,
        "fromServiceWorker": False,
        "connectionId": resource.connection,
        "connectionReused": setup == 0,
        "timing": timing,
    }
    finish = request | {
        "didFail": False,
        "encodedDataLength": resource.size_bytes,
        "decodedBodyLength": resource.size_bytes,
        "finishTime": _us(resource.end_ms) / 1e6,
    }
    return [
        *events,
        _event("I", "ResourceReceiveResponse", first_byte_ms, args={"data": response}),
        _event("I", "ResourceFinish", resource.end_ms, args={"data": finish}),
    ]


def _on_connection(index: int, resource: Resource, connection: int) -> list[dict[str, Any]]:
    """Requests of one connection overlap, so each is an asynchronous slice of its thread."""
    assert resource.phases is not None and resource.end_ms is not None
    sent_ms = (
        resource.start_ms + resource.phases.connection_setup_ms + resource.phases.client_queue_ms
    )
    common: dict[str, Any] = {
        "category": "loadpath.request",
        "pid": _NETWORK,
        "tid": connection + 1,
        "id": f"{index}",
    }
    return [
        _event("b", resource.url, sent_ms, args={"bytes": resource.size_bytes}, **common),
        _event("e", resource.url, resource.end_ms, **common),
    ]
