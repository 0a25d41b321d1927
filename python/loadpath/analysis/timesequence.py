"""Sequence numbers over time, connection by connection and subflow by subflow.

Thesis Figures 4.18 to 4.20, 6.10 and 6.11.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from loadpath.analysis.svg import Canvas, Scale, count, staircase
from loadpath.errors import NotFoundError, hinted
from loadpath.outcome import Outcome, PacketRecord

__all__ = ["timesequence_svg"]

_DATA, _RETRANSMISSION, _ACK, _DROP, _WINDOW = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#000000",
    "#CC79A7",
)
_LEGEND = [
    ("data", _DATA),
    ("retransmission", _RETRANSMISSION),
    ("ACK at the server", _ACK),
    ("drop", _DROP),
    ("ACK + congestion window", _WINDOW),
]

_WIDTH = 1200
_LEFT, _RIGHT = 70, 1185
_TOP = 96
_GAP = 34
_HEIGHT, _HEIGHT_OF_FEW, _HEIGHT_OF_ONE = 150, 260, 420


@dataclass(frozen=True, slots=True)
class _Sender:
    """A server's sequence space: a connection, or one of its subflows."""

    connection: int
    subflow: int | None


def timesequence_svg(outcome: Outcome, *, connection: int | None = None, subtitle: str = "") -> str:
    """Draw what the servers sent, as SVG.

    Parameters
    ----------
    outcome
        A load with a trace.
    connection
        Index of a connection; without it all are drawn, one above the other on one time axis, and
        each subflow of a connection over several.
    subtitle
        A line under the title, for the scenario.

    Raises
    ------
    NotFoundError
        The load has no such connection.
    """
    assert outcome.trace is not None
    count = len(outcome.connections)
    if connection is not None and not 0 <= connection < count:
        raise hinted(
            NotFoundError(f"there is no connection {connection}"),
            f"this load has connections 0 to {count - 1}" if count else "this load has none",
        )
    drawn = _senders(outcome, range(count) if connection is None else [connection])
    height = _HEIGHT_OF_ONE if len(drawn) == 1 else _HEIGHT
    if connection is not None and len(drawn) > 1:
        height = _HEIGHT_OF_FEW
    bottom = _TOP + max(1, len(drawn)) * (height + _GAP) - _GAP
    canvas = Canvas(_WIDTH, bottom + 40, f"Time/sequence plot of {outcome.page}")
    canvas.text(12, 22, outcome.page, size=15)
    canvas.text(
        12,
        40,
        f"{outcome.label}: sequence numbers of the servers in kB, as sent "
        f"(seed {outcome.seed}, run {outcome.run})",
    )
    canvas.text(12, 56, subtitle, size=10.5, fill="#666666")
    canvas.legend(12, 76, _LEGEND)
    by_sender: dict[_Sender, list[PacketRecord]] = {sender: [] for sender in drawn}
    for packet in outcome.trace.packets:
        sender = _Sender(packet.connection, packet.subflow)
        if sender in by_sender:
            by_sender[sender].append(packet)
    end_ms = max(
        [1.0, outcome.plt_ms or 0.0]
        + [packets[-1].t_ms for packets in by_sender.values() if packets]
    )
    times = Scale(0.0, end_ms * 1.01, _LEFT, _RIGHT)
    canvas.time_axis(times, _TOP, bottom)
    for place, sender in enumerate(drawn):
        top = _TOP + place * (height + _GAP)
        _panel(canvas, outcome, sender, by_sender[sender], times, top, top + height)
    if outcome.plt_ms is not None:
        x = times(outcome.plt_ms)
        canvas.line([(x, _TOP), (x, bottom)], "#CC0000", width=1.5)
        canvas.text(x - 3, bottom + 28, "load", anchor="end", fill="#CC0000")
    return canvas.to_string()


