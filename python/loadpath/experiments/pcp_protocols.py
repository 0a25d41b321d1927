"""Section 4.4.3 of the PCP thesis: the HTTP versions against each other (Figures 4.15 to 4.23).

Mean load times of all sites under each version over 50 networks, shares of sites that are as fast
or faster than under HTTP/1.1 with six connections, drop rates, distributions in five networks.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from loadpath.analysis.figures import Figure, cdf, difference_cdf, heat_map
from loadpath.experiments.cells import CellLoads
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import NETWORKS, run_cells
from loadpath.experiments.page_set import PageSet
from loadpath.experiments.preset import Preset, PresetOptions, Result, Table
from loadpath.parameters import rate_text

__all__ = ["PRESET"]

DEFAULT_RUNS = 5
QUICK_RUNS = 2
QUICK_PAGES = 60
VERSIONS = (
    "http/1.0",
    "http/1.1",
    "http/1.1-pipelined-serial",
    "http/1.1-pipelined",
    "http/2",
    "quic-lite",
)
BASELINE = "http/1.1"
SAME_S = 0.020
"""Means within 20 ms count as equal (footnote 4 of section 4.4.3.1)."""

REGIMES = (
    (1_000_000, 8),
    (2_500_000, 200),
    (10_000_000, 100),
    (50_000_000, 100),
    (1_000_000_000, 200),
)
"""Of Figures 4.22 and 4.23. The text gives (a) and the bandwidth of (b), and says that losses are
comparable in (b) and (c), and that there are none in (d) and (e): the rest is our choice."""

CLOSE_LOOK = "www.buzzhand.com"
"""The site of Figures 4.19 and 4.20, at 2.5 Mbit/s and 200 ms."""
CLOSE_LOOK_RUNS = 20
CLOSE_LOOK_CASES: Mapping[str, tuple[Mapping[str, str], float]] = {
    "HTTP/2, NewReno": ({"http.version": "http/2", "transport.congestion": "newreno"}, 9.36),
    "HTTP/1.1, six connections": (
        {"http.version": "http/1.1", "transport.congestion": "newreno"},
        8.51,
    ),
    "HTTP/2, CUBIC": ({"http.version": "http/2", "transport.congestion": "cubic"}, 8.10),
}
"""Scenario, and load time in s in the thesis."""

SOURCE = "PCP thesis, section 4.4.3"
COLUMNS = (
    "rate_bps",
    "rtt_ms",
    *(f"{version}_s" for version in VERSIONS),
    "http2_improvement_percent",
    "http2_difference_s",
    "http2_as_fast_percent",
    "quic_lite_as_fast_percent",
    "http1.1_dropped_percent",
    "http2_dropped_percent",
)

Network = tuple[int, int]
Floats = npt.NDArray[np.float64]


def _run(options: PresetOptions) -> Result:
    runs = options.runs or (QUICK_RUNS if options.quick else DEFAULT_RUNS)
    cells = [
        {
            "network.rate_bps": rate_bps,
            "network.rtt_ms": rtt_ms,
            "http.version": version,
            "http.priorities": "none",
        }
        for rate_bps, rtt_ms in NETWORKS
        for version in VERSIONS
    ]
    with open_corpus(options.corpus) as corpus:
        pages = corpus.all_pages.first(QUICK_PAGES) if options.quick else corpus.all_pages
        results = run_cells(pages, cells, options, runs=runs)
        close_look = _close_look(corpus.all_pages.named(f"{CLOSE_LOOK}*"), options)
    keys = [(*network, version) for network in NETWORKS for version in VERSIONS]
    grid = _Grid(dict(zip(keys, results, strict=True)))
    rows = [grid.row(network) for network in NETWORKS]
    expected = _expected(grid, rows)
    what = f"{len(pages)} sites, {runs} runs, no priorities (simulated)."
    return Result(
        title="PCP thesis, section 4.4.3: mean load time in s by HTTP version (simulated)",
        columns=COLUMNS,
        rows=rows,
        notes=[f"{what}: thesis {theirs}; ours {ours}" for what, theirs, ours in expected.rows],
        tables=[expected, *close_look],
        figures=[*_heat_maps(rows, what), *_distributions(grid, what)],
        settings=options.settings(
            {
                "profile": "pcp",
                "http.version": ", ".join(VERSIONS),
                "http.priorities": "none",
            },
            pages=len(pages),
            runs=runs,
        ),
    )


class _Grid:
    """What is asked of the loads of all cells."""

    def __init__(self, cells: Mapping[tuple[int, int, str], CellLoads]) -> None:
        self._cells = cells
        self._means = {key: cell.mean_by_page_s for key, cell in cells.items()}

    def times_s(self, network: Network, version: str) -> Floats:
        """All load times."""
        return self._cells[*network, version].plt_ms.ravel() / 1000

    def by_page_s(self, network: Network, version: str) -> Floats:
        """Mean load times of the pages."""
        return self._means[*network, version]

    def mean_s(self, network: Network, version: str) -> float:
        return float(np.mean(self.by_page_s(network, version)))

    def as_fast_percent(self, network: Network, version: str, than: str = BASELINE) -> float:
        """Pages whose mean is at most 20 ms above the other version's."""
        times, baseline = self.by_page_s(network, version), self.by_page_s(network, than)
        return float(100 * np.mean(times <= baseline + SAME_S))

    def slower_percent(self, network: Network, version: str) -> float:
        """Pages whose mean is above the baseline's, as Figure 4.23 has it: without a margin."""
        times, baseline = self.by_page_s(network, version), self.by_page_s(network, BASELINE)
        return float(100 * np.mean(times > baseline))

    def dropped_percent(self, network: Network, version: str) -> float:
        """Mean over the loads of the share of data packets that a queue dropped."""
        return float(np.mean(self._cells[*network, version].drop_rates_percent))

    def in_order(self, network: Network) -> bool:
        """The order of section 4.4.3.2, with ties within max(20 ms, 0.5 %)."""
        means = {version: self.mean_s(network, version) for version in VERSIONS}

        def not_slower(fast: str, slow: str) -> bool:
            return means[fast] <= means[slow] + max(SAME_S, 0.005 * means[slow])

        multiplexed = ("http/1.1-pipelined", "http/2", "quic-lite")
        return all(not_slower(v, BASELINE) for v in multiplexed) and all(
            not_slower(v, "http/1.0") for v in VERSIONS
        )

    def row(self, network: Network) -> tuple[float, ...]:
        """See `COLUMNS`."""
        old, new = self.mean_s(network, BASELINE), self.mean_s(network, "http/2")
        return (
            *network,
            *(self.mean_s(network, version) for version in VERSIONS),
            100 * (old - new) / old,
            old - new,
            self.as_fast_percent(network, "http/2"),
            self.as_fast_percent(network, "quic-lite"),
            self.dropped_percent(network, BASELINE),
            self.dropped_percent(network, "http/2"),
        )


