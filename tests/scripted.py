"""A load written by hand: what figures and exporters are tested with.

Two connections. On the first a document of four segments; the second of them is dropped, reported
by SACK and sent again. On the second a small image. One-way delay 20 ms.
"""

from loadpath.outcome import (
    Connection,
    MainThreadRecord,
    Outcome,
    PacketRecord,
    Phases,
    Queue,
    QueueRecord,
    Resource,
    Status,
    Totals,
    Trace,
    WindowRecord,
)

ONE_WAY_MS = 20.0
MSS = 1448

GRAPH = {
    "format": "loadpath-page-graph",
    "version": 1,
    "name": "scripted",
    "url": "http://www.example/?q=1",
    "root": "download_0",
    "load_event": "comp_1",
    "dom_content_loaded_event": "comp_0",
    "frames": [{"id": 0, "url": "http://www.example/?q=1"}],
    "activities": [
        {
            "id": "download_0",
            "type": "resource",
            "url": "http://www.example/?q=1",
            "mime_type": "text/html",
            "size_bytes": 4 * MSS,
            "browser_priority": "VeryHigh",
            "children": ["dchunk_0_0"],
        },
        {
            "id": "dchunk_0_0",
            "type": "download_chunk",
            "resource": "download_0",
            "offset_bytes": 0,
            "size_bytes": 4 * MSS,
            "children": ["pchunk_0_0"],
        },
        {
            "id": "pchunk_0_0",
            "type": "parse_chunk",
            "frame": 0,
            "duration_ms": 1.0,
            "position": [3, 0, 9, 2],
            "children": ["download_1", "comp_0"],
        },
        {
            "id": "download_1",
            "type": "resource",
            "url": "https://img.example/a.png",
            "method": "GET",
            "mime_type": "image/png",
            "size_bytes": 500,
            "children": ["comp_1"],
        },
        {
            "id": "comp_0",
            "type": "evaluation",
            "frame": 0,
            "kind": "event",
            "event_name": "DOMContentLoaded",
            "duration_ms": 0.5,
            "children": ["comp_1"],
        },
        {
            "id": "comp_1",
            "type": "evaluation",
            "frame": 0,
            "kind": "event",
            "event_name": "load",
            "duration_ms": 0.5,
        },
    ],
}


class _Wire:
    """Writes a packet's two records."""

    def __init__(self) -> None:
        self.records: list[PacketRecord] = []

    def __call__(
        self,
        t_ms: float,
        connection: int,
        direction: str,
        flags: str,
        seq: int,
        length: int,
        ack: int,
        *,
        sack: tuple[tuple[int, int], ...] = (),
        dropped: bool = False,
        again: bool = False,
        resource: int | None = None,
        offset: int = 0,
    ) -> None:
        for t, event in (
            (t_ms, "sent"),
            (t_ms + ONE_WAY_MS, "dropped" if dropped else "delivered"),
        ):
            self.records.append(
                PacketRecord(
                    t_ms=t,
                    event=event,  # type: ignore[arg-type]
                    connection=connection,
                    up=direction == "up",
                    flags=flags,
                    seq=seq,
                    len=length,
                    ack=ack,
                    window=65_408,
                    sack=sack,
                    wire_bytes=length + 52,
                    retransmission=again,
                    resource=resource,
                    offset=offset,
                )
            )


