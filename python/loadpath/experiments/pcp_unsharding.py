"""Chapter 5 of the PCP thesis: the hosts of each site as one, over HTTP/2.

Sharded and unsharded HTTP/2 with priorities by MIME type over 284 sites and 50 networks, and
HTTP/1.1 with six connections beside them: Table 5.1 and Figures 5.1 to 5.7. Only the sharded
column of the table was published with numbers; the others are predictions.

All hosts of a page are grouped, third parties among themselves as well: grouping the site's own
hosts alone is what section 5.2 says, but gives neither its histogram (Figure 5.1) nor Figure 5.7,
since 68 of the sites would stay as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from loadpath.analysis import statistics
from loadpath.analysis.figures import Figure, cdf, difference_cdf, heat_map, histogram
from loadpath.experiments.cells import CellLoads, PageSet
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import NETWORKS, RATES_BPS, RTTS_MS, run_cells
from loadpath.experiments.pcp_table_5_1 import SHARDED_HTTP2, published_means_s
from loadpath.experiments.preset import Preset, PresetOptions, Result, Table
from loadpath.experiments.sweep.specification import MARGIN_MS
from loadpath.parameters import rate_text

__all__ = ["PRESET"]

Network: TypeAlias = tuple[int, int]
"""Bandwidth in bit/s, RTT in ms."""

DEFAULT_RUNS = 50
"""As in the thesis: p-values over (site, run) pairs depend on it."""
QUICK_RUNS = 2
QUICK_SITES = 40
SMALL_RUNS = 5
"""At most, of comparisons without p-values."""

UNSHARD = "unshard:thesis"
HTTP1 = {"http.version": "http/1.1", "http.priorities": "none"}
SIGNIFICANT = 0.05
"""The thesis's level (section 5.3.1)."""

CSV_COLUMNS = (
    "rate_bps",
    "rtt_ms",
    "plt_shard_s",
    "plt_unshard_s",
    "mean_diff_s",
    "p_value",
    "sigma_s",
    "improvement_pct",
)

CURVES = ((1_000_000_000, 8), (10_000_000, 40), (2_500_000, 200), (1_000_000, 400))
"""Figure 5.6; the text names three of these, 2.5 Mbit/s with 200 ms is from section 5.3.2."""

CASES = ((2_500_000, 200), (10_000_000, 40), (50_000_000, 40), (25_000_000, 400), (1_000_000, 400))
"""Networks that chapter 5 speaks of, for what else might have been meant or be the cause."""

READINGS: Mapping[str, str] = {
    "all hosts, registry suffixes (the preset)": UNSHARD,
    "all hosts, public suffixes": "unshard",
    "the site's own hosts": "unshard:thesis:own",
}

WINDOW_KEPT = {"transport.loss_window": "cwnd", "transport.recovery_exit": "ssthresh"}
"""The author's own change of the recovery (section 5.3.4.1)."""

RECOVERIES: Mapping[str, Mapping[str, str]] = {"as the preset": {}, "window kept": WINDOW_KEPT}

_NO_PRELOADER = {"browser.preloader": "false"}
_NO_PRIORITIES = {"http.priorities": "none"}
SITES: Mapping[str, tuple[Network, Mapping[str, Mapping[str, str]]]] = {
    "www.expedia.co.uk": (
        (1_000_000, 200),
        {
            "MIME type": {},
            "MIME type by class": {"http.priorities": "mime-class"},
            "critical path": {"http.priorities": "critical-path"},
        },
    ),
    "www.quora.com": ((50_000_000, 40), {"MIME type": {}, "window kept": WINDOW_KEPT}),
    "www.gizmodo.co.uk": (
        (10_000_000, 40),
        {
            "no priorities, no preloader": {**_NO_PRIORITIES, **_NO_PRELOADER},
            "MIME type, no preloader": _NO_PRELOADER,
            "MIME type": {},
        },
    ),
}
"""Case studies of section 5.3.4."""
SITE_RUNS = 50

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Cell:
    """Both forms of the sites over one network."""

    network: Network
    load: statistics.Comparison
    dcl: statistics.Comparison
    differences_s: Floats
    """Unsharded less sharded, means of sites."""
    not_slower: npt.NDArray[np.bool_]
    """By site."""
    not_slower_dcl: npt.NDArray[np.bool_]
    more_drops_percent: float
    """Sites that lose a larger share of their packets when unsharded."""
    drop_rates_percent: tuple[float, float]
    """Sharded, unsharded: means over the loads."""


def _network(network: Network) -> dict[str, object]:
    return {"network.rate_bps": network[0], "network.rtt_ms": network[1]}


