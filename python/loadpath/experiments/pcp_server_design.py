"""Section 4.4.5 of the PCP thesis: servers that work in series, in parallel, or out of order.

One site at 25 Mbit/s and 40 ms with one connection a host and critical-path priorities in the send
buffer under every design (Figure 4.29), then the same for all pages over several networks, and
what of the difference remains with six connections and without priorities.
"""

import statistics
from collections.abc import Mapping, Sequence

from loadpath.analysis.figures import Figure, difference_cdf, heat_map
from loadpath.analysis.figures.timeline import response_queues_ms, timeline
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import mean_by_page_s, run_cells
from loadpath.experiments.one_site import SiteLoads, spread_line
from loadpath.experiments.page_set import PageSet
from loadpath.experiments.preset import Preset, PresetOptions, Result, Table

__all__ = ["PRESET"]

DEFAULT_RUNS = 3
QUICK_RUNS = 1
SITE_RUNS = 50
SITE = "steamcommunity.com*"

DESIGNS: Mapping[str, Mapping[str, object]] = {
    "serial": {"http.version": "http/1.1-pipelined-serial"},
    "parallel": {"http.version": "http/1.1-pipelined"},
    "out-of-order": {"http.version": "http/2"},
}
"""Figure 4.29(a), (b), (c); versions bring their server models with them."""

COMMON: Mapping[str, object] = {
    "http.connections_per_host": 1,
    "http.priorities": "critical-path",
    # Priorities in the send buffer of HTTP/1.1, too, as section 4.4.5 has it.
    "http.send_order": "priority",
}

NETWORKS = [
    (rate_bps, rtt_ms)
    for rate_bps in (1_000_000, 5_000_000, 25_000_000, 100_000_000)
    for rtt_ms in (8, 40, 200)
]
QUICK_NETWORKS = [(5_000_000, 40), (25_000_000, 40), (25_000_000, 200)]
NETWORK = (25_000_000, 40)
_NAME = "25 Mbit/s, 40 ms"

CHECKS: Mapping[str, Mapping[str, object]] = {
    "one connection, critical path": {},
    "six connections, critical path": {"http.connections_per_host": 6},
    "one connection, no priorities": {"http.priorities": "none", "http.send_order": "auto"},
    "one connection, critical path, no server delays": {"server.delays": False},
}
"""What the difference between designs depends on, at `NETWORK`."""


def _cell(network: tuple[int, int], design: str, **values: object) -> dict[str, object]:
    return {
        "network.rate_bps": network[0],
        "network.rtt_ms": network[1],
        **DESIGNS[design],
        **COMMON,
        **values,
    }


def _run(options: PresetOptions) -> Result:
    runs = options.runs or (QUICK_RUNS if options.quick else DEFAULT_RUNS)
    networks = QUICK_NETWORKS if options.quick else NETWORKS
    with open_corpus(options.corpus) as corpus:
        pages = corpus.all_pages
        cells = [_cell(network, design) for network in networks for design in DESIGNS]
        means = iter(_means(pages, cells, options, runs))
        by_page = {network: {design: next(means) for design in DESIGNS} for network in networks}
        checks = None if options.quick else _checks(pages, options, runs)
        site = pages.named(SITE)
        site_result = _Site(site, options) if len(site) == 1 else None
    rows = [[*network, *_figures_of(times)] for network, times in by_page.items()]
    at = by_page[NETWORK]
    statements = [
        *([] if site_result is None else [site_result.statement()]),
        (
            f"all pages, {_NAME}: parallel against serial, out of order against parallel",
            "a tangible improvement; slightly further (of one site)",
            f"{_improvement(at['serial'], at['parallel']):.1f} %; "
            f"{_improvement(at['parallel'], at['out-of-order']):.1f} %",
        ),
        (
            "serial slower than parallel, out of order not slower than parallel",
            "yes (of one site in one network)",
            f"in {sum(map(_in_order, by_page.values()))} of {len(networks)} networks, ties "
            "within 0.5 %",
        ),
    ]
    return Result(
        title="PCP thesis, section 4.4.5: mean load time in s by server design (simulated)",
        columns=[
            "rate_bps",
            "rtt_ms",
            *(f"{design}_s" for design in DESIGNS),
            "parallel_improvement_percent",
            "out_of_order_improvement_percent",
            "out_of_order_over_parallel_percent",
        ],
        rows=rows,
        notes=[f"{what}: thesis {theirs}; ours {ours}" for what, theirs, ours in statements],
        tables=[
            Table(
                title="Statements of the text",
                columns=("statement", "thesis", "simulated"),
                rows=statements,
            ),
            *([] if site_result is None else site_result.tables()),
            *([] if checks is None else [checks]),
        ],
        figures=[
            *([] if site_result is None else site_result.figures()),
            difference_cdf(
                name="server-design-differences",
                title="Load time less that with a serial server, 25 Mbit/s, 40 ms",
                caption="Differences of mean load times of pages (simulated); one connection.",
                samples={
                    design: [t - s for t, s in zip(at[design], at["serial"], strict=True)]
                    for design in list(DESIGNS)[1:]
                },
                column="difference_s",
                by="server",
            ),
            heat_map(
                name="server-design-improvement",
                title="Out-of-order server over a serial one",
                caption=f"Improvement of mean load time over {len(pages)} pages (simulated), "
                "one connection a host, critical-path priorities.",
                columns=("rate_bps", "rtt_ms", "improvement_percent"),
                rows=[(row[0], row[1], row[6]) for row in rows],
                x="rtt_ms",
                y="rate_bps",
                value="improvement_percent",
                centre=0.0,
            ),
        ],
        settings=options.settings(
            {
                "profile": "pcp",
                "networks": len(networks),
                "runs of one site": SITE_RUNS,
                **{key: str(value) for key, value in COMMON.items()},
            },
            pages=len(pages),
            runs=runs,
        ),
    )


