"""Builds page graphs (``crates/web/src/graph/model.rs``) from a document and the tags in it.

The dependencies are those of Table 3.1 of the PCP thesis, whose rule numbers the comments give.
The parser stops at each tag that loads something or runs an inline script, so a document with n
such tags has n + 1 download chunks and as many parse chunks. The load event waits for
DOMContentLoaded and for everything that the document asked for (section 3.5.2).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from .measured import PARSE_MS_PER_KB, SCRIPT_MS_PER_KB, STYLE_MS_PER_KB
from .sizes import apportion

Activity = dict[str, Any]


@dataclass(frozen=True)
class Tag:
    """A tag at which the parser stops. ``size_bytes`` is what it loads, or its inline text."""

    size_bytes: int
    url: str = ""


class Style(Tag):
    """A style sheet."""


class Script(Tag):
    """A plain external script: the parser waits for it."""


class InlineScript(Tag):
    """A script in the document itself; ``url`` stays empty."""


class Image(Tag):
    """An image."""


class Other(Tag):
    """Anything else that nobody waits for but the load event."""


class Iframe(Tag):
    """An HTML document in a frame of its own, which loads nothing further."""


MIME_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "application/javascript",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".bin": "application/octet-stream",
}


@dataclass(frozen=True)
class AfterLoad:
    """A timer that the load handler sets, and the image that the timer requests."""

    timeout_ms: float
    image: Image


@dataclass(frozen=True)
class Page:
    """A page to build: its main document and what it loads, in document order."""

    name: str
    title: str
    source: str
    url: str
    html_bytes: int
    tags: Sequence[Tag]
    # Bytes from each tag's end to the next one's, then to the document's own; alike if empty.
    chunk_bytes: Sequence[int] = ()
    after_load: AfterLoad | None = None

    def graph(self) -> dict[str, Any]:
        """The page graph as plain data."""
        return _Builder(self).build()


class _Builder:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.activities: dict[str, Activity] = {}
        self.frames: list[dict[str, Any]] = [{"id": 0, "url": page.url}]
        self.resources = 0
        self.computations = 0
        # What the load event waits for, in document order.
        self.awaited: list[str] = []
        # Style sheets that the next script waits for.
        self.unused_styles: list[str] = []

    def build(self) -> dict[str, Any]:
        page = self.page
        root = self._resource(page.url, page.html_bytes)
        chunks = page.chunk_bytes or apportion(page.html_bytes, [1] * (len(page.tags) + 1))
        if len(chunks) != len(page.tags) + 1 or sum(chunks) != page.html_bytes:
            raise ValueError(f"{page.name}: the chunks do not make up the document")
        self._document(0, root, chunks, page.tags)
        dom_content_loaded = self._event("DOMContentLoaded", "Document", "dom")
        self._edge(f"pchunk_0_{len(page.tags)}", dom_content_loaded)
        load = self._event("load", "Window", "load")
        for activity in [dom_content_loaded, *self.awaited, *self.unused_styles]:
            self._edge(activity, load)
        if page.after_load:
            self._after_load(load, page.after_load)
        return {
            "format": "loadpath-page-graph",
            "version": 1,
            "name": page.name,
            "url": page.url,
            "source": page.source,
            "root": root,
            "load_event": load,
            "dom_content_loaded_event": dom_content_loaded,
            "frames": self.frames,
            "activities": list(self.activities.values()),
        }

    def _tag(self, chunk: str, tag: Tag, next_chunk: str) -> None:
        if isinstance(tag, InlineScript):
            script = self._script(tag)
            self._edge(chunk, script)  # rule 12
            self._edge(script, next_chunk)  # rule 4
            return
        resource = self._resource(tag.url, tag.size_bytes)
        self._edge(chunk, resource)  # rule 1
        self.awaited.append(resource)
        if isinstance(tag, Style):
            style = self._evaluation(
                "style",
                tag.size_bytes * STYLE_MS_PER_KB / 1000,
                blocking="style",
                url=tag.url,
            )
            self._edge(resource, style)  # rule 18
            self.unused_styles.append(style)
        elif isinstance(tag, Script):
            script = self._script(tag)
            self._edge(resource, script)  # rule 10
            self._edge(script, next_chunk)  # rule 4
        elif isinstance(tag, Iframe):
            frame = len(self.frames)
            self.frames.append({"id": frame, "url": tag.url, "parent": 0})
            self._document(frame, resource, [tag.size_bytes], [])
            self.awaited.append(f"pchunk_{frame}_0")

    def _script(self, tag: Tag) -> str:
        duration_ms = tag.size_bytes * SCRIPT_MS_PER_KB / 1000
        script = self._evaluation("script", duration_ms, url=tag.url)
        for style in self.unused_styles:
            self._edge(style, script)  # rules 11 and 13
        self.unused_styles.clear()
        return script

    def _document(
        self, frame: int, resource: str, chunks: Sequence[int], tags: Sequence[Tag]
    ) -> None:
        """Adds the chunks of a document, each waiting for the one before (rules 3 and 9)."""
        offset = 0
        for n, size in enumerate(chunks):
            self._add(
                f"dchunk_{frame}_{n}",
                "download_chunk",
                resource=resource,
                offset_bytes=offset,
                size_bytes=size,
            )
            duration_ms = round(size * PARSE_MS_PER_KB / 1000, 4)
            self._add(f"pchunk_{frame}_{n}", "parse_chunk", frame=frame, duration_ms=duration_ms)
            self._edge(f"dchunk_{frame}_{n}", f"pchunk_{frame}_{n}")
            if n == 0:
                self._edge(resource, f"dchunk_{frame}_0")
            else:
                self._edge(f"dchunk_{frame}_{n - 1}", f"dchunk_{frame}_{n}")
                self._edge(f"pchunk_{frame}_{n - 1}", f"pchunk_{frame}_{n}")
            offset += size
            if n < len(tags):
                self._tag(f"pchunk_{frame}_{n}", tags[n], f"pchunk_{frame}_{n + 1}")

    def _after_load(self, load: str, after: AfterLoad) -> None:
        timer = self._evaluation("timer", 0.0, phase="end", timeout_ms=after.timeout_ms)
        self._edge(load, timer)  # rule 20
        image = self._resource(after.image.url, after.image.size_bytes)
        self._edge(timer, image)  # rule 2

    def _resource(self, url: str, size_bytes: int) -> str:
        resource = f"download_{self.resources}"
        suffix = PurePosixPath(urlsplit(url).path).suffix or ".html"
        self.resources += 1
        return self._add(
            resource,
            "resource",
            url=url,
            mime_type=MIME_TYPES[suffix],
            size_bytes=size_bytes,
            server_delay_ms=0.0,
        )

    def _event(self, name: str, target: str, phase: str) -> str:
        return self._evaluation("event", 0.0, phase=phase, event_name=name, event_target=target)

    def _evaluation(
        self,
        kind: str,
        duration_ms: float,
        *,
        blocking: str = "sync",
        phase: str = "dom",
        **fields: Any,
    ) -> str:
        computation = f"comp_{self.computations}"
        self.computations += 1
        return self._add(
            computation,
            "evaluation",
            frame=0,
            kind=kind,
            duration_ms=round(duration_ms, 4),
            blocking=blocking,
            phase=phase,
            **{name: value for name, value in fields.items() if value != ""},
        )

    def _add(self, activity: str, type_: str, /, **fields: Any) -> str:
        self.activities[activity] = {"id": activity, "type": type_, **fields, "children": []}
        return activity

    def _edge(self, parent: str, child: str) -> None:
        self.activities[parent]["children"].append(child)


def to_json(graph: dict[str, Any]) -> str:
    """The text of a page graph: one frame or activity a line, so that changes can be read."""
    fields = []
    for name, value in graph.items():
        if name == "activities":
            # A list without entries is the default, and left out.
            value = [{k: v for k, v in item.items() if v != []} for item in value]
        if isinstance(value, list):
            fields.append(f'"{name}": {json_lines(value)}')
        else:
            fields.append(f'"{name}": {json.dumps(value)}')
    return "{\n  " + ",\n  ".join(fields) + "\n}\n"


def json_lines(items: list[dict[str, Any]], indent: str = "  ") -> str:
    """A JSON list with one object a line."""
    lines = [json.dumps(item, separators=(",", ":")) for item in items]
    return f"[\n{indent}  " + f",\n{indent}  ".join(lines) + f"\n{indent}]"


def summary(page: Page, graph: dict[str, Any], file: str) -> dict[str, Any]:
    """The page's entry in ``index.json``."""
    resources = [item for item in graph["activities"] if item["type"] == "resource"]
    return {
        "name": page.name,
        "file": file,
        "title": page.title,
        "source": page.source,
        "resources": len(resources),
        "bytes": sum(resource["size_bytes"] for resource in resources),
        "hosts": len({urlsplit(resource["url"]).hostname for resource in resources}),
    }
