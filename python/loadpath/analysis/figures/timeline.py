"""Timelines: where each resource's time went in one load (PCP thesis, Figures 4.27 and 4.29)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loadpath.analysis.figures.figure import Figure
from loadpath.analysis.waterfall import PHASES
from loadpath.outcome import Outcome, Resource

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RESPONSE_QUEUE", "response_queues_ms", "timeline"]

RESPONSE_QUEUE = "response_queue_ms"
"""Of a response that is ready: until those before it on its connection are, too."""

# The hatches tell apart what is close in grey.
_PHASES = {
    "connection_setup_ms": (*PHASES["connection_setup_ms"], ""),
    "client_queue_ms": (*PHASES["client_queue_ms"], ""),
    "request_flight_ms": (*PHASES["request_flight_ms"], ""),
    "server_queue_ms": (*PHASES["server_queue_ms"], "////"),
    "server_processing_ms": (*PHASES["server_processing_ms"], ""),
    RESPONSE_QUEUE: ("response queue at server", "#000000", ""),
    "response_wait_ms": (*PHASES["response_wait_ms"], "...."),
    "first_byte_flight_ms": (*PHASES["first_byte_flight_ms"], ""),
    "transfer_ms": (*PHASES["transfer_ms"], ""),
}


def timeline(*, name: str, title: str, caption: str, outcome: Outcome, in_order: bool) -> Figure:
    """A bar for each resource in order of requests, divided into phases; a line at the load event.

    Parameters
    ----------
    name, title, caption
        As `Figure` has them.
    outcome
        A load.
    in_order
        Responses leave in order of requests (HTTP/1): their wait for each other at the server is
        told apart from that in the send buffer.
    """
    queues_ms = response_queues_ms(outcome.resources) if in_order else {}
    rows: list[tuple[Any, ...]] = [
        (number, resource.url, resource.start_ms, *_lengths_ms(resource, queues_ms))
        for number, resource in enumerate(outcome.resources, 1)
        if resource.phases is not None
    ]

    def draw(axes: "Axes") -> None:
        lefts = [row[2] / 1000 for row in rows]
        for place, (label, colour, hatch) in enumerate(_PHASES.values(), 3):
            lengths = [float(row[place]) / 1000 for row in rows]
            axes.barh(
                [row[0] for row in rows],
                lengths,
                left=lefts,
                height=0.85,
                color=colour,
                hatch=hatch,
                edgecolor="#333333" if hatch else "none",
                linewidth=0,
                label=label if any(lengths) else "_",
            )
            lefts = [left + length for left, length in zip(lefts, lengths, strict=True)]
        if outcome.plt_ms is not None:
            axes.axvline(outcome.plt_ms / 1000, color="#CC0000", linewidth=1.0, label="load event")
        axes.invert_yaxis()
        axes.set_xlabel("time (s)")
        axes.set_ylabel("resource")
        axes.grid(visible=True, axis="x")
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    return Figure(
        name=name,
        title=title,
        caption=caption,
        columns=("resource", "url", "start_ms", *_PHASES),
        rows=rows,
        draw=draw,
        size_mm=(180.0, 60.0 + 0.9 * len(rows)),
    )


def response_queues_ms(resources: Sequence[Resource]) -> dict[str, float]:
    """By id: how long a response that was ready waited for those before it on its connection.

    Servers that answer in order write a response when all earlier ones are processed (Figure
    3.15(b)); outcomes count that in `response_wait_ms`.
    """
    queues_ms: dict[str, float] = {}
    until_ms: dict[int, float] = {}
    for resource in sorted(resources, key=_arrival_ms):
        phases, connection = resource.phases, resource.connection
        if phases is None or connection is None:
            continue
        ready_ms = _arrival_ms(resource) + phases.server_queue_ms + phases.server_processing_ms
        before_ms = until_ms.get(connection, ready_ms)
        queues_ms[resource.id] = min(max(0.0, before_ms - ready_ms), phases.response_wait_ms)
        until_ms[connection] = max(before_ms, ready_ms)
    return queues_ms


def _arrival_ms(resource: Resource) -> float:
    """When the server had the request."""
    phases = resource.phases
    if phases is None:
        return resource.start_ms
    before_ms = phases.connection_setup_ms + phases.client_queue_ms + phases.request_flight_ms
    return resource.start_ms + before_ms


def _lengths_ms(resource: Resource, queues_ms: dict[str, float]) -> list[float]:
    queue_ms = queues_ms.get(resource.id, 0.0)
    lengths = []
    for phase in _PHASES:
        if phase == RESPONSE_QUEUE:
            lengths.append(queue_ms)
        else:
            length = float(getattr(resource.phases, phase))
            lengths.append(length - queue_ms if phase == "response_wait_ms" else length)
    return lengths
