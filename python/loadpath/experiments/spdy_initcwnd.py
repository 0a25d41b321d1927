"""The bed of draft-white-httpbis-spdy-analysis-00: SPDY/2 and larger initial windows against HTTPS.

Nine websites, eight channels and four protocol options are 288 conditions, each the median of 20
loads (section 5.3.2.3). A gain is the median load time of the base case (HTTPS, initial window 3)
over that of a case under the same channel (section 5.4.1). What the draft leaves open, and what
follows from it, is in `docs/validation/spdy-initcwnd.md`.
"""

import csv
import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from loadpath.analysis.figures import Figure, bars
from loadpath.experiments.grid import run_cells
from loadpath.experiments.preset import Preset, PresetOptions, Result, Table, Value
from loadpath.experiments.spdy_pages import PAGES, SERVERS, spdy_pages
from loadpath.parameters import override

__all__ = ["CASES", "CHANNELS", "PRESET", "Channel", "Gain", "conditions"]

DEFAULT_RUNS = 20
QUICK_RUNS = 5
CLOSE = 0.3
"""Within this a mean gain counts as that of the draft, which prints one digit."""


@dataclass(frozen=True)
class Channel:
    """A channel condition (section 5.3.2.2)."""

    down_mbit_s: int
    up_mbit_s: int
    rtt_ms: int
    loss_percent: int


CHANNELS = [
    Channel(down, up, rtt_ms, loss_percent)
    for loss_percent in (0, 1)
    for down, up in ((10, 1), (20, 2))
    for rtt_ms in (20, 100)
]

OPTIONS: Mapping[str, Mapping[str, object]] = {
    "base": {"http.version": "http/1.1", "transport.initial_window_segments": 3},
    "spdy": {"http.version": "spdy/2", "transport.initial_window_segments": 3},
    "initcwnd": {"http.version": "http/1.1", "transport.initial_window_segments": 10},
    "spdy+initcwnd": {"http.version": "spdy/2", "transport.initial_window_segments": 10},
}
"""The matrix of protocol options (Table 4): the base case and the three cases."""

CASES = {
    "spdy": "case 1: SPDY against HTTPS, both with an initial window of 3",
    "initcwnd": "case 2: HTTPS, initial window 10 against 3",
    "spdy+initcwnd": "case 3: SPDY with an initial window of 10 against HTTPS with 3",
}

LABORATORY: Mapping[str, object] = {
    # Dummynet (section 5.2.2): both links drop what does not fit into 50 packets. Nothing jitters,
    # and the servers' virtual network is no bottleneck.
    "network.queue": "drop-tail",
    "network.up_queue": "drop-tail",
    "network.queue_unit": "packets",
    "network.queue_limit": 50,
    "network.jitter_fraction": 0,
    "network.server_rate_factor": 100,
    # Servers: Ubuntu 11.04, Linux 2.6.38. tcp_slow_start adds a segment an ACK; a SYN waits for 3 s
    # (TCP_TIMEOUT_INIT); CUBIC has HyStart, whose trains are measured in ticks of 4 ms
    # (CONFIG_HZ=250).
    "transport.slow_start": "per-ack",
    "transport.slow_start_exit": "hystart",
    "transport.hystart_ack_delta_ms": 4,
    "transport.syn_timeout_ms": 3000,
    # Client: Windows 7. It begins with two segments, and acknowledges every second one or after 200
    # ms.
    "transport.client_initial_window_segments": 2,
    "transport.quick_ack_segments": 0,
    "transport.delayed_ack_ms": 200,
    # TLS of 2012, a full handshake for each connection (RFC 5246: two round trips), RSA key
    # exchange; a self-signed certificate with a key of 2048 bits has 0.9 kB (openssl req -x509).
    "http.tls": "1.2",
    "http.tls_client_hello_bytes": 200,
    "http.tls_server_hello_bytes": 120,
    "http.tls_certificate_bytes": 940,
    # HTTP/1.1's text by spdy_headers.measure; what SPDY/2 makes of it is the version's.
    "http.request_bytes": 355,
    "http.response_header_bytes": 281,
    "http.priorities": "spdy",
}
"""What the laboratory had, beyond the defaults of the `linux` profile."""


@dataclass(frozen=True)
class Gain:
    """A website under a channel in one case."""

    page: str
    servers: int
    channel: Channel
    case: str
    gain: float
    """Median load time of the base case over that of the case."""
    base_s: float
    median_s: float


def conditions() -> Iterator[tuple[str, int, Channel, str]]:
    """Page, servers, channel and option of all test conditions."""
    return itertools.product(PAGES, SERVERS, CHANNELS, OPTIONS)


