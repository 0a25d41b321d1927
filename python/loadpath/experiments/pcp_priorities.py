"""Section 4.4.4 of the PCP thesis: what priorities of responses are worth.

HTTP/2 without priorities against HTTP/2 with two schemes (Figure 4.24) and QUIC-lite with the same
and preemption (Figure 4.28), the spread over sites against HTTP/1.1 (Figure 4.25), one site's
timelines (Figure 4.27); then what keeps the gain small, by taking one cause after another away.
"""

import statistics
from collections.abc import Mapping, Sequence

from loadpath.analysis.figures import Figure, difference_cdf, heat_map
from loadpath.analysis.figures.timeline import timeline
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import NETWORKS, mean_by_page_s, run_cells
from loadpath.experiments.one_site import SiteLoads, spread_line
from loadpath.experiments.page_set import PageSet
from loadpath.experiments.preset import Preset, PresetOptions, Result, Table

__all__ = ["PRESET"]

DEFAULT_RUNS = 5
QUICK_RUNS = 2
SITE_RUNS = 50
SITE = "steamcommunity.com*"
SAME_S = 0.020
"""Means within 20 ms count as equal (footnote 4 of section 4.4.3.1)."""

QUICK_NETWORKS = [
    (rate_bps, rtt_ms)
    for rate_bps in (1_000_000, 2_500_000, 10_000_000, 100_000_000)
    for rtt_ms in (8, 100, 400)
] + [(2_500_000, 200)]

REGIMES = [(1_000_000, 8), (1_000_000, 400), (2_500_000, 200), (100_000_000, 100)]
"""Panels of Figure 4.25; the text names three of the four, 2.5 Mbit/s with 200 ms is our choice."""

BASELINE = "http/2 none"
VARIANTS: Mapping[str, Mapping[str, object]] = {
    BASELINE: {"http.version": "http/2", "http.priorities": "none"},
    "http/2 mime-type": {"http.version": "http/2", "http.priorities": "mime-type"},
    "http/2 critical-path": {"http.version": "http/2", "http.priorities": "critical-path"},
    "quic-lite mime-type": {"http.version": "quic-lite", "http.priorities": "mime-type"},
    "quic-lite critical-path": {"http.version": "quic-lite", "http.priorities": "critical-path"},
}
HTTP1 = {"http.version": "http/1.1", "http.priorities": "none"}

# Preemption and delivery out of order, one at a time; priorities by class instead of the recorded.
STEPS: Mapping[str, Mapping[str, object]] = {
    "HTTP/2, MIME type": VARIANTS["http/2 mime-type"],
    "HTTP/2, MIME type by class": {"http.version": "http/2", "http.priorities": "mime-class"},
    "HTTP/2, critical path": VARIANTS["http/2 critical-path"],
    "HTTP/2, critical path, preemption": {
        **VARIANTS["http/2 critical-path"],
        "http.send_order": "preemptive",
    },
    "QUIC-lite, no priorities": {"http.version": "quic-lite", "http.priorities": "none"},
    "QUIC-lite, critical path, no preemption": {
        **VARIANTS["quic-lite critical-path"],
        "http.send_order": "priority",
    },
    "QUIC-lite, critical path": VARIANTS["quic-lite critical-path"],
}

UNSHARDED = "hosts of a site merged"
UNSHARD = "unshard:thesis"

# What section 4.4.4 blames for the small gain, taken away.
CAUSES: Mapping[str, Mapping[str, object]] = {
    "as it is": {},
    "no server delays": {"server.delays": False},
    "no preloader": {"browser.preloader": False},
    "no server delays, no preloader": {"server.delays": False, "browser.preloader": False},
    UNSHARDED: {},
    f"no server delays, no preloader, {UNSHARDED}": {
        "server.delays": False,
        "browser.preloader": False,
    },
}
CAUSE_REGIMES = [(1_000_000, 400), (2_500_000, 200), (100_000_000, 100)]

PUBLISHED_SITE_S = {"http/1.1": 10.23, "none": 10.56, "mime-type": 9.33, "critical-path": None}
"""Load times of steamcommunity.com at 2.5 Mbit/s, 200 ms, one run each (Figure 4.27)."""


