"""Two paths alike: section 6.3.1 with Figures 6.4 and 6.5."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from loadpath.analysis.figures import cdf, heat_map
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import against, measure, repetitions
from loadpath.experiments.multipath.networks import RTT_RATES_BPS, Network, TwoPaths, grid
from loadpath.experiments.multipath.variants import BASELINE, SINGLE_PATH
from loadpath.experiments.preset import PresetOptions, Result

__all__ = ["run"]

DEFAULT_RUNS = 5

_LOW_BPS, _HIGH_BPS = 1_000_000, 500_000_000
"""What section 6.3.1 calls low and latency bound, as numbers."""


def run(options: PresetOptions, networks: Sequence[Network] = grid(RTT_RATES_BPS)) -> Result:
    """Improvement of the mean load time by a second path like the first."""
    runs = repetitions(options, DEFAULT_RUNS)
    cells = {}
    for network in networks:
        both = TwoPaths.scaled(network)
        cells[network, "tcp"] = {**SINGLE_PATH, **both.one.alone}
        cells[network, "mptcp"] = {**BASELINE, **both.values}
    with open_corpus(options.corpus) as corpus:
        loads = measure(corpus.all_pages, cells, options, runs=runs)
    rows: list[list[Any]] = []
    deviations = {}
    for network in networks:
        tcp, mptcp = loads[network, "tcp"], loads[network, "mptcp"]
        result = against(tcp, mptcp)
        deviation = np.std(mptcp.plt_s, axis=1, ddof=1) if runs > 1 else None
        if deviation is not None:
            deviations[network] = deviation
        rows.append(
            [
                *network,
                tcp.mean_s,
                mptcp.mean_s,
                result.improvement_percent,
                result.same_or_better_percent,
                None if deviation is None else float(np.median(deviation)),
                runs,
            ]
        )
    notes = []
    for name, chosen, thesis in (
        ("up to 1 Mbit/s", [r for r in rows if r[0] <= _LOW_BPS], "about 50 %"),
        ("at 10 Mbit/s", [r for r in rows if r[0] == 10_000_000], "about 20 %"),
        ("from 500 Mbit/s on", [r for r in rows if r[0] >= _HIGH_BPS], "up to 6 %, positive"),
    ):
        if chosen:
            improvements = [row[4] for row in chosen]
            notes.append(
                f"{name}: improvement {min(improvements):.1f} to {max(improvements):.1f} % "
                f"(thesis: {thesis})"
            )
    notes.append(f"networks on which a second path does not help: {sum(r[4] <= 0 for r in rows)}")
    figures = [
        heat_map(
            name="equal-improvement",
            title="A second path like the first",
            caption="Mean load time of all sites over HTTP/2 and MPTCP (lowest RTT first, LIA) "
            "below that over HTTP/2 and single-path TCP (simulated; thesis Figure 6.4).",
            columns=("rate_bps", "rtt_ms", "improvement_percent"),
            rows=[[row[0], row[1], row[4]] for row in rows],
            x="rtt_ms",
            y="rate_bps",
            value="improvement_percent",
        )
    ]
    if deviations:
        rtt_ms = max(network[1] for network in deviations)
        figures.append(
            cdf(
                name="equal-deviation",
                title=f"How much the runs of a site differ, RTT {rtt_ms:g} ms",
                caption="Sample standard deviation of the load times of each site over its runs "
                "under MPTCP with equal paths (simulated; thesis Figure 6.5).",
                samples={
                    f"{rate_bps / 1e6:g} Mbit/s": list(values)
                    for (rate_bps, rtt), values in deviations.items()
                    if rtt == rtt_ms
                },
                column="deviation_s",
                by="rate",
            )
        )
    return Result(
        title="PCP thesis, section 6.3.1: two equal paths (simulated)",
        columns=[
            "rate_bps",
            "rtt_ms",
            "plt_tcp_s",
            "plt_mptcp_s",
            "improvement_percent",
            "same_or_better_percent",
            "median_site_deviation_s",
            "runs",
        ],
        rows=rows,
        notes=notes,
        figures=figures,
        settings={"runs": runs, "profile": "pcp"},
    )
