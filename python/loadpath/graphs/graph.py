"""A page graph to be read: edges both ways, kinds, frames, what people call things."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from loadpath._core import recorded_durations_ms
from loadpath.pages import read_page

__all__ = ["Activity", "Graph", "Kind", "natural_order", "read_graph", "short_url", "shorten"]

Activity = Mapping[str, Any]
"""An activity in the JSON form of page graphs (`docs/page-graph.schema.json`)."""

DIGITS = "0123456789"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


class Kind(StrEnum):
    """Kinds of activity, as people tell them apart."""

    RESOURCE = "resource"
    DOWNLOAD = "download chunk"
    PARSE = "parse chunk"
    SCRIPT = "script"
    STYLE = "style"
    TIMER = "timer"
    EVENT = "event"
    SET_UP = "set-up"
    MAIN_THREAD = "main thread"

    @classmethod
    def of(cls, activity: Activity) -> "Kind":
        """The kind of an activity."""
        match activity["type"]:
            case "resource":
                return cls.RESOURCE
            case "download_chunk":
                return cls.DOWNLOAD
            case "parse_chunk":
                return cls.PARSE
            case "main_thread":
                return cls.MAIN_THREAD
        return cls.SET_UP if activity["kind"] == "other" else cls(activity["kind"])


@dataclass(frozen=True)
class Graph:
    """A valid page graph with its edges both ways.

    Attributes
    ----------
    data
        The JSON form.
    durations_ms
        How long each activity took in the recording, by id, as Algorithm 1 of the PCP thesis counts
        (section 3.5.3.2): main-thread time; of a resource the time from issue to complete response;
        of a timer without its wait; of a download chunk nothing.
    """

    data: Mapping[str, Any]
    durations_ms: Mapping[str, float]

    @classmethod
    def from_json(cls, data: bytes, origin: str) -> "Graph":
        """Read and validate; `GraphError` names `origin` if it is no page graph."""
        return cls(durations_ms=recorded_durations_ms(data, origin), data=json.loads(data))

    @property
    def name(self) -> str:
        """Short name."""
        return str(self.data["name"])

    @property
    def root(self) -> str:
        """Id of the main document's resource."""
        return str(self.data["root"])

    @property
    def load_event(self) -> str:
        """Id of the activity whose start is the load event."""
        return str(self.data["load_event"])

    @cached_property
    def activities(self) -> dict[str, Activity]:
        """Activities by id, in natural order of the ids."""
        listed = {activity["id"]: activity for activity in self.data["activities"]}
        return {id: listed[id] for id in sorted(listed, key=natural_order)}

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """Kind of each activity."""
        return {id: Kind.of(activity) for id, activity in self.activities.items()}

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Ids of the activities that wait for each, in natural order."""
        return {
            id: sorted(activity.get("children", ()), key=natural_order)
            for id, activity in self.activities.items()
        }

    @cached_property
    def parents(self) -> dict[str, list[str]]:
        """Ids of the activities that each waits for, in natural order."""
        parents: dict[str, list[str]] = {id: [] for id in self.activities}
        for id, children in self.children.items():
            for child in children:
                parents[child].append(id)
        return parents

    @cached_property
    def topological_order(self) -> list[str]:
        """Ids, parents before children."""
        waiting = {id: len(parents) for id, parents in self.parents.items()}
        order = [id for id, count in waiting.items() if count == 0]
        for id in order:
            for child in self.children[id]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    order.append(child)
        return order

    @cached_property
    def until_load(self) -> frozenset[str]:
        """Ids of what happens up to the load event, that included.

        Not what the recording ran after the load event, and what only that or the load event leads
        to.
        """
        reached = {self.root}
        pending = [self.root]
        while pending:
            id = pending.pop()
            if id == self.load_event:
                continue
            for child in self.children[id]:
                if child not in reached and not _after_load(self.activities[child]):
                    reached.add(child)
                    pending.append(child)
        return frozenset(reached)

    @cached_property
    def frames(self) -> dict[int, Mapping[str, Any]]:
        """Frames by id, each after its parent."""
        listed = {frame["id"]: frame for frame in self.data["frames"]}
        below: dict[int | None, list[int]] = {}
        for id in sorted(listed):
            below.setdefault(listed[id].get("parent"), []).append(id)
        ordered: dict[int, Mapping[str, Any]] = {}
        pending = list(reversed(below.get(None, [])))
        while pending:
            id = pending.pop()
            ordered[id] = listed[id]
            pending += reversed(below.get(id, []))
        return ordered

    @cached_property
    def frame_of(self) -> dict[str, int]:
        """Frame of each activity.

        Documents and their chunks belong to the frame that shows them, other resources to the frame
        of what requested them.
        """
        frames: dict[str, int] = {}
        for id, activity in self.activities.items():
            if "frame" in activity:
                frames[id] = activity["frame"]
        for id, activity in self.activities.items():
            if activity["type"] == "download_chunk":
                shown = [child for child in self.children[id] if child in frames]
                if shown:
                    frames[id] = frames[shown[0]]
                    frames.setdefault(activity["resource"], frames[shown[0]])
        main = next(iter(self.frames))
        for id in self.topological_order:
            if id not in frames:
                known = [frames[parent] for parent in self.parents[id]]
                frames[id] = known[0] if known else main
        return frames

    def size_bytes(self, id: str) -> int | None:
        """Bytes of a resource, of a download chunk, or of what a parse chunk waits for."""
        activity = self.activities[id]
        if activity["type"] != "parse_chunk":
            size = activity.get("size_bytes")
            return None if size is None else int(size)
        chunks = [p for p in self.parents[id] if self.kinds[p] is Kind.DOWNLOAD]
        return sum(self.activities[chunk]["size_bytes"] for chunk in chunks) if chunks else None

    def start_ms(self, id: str) -> float | None:
        """When the recording started an activity; nothing says when chunks arrived."""
        activity = self.activities[id]
        start = activity.get("recorded_start_ms", activity.get("recorded_sent_ms"))
        return None if start is None else float(start)

    def computation(self, id: str) -> str | None:
        """Name of the computation, or re-entrant group of them, of which an activity is a piece."""
        activity = self.activities[id]
        if activity["type"] != "evaluation":
            return None
        name = activity.get("group") or activity.get("continues") or id.removesuffix("_0")
        return str(name)

    def subject(self, id: str) -> str:
        """What an activity is about: a URL, the name of an event, a kind of work; "" if inline."""
        activity = self.activities[id]
        match self.kinds[id]:
            case Kind.RESOURCE:
                return str(activity["url"])
            case Kind.DOWNLOAD:
                return str(self.activities[activity["resource"]]["url"])
            case Kind.PARSE:
                return str(self.frames[activity["frame"]]["url"])
            case Kind.EVENT:
                return str(activity.get("event_name", ""))
            case Kind.MAIN_THREAD:
                return str(activity["kind"])
        return str(activity.get("url", ""))


def read_graph(source: str | Path) -> Graph:
    """Read a page graph from a file, or one that ships with the package from "example:NAME".

    >>> graph = read_graph("example:figure-3-1")
    >>> graph.parents["comp_4"]
    ['comp_3', 'download_1', 'download_2']

    Raises
    ------
    NotFoundError
        There is no such file or example.
    GraphError
        It is not a valid page graph.
    """
    data, origin, _ = read_page(source)
    return Graph.from_json(data, origin)


def _after_load(activity: Activity) -> bool:
    return activity.get("phase") in ("end", "load_plus")


def natural_order(id: str) -> tuple[list[tuple[int, int, str]], str]:
    """Sorts ids as people count: `download_9` before `download_10`."""
    runs = re.findall(r"[0-9]+|[^0-9]+", id)
    return [(0, int(run), "") if run[0] in DIGITS else (1, 0, run) for run in runs], id


def shorten(text: str, room: int) -> str:
    """The text, its middle left out if it has more than `room` characters."""
    if len(text) <= room:
        return text
    head = (room - 1) // 2
    return text[:head] + ELLIPSIS + text[len(text) - (room - 1 - head) :]


def short_url(url: str, room: int = 36) -> str:
    """The last part of a URL's path with its query, the host if there is no path.

    >>> short_url("https://example.test/a/b.js?v=1")
    'b.js?v=1'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return shorten(url, room)
    if parts.scheme not in ("http", "https"):
        return shorten(url, room)
    name = parts.path.rstrip("/").rpartition("/")[2] or parts.netloc
    return shorten(f"{name}?{parts.query}" if parts.query else name, room)