def _network(rate_bps: int, rtt_ms: int) -> dict[str, object]:
    return {"network.rate_bps": rate_bps, "network.rtt_ms": rtt_ms}


def _name(network: tuple[int, int]) -> str:
    return f"{network[0] / 1e6:g} Mbit/s, {network[1]} ms"


def _run(options: PresetOptions) -> Result:
    runs = options.runs or (QUICK_RUNS if options.quick else DEFAULT_RUNS)
    networks = QUICK_NETWORKS if options.quick else NETWORKS
    with open_corpus(options.corpus) as corpus:
        pages = corpus.all_pages
        by_page = _over_networks(pages, networks, options, runs)
        http1 = _means(pages, [{**_network(*n), **HTTP1} for n in REGIMES], options, runs)
        steps = None if options.quick else _steps(pages, by_page, options, runs)
        causes = None if options.quick else _causes(pages, options, runs)
        site_table, of_site, site_figures = _site(pages, options)
    rows = [_row(network, by_page[network]) for network in networks]
    statements = [*_statements(networks, by_page), *of_site]
    expected = Table(
        title="Statements of the text",
        columns=("statement", "thesis", "simulated"),
        rows=statements,
    )
    return Result(
        title="PCP thesis, section 4.4.4: mean load time in s by priorities (simulated)",
        columns=[
            "rate_bps",
            "rtt_ms",
            *(f"{variant.replace(' ', '_')}_s" for variant in VARIANTS),
            *(f"{v.replace(' ', '_')}_improvement_percent" for v in VARIANTS if v != BASELINE),
            "mime_type_as_fast_percent",
            "critical_path_as_fast_percent",
        ],
        rows=rows,
        notes=[f"{what}: thesis {theirs}; ours {ours}" for what, theirs, ours in statements],
        tables=[expected, *(table for table in (site_table, steps, causes) if table is not None)],
        figures=[*_heat_maps(networks, by_page), *_cdfs(by_page, http1), *site_figures],
        settings=options.settings(
            {"profile": "pcp", "networks": len(networks), "runs of one site": SITE_RUNS},
            pages=len(pages),
            runs=runs,
        ),
    )


ByPage = dict[str, list[float]]
"""Mean load time of each page in s, by variant."""


def _means(
    pages: PageSet, cells: Sequence[Mapping[str, object]], options: PresetOptions, runs: int
) -> list[list[float]]:
    return [mean_by_page_s(loads, runs) for loads in run_cells(pages, cells, options, runs=runs)]


def _over_networks(
    pages: PageSet, networks: Sequence[tuple[int, int]], options: PresetOptions, runs: int
) -> dict[tuple[int, int], ByPage]:
    cells = [{**_network(*n), **values} for n in networks for values in VARIANTS.values()]
    means = iter(_means(pages, cells, options, runs))
    return {network: {variant: next(means) for variant in VARIANTS} for network in networks}


def improvement_percent(baseline: Sequence[float], variant: Sequence[float]) -> float:
    """As in the thesis: 100 x sum(baseline - variant) / sum(baseline)."""
    return 100 * (sum(baseline) - sum(variant)) / sum(baseline)


def _as_fast_percent(baseline: Sequence[float], variant: Sequence[float]) -> float:
    as_fast = sum(v <= b + SAME_S for b, v in zip(baseline, variant, strict=True))
    return 100 * as_fast / len(baseline)


def _row(network: tuple[int, int], times: ByPage) -> list[float]:
    baseline = times[BASELINE]
    return [
        *network,
        *(statistics.fmean(times[variant]) for variant in VARIANTS),
        *(improvement_percent(baseline, times[v]) for v in VARIANTS if v != BASELINE),
        _as_fast_percent(baseline, times["http/2 mime-type"]),
        _as_fast_percent(baseline, times["http/2 critical-path"]),
    ]