def _means(
    pages: PageSet, cells: Sequence[Mapping[str, object]], options: PresetOptions, runs: int
) -> list[list[float]]:
    return [mean_by_page_s(loads, runs) for loads in run_cells(pages, cells, options, runs=runs)]


def _improvement(baseline: Sequence[float], variant: Sequence[float]) -> float:
    """As in the thesis: 100 x sum(baseline - variant) / sum(baseline)."""
    return 100 * (sum(baseline) - sum(variant)) / sum(baseline)


def _figures_of(times: Mapping[str, Sequence[float]]) -> list[float]:
    return [
        *(statistics.fmean(times[design]) for design in DESIGNS),
        _improvement(times["serial"], times["parallel"]),
        _improvement(times["serial"], times["out-of-order"]),
        _improvement(times["parallel"], times["out-of-order"]),
    ]


def _in_order(times: Mapping[str, Sequence[float]]) -> bool:
    serial, parallel, free = (statistics.fmean(times[design]) for design in DESIGNS)
    return serial > parallel and free <= 1.005 * parallel


def _checks(pages: PageSet, options: PresetOptions, runs: int) -> Table:
    cells = [_cell(NETWORK, design, **values) for values in CHECKS.values() for design in DESIGNS]
    means = iter(_means(pages, cells, options, runs))
    return Table(
        title="What the difference depends on: all pages, 25 Mbit/s, 40 ms (simulated)",
        columns=[
            "condition",
            *(f"{design}_s" for design in DESIGNS),
            "parallel_improvement_percent",
            "out_of_order_improvement_percent",
            "out_of_order_over_parallel_percent",
        ],
        rows=[
            [check, *_figures_of({design: next(means) for design in DESIGNS})] for check in CHECKS
        ],
    )


class _Site:
    """The thesis's example under each design."""

    def __init__(self, site: PageSet, options: PresetOptions) -> None:
        cells = {design: _cell(NETWORK, design) for design in DESIGNS}
        loads = SiteLoads(site, cells, options, runs=SITE_RUNS)
        self.times = loads.times_s
        self.outcomes = {design: loads.median_load(design) for design in DESIGNS}

    def statement(self) -> tuple[str, str, str]:
        """What the text says of it, and what is found."""
        means = [f"{self.times[design].mean():.3f} s" for design in DESIGNS]
        return (
            f"steamcommunity.com, {_NAME}: serial, parallel, out of order",
            "parallel faster, out of order slightly more (Figure 4.29, no numbers)",
            ", ".join(means),
        )

    def tables(self) -> list[Table]:
        waits: list[list[str | float]] = []
        for design, outcome in self.outcomes.items():
            queues = response_queues_ms(outcome.resources) if design != "out-of-order" else {}
            phases = [r.phases for r in outcome.resources if r.phases is not None]
            in_buffer = sum(p.response_wait_ms for p in phases) - sum(queues.values())
            waits.append(
                [
                    design,
                    sum(p.server_queue_ms for p in phases) / 1000,
                    sum(p.server_processing_ms for p in phases) / 1000,
                    sum(queues.values()) / 1000,
                    in_buffer / 1000,
                    (outcome.plt_ms or 0.0) / 1000,
                ]
            )
        return [
            Table(
                title=f"steamcommunity.com, 25 Mbit/s, 40 ms: load time in s over {SITE_RUNS} runs",
                columns=["server", "mean", "sd", "least", "most"],
                rows=[[design, *spread_line(times)] for design, times in self.times.items()],
            ),
            Table(
                title="Where its responses wait: sums in s, median run (Figure 4.29)",
                columns=[
                    "server",
                    "request_queue_s",
                    "processing_s",
                    "response_queue_s",
                    "send_buffer_s",
                    "plt_s",
                ],
                rows=waits,
            ),
        ]

    def figures(self) -> list[Figure]:
        return [
            timeline(
                name=f"figure-4-29{panel}",
                title=f"steamcommunity.com, 25 Mbit/s, 40 ms, {design} server",
                caption=f"The median run of {SITE_RUNS} by load time (simulated); PCP thesis, "
                f"Figure 4.29({panel}).",
                outcome=outcome,
                in_order=design != "out-of-order",
            )
            for panel, (design, outcome) in zip("abc", self.outcomes.items(), strict=True)
        ]


PRESET = Preset("pcp-server-design", "server designs, thesis section 4.4.5", _run)
