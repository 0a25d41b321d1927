"""The waterfall of one load: where each resource's time went (thesis Figures 4.27 and 4.29).

Over several paths each resource has a band with a lane for each subflow that carried some of it
(thesis Figures 6.7, 6.9 and 6.23), if there is a trace.
"""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from loadpath.analysis.svg import Canvas, Scale, count
from loadpath.outcome import Outcome, Resource

__all__ = ["MAIN_THREAD_COLOURS", "PHASES", "waterfall_svg"]

# The colours are those of Okabe and Ito, told apart with any colour vision; waiting at the client
# is grey, and the order is the legend's in Figure 4.27.
PHASES = {
    "connection_setup_ms": ("connection setup", "#D55E00"),
    "client_queue_ms": ("queue at client", "#BDBDBD"),
    "request_flight_ms": ("request in flight", "#56B4E9"),
    "server_queue_ms": ("queue at server", "#F0E442"),
    "server_processing_ms": ("server processing", "#009E73"),
    "response_wait_ms": ("response waits in send buffer", "#E69F00"),
    "first_byte_flight_ms": ("first byte in flight", "#CC79A7"),
    "transfer_ms": ("transfer", "#0072B2"),
}
MAIN_THREAD_COLOURS = {
    "parse": "#56B4E9",
    "script": "#E69F00",
    "style": "#CC79A7",
    "timer": "#009E73",
    "event": "#F0E442",
    "other": "#999999",
}
_LOAD_COLOUR, _DCL_COLOUR = "#CC0000", "#0072B2"

_WIDTH = 1200
_LEFT, _RIGHT = 300, 1185
_TOP = 108
_ROW = 15
_LANE = 26
_SUBFLOW_LANE = 6
_LABEL_CHARACTERS = 46

_BAND_COLOUR = "#F2F2F2"
_PATH_COLOURS = ("#0072B2", "#D55E00")
"""Of the paths in order; more than two take turns."""


@dataclass(slots=True)
class _Carried:
    """What one subflow carried of one resource."""

    subflow: int
    path: int
    first_sent_ms: float
    delivered_ms: list[float] = field(default_factory=list)
    bytes: int = 0


def waterfall_svg(outcome: Outcome, *, subtitle: str = "") -> str:
    """Draw a load as SVG; the main-thread lane needs a trace.

    Parameters
    ----------
    outcome
        The load.
    subtitle
        A line under the title, for the scenario.
    """
    carried = _carried(outcome)
    lanes = sum(map(len, carried.values()))
    bottom = _TOP + _LANE + _ROW * len(outcome.resources) + _SUBFLOW_LANE * lanes + 6
    canvas = Canvas(_WIDTH, bottom + 50, f"Waterfall of {outcome.page}")
    canvas.text(12, 22, outcome.page, size=15)
    canvas.text(12, 40, _headline(outcome))
    canvas.text(12, 56, subtitle, size=10.5, fill="#666666")
    canvas.legend(12, 76, list(PHASES.values()))
    canvas.legend(
        12,
        93,
        [
            (f"main thread: {kind}" if kind == "parse" else kind, colour)
            for kind, colour in MAIN_THREAD_COLOURS.items()
        ]
        + [
            (f"segments over path {path}", _path_colour(path))
            for path in sorted({lane.path for lanes in carried.values() for lane in lanes})
        ],
    )
    times = Scale(0.0, _end_ms(outcome) * 1.01, _LEFT, _RIGHT)
    tops = _tops(outcome, carried)
    for number, lanes_of in carried.items():
        height = _ROW + _SUBFLOW_LANE * len(lanes_of)
        canvas.rect(_LEFT, tops[number], _RIGHT - _LEFT, height - 1, _BAND_COLOUR)
    canvas.time_axis(times, _TOP, bottom)
    _main_thread(canvas, outcome, times)
    for number, resource in enumerate(outcome.resources):
        _bar(canvas, outcome, resource, times, tops[number])
        for place, lane in enumerate(carried.get(number, ())):
            _lane(canvas, lane, times, tops[number] + _ROW + place * _SUBFLOW_LANE - 2)
    for line, (at_ms, colour, label, dash) in enumerate(
        (
            (outcome.dcl_ms, _DCL_COLOUR, "DOMContentLoaded", "5 3"),
            (outcome.plt_ms, _LOAD_COLOUR, "load", ""),
        )
    ):
        if at_ms is not None:
            x = times(at_ms)
            canvas.line([(x, _TOP - 2), (x, bottom)], colour, width=1.5, dash=dash)
            canvas.text(x, bottom + 28 + 14 * line, label, anchor="end", fill=colour)
    return canvas.to_string()


def _headline(outcome: Outcome) -> str:
    if outcome.plt_ms is None:
        return f"{outcome.label}; failed: {outcome.status.reason}"
    dcl = "" if outcome.dcl_ms is None else f", DOMContentLoaded {outcome.dcl_ms:.1f} ms"
    return (
        f"{outcome.label}: load {outcome.plt_ms:.1f} ms{dcl}; "
        f"{count(len(outcome.resources), 'resource')}, "
        f"{count(len(outcome.connections), 'connection')}, "
        f"{count(outcome.totals.drops, 'drop')}, "
        f"{count(outcome.totals.retransmissions, 'retransmission')} "
        f"(seed {outcome.seed}, run {outcome.run})"
    )


