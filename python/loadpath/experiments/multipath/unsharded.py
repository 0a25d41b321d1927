"""Unsharded pages over two paths: what section 6.6.3 of the PCP thesis leaves open.

"We do expect a general reduction in PLTs when sharded domains are unified, since unsharding allows
a web-aware scheduler to reason about resource priorities more efficiently."
"""

from collections.abc import Sequence

import numpy as np

from loadpath.analysis.figures import difference_cdf, heat_map
from loadpath.analysis.statistics import wilcoxon
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import Loads, against, measure, repetitions
from loadpath.experiments.multipath.networks import RTT_RATES_BPS, Network, TwoPaths, grid
from loadpath.experiments.multipath.variants import BASELINE, MODIFIED, SINGLE_PATH_TLP
from loadpath.experiments.preset import PresetOptions, Result, Value

__all__ = ["TRANSFORM", "run"]

DEFAULT_RUNS = 5

TRANSFORM = "unshard:thesis"

_PAGES = ("sharded", "unsharded")
_TRANSPORTS = ("TCP", "baseline", "modified")


def run(options: PresetOptions, networks: Sequence[Network] = grid(RTT_RATES_BPS)) -> Result:
    """TCP, baseline and modified MPTCP with sharded pages as they are, and unsharded; 5 x RTT."""
    runs = repetitions(options, DEFAULT_RUNS)
    cells = {}
    for network in networks:
        both = TwoPaths.scaled(network, rtt=5.0)
        cells[network, "TCP"] = {**SINGLE_PATH_TLP, **both.one.alone}
        cells[network, "baseline"] = {**BASELINE, **both.values}
        cells[network, "modified"] = {**MODIFIED, **both.values}
    with open_corpus(options.corpus) as corpus:
        sharded = corpus.sharded
        loads = {
            "sharded": measure(sharded, cells, options, runs=runs),
            "unsharded": measure(sharded.after(TRANSFORM), cells, options, runs=runs),
        }
    rows: list[list[Value]] = []
    for network in networks:
        found = {
            (pages, transport): loads[pages][network, transport]
            for pages in _PAGES
            for transport in _TRANSPORTS
        }
        rows.append([*network, *_row(found), runs])
    return Result(
        title="Unsharded pages over two paths, 5 x RTT on the second (simulated; thesis 6.6.3)",
        columns=[
            "rate_bps",
            "rtt_ms",
            *(f"{pages}_{transport.lower()}_s" for pages in _PAGES for transport in _TRANSPORTS),
            *(f"unsharding_improves_{transport.lower()}_percent" for transport in _TRANSPORTS),
            *(f"unsharding_slower_{transport.lower()}_sites_percent" for transport in _TRANSPORTS),
            "sharded_modified_improvement_percent",
            "unsharded_modified_improvement_percent",
            "p_of_the_interaction",
            "runs",
        ],
        rows=rows,
        notes=_notes(rows),
        figures=[
            heat_map(
                name="unsharded-modified",
                title="What unsharding brings to modified MPTCP",
                caption="Mean load time of the sharded sites under modified MPTCP, second path "
                "with 5 x RTT, unsharded below as they are (simulated; thesis section 6.6.3).",
                columns=("rate_bps", "rtt_ms", "improvement_percent"),
                rows=[[row[0], row[1], row[10]] for row in rows],
                x="rtt_ms",
                y="rate_bps",
                value="improvement_percent",
                centre=0.0,
            ),
            *(
                difference_cdf(
                    name=f"unsharded-{rate_bps // 1_000_000}-mbit-{rtt_ms:g}-ms",
                    title=f"Unsharding, {rate_bps / 1e6:g} Mbit/s, {rtt_ms:g} ms",
                    caption="Differences of the sites' mean load times, unsharded less as they are "
                    "(simulated).",
                    samples={
                        transport: [
                            float(v)
                            for v in loads["unsharded"][(rate_bps, rtt_ms), transport].site_means_s
                            - loads["sharded"][(rate_bps, rtt_ms), transport].site_means_s
                        ]
                        for transport in _TRANSPORTS
                    },
                    column="difference_s",
                    by="transport",
                )
                for rate_bps, rtt_ms in networks
                if (rate_bps, rtt_ms) in ((1_000_000, 40), (10_000_000, 40), (50_000_000, 100))
            ),
        ],
        settings={"runs": runs, "profile": "pcp", "transform": TRANSFORM},
    )


def _row(found: dict[tuple[str, str], Loads]) -> list[Value]:
    brings = {
        transport: against(found["sharded", transport], found["unsharded", transport])
        for transport in _TRANSPORTS
    }
    gains = {
        pages: found[pages, "TCP"].site_means_s - found[pages, "modified"].site_means_s
        for pages in _PAGES
    }
    return [
        *(found[pages, transport].mean_s for pages in _PAGES for transport in _TRANSPORTS),
        *(brings[transport].improvement_percent for transport in _TRANSPORTS),
        *(100 - brings[transport].same_or_better_percent for transport in _TRANSPORTS),
        *(100 * float(np.mean(gains[pages])) / found[pages, "TCP"].mean_s for pages in _PAGES),
        # Whether a site gains more from two paths unsharded than as it is.
        wilcoxon(gains["unsharded"] - gains["sharded"]).p,
    ]


def _notes(rows: Sequence[Sequence[Value]]) -> list[str]:
    notes = []
    for at, transport in enumerate(_TRANSPORTS, start=8):
        values = [float(row[at] or 0.0) for row in rows]
        notes.append(
            f"{transport}: unsharding improves the mean load time on "
            f"{sum(v > 0 for v in values)} of {len(values)} networks, by {min(values):+.2f} to "
            f"{max(values):+.2f} % (thesis expects a general reduction)"
        )
    more = sum(float(row[15] or 0.0) > float(row[14] or 0.0) for row in rows)
    notes.append(
        f"modified MPTCP gains more over single-path TCP with unsharded pages on {more} of "
        f"{len(rows)} networks"
    )
    return notes
