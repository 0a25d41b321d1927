"""The synthetic page as a HAR 1.2 archive with bodies, in the form of a profile's archive.har."""

import base64
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from loadpath import __version__
from loadpath.errors import GraphError, hinted
from loadpath.graphs.graph import Graph, Kind
from loadpath.testbed.synthetic import bodies
from loadpath.testbed.synthetic.code import LEAST_BUSY_MS, Writer, unmarked
from loadpath.testbed.synthetic.order import check_order
from loadpath.testbed.synthetic.plan import Approximation, Element, Plan, network_url

__all__ = ["MOST_BYTES", "Scheme", "SyntheticPage", "synthesise", "synthetic_archive"]

Scheme = Literal["http", "https"]

MOST_BYTES = 512 << 20
"""Bodies of a page, together: an archive is held in memory, in base64."""

MOST_ACTIVITIES = 20_000
"""Of a page: what keeps their order takes memory by the square of their number."""

_DATE = "1970-01-01T00:00:00.000000+00:00"
"""Nothing was recorded: the same graph gives the same archive."""

_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+(;[ -~]*)?")
_HTML_START = "<!DOCTYPE html>"


@dataclass(frozen=True)
class SyntheticPage:
    """A page that a browser can load, made from a graph.

    Attributes
    ----------
    archive
        HAR 1.2 with bodies. `timings.wait` is the graph's server delay.
    graph
        The graph's JSON with the places of code and tags in the page, for comparison with what a
        profile of the page gives.
    approximations
        What the page does not do, or does differently, sorted by activity.
    """

    archive: dict[str, Any]
    graph: dict[str, Any]
    approximations: tuple[Approximation, ...]


def synthetic_archive(graph: Graph, *, scheme: Scheme | None = None) -> dict[str, Any]:
    """The HAR archive of a page whose loading in a browser gives the graph's dependencies.

    Parameters
    ----------
    graph
        The page graph.
    scheme
        Of all URLs: "https" for servers of HTTP/2 and HTTP/3, "http" for HTTP/1.1 in the clear.
        None leaves them as they are; browsers turn to https by themselves for hosts that they
        know, and block what a page of https has on http.

    >>> from loadpath.graphs import read_graph
    >>> archive = synthetic_archive(read_graph("example:figure-3-1"))
    >>> [entry["response"]["bodySize"] for entry in archive["log"]["entries"]]
    [763, 17000, 9300, 4600]

    Raises
    ------
    GraphError
        Its main document is not on the network, or it is too large.
    """
    return synthesise(graph, scheme=scheme).archive


def synthesise(graph: Graph, *, scheme: Scheme | None = None) -> SyntheticPage:
    """The page that a graph describes; see `synthetic_archive`."""
    return _Synthesis(graph if scheme is None else _with_scheme(graph, scheme)).result()


def _with_scheme(graph: Graph, scheme: Scheme) -> Graph:
    data = deepcopy(dict(graph.data))
    for each in (data, *data["frames"], *data["activities"]):
        found = re.match("https?:(?=//)", each.get("url", ""), re.IGNORECASE)
        if found:
            each["url"] = f"{scheme}:{each['url'][found.end() :]}"
    return Graph(data, graph.durations_ms)