def _statements(
    networks: Sequence[tuple[int, int]], by_page: Mapping[tuple[int, int], ByPage]
) -> list[tuple[str, str, str]]:
    """What the text says, and what is found."""
    gains = {
        variant: {
            n: improvement_percent(by_page[n][BASELINE], by_page[n][variant]) for n in networks
        }
        for variant in VARIANTS
        if variant != BASELINE
    }
    mime, path = gains["http/2 mime-type"], gains["http/2 critical-path"]
    statements = []
    for name, gain in (("MIME type", mime), ("critical path", path)):
        best = max(gain, key=lambda n: gain[n])
        statements.append(
            (
                f"{name} shortens mean load times",
                "minor gains across the board, 3 % at best",
                f"in {sum(g > 0 for g in gain.values())} of {len(networks)} networks, by "
                f"{statistics.fmean(gain.values()):.2f} % on average, {gain[best]:.1f} % at most "
                f"({_name(best)})",
            )
        )
    difference = [path[n] - mime[n] for n in networks]
    top = sorted(networks, key=lambda n: -mime[n])[:5]
    statements += [
        (
            "critical path against MIME type",
            "very little difference, critical path slightly better",
            f"{statistics.fmean(difference):+.2f} points on average, {min(difference):+.1f} to "
            f"{max(difference):+.1f}",
        ),
        (
            "where it helps most",
            "on the diagonal on which HTTP/2 loses packets, and at long round trips",
            "; ".join(_name(n) for n in top),
        ),
    ]
    for network, theirs in (
        ((100_000_000, 100), "very little difference"),
        ((1_000_000, 8), "less than at 400 ms"),
        ((1_000_000, 400), "more than at 8 ms"),
    ):
        saved_s = statistics.fmean(by_page[network][BASELINE]) - statistics.fmean(
            by_page[network]["http/2 critical-path"]
        )
        statements.append(
            (
                f"critical path at {_name(network)}",
                theirs,
                f"saves {1000 * saved_s:.0f} ms on average ({path[network]:.1f} %)",
            )
        )
    quic = gains["quic-lite critical-path"]
    ahead = sum(quic[n] > path[n] for n in networks)
    statements.append(
        (
            "QUIC-lite with preemption (critical path)",
            "the same trends, larger",
            f"{statistics.fmean(quic.values()):.2f} % on average, more than HTTP/2 with critical "
            f"path in {ahead} of {len(networks)} networks",
        )
    )
    return statements


def _heat_maps(
    networks: Sequence[tuple[int, int]], by_page: Mapping[tuple[int, int], ByPage]
) -> list[Figure]:
    figures = []
    for panel, variant in zip(
        ("4-24a", "4-24b", "4-28a", "4-28b"), list(VARIANTS)[1:], strict=True
    ):
        rows = [
            (*n, improvement_percent(by_page[n][BASELINE], by_page[n][variant])) for n in networks
        ]
        figures.append(
            heat_map(
                name=f"figure-{panel}",
                title=f"{variant} over HTTP/2 without priorities",
                caption=f"Improvement of mean load time over {len(by_page[networks[0]][BASELINE])} "
                f"pages (simulated); PCP thesis, Figure {panel.replace('-', '.', 1)}.",
                columns=("rate_bps", "rtt_ms", "improvement_percent"),
                rows=rows,
                x="rtt_ms",
                y="rate_bps",
                value="improvement_percent",
                centre=0.0,
            )
        )
    return figures


def _cdfs(
    by_page: Mapping[tuple[int, int], ByPage], http1: Sequence[Sequence[float]]
) -> list[Figure]:
    figures = []
    for panel, network, baseline in zip("abcd", REGIMES, http1, strict=True):
        if network not in by_page:
            continue
        samples = {
            variant.removeprefix("http/2 "): [
                v - b for v, b in zip(by_page[network][variant], baseline, strict=True)
            ]
            for variant in list(VARIANTS)[:3]
        }
        figures.append(
            difference_cdf(
                name=f"figure-4-25{panel}",
                title=f"HTTP/2 less HTTP/1.1 with six connections, {_name(network)}",
                caption="Differences of mean load times of pages (simulated); below zero HTTP/2 is "
                f"faster. PCP thesis, Figure 4.25({panel}).",
                samples=samples,
                column="difference_s",
                by="priorities",
            )
        )
    return figures


