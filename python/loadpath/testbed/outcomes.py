"""A real load in the simulator's schema, labelled "emulated".

What the browser and the link tell fills the schema; what nobody at the ends can tell is said here:

* Phases. Setup, waiting at the client and transfer are measured. Between the end of a request's
  sending and the first byte of its response lie both flights, the server's processing and the wait
  for a turn on the connection: the flights count with the link's delays, processing with what
  the server was told to take (`delays_ms`), and the rest is `response_wait_ms`.
* Connections. The browser numbers them; the server's kernel counts their segments. Both lists are
  brought together by server address and number of bytes. Where they do not fit (QUIC, connections
  closed before the end), counters of segments are 0 and `srtt_ms` is absent.
* Over two paths, a connection has the counters of its largest subflow; sockets of loads are all
  subflows.
* Timeouts, tail losses, probes, recoveries and events of the simulator are 0: nobody counts them.
* Utilisation counts all that the link carried, after the load event, too.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from loadpath._core import Scenario
from loadpath.outcome import Connection, Outcome, Phases, Queue, Resource, Status, Totals
from loadpath.parameters import scenario_values
from loadpath.testbed.load import Load, Request
from loadpath.testbed.report import DirectionReport, LinkReport
from loadpath.testbed.sockets import TcpSocket

__all__ = ["outcome_of"]

_PRIORITIES = {"VeryHigh": 0, "High": 1, "Medium": 2, "Low": 3, "VeryLow": 4}
"""Network.ResourcePriority; lower is more urgent, as in the schema."""


def outcome_of(
    load: Load,
    page: str,
    scenario: Scenario,
    run: int = 0,
    delays_ms: Mapping[str, float] | None = None,
) -> Outcome:
    """The outcome of a load.

    Parameters
    ----------
    load
        The load.
    page
        Name of the page.
    scenario
        What was emulated.
    run
        Number of the repetition.
    delays_ms
        What the server was told to take for each URL, ms.
    """
    values = scenario_values(scenario)
    one_way_ms = values["network"]["rtt_ms"] / 2
    requests = [each for each in load.requests if not each.cached]
    numbers = list(dict.fromkeys(each.connection for each in requests if each.connection))
    places = {number: place for place, number in enumerate(numbers)}
    sockets = _matched(requests, load.sockets)
    resources = tuple(
        Resource(
            id=f"request-{index}",
            url=each.url,
            host=urlsplit(each.url).netloc,
            mime_type=each.mime_type,
            connection=places.get(each.connection),
            size_bytes=each.body_bytes,
            preloaded=False,
            priority=_PRIORITIES.get(each.priority, len(_PRIORITIES)),
            start_ms=each.start_ms,
            end_ms=each.end_ms,
            phases=_phases(each, one_way_ms, (delays_ms or {}).get(each.url, 0.0)),
        )
        for index, each in enumerate(requests)
    )
    connections = tuple(
        _connection([each for each in requests if each.connection == number], sockets.get(number))
        for number in numbers
    )
    status = (
        Status("complete")
        if load.status == "complete" and load.load_ms is not None
        else Status("failed", load.reason or "no load event")
    )
    totals = _totals(requests, load)
    digest = hashlib.blake2b(msgspec.json.encode((resources, totals)), digest_size=16)
    return Outcome(
        label="emulated",
        page=page,
        seed=values["random"]["seed"],
        run=run,
        status=status,
        plt_ms=load.load_ms,
        dcl_ms=load.dom_content_loaded_ms,
        resources=resources,
        connections=connections,
        queues=_queues(load.link, load.load_ms) if load.link is not None else (),
        totals=totals,
        trace_hash=digest.hexdigest(),
    )


def _phases(request: Request, one_way_ms: float, delay_ms: float) -> Phases | None:
    """Phases that add up to the time from start to end; none of what did not complete."""
    sent, answered, end = request.send_end_ms, request.response_start_ms, request.end_ms
    if end is None or sent is None or answered is None:
        return None
    setup_start = request.dns_start_ms
    if setup_start is None:
        setup_start = request.connect_start_ms
    setup = 0.0
    if setup_start is not None and request.connect_end_ms is not None and not request.reused:
        setup = max(0.0, request.connect_end_ms - setup_start)
    # A response may begin before its request has ended.
    left = max(0.0, answered - sent)
    parts = []
    for part in (one_way_ms, one_way_ms, delay_ms):
        parts.append(min(part, left))
        left -= parts[-1]
    request_flight, byte_flight, processing = parts
    answered = max(answered, sent)
    return Phases(
        connection_setup_ms=setup,
        client_queue_ms=sent - request.start_ms - setup,
        request_flight_ms=request_flight,
        server_queue_ms=0.0,
        server_processing_ms=processing,
        response_wait_ms=left,
        first_byte_flight_ms=byte_flight,
        transfer_ms=end - answered,
    )


def _connection(requests: Sequence[Request], socket: TcpSocket | None) -> Connection:
    opener = next((each for each in requests if not each.reused), requests[0])
    opened = opener.dns_start_ms
    if opened is None:
        opened = opener.connect_start_ms
    return Connection(
        host=urlsplit(opener.url).netloc,
        opened_ms=opener.start_ms if opened is None else opened,
        established_ms=opener.connect_end_ms,
        requests=len(requests),
        bytes_up=socket.bytes_received if socket else 0,
        bytes_down=sum(each.transferred_bytes for each in requests),
        data_segments=socket.segments_out if socket else 0,
        retransmissions=socket.retransmissions if socket else 0,
        timeouts=0,
        tail_losses=0,
        recoveries=0,
        srtt_ms=socket.rtt_ms if socket else None,
        cwnd_bytes=socket.cwnd_segments * socket.mss if socket else 0,
    )


def _matched(requests: Sequence[Request], sockets: Sequence[TcpSocket]) -> dict[int, TcpSocket]:
    """The server's view of each connection of the browser, where it is beyond doubt which."""
    received: dict[str, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for each in requests:
        if each.connection:
            received[each.address][each.connection] += each.transferred_bytes
    at_server = defaultdict(list)
    for socket in sockets:
        # Connections that the browser opened without a request have carried handshakes only.
        at_server[":".join(map(str, socket.local))].append(socket)
    matched: dict[int, TcpSocket] = {}
    for address, connections in received.items():
        candidates = sorted(at_server[address], key=lambda socket: -socket.bytes_sent)
        numbers = sorted(connections, key=lambda number: -connections[number])
        if len(candidates) >= len(numbers):
            matched |= dict(zip(numbers, candidates, strict=False))
    return matched


def _totals(requests: Sequence[Request], load: Load) -> Totals:
    link = load.link
    return Totals(
        bytes=sum(each.body_bytes for each in requests),
        data_packets=link.down.delivered_packets if link else 0,
        packets=link.down.offered_packets + link.up.offered_packets if link else 0,
        drops=link.down.queue_drops + link.up.queue_drops if link else 0,
        retransmissions=sum(socket.retransmissions for socket in load.sockets),
        timeouts=0,
        tail_losses=0,
        tail_probes=0,
        events=0,
    )


def _queues(link: LinkReport, load_ms: float | None) -> tuple[Queue, ...]:
    def queue(name: str, way: DirectionReport) -> Queue:
        return Queue(
            name=name,
            offered_packets=way.offered_packets,
            offered_bytes=way.offered_bytes,
            dropped_packets=way.queue_drops,
            lost_packets=way.lost_packets,
            max_waiting_packets=way.max_waiting_packets,
            utilisation=min(1.0, way.busy_ms / load_ms) if load_ms else 0.0,
        )

    return queue("bottleneck.down", link.down), queue("bottleneck.up", link.up)
