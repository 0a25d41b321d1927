"""HAR 1.2 (http://www.softwareishard.com/blog/har-12-spec/), with Chrome's `_` fields."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from loadpath import _core
from loadpath.outcome import Outcome, Phases, Resource
from loadpath.reports.context import ExportContext, host_addresses, resource_class

__all__ = ["EPOCH", "write_har"]

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
"""Wall-clock time of a simulated load's start: virtual time has none, and HAR needs one."""


def write_har(outcome: Outcome, context: ExportContext) -> bytes:
    """The load as a HAR file."""
    log = {
        "version": "1.2",
        "creator": {"name": "Loadpath", "version": _core.__version__},
        "pages": [
            {
                "startedDateTime": _date(0.0),
                "id": "page_1",
                "title": context.page_url(outcome),
                "pageTimings": {
                    "onContentLoad": -1 if outcome.dcl_ms is None else outcome.dcl_ms,
                    "onLoad": -1 if outcome.plt_ms is None else outcome.plt_ms,
                },
                "comment": f"{outcome.label}, seed {outcome.seed}, run {outcome.run}",
            }
        ],
        "entries": [_entry(outcome, resource, context) for resource in outcome.resources],
    }
    return json.dumps({"log": log}, indent=1).encode()


def _date(t_ms: float) -> str:
    return (EPOCH + timedelta(milliseconds=t_ms)).isoformat(timespec="microseconds")


def _entry(outcome: Outcome, resource: Resource, context: ExportContext) -> dict[str, Any]:
    phases = resource.phases
    entry: dict[str, Any] = {
        "pageref": "page_1",
        "startedDateTime": _date(resource.start_ms),
        "time": 0.0 if phases is None else _duration(phases),
        "request": {
            "method": context.activities.get(resource.id, {}).get("method", "GET"),
            "url": resource.url,
            "httpVersion": context.http_version,
            "cookies": [],
            "headers": [],
            "queryString": [
                {"name": name, "value": value}
                for name, value in parse_qsl(urlsplit(resource.url).query, keep_blank_values=True)
            ],
            "headersSize": -1,
            "bodySize": -1,
        },
        "response": {
            # Status 0 is what browsers write for a response that did not arrive.
            "status": 200 if phases else 0,
            "statusText": "",
            "httpVersion": context.http_version,
            "cookies": [],
            "headers": [],
            "content": {"size": resource.size_bytes, "mimeType": resource.mime_type},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": resource.size_bytes if phases else -1,
        },
        "cache": {},
        "timings": _timings(phases),
        "_priority": context.priority(resource),
        "_initiator": _initiator(resource, context),
        "_resourceType": resource_class(resource.mime_type),
    }
    if resource.connection is not None:
        host = outcome.connections[resource.connection].host
        entry["serverIPAddress"] = host_addresses(outcome)[host]
        entry["connection"] = str(resource.connection)
    return entry


def _duration(phases: Phases) -> float:
    timings = _timings(phases)
    return sum(value for name, value in timings.items() if name != "ssl" and value >= 0)


def _timings(phases: Phases | None) -> dict[str, float]:
    """HAR's phases; the server's delays and the send buffer are all "wait"."""
    if phases is None:
        return {"blocked": -1, "dns": -1, "connect": -1, "ssl": -1} | dict.fromkeys(
            ("send", "wait", "receive"), 0.0
        )
    return {
        "blocked": phases.client_queue_ms,
        "dns": -1,
        "connect": phases.connection_setup_ms if phases.connection_setup_ms > 0 else -1,
        "ssl": -1,
        "send": phases.request_flight_ms,
        "wait": phases.server_queue_ms
        + phases.server_processing_ms
        + phases.response_wait_ms
        + phases.first_byte_flight_ms,
        "receive": phases.transfer_ms,
    }


def _initiator(resource: Resource, context: ExportContext) -> dict[str, Any]:
    activity = context.initiators.get(resource.id)
    if activity is None:
        return {"type": "other"}
    document = context.frame_urls.get(activity.get("frame", 0), "")
    script = activity.get("url") or document
    if activity["type"] == "parse_chunk":
        row = (activity.get("position") or [0])[0]
        return {"type": "parser", "url": document, "lineNumber": max(row, 0)}
    if activity["type"] == "evaluation" and activity["kind"] == "style":
        return {"type": "parser", "url": script}
    if activity["type"] == "evaluation":
        frame = {
            "functionName": activity.get("event_name", ""),
            "scriptId": "",
            "url": script,
            "lineNumber": 0,
            "columnNumber": 0,
        }
        return {"type": "script", "url": script, "stack": {"callFrames": [frame]}}
    return {"type": "other"}
