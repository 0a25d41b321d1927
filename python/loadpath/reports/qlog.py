"""qlog: transport events (draft-ietf-quic-qlog-main-schema-14, -quic-events-13).

The connections are TCP; what QUIC's events say of packets, acknowledgements, losses and windows is
said of segments. Each segment has a packet number of its own, and an acknowledgement lists the
packet numbers that its cumulative number and its SACK blocks cover. The vantage point is the
server, whose congestion window it is. A connection is a trace.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from loadpath import _core
from loadpath.outcome import Outcome, PacketRecord, WindowRecord
from loadpath.reports.context import ExportContext

__all__ = ["write_qlog"]

_STATES = {"avoidance": "congestion_avoidance", "loss": "recovery"}


def write_qlog(outcome: Outcome, _context: ExportContext) -> bytes:
    """The load as a contained qlog file with a trace for each connection."""
    assert outcome.trace is not None
    packets: list[list[PacketRecord]] = [[] for _ in outcome.connections]
    windows: list[list[WindowRecord]] = [[] for _ in outcome.connections]
    for packet in outcome.trace.packets:
        packets[packet.connection].append(packet)
    for window in outcome.trace.windows:
        windows[window.connection].append(window)
    file = {
        "file_schema": "urn:ietf:params:qlog:file:contained",
        "serialization_format": "application/qlog+json",
        "title": outcome.page,
        "description": f"{outcome.label} by Loadpath {_core.__version__}, seed {outcome.seed}, "
        f"run {outcome.run}; TCP segments as packets",
        "traces": [
            _trace(number, connection.host, packets[number], windows[number])
            for number, connection in enumerate(outcome.connections)
        ],
    }
    return json.dumps(file).encode()


def _trace(
    number: int, host: str, packets: list[PacketRecord], windows: list[WindowRecord]
) -> dict[str, Any]:
    events = [*_packet_events(packets), *_window_events(windows)]
    return {
        "title": f"{number}: {host}",
        "vantage_point": {"type": "server"},
        "event_schemas": ["urn:ietf:params:qlog:events:quic-13"],
        "common_fields": {
            "group_id": str(number),
            "time_format": "relative_to_epoch",
            "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
        },
        "events": sorted(events, key=lambda event: float(event["time"])),
    }


def _event(t_ms: float, name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"time": t_ms, "name": f"quic:{name}", "data": data}


class _Sent:
    """Which packet number last carried a byte of the server's stream, and what was acknowledged."""

    def __init__(self) -> None:
        self.number_of: dict[int, int] = {}  # first byte -> packet number
        self.starts: list[int] = []  # first bytes, ascending
        self.ends: dict[int, int] = {}

    def add(self, packet: PacketRecord, number: int) -> int | None:
        """Note a data segment; returns the number that carried its first byte before."""
        before = self.number_of.get(packet.seq)
        if before is None:
            self.starts.insert(bisect_left(self.starts, packet.seq), packet.seq)
        self.number_of[packet.seq] = number
        self.ends[packet.seq] = packet.seq + packet.len
        return before

    def covered(self, start: int, end: int) -> list[int]:
        """Packet numbers of the segments within [start, end), ascending."""
        found = self.starts[bisect_left(self.starts, start) : bisect_right(self.starts, end - 1)]
        return sorted(self.number_of[first] for first in found if self.ends[first] <= end)


def _ranges(numbers: list[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return [[first] if first == last else [first, last] for first, last in ranges]


def _packet_events(packets: list[PacketRecord]) -> Iterator[dict[str, Any]]:
    sent = _Sent()
    next_number = {True: 0, False: 0}
    acknowledged = 0
    for packet in packets:
        if packet.event == ("delivered" if packet.up else "sent"):
            number = next_number[packet.up]
            next_number[packet.up] += 1
        else:
            continue
        frames: list[dict[str, Any]] = []
        if packet.len:
            frames.append(
                {
                    "frame_type": "stream",
                    # Client-initiated bidirectional streams (RFC 9000, section 2.1).
                    "stream_id": 4 * (packet.resource or 0),
                    "offset": packet.offset,
                    "raw": {"payload_length": packet.len},
                }
            )
        if packet.up and "A" in packet.flags:
            newly = sent.covered(acknowledged, packet.ack)
            acknowledged = max(acknowledged, packet.ack)
            for start, end in packet.sack:
                newly += sent.covered(start, end)
            if newly:
                frames.append({"frame_type": "ack", "acked_ranges": _ranges(sorted(set(newly)))})
        elif not packet.up and packet.len:
            before = sent.add(packet, number)
            if packet.retransmission and before is not None:
                lost = {"header": {"packet_type": "1RTT", "packet_number": before}}
                yield _event(packet.t_ms, "packet_lost", lost)
        handshake = "S" in packet.flags
        data = {
            "header": {
                "packet_type": "initial" if handshake else "1RTT",
                "packet_number": number,
            },
            "raw": {"length": packet.wire_bytes, "payload_length": packet.len},
            "frames": frames or [{"frame_type": "padding" if handshake else "ping"}],
        }
        yield _event(packet.t_ms, "packet_received" if packet.up else "packet_sent", data)


def _window_events(windows: list[WindowRecord]) -> Iterator[dict[str, Any]]:
    state = None
    for window in windows:
        current = _STATES.get(window.state, window.state)
        if current != state:
            change: dict[str, str] = {} if state is None else {"old": state}
            yield _event(window.t_ms, "congestion_state_updated", change | {"new": current})
            state = current
        metrics = {
            "congestion_window": window.cwnd_bytes,
            "bytes_in_flight": window.in_flight_bytes,
        }
        if window.ssthresh_bytes is not None:
            metrics["ssthresh"] = window.ssthresh_bytes
        yield _event(window.t_ms, "recovery_metrics_updated", dict(metrics))