def _expected(grid: _Grid, rows: Sequence[Sequence[float]]) -> Table:
    """What the text says, beside what we find."""
    diagonal = (2_500_000, 200)
    fast = (1_000_000_000, 8)
    lossy = (5_000_000, 200)
    improvement, as_fast = (
        COLUMNS.index("http2_improvement_percent"),
        COLUMNS.index("http2_as_fast_percent"),
    )
    least = min(rows, key=lambda row: row[as_fast])
    lossless = [n for n in NETWORKS if grid.dropped_percent(n, "http/2") == 0]
    apart = {
        network: 100 * (1 - grid.mean_s(network, "quic-lite") / grid.mean_s(network, "http/2"))
        for network in NETWORKS
    }
    most = max(apart, key=lambda network: apart[network])
    by_network = {(int(row[0]), int(row[1])): row for row in rows}
    rising = [
        rate
        for rate in dict.fromkeys(rate for rate, rtt in lossless)
        if all((rate, rtt) in lossless for rtt in (40, 100, 200, 400))
    ]
    gains = "; ".join(
        f"{rate_text(rate)}: "
        + ", ".join(f"{by_network[rate, rtt][improvement]:.1f}" for rtt in (40, 100, 200, 400))
        for rate in rising
    )
    serial = [grid.slower_percent(network, "http/1.1-pipelined-serial") for network in REGIMES]
    slower = [row for row in rows if row[improvement] < 0]
    statements = [
        (
            "QUIC-lite, HTTP/2 and pipelined HTTP/1.1 ahead of HTTP/1.1, HTTP/1.0 last",
            "yes",
            f"in {sum(map(grid.in_order, NETWORKS))} of 50 networks, ties within max(20 ms, 0.5 %)",
        ),
        (
            "mean load time is shorter under HTTP/2 (Figure 4.15)",
            "on average",
            f"in {50 - len(slower)} of 50 networks, "
            f"{min(row[improvement] for row in rows):+.1f} to "
            f"{max(row[improvement] for row in rows):+.1f} %",
        ),
        (
            "without losses the improvement grows with RTT (40, 100, 200, 400 ms; per cent)",
            "yes",
            gains or "no such networks",
        ),
        (
            "sites as fast under HTTP/2, 1 Gbit/s, 8 ms (Figure 4.16)",
            "90 %",
            f"{grid.as_fast_percent(fast, 'http/2'):.1f} %",
        ),
        (
            "sites as fast under HTTP/2, 2.5 Mbit/s, 200 ms",
            "56.9 %",
            f"{grid.as_fast_percent(diagonal, 'http/2'):.1f} %",
        ),
        (
            "fewest sites as fast under HTTP/2",
            "on a diagonal through 2.5 Mbit/s, 200 ms",
            f"{least[as_fast]:.1f} % at {rate_text(least[0])}, {least[1]:g} ms",
        ),
        (
            "packets dropped under HTTP/2 at 5 Mbit/s, 200 ms (Figure 4.17)",
            "2.5 %",
            f"{grid.dropped_percent(lossy, 'http/2'):.2f} %",
        ),
        (
            "packets dropped under HTTP/1.1 at 5 Mbit/s, 200 ms",
            "1.2 %",
            f"{grid.dropped_percent(lossy, BASELINE):.2f} %",
        ),
        (
            "QUIC-lite against HTTP/2",
            "minor, most below 10 Mbit/s or at 8 ms",
            f"median {np.median(list(apart.values())):.2f} %, most {apart[most]:.2f} % at "
            f"{rate_text(most[0])}, {most[1]} ms",
        ),
        (
            "QUIC-lite where no packet is lost",
            "equal to HTTP/2",
            f"largest difference {max((abs(apart[n]) for n in lossless), default=0):.3f} % "
            f"in {len(lossless)} networks",
        ),
        (
            "sites that are faster under HTTP/1.0 than HTTP/1.1, 2.5 Mbit/s (Figure 4.23b)",
            "30 %",
            f"{100 - grid.slower_percent(diagonal, 'http/1.0'):.1f} % at 200 ms",
        ),
        (
            "sites that are slower when pipelined to a serial server (Figure 4.23)",
            "40 to 50 %",
            ", ".join(f"{share:.0f}" for share in serial) + " % in networks a to e",
        ),
    ]
    return Table(
        title="What the text of section 4.4.3 says, and what is found",
        columns=("statement", "thesis", "simulated"),
        rows=statements,
    )