def _senders(outcome: Outcome, connections: Iterable[int]) -> list[_Sender]:
    return [
        _Sender(number, subflow)
        for number in connections
        for subflow in (range(len(outcome.connections[number].subflows)) or [None])
    ]


def _panel(
    canvas: Canvas,
    outcome: Outcome,
    sender: _Sender,
    packets: list[PacketRecord],
    times: Scale,
    top: float,
    bottom: float,
) -> None:
    assert outcome.trace is not None
    highest = max([packet.seq + packet.len for packet in packets if not packet.up], default=1)
    numbers = Scale(0.0, highest / 1000 * 1.05, bottom, top)
    canvas.value_axis(numbers, _LEFT, _RIGHT)
    canvas.text(_LEFT + 4, top + 12, _heading(outcome, sender))
    acks = [(packet.t_ms, packet.ack) for packet in packets if packet.up and _arrived_ack(packet)]
    _window_edge(canvas, outcome, sender, acks, times, numbers)
    _acknowledged(canvas, acks, times, numbers)
    marks: dict[str, list[str]] = {_DATA: [], _RETRANSMISSION: [], _DROP: []}
    for packet in packets:
        if packet.up or not packet.len:
            continue
        x, low = times(packet.t_ms), numbers(packet.seq / 1000)
        if packet.event == "sent":
            colour = _RETRANSMISSION if packet.retransmission else _DATA
            marks[colour].append(
                f"M{x:.2f} {low:.2f}V{numbers((packet.seq + packet.len) / 1000):.2f}"
            )
        elif packet.event == "dropped":
            marks[_DROP].append(f"M{x - 3:.2f} {low - 3:.2f}l6 6M{x - 3:.2f} {low + 3:.2f}l6 -6")
    for colour, paths in marks.items():
        if paths:
            canvas.path("".join(paths), colour, width=1.2 if colour == _DROP else 1.8)


def _heading(outcome: Outcome, sender: _Sender) -> str:
    connection = outcome.connections[sender.connection]
    if sender.subflow is None:
        return (
            f"{sender.connection}: {connection.host}, {count(connection.requests, 'request')}, "
            f"{count(connection.retransmissions, 'retransmission')}, "
            f"{count(connection.timeouts, 'timeout')}"
        )
    subflow = connection.subflows[sender.subflow]
    ready = "" if subflow.server_ready_ms is None else f" from {subflow.server_ready_ms:.1f} ms"
    return (
        f"{sender.connection}: {connection.host}, subflow {sender.subflow + 1} on path "
        f"{subflow.path}{ready}, {subflow.bytes_down} bytes, "
        f"{count(subflow.retransmissions, 'retransmission')}, "
        f"{count(subflow.timeouts, 'timeout')}"
    )


def _arrived_ack(packet: PacketRecord) -> bool:
    return packet.event == "delivered" and "A" in packet.flags


def _acknowledged(
    canvas: Canvas, acks: list[tuple[float, int]], times: Scale, numbers: Scale
) -> None:
    """The ACK number holds until the next arrives."""
    points = [(times(t_ms), numbers(ack / 1000)) for t_ms, ack in acks]
    if points:
        canvas.line(staircase(points), _ACK)


def _window_edge(
    canvas: Canvas,
    outcome: Outcome,
    sender: _Sender,
    acks: list[tuple[float, int]],
    times: Scale,
    numbers: Scale,
) -> None:
    """What the congestion window allows to be sent, cut at the top of the panel."""
    assert outcome.trace is not None
    arrivals = [t_ms for t_ms, _ in acks]
    points = []
    for record in outcome.trace.windows:
        if sender != _Sender(record.connection, record.subflow):
            continue
        known = bisect_right(arrivals, record.t_ms)
        edge = (acks[known - 1][1] if known else 0) + record.cwnd_bytes
        points.append((times(record.t_ms), numbers(min(edge / 1000, numbers.high))))
    if points:
        canvas.line(staircase(points), _WINDOW, dash="2 2")
