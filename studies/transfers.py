"""Single transfers, through a link and simulated: what the studies of TCP and of MPTCP share."""

import json
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from loadpath._core import Page
from loadpath.api import simulate
from loadpath.cli.console import print_note
from loadpath.output import write_atomic
from loadpath.testbed import LinkReport, LinkSettings, open_link
from loadpath.testbed.capture import Segment, TapPacket, read_tap
from loadpath.testbed.transfer import REQUEST_BYTES, fetch, serve_transfers

__all__ = [
    "CONTROLLERS",
    "SEGMENT_BYTES",
    "SIZES",
    "Case",
    "Compared",
    "Run",
    "Simulated",
    "compared",
    "kernel",
    "middle",
    "size_text",
]

SEGMENT_BYTES = 1448
"""Payload of a full packet with time stamps, without MPTCP."""
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
CONTROLLERS = ("reno", "cubic")
ATTEMPTS = 3
"""A transfer whose link was late is repeated so often."""
MAX_LATE = 0.005
"""Of a transfer: a single packet that is late delays it by no more than that."""

EXCHANGE: dict[str, object] = {
    "http.version": "http/1.1",
    "http.tls": "none",
    "http.request_bytes": REQUEST_BYTES,
    "http.response_header_bytes": 0,
    # A server's own link is no part of an emulated one.
    "network.server_rate_factor": 1000,
}
"""Makes a load of a page of one resource the transfer that `loadpath.testbed.transfer` is."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A link, and what it does to the transfers over it."""

    name: str
    settings: LinkSettings
    drop_down: Callable[[int], Sequence[int]] = lambda _: ()
    """For a number of segments: those that are dropped, counted from 0, retransmissions too."""
    drop_up: Sequence[int] = ()
    """Packets with data towards the server that are dropped."""

    @property
    def multipath(self) -> bool:
        """Whether there are two paths."""
        return "multipath.paths" in (self.settings.get("set") or {})

    def drops(self, size: int) -> tuple[list[str], list[str]]:
        """Those of one transfer, down and up, as links and scenarios take them."""
        down = self.drop_down(-(-size // SEGMENT_BYTES))
        return [f"0:{n}" for n in down], [f"0:{n}" for n in self.drop_up]


class Run(msgspec.Struct, kw_only=True):
    """A measured transfer."""

    size: int
    wire_ms: float
    """From the SYN's entering the link to the leaving of the packet that completes the response,
    without `thinking_ms`."""
    thinking_ms: float
    """What both programs took to answer the handshake and the request."""
    program_ms: float
    """From the call of connect() to the last byte, by the client."""
    waited_ms: float
    """How long both programs were ready to run and got no processor, all waits together; most of it
    does not delay the transfer, but it tells of a busy machine."""
    congestion: str
    retransmissions: int
    multipath: bool
    sent: list[tuple[float, int]]
    """When the server sent what: ms since the SYN without `thinking_ms`, first byte of the response
    in the segment."""
    lost: list[tuple[float, int]]
    """What of it was lost or dropped."""
    path_bytes: list[int]
    """Data that came over each path."""
    on_time: bool
    reasons: tuple[str, ...] = ()


class Simulated(msgspec.Struct, kw_only=True):
    """The same transfer in simulation."""

    size: int
    wire_ms: float | None
    retransmissions: int
    sent: list[tuple[float, int]]
    lost: list[tuple[float, int]]
    path_bytes: list[int]
    problem: str = ""


class Compared(msgspec.Struct, kw_only=True):
    """Transfers of one kind, measured and simulated."""

    case: Case
    congestion: str
    size: int
    runs: list[Run]
    simulated: Simulated


def compared(
    cases: Sequence[Case], congestion: str, sizes: Sequence[int], runs: int, work: Path, only: str
) -> Iterator[Compared]:
    """All transfers of the cases whose name has the text `only`; those in `work` count.

    With no `runs` nothing is measured: what is in `work` has to do.
    """
    for number, case in enumerate(cases):
        if only not in case.name:
            continue
        file = work / f"{congestion}-{number:02d}.json"
        done = _measure(case, congestion, sizes, runs, file)
        for size in sizes:
            yield Compared(
                case=case,
                congestion=congestion,
                size=size,
                runs=[run for run in done if run.size == size],
                simulated=_simulated(case, congestion, size),
            )


def size_text(size: int) -> str:
    """10 kB, 1 MB."""
    return f"{size // 1_000_000} MB" if size >= 1_000_000 else f"{size // 1000} kB"


def _measure(case: Case, congestion: str, sizes: Sequence[int], runs: int, file: Path) -> list[Run]:
    """Transfers over links with these drops; what the file has counts, and it gets the rest."""
    done = msgspec.json.decode(file.read_bytes(), type=list[Run]) if file.exists() else []
    for size in sizes:
        tried = sum(run.size == size for run in done)
        for _ in range(tried, runs * ATTEMPTS):
            if sum(run.size == size and run.on_time for run in done) >= runs:
                break
            run = _measure_once(case, congestion, size, file.with_suffix(".pcapng"))
            note = f"{case.name}, {congestion}, {size_text(size)}: {run.wire_ms:.1f} ms"
            print_note("; ".join([note, *run.reasons]))
            done.append(run)
            write_atomic(file, msgspec.json.encode(done), force=True)
    return done


def _measure_once(case: Case, congestion: str, size: int, tap: Path) -> Run:
    """A transfer over a link of its own: one that was late spoils no other."""
    settings = case.settings | LinkSettings(kernel_congestion=congestion, tap=tap)
    down, up = case.drops(size)
    if down or up:
        settings |= LinkSettings(drop_down=down, drop_up=up)
    tap.unlink(missing_ok=True)
    with open_link(**settings) as link:
        with serve_transfers(link, multipath=case.multipath, congestion=congestion):
            fetched = fetch(link, size, multipath=case.multipath)
        report = link.close()
    run = _run(read_tap(tap), fetched.port, size, report)
    tap.unlink()
    run.program_ms = fetched.total_ms
    run.congestion = fetched.congestion
    run.multipath = fetched.multipath
    run.waited_ms = fetched.waited_ms
    return run


def _run(packets: Sequence[TapPacket], port: int, size: int, report: LinkReport) -> Run:
    """What the tap tells of the connection from a port of the client, and of its subflows."""
    run = Run(
        size=size,
        wire_ms=0.0,
        thinking_ms=0.0,
        program_ms=0.0,
        waited_ms=0.0,
        congestion="",
        retransmissions=0,
        multipath=False,
        sent=[],
        lost=[],
        path_bytes=[0, 0],
        on_time=report.verdict.ok,
        reasons=report.verdict.reasons,
    )
    seen = _connection(packets, port)
    # All data come after what the programs took.
    run.thinking_ms = _thinking_ms(seen)
    origin = seen[0][0].ns + round(1e6 * run.thinking_ms)
    first = {_client(p, s): s.seq + 1 for p, s in seen if s.syn and _is_down(p, s)}
    sent: set[tuple[tuple[str, int], int]] = set()
    mappings: dict[tuple[str, int], int] = {}
    """What is to be added to a place in a subflow for the place in the response."""
    base: int | None = None
    came = bytearray(size)
    for packet, segment in seen:
        if segment.syn or not segment.size or not _is_down(packet, segment):
            continue
        client = _client(packet, segment)
        place = (segment.seq - first[client]) % 2**32
        at = (packet.ns - origin) / 1e6
        if segment.mapping is not None:
            in_subflow, number = segment.mapping
            base = number if base is None else base
            # Data of a subflow are counted from 1 in a mapping.
            mappings[client] = number - base - (in_subflow - 1)
        offset = (place + mappings.get(client, 0)) % 2**32
        if offset >= size:
            # What the server tells of its socket.
            continue
        if packet.entered:
            run.retransmissions += (client, place) in sent
            sent.add((client, place))
            run.sent.append((round(at, 4), offset))
            if packet.fate != "admitted":
                run.lost.append((round(at, 4), offset))
        elif fresh := came[offset : offset + segment.size].count(0):
            end = min(size, offset + segment.size)
            came[offset:end] = b"\1" * (end - offset)
            run.path_bytes[packet.path - 1] += fresh
            # The last of them has completed the response.
            run.wire_ms = at
    if not run.on_time and _latest_ms(report) <= MAX_LATE * run.wire_ms:
        run.on_time = True
    if sum(run.path_bytes) != size:
        run.on_time = False
        run.reasons += (f"the capture has {sum(run.path_bytes)} bytes of {size}",)
    return run


def _latest_ms(report: LinkReport) -> float:
    """How late a packet was at most; without end if a device dropped some."""
    ways = [report.down, report.up]
    if report.path2 is not None:
        ways += [report.path2.down, report.path2.up]
    if any(way.device_drops for way in ways):
        return inf
    return max(report.stalls.max_ms, *(way.lateness.max_ms for way in ways))


Seen = tuple[TapPacket, Segment]


def _connection(packets: Iterable[TapPacket], port: int) -> list[Seen]:
    """A connection's packets from its SYN to the next connection's, subflows and all."""
    seen: list[Seen] = []
    for packet in packets:
        segment = packet.segment
        if segment is None:
            continue
        own = _client(packet, segment)[1] == port
        opening = segment.syn and packet.path == 1 and not _is_down(packet, segment)
        if seen and opening and not own and packet.entered:
            break
        if seen or (own and opening and packet.entered):
            seen.append((packet, segment))
    return seen


def _is_down(packet: TapPacket, segment: Segment) -> bool:
    return packet.entered == (packet.end == "server")


def _client(packet: TapPacket, segment: Segment) -> tuple[str, int]:
    return segment.destination if _is_down(packet, segment) else segment.source


def _thinking_ms(seen: Sequence[Seen]) -> float:
    """What the client took from the handshake to its request, and the server to its response."""
    handshake = next(p.ns for p, s in seen if s.syn and _is_down(p, s) and not p.entered)
    up = [p for p, s in seen if s.size and not _is_down(p, s)]
    asked = next(p.ns for p in up if p.entered)
    known = next(p.ns for p in up if not p.entered)
    told = next(p.ns for p, s in seen if s.size and _is_down(p, s) and p.entered)
    return (asked - handshake + told - known) / 1e6


def _simulated(case: Case, congestion: str, size: int) -> Simulated:
    """The prediction of a transfer, with the same drops."""
    drops = case.drops(size)
    values: dict[str, object] = dict(case.settings.get("set") or {}) | EXCHANGE
    for way, listed in zip(("down", "up"), drops, strict=True):
        if listed:
            values[f"network.drop_{way}"] = ",".join(listed)
    parameters: dict[str, Any] = {"profile": "linux"} | dict(case.settings)
    parameters["set"] = values
    parameters["congestion"] = {"reno": "newreno"}.get(congestion, congestion)
    [outcome] = simulate(_page(size), trace=True, **parameters)
    trace = outcome.trace
    assert trace is not None
    result = Simulated(
        size=size,
        wire_ms=outcome.resources[0].end_ms,
        retransmissions=sum(c.retransmissions for c in outcome.connections),
        sent=[],
        lost=[],
        path_bytes=[0, 0],
        problem=outcome.status.reason or "",
    )
    for c in outcome.connections:
        subflows = c.subflows or ()
        for subflow in subflows:
            result.path_bytes[subflow.path - 1] += subflow.bytes_down
        if not subflows:
            result.path_bytes[0] += c.bytes_down
    data = [p for p in trace.packets if not p.up and p.len]
    origin = min((p.seq for p in data), default=0)
    for packet in data:
        if packet.event == "sent":
            result.sent.append((packet.t_ms, packet.seq - origin))
        elif packet.event == "dropped":
            result.lost.append((packet.t_ms, packet.seq - origin))
    return result


def _page(size: int) -> Page:
    """A page that is one document of so many bytes."""
    url = "http://transfer.example/"
    events = [
        {
            "id": name,
            "type": "evaluation",
            "frame": 0,
            "kind": "event",
            "event_name": event,
            "duration_ms": 0,
            "children": children,
        }
        for name, event, children in (
            ("dcl", "DOMContentLoaded", ["load"]),
            ("load", "load", []),
        )
    ]
    root = {
        "id": "root",
        "type": "resource",
        "url": url,
        "mime_type": "text/html",
        "size_bytes": size,
        "children": ["dcl"],
    }
    graph = {
        "format": "loadpath-page-graph",
        "version": 1,
        "name": f"transfer-{size}",
        "url": url,
        "root": "root",
        "load_event": "load",
        "dom_content_loaded_event": "dcl",
        "frames": [{"id": 0, "url": url}],
        "activities": [root, *events],
    }
    return Page.from_json(json.dumps(graph).encode(), "transfers.py")


def kernel() -> str:
    """Version of the running kernel."""
    return subprocess.run(
        ["uname", "-r"], capture_output=True, text=True, check=True
    ).stdout.strip()


def middle(runs: Iterable[Run]) -> Run | None:
    """The run whose time is the median of those on time."""
    good = sorted((run for run in runs if run.on_time), key=lambda run: run.wire_ms)
    return good[(len(good) - 1) // 2] if good else None
