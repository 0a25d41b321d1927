"""How each activity of a page graph is expressed in a real page: who brings it about, and by what.

Every resource and computation has one host: the activity whose code or tag starts it. The other
activities that it waits for must follow from how browsers work; `order.py` says which do not.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import urldefrag, urlsplit

import msgspec

from loadpath.graphs.graph import Activity, Graph, Kind

__all__ = [
    "Approximation",
    "ApproximationCount",
    "Document",
    "Element",
    "Plan",
    "approximation_counts",
    "network_url",
]

_COMPLETION = ("DOMContentLoaded", "load", "readystatechange")
_PROGRESS = ("readystatechange", "progress", "load", "loadend", "error")
_NETWORK = ("http", "https")


class Approximation(msgspec.Struct, frozen=True):
    """Something of a graph that the page does not do, or does differently.

    Attributes
    ----------
    activity
        Its id.
    cause
        What it is, the same words for all that are alike.
    detail
        What of this one, "" if the cause says it all.
    """

    activity: str
    cause: str
    detail: str = ""


class ApproximationCount(msgspec.Struct, frozen=True):
    """How many activities are approximated for the same cause, with the detail of one of them."""

    cause: str
    number: int
    example: str


def approximation_counts(found: Iterable[Approximation]) -> list[ApproximationCount]:
    """Approximations by cause, the most frequent first."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for each in found:
        counts[each.cause] += 1
        examples.setdefault(each.cause, each.detail)
    return [ApproximationCount(cause, n, examples[cause]) for cause, n in counts.most_common()]


class Element(StrEnum):
    """What requests a resource."""

    DOCUMENT = "document"
    SCRIPT = "script"
    STYLE = "style"
    FONT = "font"
    IMAGE = "image"
    REQUEST = "request"
    """XMLHttpRequest, for which no load event waits."""


@dataclass
class Document:
    """An HTML document: the parse chunks with where they end, in order."""

    resource: str
    frame: int
    chunks: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


