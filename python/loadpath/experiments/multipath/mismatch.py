"""What the studies of a mismatch of round-trip times and of bandwidths have in common.

Sections 6.3.2, 6.3.3, 6.5.1 and 6.5.2: a grid of networks, on each single-path TCP over the better
path, baseline MPTCP and modified MPTCP over both. The table is the thesis's Table 6.1 or 6.2.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from loadpath.analysis.figures import Figure, heat_map
from loadpath.analysis.statistics import Comparison
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import (
    Loads,
    against,
    difference_p,
    measure,
    repetitions,
    time_p,
)
from loadpath.experiments.multipath.networks import Network, TwoPaths
from loadpath.experiments.multipath.variants import (
    BASELINE,
    MODIFIED,
    SINGLE_PATH,
    SINGLE_PATH_TLP,
    Values,
)
from loadpath.experiments.preset import PresetOptions, Result, Value

__all__ = ["CSV_COLUMNS", "Cell", "Study", "run_study"]

DEFAULT_RUNS = 50
"""Section 6.3; the p-values are over them."""

CSV_COLUMNS = (
    "rate_bps",
    "rtt_ms",
    "plt_tcp_s",
    "mod_mean_diff_s",
    "mod_sigma_s",
    "mod_improvement_pct",
    "base_mean_diff_s",
    "base_sigma_s",
    "base_improvement_pct",
    "p_value",
)

_MORE_COLUMNS = (
    "runs",
    "base_same_or_better_pct",
    "mod_same_or_better_pct",
    "plt_tcp_without_tlp_s",
    "base_improvement_on_tcp_without_tlp_pct",
    "base_same_or_better_than_tcp_without_tlp_pct",
    "p_value_of_differences",
    "p_value_of_sites",
)


@dataclass(frozen=True)
class Study:
    """One mismatch."""

    name: str
    title: str
    networks: Sequence[Network]
    second_rate: float
    """Rate of the second path as a part of the first's."""
    second_rtt: float
    """Round-trip time of the second path as a multiple of the first's."""
    baseline_figure: str
    modified_figure: str

    def paths(self, network: Network) -> TwoPaths:
        """The two paths; connections are opened on the better one."""
        return TwoPaths.scaled(network, rate=self.second_rate, rtt=self.second_rtt)


class Cell(NamedTuple):
    """What was found on one network."""

    tcp: Loads
    tcp_without_tlp: Loads
    base: Loads
    mod: Loads

    @property
    def base_against_tcp(self) -> Comparison:
        """Baseline MPTCP against TCP with TLP."""
        return against(self.tcp, self.base)

    @property
    def mod_against_tcp(self) -> Comparison:
        """Modified MPTCP against TCP with TLP."""
        return against(self.tcp, self.mod)


def run_study(study: Study, options: PresetOptions) -> tuple[Result, Mapping[Network, Cell]]:
    """The table with its figures, without notes, and the loads behind it."""
    runs = repetitions(options, DEFAULT_RUNS)
    cells: dict[tuple[Network, str], Values] = {}
    for network in study.networks:
        both = study.paths(network)
        cells[network, "tcp"] = {**SINGLE_PATH_TLP, **both.one.alone}
        cells[network, "tcp_without_tlp"] = {**SINGLE_PATH, **both.one.alone}
        cells[network, "base"] = {**BASELINE, **both.values}
        cells[network, "mod"] = {**MODIFIED, **both.values}
    with open_corpus(options.corpus) as corpus:
        loads = measure(corpus.all_pages, cells, options, runs=runs)
        sites = len(corpus.all_pages)
    found = {
        network: Cell(**{field: loads[network, field] for field in Cell._fields})
        for network in study.networks
    }
    rows = [_row(network, cell, runs) for network, cell in found.items()]
    columns = (*CSV_COLUMNS, *_MORE_COLUMNS)
    result = Result(
        title=f"{study.title} (simulated)",
        columns=columns,
        rows=rows,
        csv_columns=CSV_COLUMNS,
        figures=_figures(study, columns, rows),
        settings={
            "pages": sites,
            "runs": runs,
            "profile": "pcp",
            **{f"overridden {key}": value for key, value in options.overrides},
        },
    )
    return result, found


def _row(network: Network, cell: Cell, runs: int) -> list[Value]:
    mod, base = cell.mod_against_tcp, cell.base_against_tcp
    without_tlp = against(cell.tcp_without_tlp, cell.base)
    return [
        *network,
        mod.mean_baseline,
        mod.difference.mean,
        mod.difference.sd,
        mod.improvement_percent,
        base.difference.mean,
        base.difference.sd,
        base.improvement_percent,
        time_p(cell.mod, cell.base),
        runs,
        base.same_or_better_percent,
        mod.same_or_better_percent,
        without_tlp.mean_baseline,
        without_tlp.improvement_percent,
        without_tlp.same_or_better_percent,
        difference_p(cell.tcp, cell.mod, cell.base),
        against(cell.base, cell.mod).site_wilcoxon.p,
    ]


def _figures(
    study: Study, columns: tuple[str, ...], rows: Sequence[Sequence[Value]]
) -> list[Figure]:
    """Shares of sites as in the thesis, and mean improvements, which it has in tables only."""
    drawn = [
        (
            "baseline",
            "base_same_or_better_than_tcp_without_tlp_pct",
            "baseline MPTCP (HTTP/2, lowest RTT first, LIA)",
            "single-path TCP on the better path "
            f"(simulated; thesis Figure {study.baseline_figure})",
        ),
        (
            "modified",
            "mod_same_or_better_pct",
            "modified MPTCP (QUIC-lite, Stream Scheduler, preemption, no LIA, TLP)",
            "single-path TCP with TLP on the better path "
            f"(simulated; thesis Figure {study.modified_figure})",
        ),
    ]
    figures = []
    for name, column, what, reference in drawn:
        at = columns.index(column)
        figures.append(
            heat_map(
                name=f"{study.name}-{name}-sites",
                title=f"{study.title}: sites as fast or faster, {name}",
                caption=f"Share of sites whose mean load time under {what} is not more than 20 ms "
                f"above that of {reference}.",
                columns=("rate_bps", "rtt_ms", "same_or_better_percent"),
                rows=[[row[0], row[1], row[at]] for row in rows],
                x="rtt_ms",
                y="rate_bps",
                value="same_or_better_percent",
                centre=50.0,
                limits=(0.0, 100.0),
            )
        )
    for name, _, what, _ in drawn:
        at = columns.index("base_improvement_pct" if name == "baseline" else "mod_improvement_pct")
        figures.append(
            heat_map(
                name=f"{study.name}-{name}-improvement",
                title=f"{study.title}: improvement of the mean, {name}",
                caption=f"Mean load time of all sites under {what} below that of single-path TCP "
                "with TLP on the better path (simulated).",
                columns=("rate_bps", "rtt_ms", "improvement_percent"),
                rows=[[row[0], row[1], row[at]] for row in rows],
                x="rtt_ms",
                y="rate_bps",
                value="improvement_percent",
                centre=0.0,
            )
        )
    return figures
