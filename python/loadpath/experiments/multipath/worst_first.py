"""Connections opened on the worse path: section 6.3.4 with Figure 6.15."""

from collections.abc import Sequence
from typing import Any, Literal

from loadpath.analysis.figures import heat_map
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import against, measure, repetitions
from loadpath.experiments.multipath.networks import (
    BANDWIDTH_RATES_BPS,
    RTT_RATES_BPS,
    Network,
    TwoPaths,
    grid,
)
from loadpath.experiments.multipath.variants import BASELINE, SINGLE_PATH
from loadpath.experiments.preset import PresetOptions, Result

__all__ = ["CASES", "run"]

DEFAULT_RUNS = 5

CASES = (
    ("1/5 bandwidth", 0.2, 1.0, "6.15(a)", grid(BANDWIDTH_RATES_BPS)),
    ("5 x RTT", 1.0, 5.0, "6.15(b)", grid(RTT_RATES_BPS)),
)
"""Which path is worse by what, the thesis's figure, its networks."""

_ORDERS: tuple[tuple[Literal[1, 2], str], ...] = ((1, "better first"), (2, "worse first"))


def run(options: PresetOptions, networks: Sequence[Network] | None = None) -> Result:
    """Baseline MPTCP that opens connections on the better and on the worse path."""
    runs = repetitions(options, DEFAULT_RUNS)
    cells = {}
    for case, rate, rtt, _, own_networks in CASES:
        for network in networks or own_networks:
            both = TwoPaths.scaled(network, rate=rate, rtt=rtt)
            cells[case, network, "tcp"] = {**SINGLE_PATH, **both.one.alone}
            for first, order in _ORDERS:
                paths = TwoPaths.scaled(network, rate=rate, rtt=rtt, first=first)
                cells[case, network, order] = {**BASELINE, **paths.values}
    with open_corpus(options.corpus) as corpus:
        loads = measure(corpus.all_pages, cells, options, runs=runs)
    rows: list[list[Any]] = []
    figures, notes = [], []
    for case, _, _, figure, own_networks in CASES:
        of_case: list[list[Any]] = []
        for network in networks or own_networks:
            tcp = loads[case, network, "tcp"]
            better, worse = (against(tcp, loads[case, network, order]) for _, order in _ORDERS)
            of_case.append(
                [
                    case,
                    *network,
                    tcp.mean_s,
                    better.improvement_percent,
                    worse.improvement_percent,
                    better.same_or_better_percent,
                    worse.same_or_better_percent,
                    runs,
                ]
            )
        worst = min(of_case, key=lambda row: row[5])
        notes.append(
            f"{case}, worse path first: improvement {worst[5]:.1f} % at {worst[1] / 1e6:g} Mbit/s, "
            f"{worst[2]:g} ms, the least; on {sum(row[5] < 0 for row in of_case)} of "
            f"{len(of_case)} networks slower than TCP on the better path, with the better path "
            f"first on {sum(row[4] < 0 for row in of_case)}"
        )
        rows += of_case
        figures.append(
            heat_map(
                name=f"worst-first-{'bandwidth' if case == CASES[0][0] else 'rtt'}",
                title=f"Connections opened on the path with {case}",
                caption="Share of sites whose mean load time under baseline MPTCP that opens "
                "connections on the worse path is not more than 20 ms above that of single-path "
                f"TCP on the better path (simulated; thesis Figure {figure}).",
                columns=("rate_bps", "rtt_ms", "same_or_better_percent"),
                rows=[[row[1], row[2], row[7]] for row in of_case],
                x="rtt_ms",
                y="rate_bps",
                value="same_or_better_percent",
                centre=50.0,
                limits=(0.0, 100.0),
            )
        )
    return Result(
        title="PCP thesis, section 6.3.4: which path is opened first (simulated)",
        columns=[
            "worse_path",
            "rate_bps",
            "rtt_ms",
            "plt_tcp_s",
            "better_first_improvement_percent",
            "worse_first_improvement_percent",
            "better_first_same_or_better_percent",
            "worse_first_same_or_better_percent",
            "runs",
        ],
        rows=rows,
        notes=notes,
        figures=figures,
        settings={"runs": runs, "profile": "pcp"},
    )
