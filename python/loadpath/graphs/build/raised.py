"""Requests whose priority the browser raised once layout had found their images within the window.

Chromium's network service keeps back requests of low priority to some servers; those that are
raised leave at once. DevTools tells when. Layout is no activity of the 25 rules: a resource names
what had run before it.
"""

from typing import TYPE_CHECKING

from loadpath.graphs.build.computations import ThreadWork
from loadpath.graphs.build.devtools import Request
from loadpath.graphs.build.nodes import Node
from loadpath.graphs.build.styled import text_behind_scripts

if TYPE_CHECKING:
    from loadpath.graphs.build.builder import Builder

__all__ = ["add_raises"]

DELAYABLE = frozenset({"Medium", "Low", "VeryLow"})
"""Priorities that Chromium's network service may keep back."""


def add_raises(builder: "Builder") -> None:
    """Give resources the activity that raises them.

    Images that were there before the first layout, as on a fast network, are taken to be seen.
    """
    for request in builder.requests:
        node, sending = builder.resource_of.get(request.key), builder.recording.sending(request)
        if node is None or sending is None or "original" in node.fields:
            continue
        thread, time = sending[0], request.raised
        if time is None and request.type == "Image" and request.priority in DELAYABLE:
            first = _first_layout(thread, request.frame)
            if first is not None and request.finished is not None and request.finished <= first:
                time = first
        trigger = None if time is None else _ran_last(builder, thread, request, time)
        if trigger is not None:
            node.fields["raised_by"] = trigger.id


def _first_layout(thread: ThreadWork, frame: str) -> float | None:
    found = (work.start for work in thread.work if work.kind == "layout" and work.frame == frame)
    return next(found, None)


def _ran_last(builder: "Builder", thread: ThreadWork, request: Request, time: float) -> Node | None:
    """The piece of script, or the text parsed, that began last by a time."""
    ran, began = None, float("-inf")
    for computation in thread.computations:
        if computation.start <= time and computation.outer is None:
            piece = builder.piece_at(computation, time)
            # Callbacks that lead nowhere are no activities.
            if piece is not None and piece.id in builder.nodes.by_id:
                ran, began = piece, computation.start
    for work in thread.work:
        if work.kind == "parse" and work.frame == request.frame and began < work.start <= time:
            # Text that no script held up was parsed as it came, and not shown before its sheets.
            return text_behind_scripts(builder, request, time) or ran
    return ran
