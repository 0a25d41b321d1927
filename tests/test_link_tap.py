"""What a link does, proven by its tap: exact losses, queues, rates over time, two paths.

All checks are of the link's own stamps, which are those of an ideal link, however late the machine.
"""

import subprocess
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest

from conftest import Loadpath
from loadpath.api import simulate
from loadpath.errors import LinkError, ScenarioError
from loadpath.testbed import End, LinkReport, LinkSettings, open_link
from loadpath.testbed.capture import TapPacket, read_tap
from loadpath.testbed.probe import flood
from loadpath.testbed.transfer import fetch, serve_transfers

pytestmark = pytest.mark.usefixtures("links")

UNLIMITED = {"network.queue": "unlimited", "network.up_queue": "unlimited"}


def entering(packets: Sequence[TapPacket], end: End, path: int = 1) -> list[TapPacket]:
    return [p for p in packets if p.entered and p.end == end and p.path == path]


def leaving(packets: Sequence[TapPacket], end: End, path: int = 1) -> list[TapPacket]:
    return [p for p in packets if not p.entered and p.end == end and p.path == path]


@dataclass
class Model:
    """A FIFO of constant rate by whole numbers, written anew: time is in units of 1/rate ns."""

    rate_bps: int
    delay_ns: int
    limit_bytes: float = float("inf")
    limit_packets: float = float("inf")
    busy: int = 0
    waiting: deque[tuple[int, int]] = field(default_factory=deque)

    def offer(self, at_ns: int, size: int) -> int | None:
        """When the packet is delivered; None if the queue is full."""
        now = at_ns * self.rate_bps
        while self.waiting and self.waiting[0][0] <= now:
            self.waiting.popleft()
        held = sum(size for _, size in self.waiting)
        if len(self.waiting) >= self.limit_packets or held + size > self.limit_bytes:
            return None
        # An idle link starts at once; a busy one carries on in fractions of a ns, and what it tells
        # is rounded down.
        start = now if at_ns > self.busy // self.rate_bps else self.busy
        self.busy = start + size * 8_000_000_000
        self.waiting.append((start, size))
        return self.busy // self.rate_bps + self.delay_ns


def test_the_tap_proves_queue_drops_and_departures(tmp_path: Path) -> None:
    tap = tmp_path / "tap.pcapng"
    settings = LinkSettings(
        rate="1.3mbit",
        rtt_ms=8,
        set={"network.queue_unit": "bytes", "network.queue_limit": 20_000},
        tap=tap,
    )
    with open_link(**settings) as link:
        flood(link, "client", rate_bps=4e6, packets=150)
    report = link.report
    assert report is not None
    packets = read_tap(tap)
    model = Model(1_300_000, 4_000_000, limit_bytes=20_000)
    expected = [model.offer(p.ns, len(p.data)) for p in entering(packets, "server")]
    fates = [p.fate for p in entering(packets, "server")]
    assert len(fates) == 150
    assert fates == ["dropped" if due is None else "admitted" for due in expected]
    assert 20 < fates.count("dropped") == report.down.queue_drops
    assert [p.ns for p in leaving(packets, "client")] == [due for due in expected if due]
    assert report.tap is not None
    assert (report.tap.packets, report.tap.missed, report.tap.error) == (len(packets), 0, None)
    assert not tap.with_name("tap.pcapng.part").exists()


def test_packets_of_a_flow_are_dropped_by_number(tmp_path: Path) -> None:
    tap = tmp_path / "tap"
    drops = ["0:3", "1:0", "1:7"]
    settings = LinkSettings(rate="20mbit", rtt_ms=4, loss=0.9, drop_down=drops, drop_up=["1:0"])
    with open_link(**(settings | LinkSettings(tap=tap))) as link, serve_transfers(link):
        first, second = fetch(link, 20_000), fetch(link, 20_000)
    packets = read_tap(tap)
    for transfer, down, up in ((first, [3], []), (second, [0, 7], [0])):
        for end, places in (("server", down), ("client", up)):
            with_data = [
                p
                for p in packets
                if p.entered
                and p.end == end
                and (s := p.segment) is not None
                and s.size
                and transfer.port in (s.source[1], s.destination[1])
            ]
            assert [i for i, p in enumerate(with_data) if p.fate == "lost"] == places
    report = link.report
    assert report is not None
    assert (report.down.lost_packets, report.up.lost_packets) == (3, 1)


def test_a_trace_delivers_at_its_opportunities(tmp_path: Path) -> None:
    times = [3, 3, 11, 20, 20, 20, 31]
    trace, tap = tmp_path / "trace", tmp_path / "tap"
    trace.write_text("".join(f"{ms}\n" for ms in times))
    settings = LinkSettings(trace_down=trace, rtt_ms=10, set=UNLIMITED, tap=tap)
    with open_link(**settings) as link:
        came = flood(link, "client", rate_bps=20e6, packets=40)
    assert came.numbers == list(range(40))
    packets = read_tap(tap)
    # An opportunity a packet: each takes the next that is later than its arrival.
    opportunities = [1_000_000 * (31 * r + ms) for r in range(10_000) for ms in times]
    expected, place = [], 0
    for packet in entering(packets, "server"):
        while opportunities[place] <= packet.ns:
            place += 1
        expected.append(opportunities[place] + 5_000_000)
        place += 1
    assert [p.ns for p in leaving(packets, "client")] == expected


