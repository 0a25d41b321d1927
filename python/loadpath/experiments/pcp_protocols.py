"""Section 4.4.3 of the PCP thesis: the HTTP versions against each other.

Mean load time of all sites under each version over 50 networks, and the share of sites that are as
fast or faster than under HTTP/1.1 with six connections (Figures 4.16 and 4.21).
"""

import statistics
from collections.abc import Sequence

from loadpath.experiments.cells import CellLoad
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import NETWORKS, mean_by_page_s, run_cells
from loadpath.experiments.preset import Preset, PresetOptions, Result

__all__ = ["PRESET"]

DEFAULT_RUNS = 5
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


def _run(options: PresetOptions) -> Result:
    runs = options.runs or DEFAULT_RUNS
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
        results = run_cells(corpus.all_pages, cells, options, runs=runs)
    rows = []
    in_order = 0
    for number, network in enumerate(NETWORKS):
        of_network = results[number * len(VERSIONS) : (number + 1) * len(VERSIONS)]
        loads = dict(zip(VERSIONS, of_network, strict=True))
        by_page = {version: mean_by_page_s(loads[version], runs) for version in VERSIONS}
        means = {version: statistics.fmean(times) for version, times in by_page.items()}
        in_order += _is_in_order(means)
        rows.append(
            [
                *network,
                *means.values(),
                _share_as_fast(by_page["http/2"], by_page[BASELINE]),
                _share_as_fast(by_page["quic-lite"], by_page[BASELINE]),
                _dropped_percent(loads[BASELINE]),
                _dropped_percent(loads["http/2"]),
            ]
        )
    least = min(rows, key=lambda row: row[-4])
    return Result(
        title="PCP thesis, section 4.4.3: mean load time in s by HTTP version (simulated)",
        columns=[
            "rate_bps",
            "rtt_ms",
            *(f"{version}_s" for version in VERSIONS),
            "http2_as_fast_percent",
            "quic_lite_as_fast_percent",
            "http1.1_dropped_percent",
            "http2_dropped_percent",
        ],
        rows=rows,
        notes=[
            f"QUIC-lite, HTTP/2 and pipelined HTTP/1.1 ahead of HTTP/1.1, HTTP/1.0 last, ties "
            f"within max(20 ms, 0.5 %): in {in_order} of {len(NETWORKS)} networks",
            f"fewest sites as fast under HTTP/2 as under HTTP/1.1: {least[-4]:.1f} % at "
            f"{least[0] / 1e6:g} Mbit/s, {least[1]} ms",
        ],
    )


def _share_as_fast(times: list[float], baseline: list[float]) -> float:
    """Percentage of pages."""
    faster = sum(t <= b + SAME_S for t, b in zip(times, baseline, strict=True))
    return 100 * faster / len(baseline)


def _dropped_percent(loads: Sequence[CellLoad]) -> float:
    """Mean over the loads of the share of data packets that a queue dropped."""
    return statistics.fmean(
        100 * load.drops / (load.data_packets + load.drops) for load in loads if load.data_packets
    )


def _is_in_order(means: dict[str, float]) -> bool:
    """The order of section 4.4.3.2, with ties within max(20 ms, 0.5 %)."""

    def not_slower(fast: str, slow: str) -> bool:
        return means[fast] <= means[slow] + max(SAME_S, 0.005 * means[slow])

    multiplexed = ("http/1.1-pipelined", "http/2", "quic-lite")
    return all(not_slower(v, BASELINE) for v in multiplexed) and all(
        not_slower(v, "http/1.0") for v in VERSIONS
    )


PRESET = Preset("pcp-protocols", "HTTP versions against each other, thesis section 4.4.3", _run)
