"""Section 4.4.1 of the PCP thesis: connections a host (Figures 4.9 to 4.11).

For five combinations of HTTP version and server the best number of connections in each network,
what a fixed number costs instead, and how many packets HTTP/1.1 loses with more connections.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from loadpath.analysis.figures import Figure, best_choice, best_choices, cost_of_choice, lines
from loadpath.experiments.cells import CellLoads
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import NETWORKS, RATES_BPS, RTTS_MS, run_cells
from loadpath.experiments.preset import Preset, PresetOptions, Result, Table
from loadpath.parameters import rate_text

__all__ = ["PRESET"]

DEFAULT_RUNS = 2
QUICK_PAGES = 30
COUNTS = (1, 2, 4, 6, 8, 10, 12)
SAME_S = 0.020
"""Medians within 20 ms of the lowest count as equal; the smallest such count is best."""
FIXED = {
    "http/1.0": 6,
    "http/1.1": 6,
    "http/1.1-pipelined": 1,
    "http/1.1-pipelined-serial": 6,
    "http/2": 1,
}
"""The counts that the thesis settles on (section 4.4.1.4), in order of Figure 4.9."""
NAMES = {
    "http/1.0": "HTTP/1.0",
    "http/1.1": "HTTP/1.1",
    "http/1.1-pipelined": "pipelined HTTP/1.1",
    "http/1.1-pipelined-serial": "pipelined HTTP/1.1, serial server",
    "http/2": "HTTP/2",
}
SOURCE = "PCP thesis, section 4.4.1"
COLUMNS = (
    "http_version",
    "rate_bps",
    "rtt_ms",
    "best_connections",
    "best_median_s",
    "fixed_connections",
    "increase_percent",
)

Row = tuple[str, int, int, int, float, int, float]
Drops = Mapping[tuple[int, int, int], float]
"""Median drop rate in per cent of HTTP/1.1 by rate, RTT and connections."""


def _run(options: PresetOptions) -> Result:
    runs = options.runs or (1 if options.quick else DEFAULT_RUNS)
    cells = [
        {
            "network.rate_bps": rate_bps,
            "network.rtt_ms": rtt_ms,
            "http.version": version,
            "http.connections_per_host": count,
            "http.priorities": "none",
        }
        for version in FIXED
        for rate_bps, rtt_ms in NETWORKS
        for count in COUNTS
    ]
    with open_corpus(options.corpus) as corpus:
        pages = corpus.all_pages.first(QUICK_PAGES) if options.quick else corpus.all_pages
        loads = run_cells(pages, cells, options, runs=runs)
    keys = [(v, *network, count) for v in FIXED for network in NETWORKS for count in COUNTS]
    by_cell = dict(zip(keys, loads, strict=True))
    rows = [row for version in FIXED for row in _best(by_cell, version)]
    drops = {
        key[1:]: float(np.median(cell.drop_rates_percent))
        for key, cell in by_cell.items()
        if key[0] == "http/1.1"
    }
    what = f"{len(pages)} sites, {runs} runs (simulated)."
    expected = _expected(rows, drops)
    return Result(
        title="PCP thesis, section 4.4.1: best connections a host by median load time (simulated)",
        columns=COLUMNS,
        rows=rows,
        notes=[f"{what}: thesis {theirs}; ours {ours}" for what, theirs, ours in expected.rows],
        tables=[
            expected,
            Table(
                title="Median drop rate of HTTP/1.1 (Figure 4.10)",
                columns=("rate_bps", "rtt_ms", "connections", "dropped_percent"),
                rows=[(*key, value) for key, value in drops.items()],
            ),
            _medians(by_cell),
        ],
        figures=[*_best_figures(rows, what), *_drop_figures(drops, what)],
        settings=options.settings(
            {
                "profile": "pcp",
                "http.version": ", ".join(FIXED),
                "http.connections_per_host": ", ".join(map(str, COUNTS)),
                "http.priorities": "none",
            },
            pages=len(pages),
            runs=runs,
        ),
    )


def _median_s(cell: CellLoads) -> float:
    return float(np.median(cell.plt_ms)) / 1000


def _best(by_cell: Mapping[tuple[str, int, int, int], CellLoads], version: str) -> list[Row]:
    fixed = FIXED[version]
    times = [
        (rate, rtt, count, _median_s(by_cell[version, rate, rtt, count]))
        for rate, rtt in NETWORKS
        for count in COUNTS
    ]
    found = best_choices(times, margin=SAME_S, fixed=fixed)
    return [
        (version, rate, rtt, best, time, fixed, cost)
        for (rate, rtt), (_, _, best, time, cost) in zip(NETWORKS, found, strict=True)
    ]


def _medians(by_cell: Mapping[tuple[str, int, int, int], CellLoads]) -> Table:
    return Table(
        title="Median load time by connections",
        columns=("http_version", "rate_bps", "rtt_ms", *(f"with_{count}_s" for count in COUNTS)),
        rows=[
            (v, *network, *(_median_s(by_cell[v, *network, count]) for count in COUNTS))
            for v in FIXED
            for network in NETWORKS
        ],
    )


def _expected(rows: Sequence[Row], drops: Drops) -> Table:
    """What the text says, beside what we find."""
    best = {(v, rate, rtt): count for v, rate, rtt, count, _, _, _ in rows}
    cost = {(v, rate, rtt): percent for v, rate, rtt, _, _, _, percent in rows}

    def trend(version: str, axis: int) -> str:
        values = [(network[axis], best[version, *network]) for network in NETWORKS]
        rho = stats.spearmanr([v[0] for v in values], [v[1] for v in values]).statistic
        return f"{rho:+.2f}"

    def worst(version: str, rates: Sequence[int] = RATES_BPS) -> str:
        found = {key[1:]: c for key, c in cost.items() if key[0] == version and key[1] in rates}
        at = max(found, key=lambda key: found[key])
        middle = float(np.median(list(found.values())))
        return f"at most {found[at]:.1f} % ({rate_text(at[0])}, {at[1]} ms), median {middle:.1f} %"

    def alone(version: str) -> str:
        ones = sum(best[version, *network] == 1 for network in NETWORKS)
        near = sum(cost[version, *network] <= 2 for network in NETWORKS)
        return f"best in {ones} of 50 networks, within 2 % in {near}; {worst(version)}"

    low = [rate for rate in RATES_BPS if rate <= 2_500_000]
    high = [rate for rate in RATES_BPS if rate >= 50_000_000]

    def more_drops(rates: Sequence[int], rtt: int) -> str:
        return "; ".join(
            f"{rate_text(rate)}: " + ", ".join(f"{drops[rate, rtt, c]:.1f}" for c in COUNTS)
            for rate in rates
        )

    serial = "http/1.1-pipelined-serial"
    by_rate = ", ".join(
        f"{np.mean([best[serial, rate, rtt] for rtt in RTTS_MS]):.1f}" for rate in RATES_BPS
    )
    above = [drops[rate, 100, c] for rate in RATES_BPS if rate > 10_000_000 for c in COUNTS]
    statements = [
        ("HTTP/1.0: best count with bandwidth (rank correlation)", "grows", trend("http/1.0", 0)),
        ("HTTP/1.0: best count with RTT", "grows", trend("http/1.0", 1)),
        ("HTTP/1.1: best count with bandwidth", "grows", trend("http/1.1", 0)),
        ("HTTP/1.1: best count with RTT", "grows", trend("http/1.1", 1)),
        (
            "pipelined HTTP/1.1: one connection",
            "generally best; noise of 1 to 2 %",
            alone("http/1.1-pipelined"),
        ),
        ("HTTP/2: one connection", "generally best; noise of 1 to 2 %", alone("http/2")),
        (
            "serial server: best count with bandwidth (mean over RTTs, 500 kbit/s to 1 Gbit/s)",
            "rises, then falls",
            by_rate,
        ),
        ("serial server: cost of six", "around 4 % at most, at the highest RTT", worst(serial)),
        ("HTTP/1.0: cost of six up to 2.5 Mbit/s", "very little", worst("http/1.0", low)),
        ("HTTP/1.1: cost of six up to 2.5 Mbit/s", "very little", worst("http/1.1", low)),
        ("HTTP/1.0: cost of six from 50 Mbit/s", "some", worst("http/1.0", high)),
        ("HTTP/1.1: cost of six from 50 Mbit/s", "some", worst("http/1.1", high)),
        (
            "HTTP/1.1, 100 ms, below 10 Mbit/s: drop rate in per cent with 1, 2, 4, ... 12",
            "rises with connections",
            more_drops([rate for rate in RATES_BPS if rate < 10_000_000], 100),
        ),
        (
            "HTTP/1.1, 100 ms, above 10 Mbit/s: largest median drop rate",
            "0",
            f"{max(above):.2f} %",
        ),
    ]
    return Table(
        title="What the text of section 4.4.1 says, and what is found",
        columns=("statement", "thesis", "simulated"),
        rows=statements,
    )


def _best_figures(rows: Sequence[Row], what: str) -> list[Figure]:
    figures = []
    for letter, (version, fixed) in zip("abcde", FIXED.items(), strict=True):
        of_version = [row for row in rows if row[0] == version]
        figures.append(
            best_choice(
                name=f"figure-4-9{letter}",
                title=f"Best number of connections, {NAMES[version]} (Figure 4.9{letter})",
                caption="Smallest number whose median load time is within 20 ms of the lowest. "
                f"{what} After Figure 4.9({letter}), {SOURCE}.",
                rows=[(row[1], row[2], row[3]) for row in of_version],
                x="rate_bps",
                by="rtt_ms",
                choice="connections",
            )
        )
        figures.append(
            cost_of_choice(
                name=f"figure-4-11{letter}",
                title=f"Cost of {fixed} connections, {NAMES[version]} (Figure 4.11{letter})",
                caption=f"Median load time with {fixed} connections a host over that with the best "
                f"number. {what} After Figure 4.11({letter}), {SOURCE}.",
                rows=[(row[1], row[2], row[6]) for row in of_version],
                x="rate_bps",
                by="rtt_ms",
            )
        )
    return figures


def _drop_figures(drops: Drops, what: str) -> list[Figure]:
    return [
        lines(
            name=f"figure-4-10{letter}",
            title=f"Packets dropped, HTTP/1.1 at {rtt} ms (Figure 4.10{letter})",
            caption="Median over loads of the share of data packets that a queue dropped. "
            f"{what} After Figure 4.10({letter}), {SOURCE}.",
            columns=("rate_bps", "connections", "dropped_percent"),
            rows=[(r, c, value) for (r, t, c), value in drops.items() if t == rtt],
            x="rate_bps",
            y="dropped_percent",
            by="connections",
        )
        for letter, rtt in zip("abcde", RTTS_MS, strict=True)
    ]


PRESET = Preset("pcp-connections", "connections a host, thesis section 4.4.1", _run)
