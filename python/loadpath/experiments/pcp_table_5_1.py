"""Table 5.1 of the PCP thesis: mean load time over sharded HTTP/2 with priorities by MIME type.

284 sites that have sharding (the thesis has 283 of them and does not say which is missing), 50
networks.
"""

import csv
import statistics
from importlib import resources
from pathlib import Path

from loadpath.errors import NotFoundError
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import NETWORKS, mean_by_page_s, run_cells
from loadpath.experiments.preset import Preset, PresetOptions, Result

__all__ = ["PRESET", "SHARDED_HTTP2", "published_means_s"]

DEFAULT_RUNS = 5
SHARDED_HTTP2 = {"http.version": "http/2", "http.priorities": "mime-type"}
"""Scenario values of the table, networks aside (section 5.2)."""

CSV_COLUMNS = ("rate_bps", "rtt_ms", "published_s", "ours_s", "error_percent", "runs")


def published_means_s(file: Path | None) -> dict[tuple[int, int], float]:
    """Mean load time in seconds by rate and RTT, from a CSV of rate_bps, rtt_ms, mean_plt_s."""
    if file is None:
        folder = resources.files("loadpath.experiments") / "published"
        text = (folder / "pcp_table_5_1.csv").read_text()
    else:
        try:
            text = file.read_text()
        except OSError as error:
            raise NotFoundError(f"cannot read {file}: {error.strerror}") from error
    try:
        return {
            (int(row["rate_bps"]), int(row["rtt_ms"])): float(row["mean_plt_s"])
            for row in csv.DictReader(text.splitlines())
        }
    except (KeyError, ValueError, TypeError) as error:
        raise NotFoundError(
            f"{file}: expected columns rate_bps, rtt_ms, mean_plt_s with numbers"
        ) from error


def _run(options: PresetOptions) -> Result:
    published = published_means_s(options.published)
    runs = options.runs or DEFAULT_RUNS
    cells = [
        {"network.rate_bps": rate_bps, "network.rtt_ms": rtt_ms, **SHARDED_HTTP2}
        for rate_bps, rtt_ms in NETWORKS
    ]
    with open_corpus(options.corpus) as corpus:
        results = run_cells(corpus.sharded, cells, options, runs=runs)
        sites = len(corpus.sharded)
    rows, errors = [], []
    for network, loads in zip(NETWORKS, results, strict=True):
        by_page = mean_by_page_s(loads, runs)
        ours = statistics.fmean(by_page)
        expected = published[network]
        error = 100 * (ours / expected - 1)
        errors.append(abs(error))
        # The mean without one site, against the mean of all.
        without = [100 * ((ours - t / sites) * sites / (sites - 1) / ours - 1) for t in by_page]
        dropped = int(loads.column("drops").sum())
        drops = 100 * dropped / (dropped + int(loads.column("data_packets").sum()))
        rows.append(
            [*network, expected, ours, error, runs, min(without), max(without), drops],
        )
    return Result(
        title="PCP thesis, Table 5.1: mean load time, sharded HTTP/2 (simulated)",
        columns=[
            *CSV_COLUMNS,
            "without_one_site_min_percent",
            "without_one_site_max_percent",
            "data_packets_dropped_percent",
        ],
        rows=rows,
        csv_columns=CSV_COLUMNS,
        notes=[
            f"{sites} sites, {runs} runs: relative error median {statistics.median(errors):.2f} %, "
            f"largest {max(errors):.2f} %, "
            f"{sum(e <= 2.5 for e in errors)} of {len(errors)} cells within 2.5 %, "
            f"{sum(e > 10 for e in errors)} beyond 10 %",
            "published: thesis Table 5.1; ours: simulated",
        ],
    )


PRESET = Preset("pcp-table-5-1", "mean load times of 284 sites over HTTP/2, thesis Table 5.1", _run)