def _end_ms(outcome: Outcome) -> float:
    ends = [resource.end_ms or resource.start_ms for resource in outcome.resources]
    return max([1.0, outcome.plt_ms or 0.0, outcome.dcl_ms or 0.0, *ends])


def _main_thread(canvas: Canvas, outcome: Outcome, times: Scale) -> None:
    canvas.text(_LEFT - 8, _TOP + 14, "main thread", anchor="end")
    if outcome.trace is None:
        return
    for record in outcome.trace.main_thread:
        start = times(record.start_ms)
        canvas.rect(
            start,
            _TOP + 2,
            # Most parse chunks are shorter than a pixel; without a floor the lane looks idle.
            max(times(record.end_ms) - start, 0.4),
            _LANE - 10,
            MAIN_THREAD_COLOURS.get(record.kind, MAIN_THREAD_COLOURS["other"]),
            f"{record.kind} {record.detail}\n{record.id}, frame {record.frame}\n"
            f"{record.start_ms:.2f} to {record.end_ms:.2f} ms",
        )


def _carried(outcome: Outcome) -> dict[int, list[_Carried]]:
    """By resource, the subflows that carried some of its response, in their order."""
    found: dict[tuple[int, int], _Carried] = {}
    for packet in () if outcome.trace is None else outcome.trace.packets:
        if packet.up or not packet.len or packet.resource is None or packet.subflow is None:
            continue
        key = (packet.resource, packet.subflow)
        if packet.event == "sent" and key not in found:
            found[key] = _Carried(packet.subflow, packet.path or 0, packet.t_ms)
        elif packet.event == "delivered" and key in found:
            found[key].delivered_ms.append(packet.t_ms)
            found[key].bytes += packet.len
    by_resource: dict[int, list[_Carried]] = {}
    for (resource, _), lane in sorted(found.items()):
        by_resource.setdefault(resource, []).append(lane)
    return by_resource


def _tops(outcome: Outcome, carried: dict[int, list[_Carried]]) -> list[float]:
    tops, top = [], float(_TOP + _LANE)
    for number in range(len(outcome.resources)):
        tops.append(top)
        top += _ROW + _SUBFLOW_LANE * len(carried.get(number, ()))
    return tops


def _path_colour(path: int) -> str:
    return _PATH_COLOURS[(path - 1) % len(_PATH_COLOURS)]


def _lane(canvas: Canvas, lane: _Carried, times: Scale, top: float) -> None:
    """From the first segment's departure to the last one's arrival, a mark for each arrival."""
    colour = _path_colour(lane.path)
    end_ms = max([lane.first_sent_ms, *lane.delivered_ms])
    middle = top + _SUBFLOW_LANE / 2
    canvas.line([(times(lane.first_sent_ms), middle), (times(end_ms), middle)], colour)
    if lane.delivered_ms:
        canvas.path(
            "".join(
                f"M{times(t):.2f} {top + 1:.2f}v{_SUBFLOW_LANE - 2}" for t in lane.delivered_ms
            ),
            colour,
            width=1,
            tooltip=f"subflow {lane.subflow + 1}, path {lane.path}: {lane.bytes} bytes in "
            f"{count(len(lane.delivered_ms), 'segment')}, {lane.first_sent_ms:.2f} to "
            f"{end_ms:.2f} ms",
        )


def _bar(canvas: Canvas, outcome: Outcome, resource: Resource, times: Scale, top: float) -> None:
    canvas.text(_LEFT - 8, top + 11, _label(resource), anchor="end", size=10, tooltip=resource.url)
    about = f"{resource.url}\n{resource.mime_type}, {resource.size_bytes} bytes" + (
        "" if resource.connection is None else f", connection {resource.connection}"
    )
    if resource.phases is None:
        end_ms = outcome.plt_ms or resource.start_ms
        start = times(resource.start_ms)
        canvas.rect(
            start, top + 5, times(end_ms) - start, 3, "#BDBDBD", f"{about}\nnot complete at load"
        )
        return
    at_ms = resource.start_ms
    for name, (label, colour) in PHASES.items():
        duration_ms = getattr(resource.phases, name)
        if duration_ms <= 0:
            continue
        start = times(at_ms)
        at_ms += duration_ms
        canvas.rect(
            start,
            top + 2,
            times(at_ms) - start,
            _ROW - 4,
            colour,
            f"{about}\n{label}: {duration_ms:.2f} ms",
        )


def _label(resource: Resource) -> str:
    """Last part of the path, and the host as far as there is room."""
    parts = urlsplit(resource.url)
    name = parts.path.rstrip("/").rpartition("/")[2] or "/"
    name = f"{name}?{parts.query}" if parts.query else name
    if len(name) > _LABEL_CHARACTERS // 2:
        name = name[: _LABEL_CHARACTERS // 2 - 1] + "\N{HORIZONTAL ELLIPSIS}"
    room = _LABEL_CHARACTERS - len(name)
    host = resource.host
    if len(host) > room:
        host = "\N{HORIZONTAL ELLIPSIS}" + host[-(room - 1) :]
    return f"{name}  {host}"
