"""Page graphs as one HTML file that works offline, for graphs of any size.

Everything that comes from a page is data: it stands in a JSON block with `<`, `>` and `&` escaped,
reaches the document as text only, and a content security policy allows no script and no style but
the viewer's own.
"""

import base64
import hashlib
import html
import json
from importlib import resources
from typing import Any

from loadpath.graphs.critical_path import critical_path
from loadpath.graphs.dot import COLOURS, label, size_text, time_text
from loadpath.graphs.graph import Graph, Kind
from loadpath.graphs.layout import Place, order_layout, time_layout

__all__ = ["graph_html"]


def graph_html(graph: Graph, kept: frozenset[str] | None = None) -> str:
    """The graph as a page to be explored: search, zoom, frames that collapse, details.

    The part of the address behind "#" sets what is shown: `search=TEXT`, `select=ID`,
    `collapse=FRAMES` ("all" or ids with commas), `layout=time` or `order`, `hide=KINDS`,
    `critical=off`, `after=off`, joined by "&".

    Parameters
    ----------
    graph
        The page graph.
    kept
        Ids of the activities to show, all by default; see `loadpath.graphs.select`.
    """
    folder = resources.files("loadpath.graphs") / "viewer"
    script, style = (folder / "view.js").read_text(), (folder / "view.css").read_text()
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    page = (folder / "view.html").read_text()
    # In one pass: what is filled in may hold the name of another place.
    parts = {
        "POLICY": policy,
        "TITLE": html.escape(graph.name),
        "STYLE": style,
        "DATA": _json(_data(graph, frozenset(graph.activities) if kept is None else kept)),
        "SCRIPT": script,
    }
    pieces = page.split("%%")
    return "".join(parts[piece] if index % 2 else piece for index, piece in enumerate(pieces))


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _json(value: object) -> str:
    """JSON that no HTML parser mistakes for markup."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _data(graph: Graph, kept: frozenset[str]) -> dict[str, Any]:
    ids = [id for id in graph.activities if id in kept]
    index = {id: number for number, id in enumerate(ids)}
    by_order, by_time = order_layout(graph), time_layout(graph)
    path = critical_path(graph)
    kinds = list(Kind)
    return {
        "name": graph.name,
        "url": graph.data["url"],
        "kinds": [{"name": kind.value, "colour": COLOURS[kind]} for kind in kinds],
        "frames": [
            {"id": id, "url": frame["url"], "parent": frame.get("parent")}
            for id, frame in graph.frames.items()
        ],
        "critical": [index[id] for id in path.ids if id in kept],
        "critical_ms": path.total_ms,
        "load_event": index.get(graph.load_event),
        "activities": [
            {
                "id": id,
                "kind": kinds.index(graph.kinds[id]),
                "frame": graph.frame_of[id],
                "label": label(graph, id),
                "details": _details(graph, id),
                "after": id not in graph.until_load,
                "children": [index[child] for child in graph.children[id] if child in kept],
                "order": _place(by_order[id]),
                "time": None if by_time is None else _place(by_time[id]),
            }
            for id in ids
        ],
    }


def _place(place: Place) -> list[float]:
    return [place.row, round(place.start, 3), round(place.end, 3)]


FIELDS = {
    "url": "URL",
    "method": "method",
    "mime_type": "type",
    "size_bytes": "size",
    "offset_bytes": "from byte",
    "request_header_bytes": "request's headers, bytes",
    "response_header_bytes": "response's headers, bytes",
    "stalled_ms": "stalled in the browser",
    "server_delay_ms": "server delay",
    "server_delay_source": "server delay from",
    "original": "served by the response to",
    "cached": "from a cache",
    "evidence": "parent known by",
    "discovered_by": "discovered by",
    "browser_priority": "browser's priority",
    "raised_by": "of high priority after",
    "blocking": "blocking",
    "phase": "phase",
    "event_name": "event",
    "event_target": "target",
    "timeout_ms": "timeout",
    "duration_ms": "main thread",
    "end_tag": "ended by tag",
    "position": "position",
    "continues": "piece of",
    "recorded_start_ms": "started at",
    "recorded_sent_ms": "sent at",
    "recorded_received_ms": "received at",
}
"""Fields of activities, with words for people, in the order in which they are shown."""


def _details(graph: Graph, id: str) -> list[tuple[str, str]]:
    activity = graph.activities[id]
    details = []
    for field, words in FIELDS.items():
        value = activity.get(field)
        if value is None or value == "" or value is False:
            continue
        if field.endswith("_ms"):
            text = time_text(value)
        elif field == "size_bytes":
            text = size_text(value)
        elif field == "position":
            text = ", ".join(map(str, value))
        else:
            text = "yes" if value is True else str(value)
        details.append((words, text))
    return details