def _run(options: PresetOptions) -> Result:
    runs = options.runs or (QUICK_RUNS if options.quick else DEFAULT_RUNS)
    gains = _gains(options, runs)
    tables = [table for case in CASES for table in _tables(case, gains)]
    return Result(
        title="SPDY/2 and initial windows: gain over HTTPS with an initial window of 3 (simulated)",
        columns=[
            "page",
            "servers",
            "down_mbit_s",
            "up_mbit_s",
            "rtt_ms",
            "loss_percent",
            "case",
            "gain",
            "base_median_s",
            "case_median_s",
        ],
        csv_columns=[
            "page",
            "servers",
            "down_mbit_s",
            "up_mbit_s",
            "rtt_ms",
            "loss_percent",
            "case",
            "gain",
        ],
        rows=[
            [g.page, g.servers, *_of(g.channel), g.case, g.gain, g.base_s, g.median_s]
            for g in gains
        ],
        notes=_notes(gains, runs),
        tables=tables,
        figures=[
            _figure("website", "page and servers", tables[::2], 2),
            _figure("channel", "loss in %, rate in Mbit/s, RTT in ms", tables[1::2], 3),
        ],
        settings=options.settings(
            {"profile": "linux", **{key: override(value) for key, value in LABORATORY.items()}},
            pages=len(PAGES) * len(SERVERS),
            runs=runs,
        ),
    )


def _gains(options: PresetOptions, runs: int) -> list[Gain]:
    cells = [
        {
            **LABORATORY,
            "network.rate_bps": channel.down_mbit_s * 1_000_000,
            "network.up_rate_bps": channel.up_mbit_s * 1_000_000,
            "network.rtt_ms": channel.rtt_ms,
            "network.loss_down_fraction": channel.loss_percent / 100,
            "network.loss_up_fraction": channel.loss_percent / 100,
            **option,
        }
        for channel in CHANNELS
        for option in OPTIONS.values()
    ]
    with spdy_pages() as pages:
        results = run_cells(pages, cells, options, runs=runs, profile="linux")
    medians: dict[tuple[str, int, Channel, str], float] = {}
    names = itertools.product(CHANNELS, OPTIONS)
    for (channel, option), loads in zip(names, results, strict=True):
        websites = itertools.product(PAGES, SERVERS)
        for (page, servers), times_ms in zip(websites, loads.plt_ms, strict=True):
            medians[page, servers, channel, option] = float(np.median(times_ms)) / 1000
    gains = []
    for case in CASES:
        for page, servers, channel in itertools.product(PAGES, SERVERS, CHANNELS):
            base = medians[page, servers, channel, "base"]
            median = medians[page, servers, channel, case]
            gains.append(Gain(page, servers, channel, case, base / median, base, median))
    return gains


def _tables(case: str, gains: Sequence[Gain]) -> list[Table]:
    """As Tables 5 and 6 (case 1), and the same for the cases of which this copy has no numbers."""
    of_case = [g for g in gains if g.case == case]
    compared = case == "spdy"
    published = _published("spdy_table_5.csv", ("page", "servers")) if compared else {}
    websites = [
        _statistics([page, servers], of_case, _is_website(page, servers), published)
        for page in (*PAGES, "all")
        for servers in (*SERVERS, "all")
    ]
    keys = ("loss_percent", "down_mbit_s", "rtt_ms")
    published = _published("spdy_table_6.csv", keys) if compared else {}
    channels = [
        _statistics([loss, down, rtt], of_case, _is_channel(loss, down, rtt), published)
        for loss in (0, 1, "all")
        for down in (10, 20, "all")
        for rtt in (20, 100, "all")
    ]
    numbers = ["max_gain", "mean_gain", "min_gain"]
    if compared:
        numbers += [f"published_{name}" for name in numbers] + ["mean_difference"]
    return [
        Table(
            title=f"Website impact, {CASES[case]} (simulated)",
            columns=["page", "servers", *numbers],
            rows=websites,
        ),
        Table(
            title=f"Channel impact, {CASES[case]} (simulated)",
            columns=["loss_percent", "down_mbit_s", "rtt_ms", *numbers],
            rows=channels,
        ),
    ]


