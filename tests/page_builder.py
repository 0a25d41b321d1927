"""Page graphs by hand."""

import json
from typing import Any

from loadpath.graphs import Graph

URL = "https://site.example/"


def resource(id: str, *children: str, url: str | None = None, **fields: Any) -> dict[str, Any]:
    """A download."""
    return {
        "id": id,
        "type": "resource",
        "url": f"{URL}{id}" if url is None else url,
        "size_bytes": 100,
        "children": list(children),
    } | fields


def evaluation(
    id: str, *children: str, kind: str = "script", ms: float = 1.0, **fields: Any
) -> dict[str, Any]:
    """A computation."""
    return {
        "id": id,
        "type": "evaluation",
        "frame": 0,
        "kind": kind,
        "duration_ms": ms,
        "children": list(children),
    } | fields


def page(*activities: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A page whose root is "root", whose events are "dcl" and "load"."""
    return {
        "format": "loadpath-page-graph",
        "version": 1,
        "name": "by-hand",
        "url": URL,
        "root": "root",
        "load_event": "load",
        "dom_content_loaded_event": "dcl",
        "frames": [{"id": 0, "url": URL}],
        "activities": list(activities),
    } | fields


def graph(*activities: dict[str, Any], **fields: Any) -> Graph:
    """The same, read as a file is."""
    return Graph.from_json(json.dumps(page(*activities, **fields)).encode(), "by hand")


def events(*after_load: str) -> list[dict[str, Any]]:
    """DOMContentLoaded and load."""
    return [
        evaluation("dcl", "load", kind="event", ms=0, event_name="DOMContentLoaded"),
        evaluation("load", *after_load, kind="event", ms=0, event_name="load"),
    ]


def all_kinds() -> Graph:
    """Every kind of activity, two frames in two processes, a computation in two pieces."""
    other = "https://frames.example/ad.html"
    return graph(
        resource("root", "dchunk_0", url=URL, mime_type="text/html", evidence="trace"),
        {
            "id": "dchunk_0",
            "type": "download_chunk",
            "resource": "root",
            "offset_bytes": 0,
            "size_bytes": 100,
            "children": ["pchunk_0"],
        },
        {
            "id": "pchunk_0",
            "type": "parse_chunk",
            "frame": 0,
            "duration_ms": 2.0,
            "position": [1, 1, 7, 20],
            "children": ["sheet", "code", "frame", "dcl"],
        },
        resource("sheet", "style", mime_type="text/css", evidence="source"),
        evaluation("style", "font", "layout", "load", kind="style", blocking="style"),
        resource("font", "load", mime_type="font/woff2", evidence="style"),
        resource("code", "comp_0", mime_type="text/javascript", evidence="source"),
        evaluation("comp_0", "image", "comp_1", "timer", url=f"{URL}code", ms=3.0),
        evaluation("comp_1", "load", url=f"{URL}code", continues="comp"),
        resource("image", "load", mime_type="image/png", evidence="stack"),
        resource("again", "load", mime_type="image/png", original="image", evidence="fallback"),
        evaluation("timer", "again", kind="timer", timeout_ms=20.0),
        resource("frame", "dchunk_1", url=other, mime_type="text/html", discovered_by="preload"),
        {
            "id": "dchunk_1",
            "type": "download_chunk",
            "resource": "frame",
            "offset_bytes": 0,
            "size_bytes": 60,
            "children": ["pchunk_1"],
        },
        {
            "id": "pchunk_1",
            "type": "parse_chunk",
            "frame": 1,
            "duration_ms": 1.0,
            "children": ["load"],
        },
        {
            "id": "layout",
            "type": "main_thread",
            "frame": 0,
            "kind": "layout",
            "duration_ms": 2.0,
        },
        *events("late"),
        evaluation("late", "beacon", kind="timer", timeout_ms=100.0, phase="end"),
        resource("beacon", url="data:,x"),
        frames=[{"id": 0, "url": URL}, {"id": 1, "url": other, "parent": 0, "process": 1}],
    )
