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

RECOVERIES: Mapping[str, Mapping[str, str]] = {
    "as the preset": {},
    "window kept as in section 5.3.4.1": {
        "transport.loss_window": "cwnd",
        "transport.recovery_exit": "ssthresh",
    },
}

Network: TypeAlias = tuple[int, int]
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
        tables = (
            []
            if options.quick
            else [_readings(pages, options, few), _recoveries(pages, options, few)]
        )
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
        notes=[*_shard_notes(shards), *_notes(cells, published), *_http1_notes(against_http1)],
        tables=[*tables, *_sites(cells, sharded[0].page_names)],
        figures=_figures(cells, against_http1, shards),
        settings={
            "profile": "pcp",
            "sites": len(pages),
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


def _shard_notes(shards: Sequence[int]) -> list[str]:
    top = sorted(shards, reverse=True)[:4]
    return [
        f"shards coalesced (Figure 5.1), {len(shards)} sites: none in "
        f"{sum(s == 0 for s in shards)}, two or three in {sum(s in (2, 3) for s in shards)}, 20 to "
        f"42 in {sum(20 <= s <= 42 for s in shards)}, most {', '.join(map(str, top))}; thesis: 17, "
        "46, 37, most 60, 60, 55, 50"
    ]


def _notes(cells: Sequence[_Cell], published: Mapping[Network, float]) -> list[str]:
    by_network = {cell.network: cell for cell in cells}
    gain = {n: cell.load.improvement_percent for n, cell in by_network.items()}
    share = {n: cell.load.same_or_better_percent for n, cell in by_network.items()}
    errors = [abs(100 * (c.load.mean_baseline / 1000 / published[c.network] - 1)) for c in cells]
    by_rtt = {rtt: float(np.mean([gain[r, rtt] for r in RATES_BPS])) for rtt in RTTS_MS}
    by_rate = {rate: float(np.mean([gain[rate, t] for t in RTTS_MS])) for rate in RATES_BPS}
    # Section 5.3.2: for each round-trip time the bandwidth at which fewest sites gain.
    least = {rtt: min(RATES_BPS, key=lambda r: share[r, rtt]) for rtt in RTTS_MS}
    p = {n: cell.load.anova.p for n, cell in by_network.items()}
    most = max(gain, key=gain.__getitem__)
    insignificant = [n for n in NETWORKS if (p[n] or 0.0) >= SIGNIFICANT]
    slower = [n for n in NETWORKS if gain[n] < 0]
    helped = np.sum([cell.not_slower for cell in cells], axis=0)
    helped_dcl = np.sum([cell.not_slower_dcl for cell in cells], axis=0)
    no_loss = [n for n in NETWORKS if by_network[n].more_drops_percent == 0]
    many = [n for n in NETWORKS if by_network[n].more_drops_percent > 40]
    half = len(cells) / 2
    return [
        f"sharded column against Table 5.1: relative error median {np.median(errors):.2f} %, "
        f"largest {max(errors):.2f} %",
        "improvement by RTT, mean over bandwidths: "
        + ", ".join(f"{rtt} ms {value:+.2f} %" for rtt, value in by_rtt.items())
        + "; thesis: larger with the RTT",
        "improvement by bandwidth, mean over RTTs: "
        + ", ".join(f"{rate_text(rate)} {value:+.2f} %" for rate, value in by_rate.items())
        + "; thesis: largest for high bandwidth and RTT",
        f"largest improvement: {gain[most]:.2f} % at {_name(most)}"
        f"; slower on average in {len(slower)} networks"
        + (f" ({'; '.join(map(_name, slower))})" if slower else ""),
        "fewest sites as fast (Figure 5.4a), by RTT: "
        + ", ".join(f"{rtt} ms {share[r, rtt]:.1f} % at {rate_text(r)}" for rtt, r in least.items())
        + f"; thesis: a diagonal, 59.2 % at 2.5 Mbit/s and 200 ms (ours "
        f"{share[2_500_000, 200]:.1f} %), 80 % at 50 Mbit/s and 40 ms (ours "
        f"{share[50_000_000, 40]:.1f} %)",
        f"not significant at 5 % (ANOVA over all pairs): {len(insignificant)} networks"
        + (f" ({'; '.join(map(_name, insignificant))})" if insignificant else "")
        + "; thesis: significant for example above 5 Mbit/s or above 8 ms",
        f"more loss when unsharded in no site at all in {len(no_loss)} networks, in over 40 % of "
        f"the sites in {len(many)}"
        + (f" ({'; '.join(map(_name, many))})" if many else "")
        + "; thesis: bottom right none, over 40 % in the middle band",
        f"sites as fast in at least 40 of {len(cells)} networks: {100 * np.mean(helped >= 40):.1f} "
        f"% by load, {100 * np.mean(helped_dcl >= 40):.1f} % by DOMContentLoaded; thesis: 50 %",
        f"slower in more than half of the networks: {100 * np.mean(helped < half):.1f} % of sites "
        f"by load; thesis: 10 %. As fast in all: {100 * np.mean(helped == len(cells)):.1f} %; "
        "thesis: almost none",
        f"{_name((10_000_000, 40))}: {100 - share[10_000_000, 40]:.1f} % of the sites slower; "
        "thesis: about 20 %",
    ]


def _http1_notes(shares: Sequence[tuple[float, ...]]) -> list[str]:
    by_network = dict(zip(NETWORKS, shares, strict=True))
    sharded, unsharded = by_network[25_000_000, 400]
    more = sum(after >= before for before, after in shares)
    return [
        "sites as fast as over HTTP/1.1 with six connections (Figure 5.2) at 25 Mbit/s, 400 ms: "
        f"sharded {sharded:.1f} %, unsharded {unsharded:.1f} %; thesis: 79.8 %, 87.9 %. Unsharding "
        f"raises the share or leaves it in {more} of {len(shares)} networks; thesis: most"
    ]


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