def _steps(
    pages: PageSet,
    by_page: Mapping[tuple[int, int], ByPage],
    options: PresetOptions,
    runs: int,
) -> Table:
    cells = [{**_network(*n), **values} for values in STEPS.values() for n in REGIMES]
    means = iter(_means(pages, cells, options, runs))
    return Table(
        title="What each part brings: improvement in % over HTTP/2 without priorities (simulated)",
        columns=["variant", *(_name(network) for network in REGIMES)],
        rows=[
            [step, *(improvement_percent(by_page[n][BASELINE], next(means)) for n in REGIMES)]
            for step in STEPS
        ],
    )


def _causes(pages: PageSet, options: PresetOptions, runs: int) -> Table:
    schemes = ("none", "mime-type", "critical-path")

    def cells(causes: Sequence[str]) -> list[Mapping[str, object]]:
        return [
            {**_network(*n), "http.version": "http/2", "http.priorities": scheme, **CAUSES[cause]}
            for cause in causes
            for n in CAUSE_REGIMES
            for scheme in schemes
        ]

    sharded = [cause for cause in CAUSES if UNSHARDED not in cause]
    unsharded = [cause for cause in CAUSES if UNSHARDED in cause]
    means = iter(
        [
            *_means(pages, cells(sharded), options, runs),
            *_means(pages.after(UNSHARD), cells(unsharded), options, runs),
        ]
    )
    rows: list[list[str | float]] = []
    for cause in CAUSES:
        gains: list[float] = []
        for _ in CAUSE_REGIMES:
            baseline, *others = (next(means) for _ in schemes)
            gains += [improvement_percent(baseline, other) for other in others]
        rows.append([cause, *gains])
    return Table(
        title="Why the gain is small: improvement in % without what hides it (simulated)",
        columns=[
            "condition",
            *(f"{s}, {_name(network)}" for network in CAUSE_REGIMES for s in schemes[1:]),
        ],
        rows=rows,
    )


def _site(
    pages: PageSet, options: PresetOptions
) -> tuple[Table | None, list[tuple[str, str, str]], list[Figure]]:
    """The thesis's example, many runs instead of one, and its timelines."""
    site = pages.named(SITE)
    if len(site) != 1:
        return None, [("steamcommunity.com", "Figure 4.27", "not in this corpus")], []
    cells = {
        "http/1.1": {**_network(2_500_000, 200), **HTTP1},
        **{
            scheme: {
                **_network(2_500_000, 200),
                "http.version": "http/2",
                "http.priorities": scheme,
            }
            for scheme in ("none", "mime-type", "critical-path")
        },
    }
    loads = SiteLoads(site, cells, options, runs=SITE_RUNS)
    times = loads.times_s
    table = Table(
        title=f"steamcommunity.com, 2.5 Mbit/s, 200 ms: load time in s over {SITE_RUNS} runs",
        columns=["variant", "published", "mean", "sd", "least", "most"],
        rows=[
            [cell, PUBLISHED_SITE_S[cell], *spread_line(values)] for cell, values in times.items()
        ],
    )
    ahead = {
        (a, b): int((times[a] < times[b]).sum())
        for a, b in (("http/1.1", "none"), ("mime-type", "none"), ("critical-path", "mime-type"))
    }
    statements = [
        (
            f"steamcommunity.com: {a} faster than {b}",
            theirs,
            f"in {ahead[a, b]} of {SITE_RUNS} runs, means {times[a].mean():.2f} s and "
            f"{times[b].mean():.2f} s",
        )
        for (a, b), theirs in zip(
            ahead, ("10.23 s and 10.56 s", "9.33 s and 10.56 s", "slightly"), strict=True
        )
    ]
    figures = [
        timeline(
            name=f"figure-4-27{panel}",
            title=f"steamcommunity.com, 2.5 Mbit/s, 200 ms: {cell}",
            caption=f"The median run of {SITE_RUNS} by load time (simulated); PCP thesis, "
            f"Figure 4.27({panel}).",
            outcome=loads.median_load(cell),
            in_order=cell == "http/1.1",
        )
        for panel, cell in zip("abcd", cells, strict=True)
    ]
    return table, statements, figures


PRESET = Preset("pcp-priorities", "priorities of responses, thesis section 4.4.4", _run)
