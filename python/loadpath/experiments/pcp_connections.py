"""Section 4.4.1 of the PCP thesis: the best number of connections a host (Figures 4.9 and 4.11)."""

import statistics

from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import NETWORKS, run_cells
from loadpath.experiments.preset import Preset, PresetOptions, Result

__all__ = ["PRESET"]

DEFAULT_RUNS = 1
COUNTS = (1, 2, 4, 6, 8, 10, 12)
SAME_MS = 20.0
"""Medians within 20 ms of the lowest count as equal; the smallest such count is best."""
FIXED = {"http/1.0": 6, "http/1.1": 6, "http/2": 1}
"""The counts that the thesis settles on (section 4.4.1.4)."""


def _run(options: PresetOptions) -> Result:
    runs = options.runs or DEFAULT_RUNS
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
        results = iter(run_cells(corpus.all_pages, cells, options, runs=runs))
    rows: list[list[str | int | float | None]] = []
    costs = []
    for version, fixed in FIXED.items():
        for network in NETWORKS:
            medians = {
                count: statistics.median(load.plt_ms or 0.0 for load in next(results))
                for count in COUNTS
            }
            lowest = min(medians.values())
            best = min(count for count in COUNTS if medians[count] <= lowest + SAME_MS)
            cost = 100 * (medians[fixed] / lowest - 1)
            if version == "http/2":
                costs.append(cost)
            rows.append([version, *network, best, lowest / 1000, fixed, cost])
    return Result(
        title="PCP thesis, section 4.4.1: best connections a host by median load time (simulated)",
        columns=[
            "http_version",
            "rate_bps",
            "rtt_ms",
            "best_connections",
            "best_median_s",
            "fixed_connections",
            "cost_of_fixed_percent",
        ],
        rows=rows,
        notes=[
            f"HTTP/2 with one connection costs at most {max(costs):.2f} % against the best count"
        ],
    )


PRESET = Preset("pcp-connections", "best number of connections, thesis section 4.4.1", _run)