class _Synthesis:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.activities = graph.activities
        self._check_size()
        self.plan = Plan(graph)
        self.writer = Writer(self.plan)

    def _check_size(self) -> None:
        root = self.activities[self.graph.root]
        if not str(root["url"]).lower().startswith(("http://", "https://")):
            raise GraphError(f"{self.graph.name}: the main document {root['url']!r} is not http(s)")
        if len(self.activities) > MOST_ACTIVITIES:
            raise GraphError(
                f"{self.graph.name}: {len(self.activities)} activities, "
                f"expected at most {MOST_ACTIVITIES}"
            )
        resources = [a for a in self.activities.values() if a["type"] == "resource"]
        total = sum(resource["size_bytes"] for resource in resources)
        if total > MOST_BYTES:
            raise hinted(
                GraphError(
                    f"{self.graph.name}: size_bytes of its resources are {total} together, "
                    f"expected at most {MOST_BYTES}"
                ),
                "`loadpath simulate` loads pages of any size",
            )

    def result(self) -> SyntheticPage:
        plan = self.plan
        entries: dict[tuple[str, str], dict[str, Any]] = {}
        for id in plan.order:
            activity = self.activities[id]
            if activity["type"] != "resource" or id not in plan.reached:
                continue
            if not plan.is_on_network(id):
                if not activity["url"].lower().startswith(("data:", "about:")):
                    plan.note(id, "its URL cannot be made", activity["url"].partition(":")[0])
                continue
            key = (activity.get("method", "GET"), network_url(activity))
            if key in entries:
                self._repeat(id, entries[key])
                continue
            entries[key] = self._entry(id)
        self._note_unwritten()
        self._note_durations()
        check_order(plan)
        found = tuple(
            sorted(
                set(plan.approximations), key=lambda a: (plan.place[a.activity], a.cause, a.detail)
            )
        )
        return SyntheticPage(self._archive(list(entries.values()), found), self._graph(), found)

    def _repeat(self, id: str, entry: Mapping[str, Any]) -> None:
        if self.activities[id].get("original") is None:
            self.plan.note(id, "a second request for a URL is served by the browser's cache")
        if id in self.plan.hosted or id in self.plan.documents:
            self.plan.note(id, "has the body of the first resource with its URL")

    # Bodies.

    def _body(self, id: str) -> bytes:
        plan = self.plan
        activity = self.activities[id]
        size, url = int(activity["size_bytes"]), str(activity["url"])
        if id in plan.documents:
            return self._document(id, size, url)
        if id in plan.redirect:
            return bodies.padded_html(url, size)
        element = plan.element(id)
        if element is Element.SCRIPT:
            code = "".join(
                self.writer.computation(script) for script in plan.evaluations(id, Kind.SCRIPT)
            )
            for other in plan.evaluations(id, Kind.SCRIPT)[1:]:
                plan.note(other, "runs with the other script of the same resource")
            return self._padded(id, self.writer.placed(code, url), size)
        if element is Element.STYLE:
            css = "".join(
                self.writer.style(sheet, self.writer.hook(id))
                for sheet in plan.evaluations(id, Kind.STYLE)
            )
            return self._padded(id, self.writer.placed(css, url), size)
        return self._data(id, element, size, url)

    def _padded(self, id: str, code: bytes, size: int) -> bytes:
        if len(code) > size:
            self.plan.note(id, "larger than in the graph", f"{len(code)} instead of {size} bytes")
            return code
        return code + bodies.padded_script(str(self.activities[id]["url"]), size - len(code))

    def _data(self, id: str, element: Element, size: int, url: str) -> bytes:
        kind = str(self.activities[id].get("mime_type", ""))
        body: bytes | None
        if "svg" in kind:
            body = bodies.svg(url, size)
        elif element is Element.FONT:
            body = bodies.font(url, size)
        elif element is Element.REQUEST and not kind.startswith("image/"):
            body = bodies.json_text(url, size)
        else:
            body = bodies.gif(url, size)
        if body is None:
            if size:
                self.plan.note(id, "too small to be valid", f"{kind}, {size} bytes")
            return bodies.filler(url, size)
        return body

    def _document(self, id: str, size: int, url: str) -> bytes:
        plan, writer = self.plan, self.writer
        document = plan.documents[id]
        begin, end = self._registrations(id)
        parts: list[bytes] = []
        at = 0

        def add(text: str) -> None:
            nonlocal at
            data = writer.placed(text, url, at)
            parts.append(data)
            at += len(data)

        last = len(document.chunks) - 1
        for index, (chunk, goal) in enumerate(zip(document.chunks, document.ends, strict=True)):
            text = writer.parsed(chunk)
            if index == 0:
                doctype = _HTML_START if goal >= len(_HTML_START + begin + unmarked(text)) else ""
                add(doctype + begin)
            if index == last:
                # What the document has behind its last tag; the last chunk ends with the document.
                text += end
            room = goal - at - len(unmarked(text))
            if room < 0:
                plan.note(chunk, "its tags need more bytes than it has", f"{-room} bytes more")
            parts.append(bodies.padded_html(f"{url} {index}", max(room, 0)))
            at += max(room, 0)
            add(text)
        rest = size - at
        if rest < 0:
            plan.note(id, "larger than in the graph", f"{at} instead of {size} bytes")
        parts.append(bodies.padded_html(url, max(rest, 0)))
        return b"".join(parts)

    def _registrations(self, id: str) -> tuple[str, str]:
        """What a document has at its beginning and end for listeners of its completion."""
        plan, writer = self.plan, self.writer
        listeners = plan.listeners.get(id, [])
        if not listeners:
            return "", ""
        if len(listeners) == 1 and self.activities[listeners[0]].get("event_name") == "load":
            # The attributes of a further body tag are added to the body (HTML, "in body").
            code = writer.mark(listeners[0]) + writer.computation(listeners[0])
            return "", f"<body onload={bodies.html_attribute(code)}>"
        for listener in listeners:
            plan.note(listener, "registered by an inline script that the graph does not have")
        return f"<script>{''.join(map(writer.registration, listeners))}</script>", ""

    def _note_unwritten(self) -> None:
        """Whatever it was that led to it."""
        noted = {approximation.activity for approximation in self.plan.approximations}
        for id in self.plan.reached - self.writer.written - noted - {self.graph.root}:
            if self.graph.kinds[id] not in (Kind.DOWNLOAD, Kind.PARSE):
                self.plan.note(id, "what brings it about is not in the page")

    def _note_durations(self) -> None:
        """Main-thread time that no script can spend, and what the browser adds to it."""
        plan = self.plan
        for id, document in plan.documents.items():
            total = sum(self.activities[chunk]["duration_ms"] for chunk in document.chunks)
            if id in plan.reached and total >= LEAST_BUSY_MS:
                plan.note(id, "parsing takes what the browser needs", f"not {total:.4g} ms")
            self._note_stylesheets(id)
        for first, pieces in plan.pieces.items():
            total = sum(self.activities[piece]["duration_ms"] for piece in pieces)
            if self.graph.kinds[first] is Kind.STYLE and first in plan.reached:
                if total >= LEAST_BUSY_MS:
                    detail = f"not {total:.4g} ms"
                    plan.note(first, "style takes what the browser needs", detail)
        for id in plan.reached & plan.host.keys():
            url = str(self.activities[id].get("url", "")) if plan.is_resource(id) else ""
            origin = plan.frame_origin(plan.host[id])
            if origin.startswith("https:") and url.startswith("http:"):
                plan.note(id, "browsers block or upgrade it on a page of https")

    def _note_stylesheets(self, document: str) -> None:
        plan = self.plan
        in_body = False
        for chunk in plan.documents[document].chunks:
            for id in plan.hosted.get(chunk, []):
                element = plan.element(id) if plan.is_resource(id) else None
                if in_body and element is Element.STYLE:
                    plan.note(id, "a style sheet in the body blocks the parser")
                in_body |= element in (Element.IMAGE, Element.DOCUMENT)

    # HAR.

    def _entry(self, id: str) -> dict[str, Any]:
        plan = self.plan
        activity = self.activities[id]
        url = network_url(activity)
        failed = bool(activity.get("failed"))
        body = b"" if failed else self._body(id)
        mime_type = str(activity.get("mime_type", ""))
        if mime_type and not _MEDIA_TYPE.fullmatch(mime_type):
            plan.note(id, "its media type is not one")
            mime_type = ""
        is_text = mime_type.startswith("text/") or mime_type.endswith(("javascript", "json"))
        content_type = mime_type
        if is_text and ";" not in mime_type:
            content_type = f"{mime_type}; charset=utf-8"
        origin = plan.frame_origin(plan.host.get(id, id))
        headers = {
            "Content-Type": content_type,
            "Content-Length": str(len(body)),
            # A second reference in a load is served by the browser's cache, as in a simulation.
            "Cache-Control": "max-age=600",
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Allow-Credentials": "true",
            "Timing-Allow-Origin": "*",
        }
        status = 0 if failed else 200
        target = ""
        if id in plan.redirect and not failed:
            status, target = 302, network_url(self.activities[plan.redirect[id]])
            headers["Location"] = target
        wait_ms = activity.get("server_delay_ms")
        if wait_ms is None and not failed:
            plan.note(id, "its server delay is not known: none")
        content: dict[str, Any] = {"size": len(body), "mimeType": mime_type}
        if is_text and body.isascii():
            content["text"] = body.decode()
        else:
            content |= {"text": base64.b64encode(body).decode(), "encoding": "base64"}
        if failed:
            headers = {}
        return {
            "pageref": "page_1",
            "startedDateTime": _DATE,
            "time": wait_ms or 0.0,
            "request": {
                "method": activity.get("method", "GET"),
                "url": url,
                "httpVersion": "",
                "cookies": [],
                "headers": [],
                "queryString": [
                    {"name": name, "value": value}
                    for name, value in parse_qsl(urlsplit(url).query, keep_blank_values=True)
                ],
                "headersSize": -1,
                "bodySize": 0,
            },
            "response": {
                "status": status,
                "statusText": "",
                "httpVersion": "",
                "cookies": [],
                "headers": [{"name": n, "value": v} for n, v in headers.items() if v],
                "content": content,
                "redirectURL": target,
                "headersSize": -1,
                "bodySize": len(body),
            }
            | ({"_error": "net::ERR_FAILED"} if failed else {}),
            "cache": {},
            "timings": {
                "blocked": 0,
                "dns": -1,
                "connect": -1,
                "ssl": -1,
                "send": 0,
                "wait": wait_ms or 0.0,
                "receive": 0,
            },
            "_activity": id,
        }

    def _archive(
        self, entries: list[dict[str, Any]], approximations: tuple[Approximation, ...]
    ) -> dict[str, Any]:
        return {
            "log": {
                "version": "1.2",
                "creator": {"name": "Loadpath", "version": __version__},
                "pages": [
                    {
                        "startedDateTime": _DATE,
                        "id": "page_1",
                        "title": network_url(self.activities[self.graph.root]),
                        "pageTimings": {"onContentLoad": -1, "onLoad": -1},
                    }
                ],
                "entries": entries,
                "_synthetic": {
                    "graph": self.graph.name,
                    "approximations": [
                        {"activity": a.activity, "cause": a.cause, "detail": a.detail}
                        for a in approximations
                    ],
                },
            }
        }

    def _graph(self) -> dict[str, Any]:
        """The graph's JSON with the places in the page."""
        graph = deepcopy(dict(self.graph.data))
        plan = self.plan
        listeners = []
        for activity in graph["activities"]:
            activity.pop("position", None)
            if activity["type"] == "resource" and plan.is_on_network(activity["id"]):
                activity["url"] = network_url(activity)
            place = self.writer.places.get(activity["id"])
            if place is None:
                continue
            url, column = place
            if plan.is_marker(activity["id"]):
                listeners.append(_listener(activity, graph))
                activity = listeners[-1]
            if activity["type"] == "parse_chunk":
                activity["position"] = [1, 1, 1, column]
            else:
                activity["url"], activity["position"] = url, [1, column]
        graph["activities"] += listeners
        return graph


def _listener(marker: dict[str, Any], graph: Mapping[str, Any]) -> dict[str, Any]:
    """The code of one of the page's events as a listener of its own, as a profile would have it."""
    listener = marker | {"id": f"{marker['id']}_listener_0"}
    name = marker["id"].removesuffix("_0")
    for activity in graph["activities"]:
        if activity.get("continues") == name:
            activity["continues"] = f"{marker['id']}_listener"
    marker |= {"duration_ms": 0.0, "children": [listener["id"]]}
    if marker["id"] == graph["dom_content_loaded_event"]:
        marker["children"].append(graph["load_event"])
    for field in ("url", "position"):
        marker.pop(field, None)
    return listener