def _name(network: Network) -> str:
    return f"{rate_text(network[0])}, {network[1]} ms"


def _compare(baseline: Floats, variant: Floats) -> statistics.Comparison:
    """Of shape (sites, runs), in ms."""
    sites = np.repeat(np.arange(len(baseline)), baseline.shape[1])
    return statistics.compare(baseline.ravel(), variant.ravel(), sites, margin=MARGIN_MS)


def _not_slower(baseline: Floats, variant: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(variant.mean(axis=1) - baseline.mean(axis=1) <= MARGIN_MS)


def _cell(network: Network, sharded: CellLoads, unsharded: CellLoads) -> _Cell:
    dcl_sharded, dcl_unsharded = (
        np.asarray(loads.column("dcl_ms"), np.float64) for loads in (sharded, unsharded)
    )
    drops_sharded, drops_unsharded = sharded.drop_rates_percent, unsharded.drop_rates_percent
    difference = unsharded.plt_ms.mean(axis=1) - sharded.plt_ms.mean(axis=1)
    return _Cell(
        network=network,
        load=_compare(sharded.plt_ms, unsharded.plt_ms),
        dcl=_compare(dcl_sharded, dcl_unsharded),
        differences_s=difference / 1000,
        not_slower=_not_slower(sharded.plt_ms, unsharded.plt_ms),
        not_slower_dcl=_not_slower(dcl_sharded, dcl_unsharded),
        more_drops_percent=float(
            100 * np.mean(drops_unsharded.mean(axis=1) > drops_sharded.mean(axis=1))
        ),
        drop_rates_percent=(float(drops_sharded.mean()), float(drops_unsharded.mean())),
    )


def _run(options: PresetOptions) -> Result:
    published = published_means_s(options.published)
    runs = options.runs or (QUICK_RUNS if options.quick else DEFAULT_RUNS)
    h2 = [{**_network(n), **SHARDED_HTTP2} for n in NETWORKS]
    h1 = [{**_network(n), **HTTP1} for n in NETWORKS]
    with open_corpus(options.corpus) as corpus:
        pages = corpus.sharded.first(QUICK_SITES) if options.quick else corpus.sharded
        loads = run_cells(pages, [*h2, *h1], options, runs=runs)
        sharded, http1 = loads[: len(h2)], loads[len(h2) :]
        unsharded = run_cells(pages.after(UNSHARD), h2, options, runs=runs)
        cells = [_cell(*of) for of in zip(NETWORKS, sharded, unsharded, strict=True)]
        against_http1 = [
            tuple(100 * float(np.mean(_not_slower(old.plt_ms, new.plt_ms))) for new in both)
            for old, *both in zip(http1, sharded, unsharded, strict=True)
        ]
        shards = _shards(corpus.all_pages)
        few = min(runs, SMALL_RUNS)
        tables = [] if options.quick else _side_tables(pages, options, few)
    expected = _expected(cells, against_http1, shards, published)
    rows = [
        [
            *_table_5_1(cell.load, cell.network),
            published[cell.network],
            cell.load.site_t.p,
            cell.load.same_or_better_percent,
            cell.dcl.same_or_better_percent,
            cell.more_drops_percent,
            *cell.drop_rates_percent,
            *shares,
        ]
        for cell, shares in zip(cells, against_http1, strict=True)
    ]
    return Result(
        title="PCP thesis, chapter 5: sharded and unsharded HTTP/2 (simulated)",
        columns=[
            *CSV_COLUMNS,
            "plt_shard_published_s",
            "site_t_p_value",
            "as_fast_percent",
            "as_fast_dcl_percent",
            "more_drops_percent",
            "shard_dropped_percent",
            "unshard_dropped_percent",
            "shard_as_fast_as_http1_percent",
            "unshard_as_fast_as_http1_percent",
        ],
        rows=rows,
        csv_columns=CSV_COLUMNS,
        notes=[f"{what}: thesis {theirs}; ours {ours}" for what, theirs, ours in expected.rows],
        tables=[expected, *tables, *_sites(cells, sharded[0].page_names)],
        figures=_figures(cells, against_http1, shards),
        settings={
            "profile": "pcp",
            "pages": len(pages),
            "networks": len(NETWORKS),
            "runs": runs,
            "transform": UNSHARD,
            "margin_ms": MARGIN_MS,
            **SHARDED_HTTP2,
        },
    )


def _table_5_1(comparison: statistics.Comparison, network: Network) -> list[int | float | None]:
    """The columns of the CSV."""
    difference = comparison.difference
    return [
        *network,
        comparison.mean_baseline / 1000,
        comparison.mean_variant / 1000,
        None if difference.mean is None else difference.mean / 1000,
        comparison.anova.p,
        None if difference.sd is None else difference.sd / 1000,
        comparison.improvement_percent,
    ]


def _shards(pages: PageSet) -> list[int]:
    """Shards coalesced, by site."""
    return [page.hosts - page.transformed(UNSHARD).hosts for page in pages.pages]


def _side_tables(pages: PageSet, options: PresetOptions, runs: int) -> list[Table]:
    return [
        _readings(pages, options, runs),
        _recoveries(pages, options, runs),
        _cases(pages, options),
    ]


def _readings(pages: PageSet, options: PresetOptions, runs: int) -> Table:
    """Which hosts are merged."""
    cells = [{**_network(n), **SHARDED_HTTP2} for n in CASES]
    before = run_cells(pages, cells, options, runs=runs)
    rows: list[list[str | float]] = []
    for reading, transform in READINGS.items():
        after = run_cells(pages.after(transform), cells, options, runs=runs)
        rows.append([reading, *_gains(before, after)])
    return Table(
        title=f"Other readings of section 5.2; runs of a site: {runs} (simulated)",
        columns=["reading", *_gain_columns()],
        rows=rows,
    )


def _recoveries(pages: PageSet, options: PresetOptions, runs: int) -> Table:
    """What the small window after recovery costs (section 5.3.4.1)."""
    rows: list[list[str | float]] = []
    for recovery, keys in RECOVERIES.items():
        cells = [{**_network(n), **SHARDED_HTTP2, **keys} for n in CASES]
        before = run_cells(pages, cells, options, runs=runs)
        after = run_cells(pages.after(UNSHARD), cells, options, runs=runs)
        rows.append([recovery, *_gains(before, after)])
    return Table(
        title=f"Recovery from losses; runs of a site: {runs} (simulated)",
        columns=["recovery", *_gain_columns()],
        rows=rows,
    )


def _cases(pages: PageSet, options: PresetOptions) -> Table:
    """The case studies of section 5.3.4, many runs instead of one."""
    rows: list[list[str | float]] = []
    for site, (network, variants) in SITES.items():
        page = pages.named(f"{site}*")
        if not len(page):
            continue
        cells = [{**_network(network), **SHARDED_HTTP2, **keys} for keys in variants.values()]
        before = run_cells(page, cells, options, runs=SITE_RUNS)
        after = run_cells(page.after(UNSHARD), cells, options, runs=SITE_RUNS)
        for variant, old, new in zip(variants, before, after, strict=True):
            times = [
                (loads.plt_ms.mean() / 1000, loads.plt_ms.std(ddof=1) / 1000)
                for loads in (old, new)
            ]
            rows.append(
                [site, _name(network), variant, *(float(t) for pair in times for t in pair)]
            )
    return Table(
        title=f"Case studies of section 5.3.4, {SITE_RUNS} runs (simulated)",
        columns=[
            "site",
            "network",
            "variant",
            "shard_s",
            "shard_sd_s",
            "unshard_s",
            "unshard_sd_s",
        ],
        rows=rows,
    )


def _gain_columns() -> list[str]:
    return [
        f"{_name(network)}: {what}"
        for network in CASES
        for what in ("improvement_percent", "as_fast_percent")
    ]


def _gains(before: Sequence[CellLoads], after: Sequence[CellLoads]) -> list[float]:
    """Improvement and share of sites that are as fast, for each network."""
    gains = []
    for old, new in zip(before, after, strict=True):
        gains.append(100 * float(1 - new.plt_ms.sum() / old.plt_ms.sum()))
        gains.append(100 * float(np.mean(_not_slower(old.plt_ms, new.plt_ms))))
    return gains


def _sites(cells: Sequence[_Cell], names: Sequence[str]) -> list[Table]:
    """Sites that unsharding hurts in most networks (section 5.3.3)."""
    helped = np.sum([cell.not_slower for cell in cells], axis=0)
    order = np.argsort(helped, kind="stable")[:10]
    table = Table(
        title=f"Sites that unsharding helps in the fewest of {len(cells)} networks (simulated)",
        columns=["site", "as_fast_networks", "mean_change_s"],
        rows=[
            [
                names[site],
                int(helped[site]),
                float(np.mean([cell.differences_s[site] for cell in cells])),
            ]
            for site in order
        ],
    )
    return [table]


def _expected(
    cells: Sequence[_Cell],
    against_http1: Sequence[tuple[float, ...]],
    shards: Sequence[int],
    published: Mapping[Network, float],
) -> Table:
    """What chapter 5 says in words or numbers."""
    return Table(
        title="What the text of chapter 5 says, and what is found",
        columns=("statement", "thesis", "simulated"),
        rows=[
            *_shard_statements(shards),
            *_time_statements(cells, published),
            *_share_statements(cells),
            *_http1_statements(against_http1),
        ],
    )


Statement: TypeAlias = tuple[str, str, str]


def _shard_statements(shards: Sequence[int]) -> list[Statement]:
    def sites(low: int, high: int) -> str:
        return str(sum(low <= s <= high for s in shards))

    return [
        ("sites without shards (Figure 5.1)", "17 of 300", f"{sites(0, 0)} of {len(shards)}"),
        ("sites with two or three", "46", sites(2, 3)),
        ("sites with 20 to 42", "37", sites(20, 42)),
        ("most shards", "60, 60, 55, 50", ", ".join(map(str, sorted(shards)[:-5:-1]))),
    ]


def _time_statements(cells: Sequence[_Cell], published: Mapping[Network, float]) -> list[Statement]:
    gain = {cell.network: cell.load.improvement_percent for cell in cells}
    errors = [abs(100 * (c.load.mean_baseline / 1000 / published[c.network] - 1)) for c in cells]
    by_rtt = [float(np.mean([gain[rate, rtt] for rate in RATES_BPS])) for rtt in RTTS_MS]
    by_rate = [float(np.mean([gain[rate, rtt] for rtt in RTTS_MS])) for rate in RATES_BPS]
    slower = [n for n in NETWORKS if gain[n] < 0]
    most = max(gain, key=gain.__getitem__)
    p = {cell.network: cell.load.anova.p or 0.0 for cell in cells}
    large = [n for n in NETWORKS if n[0] > 5_000_000 or n[1] > 8]
    return [
        (
            "mean load time, sharded (Table 5.1)",
            "50 values",
            f"relative error median {np.median(errors):.2f} %, largest {max(errors):.2f} %",
        ),
        (
            f"mean improvement by RTT ({', '.join(map(str, RTTS_MS))} ms)",
            "larger with the RTT",
            ", ".join(f"{value:.2f} %" for value in by_rtt),
        ),
        (
            f"mean improvement by bandwidth ({', '.join(map(rate_text, RATES_BPS))})",
            "larger with the bandwidth",
            ", ".join(f"{value:.2f} %" for value in by_rate),
        ),
        ("largest improvement", "high bandwidth and RTT", f"{gain[most]:.2f} % at {_name(most)}"),
        ("slower on average", "nowhere (a minor win)", _networks(slower)),
        (
            "p < 0.05 above 5 Mbit/s or above 8 ms",
            "for example there",
            f"{sum(p[n] < SIGNIFICANT for n in large)} of {len(large)} networks",
        ),
        (
            "p < 0.05 elsewhere",
            "no",
            f"{sum(p[n] < SIGNIFICANT for n in NETWORKS if n not in large)} of "
            f"{len(NETWORKS) - len(large)} networks",
        ),
    ]


def _share_statements(cells: Sequence[_Cell]) -> list[Statement]:
    share = {cell.network: cell.load.same_or_better_percent for cell in cells}
    # Section 5.3.2: for each round-trip time the bandwidth at which fewest sites gain.
    least = [min(RATES_BPS, key=lambda rate: share[rate, rtt]) for rtt in RTTS_MS]
    more = {cell.network: cell.more_drops_percent for cell in cells}
    helped = np.sum([cell.not_slower for cell in cells], axis=0)
    helped_dcl = np.sum([cell.not_slower_dcl for cell in cells], axis=0)
    total = len(cells)

    def percent(sites: npt.NDArray[np.bool_]) -> str:
        return f"{100 * np.mean(sites):.1f} %"

    return [
        (
            f"bandwidth at which fewest sites are as fast ({', '.join(map(str, RTTS_MS))} ms)",
            "a diagonal (Figure 5.4a)",
            ", ".join(map(rate_text, least)),
        ),
        ("sites as fast at 2.5 Mbit/s, 200 ms", "59.2 %", f"{share[2_500_000, 200]:.1f} %"),
        ("sites as fast at 50 Mbit/s, 40 ms", "80 %", f"{share[50_000_000, 40]:.1f} %"),
        ("sites slower at 10 Mbit/s, 40 ms", "about 20 %", f"{100 - share[10_000_000, 40]:.1f} %"),
        (
            "networks in which no site loses more packets (Figure 5.5)",
            "bottom right",
            _networks([n for n in NETWORKS if more[n] == 0]),
        ),
        (
            "networks in which over 40 % of the sites do",
            "the middle band",
            _networks([n for n in NETWORKS if more[n] > 40]),
        ),
        (f"sites as fast in 40 of {total} networks, by load", "50 %", percent(helped >= 40)),
        (f"sites as fast in 40 of {total} networks, by DCL", "50 %", percent(helped_dcl >= 40)),
        ("sites slower in more than half of the networks", "10 %", percent(helped < total / 2)),
        ("sites as fast in all networks", "almost none", percent(helped == total)),
    ]


def _http1_statements(shares: Sequence[tuple[float, ...]]) -> list[Statement]:
    sharded, unsharded = dict(zip(NETWORKS, shares, strict=True))[25_000_000, 400]
    raised = sum(after >= before for before, after in shares)
    return [
        ("as fast as HTTP/1.1 at 25 Mbit/s, 400 ms: sharded", "79.8 %", f"{sharded:.1f} %"),
        ("as fast as HTTP/1.1 at 25 Mbit/s, 400 ms: unsharded", "87.9 %", f"{unsharded:.1f} %"),
        (
            "networks in which unsharding raises or keeps that share (Figure 5.2)",
            "most",
            f"{raised} of {len(shares)}",
        ),
    ]


def _networks(networks: Sequence[Network]) -> str:
    """So many, and which by bandwidth."""
    by_rate: dict[int, list[str]] = {}
    for rate, rtt in networks:
        by_rate.setdefault(rate, []).append(str(rtt))
    which = "; ".join(f"{rate_text(rate)}: {', '.join(rtts)} ms" for rate, rtts in by_rate.items())
    return f"{len(networks)} ({which})" if networks else "0"


def _grid(
    number: str, title: str, value: str, values: Sequence[float], centre: float | None = None
) -> Figure:
    return heat_map(
        name=f"figure-{number}",
        title=title,
        caption=f"{title} (simulated); PCP thesis, Figure {number.replace('-', '.', 1)}.",
        columns=("rate_bps", "rtt_ms", value),
        rows=[(*network, v) for network, v in zip(NETWORKS, values, strict=True)],
        x="rtt_ms",
        y="rate_bps",
        value=value,
        centre=centre,
    )


def _figures(
    cells: Sequence[_Cell], against_http1: Sequence[tuple[float, ...]], shards: Sequence[int]
) -> list[Figure]:
    by_network = {cell.network: cell for cell in cells}
    as_fast = "as_fast_percent"
    helped = {
        "load event": np.sum([cell.not_slower for cell in cells], axis=0),
        "DOMContentLoaded": np.sum([cell.not_slower_dcl for cell in cells], axis=0),
    }
    return [
        histogram(
            name="figure-5-1",
            title="Shards coalesced by site",
            caption="Hosts of a page less registrable domains (counted); PCP thesis, Figure 5.1.",
            values=shards,
            column="shards",
            of="sites",
        ),
        _grid(
            "5-2a",
            "Sites as fast over sharded HTTP/2 as over HTTP/1.1",
            as_fast,
            [share[0] for share in against_http1],
        ),
        _grid(
            "5-2b",
            "Sites as fast over unsharded HTTP/2 as over HTTP/1.1",
            as_fast,
            [share[1] for share in against_http1],
        ),
        _grid(
            "5-3",
            "Reduction of mean load time by unsharding",
            "improvement_percent",
            [cell.load.improvement_percent for cell in cells],
            centre=0.0,
        ),
        _grid(
            "5-4a",
            "Sites as fast unsharded, by load event",
            as_fast,
            [cell.load.same_or_better_percent for cell in cells],
        ),
        _grid(
            "5-4b",
            "Sites as fast unsharded, by DOMContentLoaded",
            as_fast,
            [cell.dcl.same_or_better_percent for cell in cells],
        ),
        _grid(
            "5-5",
            "Sites with a higher drop rate unsharded",
            "more_drops_percent",
            [cell.more_drops_percent for cell in cells],
        ),
        difference_cdf(
            name="figure-5-6",
            title="Unsharded less sharded load time, means of sites",
            caption="Below zero unsharding is faster (simulated); PCP thesis, Figure 5.6.",
            samples={_name(n): by_network[n].differences_s.tolist() for n in CURVES},
            column="difference_s",
            by="network",
        ),
        cdf(
            name="figure-5-7",
            title="Networks in which a site is as fast unsharded",
            caption=f"Of {len(cells)} networks (simulated); PCP thesis, Figure 5.7.",
            samples={metric: counts.tolist() for metric, counts in helped.items()},
            column="networks",
            by="metric",
        ),
    ]


PRESET = Preset("pcp-unsharding", "one host instead of many over HTTP/2, thesis chapter 5", _run)