def _close_look(pages: PageSet, options: PresetOptions) -> list[Table]:
    """The site of Figures 4.19 and 4.20, if the corpus has it."""
    if not len(pages):
        return []
    network = {"network.rate_bps": 2_500_000, "network.rtt_ms": 200, "http.priorities": "none"}
    cells = [{**network, **scenario} for scenario, _ in CLOSE_LOOK_CASES.values()]
    results = run_cells(pages, cells, options, runs=CLOSE_LOOK_RUNS)
    rows = []
    for (case, (_, theirs)), loads in zip(CLOSE_LOOK_CASES.items(), results, strict=True):
        times = loads.plt_ms.ravel() / 1000
        low, middle, high = (float(v) for v in np.percentile(times, (0, 50, 100)))
        drops = float(np.mean(loads.column("drops")))
        rows.append((case, theirs, middle, low, high, drops))
    return [
        Table(
            title=f"{CLOSE_LOOK} at 2.5 Mbit/s, 200 ms (Figures 4.19 and 4.20: one load each), "
            f"{CLOSE_LOOK_RUNS} runs",
            columns=("case", "thesis_s", "median_s", "least_s", "most_s", "drops"),
            rows=rows,
        )
    ]


def _heat_maps(rows: Sequence[Sequence[float]], what: str) -> list[Figure]:
    def figure(
        number: str, value: str, title: str, caption: str, *, centre: float | None, digits: int = 1
    ) -> Figure:
        places = [COLUMNS.index(column) for column in ("rate_bps", "rtt_ms", value)]
        return heat_map(
            name=f"figure-{number.replace('.', '-')}",
            title=f"{title} (Figure {number})",
            caption=f"{caption} {what} After Figure {number}, {SOURCE}.",
            columns=("rate_bps", "rtt_ms", value),
            rows=[tuple(row[place] for place in places) for row in rows],
            x="rtt_ms",
            y="rate_bps",
            value=value,
            centre=centre,
            digits=digits,
        )

    against = "HTTP/2 with one connection against HTTP/1.1 with six."
    share = (
        "sites whose mean load time is at most 20 ms above that of HTTP/1.1 with six connections."
    )
    return [
        figure(
            "4.15a",
            "http2_improvement_percent",
            "Load time saved by HTTP/2",
            f"Per cent of mean load time. {against}",
            centre=0.0,
        ),
        figure(
            "4.15b",
            "http2_difference_s",
            "Seconds saved by HTTP/2",
            f"Difference of mean load times. {against}",
            centre=0.0,
            digits=2,
        ),
        figure(
            "4.16",
            "http2_as_fast_percent",
            "Sites as fast or faster under HTTP/2",
            f"Per cent of {share}",
            centre=None,
        ),
        figure(
            "4.17a",
            "http1.1_dropped_percent",
            "Packets dropped, HTTP/1.1",
            "Mean share of data packets that a queue dropped.",
            centre=None,
        ),
        figure(
            "4.17b",
            "http2_dropped_percent",
            "Packets dropped, HTTP/2",
            "Mean share of data packets that a queue dropped.",
            centre=None,
        ),
        figure(
            "4.21",
            "quic_lite_as_fast_percent",
            "Sites as fast or faster under QUIC-lite",
            f"Per cent of {share}",
            centre=None,
        ),
    ]