def scripted_outcome() -> Outcome:
    """The load."""
    wire = _Wire()
    down = [1 + k * MSS for k in range(5)]
    wire(0, 0, "up", "S", 0, 0, 0)
    wire(20, 0, "down", "SA", 0, 0, 1)
    wire(40, 0, "up", "A", 1, 0, 1)
    wire(40, 0, "up", "PA", 1, 400, 1, resource=0)
    for k, flags in enumerate(["A", "A", "A", "PA"]):
        wire(
            70 + k,
            0,
            "down",
            flags,
            down[k],
            MSS,
            401,
            dropped=k == 1,
            resource=0,
            offset=k * MSS,
        )
    wire(90, 0, "up", "A", 401, 0, down[1])
    wire(92, 0, "up", "A", 401, 0, down[1], sack=((down[2], down[3]),))
    wire(93, 0, "up", "A", 401, 0, down[1], sack=((down[2], down[4]),))
    wire(113, 0, "down", "A", down[1], MSS, 401, again=True, resource=0, offset=MSS)
    wire(133, 0, "up", "A", 401, 0, down[4])
    wire(92, 1, "up", "S", 0, 0, 0)
    wire(112, 1, "down", "SA", 0, 0, 1)
    wire(132, 1, "up", "A", 1, 0, 1)
    wire(132, 1, "up", "PA", 1, 400, 1, resource=1)
    wire(155, 1, "down", "PA", 1, 500, 401, resource=1)
    wire(175, 1, "up", "A", 401, 0, 501)
    packets = sorted(wire.records, key=lambda record: record.t_ms)
    connection = {"requests": 1, "bytes_up": 400, "timeouts": 0, "tail_losses": 0, "srtt_ms": 40.0}
    return Outcome(
        label="simulated",
        page="scripted",
        seed=1,
        run=0,
        status=Status(result="complete"),
        plt_ms=176.0,
        dcl_ms=135.0,
        resources=(
            Resource(
                id="download_0",
                url="http://www.example/?q=1",
                host="www.example",
                mime_type="text/html",
                connection=0,
                size_bytes=4 * MSS,
                preloaded=False,
                priority=1,
                start_ms=0.0,
                end_ms=133.0,
                phases=Phases(40.0, 0.0, 20.0, 0.0, 10.0, 0.0, 20.0, 43.0),
            ),
            Resource(
                id="download_1",
                url="https://img.example/a.png",
                host="img.example",
                mime_type="image/png",
                connection=1,
                size_bytes=500,
                preloaded=False,
                priority=2,
                start_ms=92.0,
                end_ms=175.0,
                phases=Phases(40.0, 0.0, 20.0, 1.0, 1.0, 1.0, 20.0, 0.0),
            ),
        ),
        connections=(
            Connection(
                host="www.example",
                opened_ms=0.0,
                established_ms=40.0,
                bytes_down=4 * MSS,
                data_segments=5,
                retransmissions=1,
                recoveries=1,
                cwnd_bytes=3 * MSS,
                **connection,  # type: ignore[arg-type]
            ),
            Connection(
                host="img.example",
                opened_ms=92.0,
                established_ms=132.0,
                bytes_down=500,
                data_segments=1,
                retransmissions=0,
                recoveries=0,
                cwnd_bytes=4 * MSS,
                **connection,  # type: ignore[arg-type]
            ),
        ),
        queues=(
            Queue("bottleneck.down", 8, 8000, 1, 0, 3, 0.1),
            Queue("bottleneck.up", 10, 1300, 0, 0, 1, 0.01),
        ),
        totals=Totals(4 * MSS + 500, 5, 19, 1, 1, 0, 0, 0, 100),
        trace_hash="scripted",
        trace=Trace(
            packets=tuple(packets),
            windows=(
                WindowRecord(60.0, 0, 4 * MSS, None, 0, "slow_start"),
                WindowRecord(113.0, 0, 2 * MSS, 2 * MSS, 3 * MSS, "recovery"),
                WindowRecord(153.0, 0, 3 * MSS, 2 * MSS, 0, "avoidance"),
                WindowRecord(152.0, 1, 4 * MSS, None, 0, "slow_start"),
            ),
            queues=(QueueRecord(70.0, 0, 1, 1500),),
            main_thread=(
                MainThreadRecord(90.0, 91.0, "pchunk_0_0", "parse", 0, "img"),
                MainThreadRecord(135.0, 135.5, "comp_0", "event", 0, "DOMContentLoaded"),
                MainThreadRecord(176.0, 176.5, "comp_1", "event", 0, "load"),
            ),
        ),
    )
