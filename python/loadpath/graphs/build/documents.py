"""HTML documents: download chunks, parse chunks and the synchronous scripts between them.

Rules 3 to 9 of Table 3.1. A chunk ends behind the tag of an external reference, or behind the end
tag of an inline script.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag

from loadpath.graphs.build.computations import Computation
from loadpath.graphs.build.devtools import Request
from loadpath.graphs.build.html import Source, Tag
from loadpath.graphs.build.nodes import Node

if TYPE_CHECKING:
    from loadpath.graphs.build.builder import Builder

__all__ = ["ParsedDocument", "add_documents", "frames"]


@dataclass
class ParsedDocument:
    """A document that a frame showed, cut into chunks.

    Attributes
    ----------
    ends
        Character offsets at which the chunks end, ascending; the last is the text's length.
    chunks
        The parse chunks.
    number
        Tells it from the frame's other documents, "" of the first.
    inline
        Inline scripts by the character offset at which their code starts.
    """

    frame: str
    url: str
    request: Request | None
    source: Source
    number: str = ""
    ends: list[int] = field(default_factory=list)
    chunks: list[Node] = field(default_factory=list)
    inline: dict[int, Computation] = field(default_factory=dict)
    deferred: list[Computation] = field(default_factory=list)

    def chunk_at(self, offset: int) -> Node | None:
        """The chunk that ends at an offset, or else the one that holds it."""
        if not self.chunks:
            return None
        return self.chunks[min(bisect_left(self.ends, offset), len(self.chunks) - 1)]

    def chunk_behind(self, offset: int) -> Node | None:
        """The chunk that follows the one that ends at an offset."""
        index = bisect_left(self.ends, offset) + 1
        return self.chunks[index] if index < len(self.chunks) else None

    @property
    def last_chunk(self) -> Node | None:
        """The chunk with which parsing ends."""
        return self.chunks[-1] if self.chunks else None


def add_documents(builder: "Builder") -> None:
    """Chunks of every document that a frame showed."""
    recording = builder.recording
    for frame in recording.events.frames.values():
        shown: list[ParsedDocument] = []
        builder.documents[frame.id] = shown
        for record in frame.documents:
            url = record.url
            request = recording.events.document_request(frame.id, record.loader)
            source = recording.source(url)
            if url == "about:srcdoc":
                source = recording.srcdocs.get(frame.id)
            elif request is None:
                # about:blank: a script fills it, nothing is downloaded or parsed.
                continue
            number = "" if not shown else f".{len(shown)}"
            document = ParsedDocument(frame.id, url, request, source or Source("", url), number)
            shown.append(document)
            _find_ends(builder, document)
            _add_chunks(builder, document)


def _find_ends(builder: "Builder", document: ParsedDocument) -> None:
    source = document.source
    ends: set[int] = set()
    for cause in builder.causes.values():
        if cause.kind == "tag" and cause.frame == document.frame:
            if cause.document == document.url:
                ends.add(cause.offset)
    for computation in builder.recording.computations():
        if computation.kind != "script" or computation.frame != document.frame:
            continue
        if computation.outer is not None or urldefrag(computation.url).url != document.url:
            continue
        offset = source.offset(computation.line, computation.column)
        tag = source.tag_ending_at(offset) if offset is not None else None
        if tag is not None and tag.is_script and "src" not in tag.attributes:
            document.inline[tag.end] = computation
            ends.add(tag.close or len(source.text))
    hinted = builder.hinted_scripts()
    for tag in source.tags:
        names = {url for url in tag.urls(source.base) if url in hinted} if tag.is_script else set()
        if "srcdoc" in tag.attributes or names:
            ends.add(tag.end)
    length = len(source.text)
    document.ends = sorted({min(end, length) for end in ends} | {length})


def _add_chunks(builder: "Builder", document: ParsedDocument) -> None:
    frame = builder.frame(document.frame)
    resource = builder.resource_of.get(document.request.key) if document.request else None
    name = f"{frame}{document.number}"
    size = int(resource.fields["size_bytes"]) if resource is not None else 0
    bytes_before = _byte_offsets(document.source.text, document.ends)
    total_bytes = max(bytes_before[-1], 1)
    parse_ms = _parse_ms(builder, document)
    at = document.request.finished if document.request else None
    time = at if at is not None else builder.recording.start
    begin, begin_offset = 0, 0
    before: Node | None = None
    downloaded: Node | None = resource
    for number, (end, end_bytes) in enumerate(zip(document.ends, bytes_before, strict=True)):
        share = (end_bytes - begin) / total_bytes
        arrived = None
        if resource is not None:
            # What is transmitted may be compressed: offsets are scaled to it.
            first, last = size * begin // total_bytes, size * end_bytes // total_bytes
            arrived = builder.nodes.add(
                f"dchunk_{name}_{number}",
                time,
                type="download_chunk",
                resource=resource.id,
                offset_bytes=first,
                size_bytes=last - first,
            )
            arrived.after(downloaded)
            downloaded = arrived
        tag = document.source.tag_ending_at(end)
        line, column = document.source.position(begin_offset)
        end_line, end_column = document.source.position(end)
        is_last = number + 1 == len(document.ends)
        has_body = begin_offset <= document.source.body_offset < end
        chunk = builder.nodes.add(
            f"pchunk_{name}_{number}",
            time,
            type="parse_chunk",
            frame=frame,
            duration_ms=round(parse_ms * share, 4),
            end_tag=None if is_last else (tag.name if tag else "script"),
            position=[line, column, end_line, end_column],
            inserts_body=has_body or None,
        )
        chunk.after(arrived, before)
        if resource is None and before is None:
            chunk.after(_srcdoc_parent(builder, document))
        document.chunks.append(chunk)
        before = chunk
        begin, begin_offset = end_bytes, end


def _srcdoc_parent(builder: "Builder", document: ParsedDocument) -> Node | None:
    """The chunk that ends with the tag whose attribute holds the document."""
    record = builder.recording.events.frames[document.frame]
    for around in builder.documents.get(record.parent or "") or []:
        for tag in around.source.tags:
            if tag.attributes.get("srcdoc") == document.source.text:
                return around.chunk_at(tag.end)
    return None


def _byte_offsets(text: str, offsets: list[int]) -> list[int]:
    """UTF-8 offsets of ascending character offsets."""
    result, at, total = [], 0, 0
    for offset in offsets:
        total += len(text[at:offset].encode("utf-8", "surrogatepass"))
        at = offset
        result.append(total)
    return result


def _parse_ms(builder: "Builder", document: ParsedDocument) -> float:
    usual = builder.durations.parsing(document.url)
    if usual is not None and document.request is not None:
        return usual / 1000.0
    total = 0.0
    for thread in builder.recording.threads:
        for work in thread.work:
            if work.kind == "parse" and work.frame == document.frame:
                if urldefrag(work.url).url == document.url:
                    total += work.duration
    return total / 1000.0


def tag_of_script(document: ParsedDocument, request: Request, offset: int) -> Tag | None:
    """The script tag at which a document's parser found an external script."""
    tag = document.source.tag_ending_at(offset)
    if tag is not None and tag.is_script and tag.names(request.url, document.source.base):
        return tag
    return None


def frames(builder: "Builder") -> list[dict[str, Any]]:
    """The frames as the page graph's JSON has them."""
    result = []
    processes: dict[str, int] = {}
    events = builder.recording.events
    main = events.frames.get(events.main_frame)
    processes[main.target if main else ""] = 0
    for identity, number in builder.frame_ids.items():
        record = events.frames.get(identity)
        entry: dict[str, Any] = {"id": number, "url": record.url if record else ""}
        if number:
            parent = record.parent if record else None
            entry["parent"] = builder.frame(parent or events.main_frame)
        process = processes.setdefault(record.target if record else "", len(processes))
        if process:
            entry["process"] = process
        result.append(entry)
    return result