def _figure(x: str, parts: str, tables: Sequence[Table], names: int) -> Figure:
    """Gains of all cases as bars, those of the draft beside those of case 1."""
    rows: list[list[Value]] = []
    for case, table in zip(CASES, tables, strict=True):
        for row in table.rows:
            if "all" in row[:names]:
                continue
            place = "/".join(map(str, row[:names]))
            rows.append([place, f"{case}, simulated", *row[names : names + 3]])
            if case == "spdy":
                rows.append([place, "spdy, draft", *row[names + 3 : names + 6]])
    return bars(
        name=f"spdy-initcwnd-by-{x}",
        title=f"Gain over HTTPS with an initial window of 3, by {x} ({parts})",
        caption=(
            "Mean, least and greatest ratio of median load times; simulated, and as observed by "
            "draft-white-httpbis-spdy-analysis-00, Tables 5 and 6."
        ),
        columns=(x, "case", "max_gain", "mean_gain", "min_gain"),
        rows=rows,
        x=x,
        by="case",
        value="mean_gain",
        low="min_gain",
        high="max_gain",
        neutral=1.0,
    )


def _statistics(
    names: Sequence[str | int],
    gains: Sequence[Gain],
    chosen: Callable[[Gain], bool],
    published: Mapping[tuple[str, ...], Sequence[float]],
) -> list[Value]:
    values = [g.gain for g in gains if chosen(g)]
    ours = [max(values), statistics.fmean(values), min(values)]
    if not published:
        return [*names, *ours]
    theirs = published.get(tuple(map(str, names)))
    if theirs is None:
        return [*names, *ours, None, None, None, None]
    return [*names, *ours, *theirs, ours[1] - theirs[1]]


def _is_website(page: str, servers: int | str) -> Callable[[Gain], bool]:
    return lambda g: page in (g.page, "all") and servers in (g.servers, "all")


def _is_channel(loss: int | str, down: int | str, rtt: int | str) -> Callable[[Gain], bool]:
    return lambda g: (
        loss in (g.channel.loss_percent, "all")
        and down in (g.channel.down_mbit_s, "all")
        and rtt in (g.channel.rtt_ms, "all")
    )


def _published(file: str, keys: Sequence[str]) -> dict[tuple[str, ...], Sequence[float]]:
    """Largest, mean and smallest gain of case 1."""
    text = (resources.files("loadpath.experiments") / "published" / file).read_text()
    return {
        tuple(row[key] for key in keys): [float(row[f"{n}_gain"]) for n in ("max", "mean", "min")]
        for row in csv.DictReader(text.splitlines())
    }


def _notes(gains: Sequence[Gain], runs: int) -> list[str]:
    spdy = [g for g in gains if g.case == "spdy"]
    websites, channels = _tables("spdy", gains)

    def mean(*, page: str = "all", servers: int | str = "all", loss: int | str = "all") -> float:
        here, there = _is_website(page, servers), _is_channel(loss, "all", "all")
        return statistics.fmean(g.gain for g in spdy if here(g) and there(g))

    by_page = ", ".join(f"{page} {mean(page=page):.2f}" for page in PAGES)
    by_loss = ", ".join(f"{loss} % {mean(loss=loss):.2f}" for loss in (0, 1))
    effect = {
        servers: statistics.fmean(abs(mean(page=page, servers=servers) - 1) for page in PAGES)
        for servers in SERVERS
    }
    by_servers = ", ".join(f"{servers} {value:.2f}" for servers, value in effect.items())
    return [
        f"{len(list(conditions()))} conditions, medians of {runs} loads, simulated",
        f"mean gain of SPDY by page: {by_page} (draft: A 1.7, B 1.3, C 0.7)",
        f"by loss: {by_loss} (draft: 0 % 1.5, 1 % 0.9)",
        f"mean distance of a page's gain from 1, by servers: {by_servers} "
        "(draft, from Table 5: 1 0.87, 2 0.20, 4 0.13)",
        f"mean gain of SPDY by website: {_beside(websites, 2)}",
        f"by channel (loss %, Mbit/s, ms): {_beside(channels, 3)}",
        f"mean gain within {CLOSE} of the draft: {_close(websites)} websites, "
        f"{_close(channels)} channels",
        "cases initcwnd and spdy+initcwnd are predictions: Tables 7 to 11 are not compared",
    ]


def _beside(table: Table, names: int) -> str:
    """Our mean gain of each published cell, the draft's in brackets."""
    return ", ".join(
        f"{'/'.join(map(str, row[:names]))} {row[names + 1]:.2f} ({row[names + 4]})"
        for row in table.rows
        if row[-1] is not None
    )


def _close(table: Table) -> str:
    differences = [row[-1] for row in table.rows if isinstance(row[-1], float)]
    return f"{sum(abs(d) <= CLOSE for d in differences)} of {len(differences)}"


def _of(channel: Channel) -> tuple[int, int, int, int]:
    return channel.down_mbit_s, channel.up_mbit_s, channel.rtt_ms, channel.loss_percent


PRESET = Preset(
    "spdy-initcwnd",
    "SPDY/2 and TCP's initial window against HTTPS, draft-white-httpbis-spdy-analysis-00",
    _run,
)
