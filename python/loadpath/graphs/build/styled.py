"""What style sheets name and the page shows only later: images and fonts for elements that are
there and match when styles are computed.

The thesis lets them wait for the sheet alone (rule 8 of Table 3.1). Chromium requests them when it
computes styles, which it does not before all sheets of the head are there, and the element is.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from loadpath.graphs.build.causes import Cause
from loadpath.graphs.build.computations import ThreadWork, Work
from loadpath.graphs.build.devtools import Request
from loadpath.graphs.build.nodes import Node

if TYPE_CHECKING:
    from loadpath.graphs.build.builder import Builder

__all__ = ["connect_styled", "text_behind_scripts"]

STYLE = "style"


def connect_styled(builder: "Builder") -> None:
    """What style sheets name waits for what had to be there for it to be shown, too."""
    for request in builder.requests:
        cause, node = builder.causes[request.key], builder.resource_of.get(request.key)
        sending = builder.recording.sending(request)
        if cause.kind != STYLE or cause.request is None or node is None or sending is None:
            continue
        thread, moment = sending
        before = _styles_before(thread, request.frame, moment.start)
        arrived = cause.request.finished
        if before is not None and arrived is not None and before.start >= arrived:
            node.after(_change_since(builder, request, cause, thread, before, moment.start))
        else:
            node.after(*_first_shown(builder, request, moment.start))


def _styles_before(thread: ThreadWork, frame: str, time: float) -> Work | None:
    """When styles of a frame were computed last."""
    found = None
    for work in thread.work:
        if work.start + work.duration > time:
            break
        if work.kind == STYLE and work.frame == frame:
            found = work
    return found


def text_behind_scripts(builder: "Builder", request: Request, time: float) -> Node | None:
    """The text behind the last script that the parser of a request's frame had waited for."""
    offset = -1
    for computation, script in builder.script_requests.items():
        cause = builder.causes[script.key]
        if cause.kind != "tag" or cause.tag is None or cause.frame != request.frame:
            continue
        waited = not cause.tag.is_module and not {"async", "defer"} & set(cause.tag.attributes)
        if waited and cause.tag.is_script and computation.end <= time:
            offset = max(offset, cause.offset)
    document = builder.document(request.frame, request.sent)
    return document.chunk_behind(offset) if document is not None and offset >= 0 else None


def _first_shown(builder: "Builder", request: Request, time: float) -> Iterator[Node | None]:
    """Sheets of the markup, and the text behind the last script that the parser waited for."""
    yield text_behind_scripts(builder, request, time)
    for other in builder.requests:
        cause = builder.causes[other.key]
        if other.type != "Stylesheet" or not other.succeeded or other.frame != request.frame:
            continue
        if cause.kind == "tag" and cause.tag is not None and cause.tag.blocks_scripts:
            if other.finished is not None and other.finished <= time:
                yield builder.style_of(other)


def _change_since(
    builder: "Builder",
    request: Request,
    cause: Cause,
    thread: ThreadWork,
    before: Work,
    time: float,
) -> Node | None:
    """What changed the document last between the computation of its styles and a time.

    A computation that had the styles computed itself is the change.
    """
    if cause.computation is not None and cause.computation in builder.pieces:
        return builder.piece_at(cause.computation, request.sent)
    since = before.start + before.duration
    changes: list[tuple[float, Node | None]] = [
        (computation.start, builder.last_piece(computation))
        for computation in thread.computations
        if since <= computation.start < time
        and computation.outer is None
        and computation.kind != STYLE
        and computation in builder.pieces
    ]
    changes += [
        (work.start, builder.chunk_parsed_at(work.frame, work.start))
        for work in thread.work
        if work.kind == "parse" and work.frame == request.frame and since <= work.start < time
    ]
    return max(changes, key=lambda change: change[0], default=(0.0, None))[1]