def _distributions(grid: _Grid, what: str) -> list[Figure]:
    figures = []
    for letter, network in zip("abcde", REGIMES, strict=True):
        name = f"{rate_text(network[0])}, {network[1]} ms"
        figures.append(
            cdf(
                name=f"figure-4-22{letter}",
                title=f"Load times at {name} (Figure 4.22{letter})",
                caption=f"All loads. {what} After Figure 4.22({letter}), {SOURCE}.",
                samples={v: grid.times_s(network, v).tolist() for v in VERSIONS},
                column="plt_s",
                by="http_version",
                log_x=True,
            )
        )
    for letter, network in zip("abcde", REGIMES, strict=True):
        name = f"{rate_text(network[0])}, {network[1]} ms"
        baseline = grid.by_page_s(network, BASELINE)
        figures.append(
            difference_cdf(
                name=f"figure-4-23{letter}",
                title=f"Against HTTP/1.1 at {name} (Figure 4.23{letter})",
                caption="Mean load time of each site less that under HTTP/1.1 with six "
                "connections; left of 0 is faster; half a per cent at each end is only in the CSV. "
                f"{what} After Figure 4.23({letter}), {SOURCE}.",
                samples={
                    v: (grid.by_page_s(network, v) - baseline).tolist()
                    for v in VERSIONS
                    if v != BASELINE
                },
                column="difference_s",
                by="http_version",
            )
        )
    return figures


PRESET = Preset("pcp-protocols", "HTTP versions against each other, thesis section 4.4.3", _run)