class Plan:
    """Hosts and elements of everything in a graph that the page can do.

    Attributes
    ----------
    hosted
        What each activity brings about, in topological order, but for listeners of completion.
    pieces
        Pieces of each computation by the id of its first.
    listeners
        Listeners of completion of a document, by its resource, in order.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.approximations: list[Approximation] = []
        self.place = {id: index for index, id in enumerate(graph.topological_order)}
        self.order = graph.topological_order
        self.activities = graph.activities
        self.awaited = self._awaited()
        self.pieces, self.first = self._pieces()
        self.documents = self._documents()
        self.document_of = {
            chunk: document.resource
            for document in self.documents.values()
            for chunk in document.chunks
        }
        self.index = {
            chunk: index
            for document in self.documents.values()
            for index, chunk in enumerate(document.chunks)
        }
        self.origins = {
            document.frame: _origin(str(self.activities[resource]["url"]))
            for resource, document in reversed(self.documents.items())
        }
        self.host: dict[str, str] = {}
        self.hosted: dict[str, list[str]] = {}
        self.listeners: dict[str, list[str]] = {}
        self._find_hosts()
        self.redirect = self._redirects()
        self.reached = self._reached()
        self._report_unreached()

    # What there is.

    def note(self, activity: str, cause: str, detail: str = "") -> None:
        """Keep an approximation."""
        self.approximations.append(Approximation(activity, cause, detail))

    def is_resource(self, id: str) -> bool:
        """Whether it is a download."""
        return self.graph.kinds[id] is Kind.RESOURCE

    def is_evaluation(self, id: str) -> bool:
        """Whether it is a computation or a piece of one."""
        return bool(self.activities[id]["type"] == "evaluation")

    def is_marker(self, id: str) -> bool:
        """Whether it is one of the page's two events."""
        return id in (self.graph.load_event, str(self.graph.data["dom_content_loaded_event"]))

    def last_piece(self, first: str) -> str:
        """The piece with which a computation ends."""
        return self.pieces[first][-1]

    def _awaited(self) -> set[str]:
        """What the load event waits for."""
        graph = self.graph
        found = {graph.load_event}
        pending = [graph.load_event]
        while pending:
            for parent in graph.parents[pending.pop()]:
                if parent not in found and parent in graph.until_load:
                    found.add(parent)
                    pending.append(parent)
        return found

    def _pieces(self) -> tuple[dict[str, list[str]], dict[str, str]]:
        evaluations = [id for id in self.order if self.is_evaluation(id)]
        names = {
            a["continues"] for id in evaluations if (a := self.activities[id]).get("continues")
        }
        pieces: dict[str, list[str]] = {}
        first: dict[str, str] = {}
        by_name: dict[str, str] = {}
        for id in evaluations:
            name = self.activities[id].get("continues")
            own = name or (short if (short := id.removesuffix("_0")) in names else id)
            begin = by_name.setdefault(own, id)
            pieces.setdefault(begin, []).append(id)
            first[id] = begin
        return pieces, first

    def _documents(self) -> dict[str, Document]:
        documents: dict[str, Document] = {}
        for id in self.order:
            activity = self.activities[id]
            if activity["type"] != "parse_chunk":
                continue
            arrived = [
                self.activities[p]
                for p in self.graph.parents[id]
                if self.graph.kinds[p] is Kind.DOWNLOAD
            ]
            if not arrived:
                self.note(id, "parsed without a download: no HTML of its own")
                continue
            resource = arrived[0]["resource"]
            document = documents.setdefault(resource, Document(resource, activity["frame"]))
            end = max(chunk["offset_bytes"] + chunk["size_bytes"] for chunk in arrived)
            size = self.activities[resource]["size_bytes"]
            document.ends.append(max([min(end, size), *document.ends[-1:]]))
            document.chunks.append(id)
        return documents

    # Hosts.

    def _find_hosts(self) -> None:
        for id in self.order:
            activity = self.activities[id]
            if id == self.graph.root or activity["type"] in ("download_chunk", "parse_chunk"):
                continue
            if self.first.get(id, id) != id:
                continue  # A later piece follows the one before it.
            if self.is_marker(id) or self._is_completion(id):
                self._add_listener(id)
                continue
            host = self._host(id)
            if host is None:
                self.note(id, "nothing that a page can do brings it about")
                continue
            self.host[id] = host
            self.hosted.setdefault(host, []).append(id)

    def _host(self, id: str) -> str | None:
        activity, kinds = self.activities[id], self.graph.kinds
        parents = sorted(self.graph.parents[id], key=self.place.__getitem__, reverse=True)
        resources = [p for p in parents if self.is_resource(p)]
        evaluations = [p for p in parents if self.is_evaluation(p)]
        chunks = [p for p in parents if p in self.document_of]
        if self.is_evaluation(id) and kinds[id] in (Kind.SCRIPT, Kind.STYLE):
            own = [r for r in resources if r not in self.documents]
            named = [r for r in own if self.activities[r]["url"] == activity.get("url")]
            return next(iter(named or own or chunks or evaluations or resources), None)
        if kinds[id] is Kind.EVENT:
            own = [r for r in resources if r != self.graph.root]
            if not own and activity.get("event_name") in _PROGRESS:
                # The next event of a request follows the one before.
                own = [
                    self.host[e]
                    for p in evaluations
                    if (e := self.first[p]) in self.host and self._is_same_request(e, id)
                ]
            return next(iter(own or evaluations or chunks), None)
        if activity["type"] == "main_thread":
            return next(iter(evaluations), None)
        return next(iter(evaluations or chunks or resources), None)

    def _is_same_request(self, event: str, later: str) -> bool:
        a, b = self.activities[event], self.activities[later]
        return (
            self.is_resource(self.host[event])
            and a.get("event_name") in _PROGRESS
            and (a["frame"], a.get("event_target")) == (b["frame"], b.get("event_target"))
        )

    def _is_completion(self, id: str) -> bool:
        """Whether it is a listener of its document's or window's completion."""
        activity = self.activities[id]
        return (
            self.graph.kinds[id] is Kind.EVENT
            and activity.get("event_name") in _COMPLETION
            and activity.get("event_target") in ("Document", "Window")
        )

    def _add_listener(self, id: str) -> None:
        duration = sum(self.activities[p]["duration_ms"] for p in self.pieces[id])
        after = {c for p in self.pieces[id] for c in self.graph.children[p]}
        makes = [
            c
            for c in after - set(self.pieces[id])
            if not self.is_marker(c) and not self._is_completion(c)
        ]
        if duration < 0.1 and not makes:
            return  # Nothing happens in it.
        frame = self.activities[id]["frame"]
        found = next((d for d in self.documents.values() if d.frame == frame), None)
        if found is None:
            self.note(id, "listener in a frame without a document")
            return
        self.host[id] = found.resource
        self.listeners.setdefault(found.resource, []).append(id)

    def _redirects(self) -> dict[str, str]:
        """Resources that redirect, with where to."""
        redirects: dict[str, str] = {}
        for id, hosted in self.hosted.items():
            if not self.is_resource(id):
                continue
            following = [child for child in hosted if self.is_resource(child)]
            if following:
                redirects[id] = following[0]
            for other in following[1:]:
                self.note(other, "a resource redirects to one other only")
        return redirects

    def _reached(self) -> set[str]:
        """What follows from the root by hosts alone."""
        reached: set[str] = set()
        pending = [self.graph.root]
        while pending:
            id = pending.pop()
            if id in reached:
                continue
            reached.add(id)
            pending += self.hosted.get(id, []) + self.listeners.get(id, [])
            if id in self.pieces:
                pending += self.pieces[id]
            if id in self.documents:
                pending += self.documents[id].chunks
        return reached

    def _report_unreached(self) -> None:
        noted = {approximation.activity for approximation in self.approximations}
        for id in self.order:
            if id in self.reached or id in noted or self.graph.kinds[id] is Kind.DOWNLOAD:
                continue
            if self.is_marker(id) or self._is_completion(self.first.get(id, id)):
                continue
            self.note(id, "what brings it about is not in the page")

    # Elements.

    def target(self, id: str) -> str:
        """Where a resource's redirects lead."""
        seen = {id}
        while (following := self.redirect.get(id)) is not None and following not in seen:
            id = following
            seen.add(id)
        return id

    def evaluations(self, resource: str, kind: Kind) -> list[str]:
        """Scripts or style sheets that a resource holds."""
        hosted = self.hosted.get(resource, [])
        return [id for id in hosted if self.is_evaluation(id) and self.graph.kinds[id] is kind]

    def callbacks(self, resource: str) -> list[str]:
        """Computations that run when a resource is there, but for those that it holds."""
        hosted = self.hosted.get(resource, [])
        held = (Kind.SCRIPT, Kind.STYLE)
        return [id for id in hosted if self.is_evaluation(id) and self.graph.kinds[id] not in held]

    def element(self, resource: str) -> Element:
        """What requests a resource."""
        id = self.target(resource)
        if id in self.documents:
            return Element.DOCUMENT
        if self.evaluations(id, Kind.SCRIPT):
            return Element.SCRIPT
        if self.evaluations(id, Kind.STYLE):
            return Element.STYLE
        activity = self.activities[id]
        host = self.host.get(resource)
        if host is not None and self.graph.kinds[host] is Kind.STYLE:
            return Element.FONT if "font" in activity.get("mime_type", "") else Element.IMAGE
        if host is not None and self.is_evaluation(host) and self._is_xml_http_request(id):
            return Element.REQUEST
        if id in self.awaited and activity.get("method", "GET") == "GET":
            return Element.IMAGE
        image = activity.get("mime_type", "").startswith("image/")
        return Element.IMAGE if image and id not in self.graph.until_load else Element.REQUEST

    def _is_xml_http_request(self, resource: str) -> bool:
        """Whether its callbacks tell that a script requested it."""
        targets = {self.activities[c].get("event_target", "") for c in self.callbacks(resource)}
        return any(target.lower() == "xmlhttprequest" for target in targets)

    def is_held(self, resource: str) -> bool:
        """Whether the load event waits for a resource if it does for what requests it."""
        if self.element(resource) is not Element.REQUEST:
            return True
        return resource in self.awaited and self.is_evaluation(self.host[resource])

    def is_on_network(self, resource: str) -> bool:
        """Whether a browser sends a request for it."""
        return self.activities[resource]["url"].partition(":")[0].lower() in _NETWORK

    def blocks_parser(self, script: str, chunk: str) -> bool:
        """Whether the next chunk waits for a script that a chunk started."""
        document = self.documents[self.document_of[chunk]]
        index = self.index[chunk]
        if self.activities[script].get("blocking", "sync") != "sync":
            return False
        if index + 1 == len(document.chunks):
            return True
        return bool(set(self.pieces[script]) & set(self.graph.parents[document.chunks[index + 1]]))

    def is_written(self, resource: str) -> bool:
        """Whether the parser waits for a script that another one makes: document.write."""
        [first, *_] = self.evaluations(self.target(resource), Kind.SCRIPT)
        frame = self.activities[first]["frame"]
        return self.activities[first].get("blocking", "sync") == "sync" and any(
            child in self.document_of and self.activities[child]["frame"] == frame
            for piece in self.pieces[first]
            for child in self.graph.children[piece]
        )

    def is_nested(self, id: str) -> bool:
        """Whether the rest of the computation that starts it waits for it."""
        host = self.host[id]
        pieces = self.pieces.get(self.first.get(host, ""), [])
        if host not in pieces:
            return False
        after = pieces[pieces.index(host) + 1 :]
        return any(self.last_piece(id) in self.graph.parents[piece] for piece in after[:1])

    def frame_origin(self, id: str) -> str:
        """Origin of the document in which something happens."""
        frame = self.graph.frame_of[id]
        while frame not in self.origins:
            # What a script filled has the origin of the document around it.
            frame = int(self.graph.frames[frame].get("parent", -1))
            if frame < 0:
                return ""
        return self.origins[frame]


def network_url(activity: Activity) -> str:
    """The URL of a request: without fragment, escaped as browsers do (URL Standard, percent-encode
    sets of paths and special queries).
    """
    url = urldefrag(str(activity["url"])).url
    path, mark, query = url.partition("?")
    return _escaped(path, ' "<>`{}^') + mark + _escaped(query, " \"<>'")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _escaped(text: str, characters: str) -> str:
    return "".join(
        "".join(f"%{byte:02X}" for byte in c.encode("utf-8", "replace"))
        if c in characters or not "\x20" <= c <= "\x7e"
        else c
        for c in text
        if c not in "\t\r\n"
    )
