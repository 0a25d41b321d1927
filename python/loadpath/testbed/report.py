"""What a link did, and how far it can be believed; `crates/testbed/src/report.rs` documents it."""

from typing import Literal

import msgspec

__all__ = [
    "DirectionReport",
    "LinkReport",
    "PathReport",
    "Percentiles",
    "TapReport",
    "Verdict",
]


class Percentiles(msgspec.Struct, frozen=True):
    """A distribution of times in milliseconds."""

    count: int
    p50_ms: float
    p99_ms: float
    p99_9_ms: float
    max_ms: float


class DirectionReport(msgspec.Struct, frozen=True):
    """One direction of a link."""

    offered_packets: int
    offered_bytes: int
    queue_drops: int
    lost_packets: int
    delivered_packets: int
    in_flight_packets: int
    device_drops: int
    max_waiting_packets: int
    busy_ms: float
    lateness: Percentiles


class Verdict(msgspec.Struct, frozen=True):
    """Whether a run can be believed, and why not."""

    ok: bool
    reasons: tuple[str, ...]


class PathReport(msgspec.Struct, frozen=True):
    """One path of several."""

    down: DirectionReport
    up: DirectionReport


class TapReport(msgspec.Struct, frozen=True):
    """What became of a capture."""

    packets: int
    missed: int
    error: str | None


class LinkReport(msgspec.Struct, frozen=True):
    """A whole link, from start to stop."""

    duration_ms: float
    real_time: bool
    rootless: bool
    cpu_ms: float
    stolen_ms: float
    stalls: Percentiles
    down: DirectionReport
    up: DirectionReport
    verdict: Verdict
    path2: PathReport | None = None
    tap: TapReport | None = None
    label: Literal["emulated"] = "emulated"

    def describe(self) -> str:
        """The verdict with its grounds, in a few lines."""
        lines = [
            "on time" if self.verdict.ok else "NOT ON TIME: do not believe this run",
            *self.verdict.reasons,
        ]
        ways = [("down", self.down), ("up", self.up)]
        if self.path2 is not None:
            ways += [("down on path 2", self.path2.down), ("up on path 2", self.path2.up)]
        for name, way in ways:
            line = (
                f"{name}: {way.delivered_packets} packets delivered, "
                f"{way.queue_drops} dropped by the queue, {way.lost_packets} lost"
            )
            if (late := way.lateness).count:
                line += (
                    f"; late by {late.p50_ms:.3f} ms median, {late.p99_ms:.3f} p99, "
                    f"{late.p99_9_ms:.3f} p99.9, {late.max_ms:.3f} at most"
                )
            lines.append(line)
        if self.stolen_ms:
            lines.append(
                f"the machine below this virtual one took {self.stolen_ms:.0f} ms of processor time"
            )
        if not self.real_time:
            lines.append("without real-time priority, which needs root or a limit on rtprio")
        return "\n".join(lines)