def test_a_rate_changes_when_it_should(tmp_path: Path) -> None:
    tap = tmp_path / "tap"
    schedule = "0:12mbit,40:1.2mbit,80:0,120:repeat"
    keys = UNLIMITED | {"network.rate_schedule": schedule}
    with open_link(rtt_ms=0, set=keys, tap=tap) as link:
        assert "3 rates over time down" in link.describe()
        flood(link, "client", rate_bps=20e6, packets=100)
    packets = read_tap(tap)
    expected, busy = [], Fraction(0)
    for packet in entering(packets, "server"):
        start = busy if packet.ns <= int(busy) else Fraction(packet.ns)
        busy = served(start, len(packet.data))
        expected.append(int(busy))
    assert [p.ns for p in leaving(packets, "client")] == expected


def served(now: Fraction, size: int) -> Fraction:
    """When a packet is served by the rates of the test above."""
    work = Fraction(8 * size)
    while True:
        place = int(now // 40_000_000)
        bits_per_ns = (Fraction(12, 1000), Fraction(12, 10_000), Fraction(0))[place % 3]
        end = Fraction((place + 1) * 40_000_000)
        if work <= (end - now) * bits_per_ns:
            return now + work / bits_per_ns
        work -= (end - now) * bits_per_ns
        now = end


@pytest.mark.parametrize("first_path", [1, 2])
def test_multipath_tcp_uses_both_paths(tmp_path: Path, first_path: int) -> None:
    tap = tmp_path / "tap"
    settings = LinkSettings(
        rate="8mbit",
        rtt_ms=10,
        kernel_congestion="reno",
        set={
            "multipath.paths": "independent",
            "multipath.first_path": first_path,
            "path2.rate_bps": "4mbit",
            "path2.rtt_ms": 20,
            "path2.drop_down": "0:4",
        },
        tap=tap,
    )
    if not Path("/proc/sys/net/mptcp").is_dir():
        with pytest.raises(LinkError, match="two paths need a kernel"), open_link(**settings):
            pass
        return
    with open_link(**settings) as link:
        with serve_transfers(link, multipath=True):
            # The first of them would be on one path only if the second came too late.
            fetched = fetch(link, 1_500_000, multipath=True)
        report: LinkReport = link.close()
    assert (fetched.bytes, fetched.multipath, fetched.congestion) == (1_500_000, True, "reno")
    assert report.path2 is not None
    packets = read_tap(tap)
    syns = [
        p.path for p in packets if p.entered and p.end == "client" and (s := p.segment) and s.syn
    ]
    assert syns[0] == first_path
    assert set(syns) == {1, 2}
    for path, way in ((1, report.down), (2, report.path2.down)):
        sizes = [s.size for p in leaving(packets, "client", path) if (s := p.segment)]
        assert sum(sizes) > 150_000
        assert way.delivered_packets == len(sizes)
    assert report.path2.down.lost_packets == 1
    addresses = {s.destination[0] for p in entering(packets, "server", 2) if (s := p.segment)}
    assert addresses == {link.client_addresses[1]}


def test_exact_drops_and_rates_over_time_are_the_simulation_s_too() -> None:
    page = "example:mobile-10-large"
    [plain] = simulate(page, profile="linux", trace=True)
    [lossy] = simulate(page, profile="linux", trace=True, set={"network.drop_down": "0:2,0:9"})
    assert lossy.trace is not None
    assert plain.plt_ms is not None
    assert lossy.plt_ms is not None
    assert lossy.plt_ms > plain.plt_ms
    assert sum(p.event == "dropped" for p in lossy.trace.packets) == 2
    data = [p for p in lossy.trace.packets if not p.up and p.len and p.connection == 0]
    reached = [p for p in data if p.event == "dropped"]
    sent = [p.seq for p in data if p.event == "sent"]
    assert [p.seq for p in reached] == [sent[2], sent[9]]
    [steps] = simulate(page, profile="linux", set={"network.rate_schedule": "0:10mbit,1s:10mbit"})
    assert steps.plt_ms == plain.plt_ms


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n2.5\n", "line 2: '2.5' is no whole number"),
        ("", "an empty trace"),
        ("5\n4\n", "descend"),
    ],
)
def test_a_wrong_trace_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    trace = tmp_path / "trace"
    trace.write_text(text)
    with pytest.raises(ScenarioError, match=message), open_link(trace_up=trace):
        pass


def test_a_tap_is_not_written_over(loadpath: Loadpath, tmp_path: Path) -> None:
    (tmp_path / "tap").write_text("mine")
    result: subprocess.CompletedProcess[str] = loadpath("link", "--tap", "tap", "--", "echo", "ran")
    assert (result.returncode, result.stdout) == (1, "")
    assert (tmp_path / "tap").read_text() == "mine"
    with pytest.raises(LinkError, match="not the capture of a link"):
        read_tap(tmp_path / "tap")
    assert loadpath("link", "--tap", "tap", "--force", "--", "echo", "ran").stdout == "ran\n"
    assert read_tap(tmp_path / "tap") == []
