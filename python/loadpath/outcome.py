"""What a load gives back: the types of the outcome schema (`crates/sim/src/outcome.rs`).

Times are milliseconds since the start of the load, sizes bytes. `label` says which world a number
comes from: observed, emulated or simulated.
"""

from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "CompletionRecord",
    "Connection",
    "CriticalPath",
    "CriticalPhases",
    "CriticalStep",
    "MainThreadRecord",
    "Outcome",
    "PacketRecord",
    "Phases",
    "Queue",
    "QueueRecord",
    "Resource",
    "Status",
    "Subflow",
    "Summary",
    "Totals",
    "Trace",
    "WindowRecord",
]

Label: TypeAlias = Literal["observed", "emulated", "simulated"]


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a load ended; `reason` is set if it failed."""

    result: Literal["complete", "failed"]
    reason: str | None = None


class Phases(msgspec.Struct, frozen=True):
    """Where a resource's time went, in order; the sum is `end_ms - start_ms`."""

    connection_setup_ms: float
    client_queue_ms: float
    request_flight_ms: float
    server_queue_ms: float
    server_processing_ms: float
    response_wait_ms: float
    first_byte_flight_ms: float
    transfer_ms: float


class CriticalPhases(Phases, frozen=True):
    """The page load time by what was waited for: responses by their phases, and computations.

    `timer_wait_ms` are waits for timers to run out, `main_thread_wait_ms` waits for the main thread
    while it did something else; the rest is main-thread work by kind.
    """

    timer_wait_ms: float
    main_thread_wait_ms: float
    parse_ms: float
    script_ms: float
    style_ms: float
    timer_ms: float
    event_ms: float
    other_ms: float


class CriticalStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """An activity on the critical path; its waits begin when the step before it ends.

    From `start_ms` to `end_ms` it had the main thread, or its response was awaited, of which
    `bytes` of the body and `phases` then tell.
    """

    id: str
    timer_wait_ms: float
    main_thread_wait_ms: float
    start_ms: float
    end_ms: float
    bytes: int | None = None
    phases: Phases | None = None


class CriticalPath(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the load event waited for: always the last of what a step waited for is the step before.

    `bytes` counts bodies that were awaited; the sum of `phases` is the page load time. Summaries
    have no `steps`.
    """

    bytes: int
    phases: CriticalPhases
    steps: tuple[CriticalStep, ...] = ()


class Resource(msgspec.Struct, frozen=True):
    """One resource that went over the network."""

    id: str
    url: str
    host: str
    mime_type: str
    connection: int | None
    size_bytes: int
    preloaded: bool
    priority: int
    start_ms: float
    end_ms: float | None
    phases: Phases | None


class Subflow(msgspec.Struct, frozen=True):
    """One subflow of a connection over several.

    `server_ready_ms` is when the server could first send on it.
    """

    path: int
    server_ready_ms: float | None
    bytes_down: int
    data_segments: int
    retransmissions: int
    timeouts: int
    tail_losses: int
    srtt_ms: float | None
    cwnd_bytes: int


class Connection(msgspec.Struct, frozen=True, omit_defaults=True):
    """One connection; over a single path it has no `subflows`."""

    host: str
    opened_ms: float
    established_ms: float | None
    requests: int
    bytes_up: int
    bytes_down: int
    data_segments: int
    retransmissions: int
    timeouts: int
    tail_losses: int
    recoveries: int
    srtt_ms: float | None
    cwnd_bytes: int
    subflows: tuple[Subflow, ...] = ()


class Queue(msgspec.Struct, frozen=True):
    """One queue that can drop."""

    name: str
    offered_packets: int
    offered_bytes: int
    dropped_packets: int
    lost_packets: int
    max_waiting_packets: int
    utilisation: float


class Totals(msgspec.Struct, frozen=True):
    """Sums over a load."""

    bytes: int
    data_packets: int
    packets: int
    drops: int
    retransmissions: int
    timeouts: int
    tail_losses: int
    tail_probes: int
    events: int


class PacketRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One packet at one point of its way; what follows `offset` is absent on a single path."""

    t_ms: float
    event: Literal["sent", "delivered", "dropped"]
    connection: int
    up: bool
    flags: str
    seq: int
    len: int
    ack: int
    window: int
    sack: tuple[tuple[int, int], ...] = ()
    wire_bytes: int
    retransmission: bool
    resource: int | None
    offset: int
    subflow: int | None = None
    path: int | None = None
    data_seq: int | None = None
    data_ack: int | None = None


class WindowRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A server's congestion state after a change, for each of several subflows."""

    t_ms: float
    connection: int
    cwnd_bytes: int
    ssthresh_bytes: int | None
    in_flight_bytes: int
    state: str
    subflow: int | None = None


class CompletionRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """When the server expected the rest of a response to arrive, as each new segment of it left."""

    t_ms: float
    connection: int
    resource: int | None
    remaining_bytes: int
    estimate_ms: float
    state: str
    subflow: int | None = None


class QueueRecord(msgspec.Struct, frozen=True):
    """A queue's occupancy when a packet arrived."""

    t_ms: float
    queue: int
    packets: int
    bytes: int


class MainThreadRecord(msgspec.Struct, frozen=True):
    """A stretch of main-thread work."""

    start_ms: float
    end_ms: float
    id: str
    kind: str
    frame: int
    detail: str


class Trace(msgspec.Struct, frozen=True, omit_defaults=True):
    """A load packet by packet."""

    packets: tuple[PacketRecord, ...]
    windows: tuple[WindowRecord, ...]
    queues: tuple[QueueRecord, ...]
    main_thread: tuple[MainThreadRecord, ...]
    completions: tuple[CompletionRecord, ...] = ()


class Summary(msgspec.Struct, frozen=True, omit_defaults=True):
    """The figures of one load, as large batches return them."""

    status: Status
    plt_ms: float | None
    dcl_ms: float | None
    connections: int
    requests: int
    totals: Totals
    critical_path: CriticalPath | None = None


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """One page load.

    `plt_ms` is when the load event handler started, `dcl_ms` when the DOMContentLoaded handler of
    the main frame did. Equal trace hashes mean equal loads, packet by packet. `critical_path` is
    absent if the load event did not fire, or the world does not tell.
    """

    label: Label
    page: str
    seed: int
    run: int
    status: Status
    plt_ms: float | None
    dcl_ms: float | None
    resources: tuple[Resource, ...]
    connections: tuple[Connection, ...]
    queues: tuple[Queue, ...]
    totals: Totals
    trace_hash: str
    critical_path: CriticalPath | None = None
    trace: Trace | None = None

    @classmethod
    def from_json(cls, data: bytes) -> "Outcome":
        """Read from JSON; `ValueError` if it is not of the schema."""
        return _DECODER.decode(data)

    def to_json(self) -> bytes:
        """JSON in the schema of the engine."""
        return msgspec.json.encode(self)

    def summary(self) -> Summary:
        """The figures."""
        path = self.critical_path
        return Summary(
            status=self.status,
            plt_ms=self.plt_ms,
            dcl_ms=self.dcl_ms,
            connections=len(self.connections),
            requests=len(self.resources),
            totals=self.totals,
            critical_path=msgspec.structs.replace(path, steps=()) if path else None,
        )


_DECODER = msgspec.json.Decoder(Outcome)
"""Made when the module is imported: threads that made it at once have crashed msgspec."""
