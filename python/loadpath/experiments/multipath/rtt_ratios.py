"""Second paths of many round-trip times: section 6.5.1.4 with Figure 6.25."""

from collections.abc import Sequence
from typing import Any

from loadpath.analysis.figures import lines
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import against, measure, repetitions
from loadpath.experiments.multipath.networks import Network, TwoPaths
from loadpath.experiments.multipath.variants import BASELINE, MODIFIED, SINGLE_PATH_TLP
from loadpath.experiments.preset import PresetOptions, Result

__all__ = ["FACTORS", "NETWORKS", "run"]

DEFAULT_RUNS = 5

NETWORKS: Sequence[Network] = (
    (1_000_000, 40),
    (1_000_000, 100),
    (10_000_000, 40),
    (10_000_000, 100),
    (50_000_000, 200),
)
"""Figure 6.25: 1 Mbit/s in (a) and (b), 10 Mbit/s in (c) and (d), 200 ms in (e), as it says."""

FACTORS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30)

_VARIANTS = {"baseline": BASELINE, "modified": MODIFIED}


def run(
    options: PresetOptions,
    networks: Sequence[Network] = NETWORKS,
    factors: Sequence[float] = FACTORS,
) -> Result:
    """Improvement of the mean load time by the factor between the round-trip times."""
    runs = repetitions(options, DEFAULT_RUNS)
    cells = {}
    for network in networks:
        cells[network, 0.0, "tcp"] = {**SINGLE_PATH_TLP, **TwoPaths.scaled(network).one.alone}
        for factor in factors:
            both = TwoPaths.scaled(network, rtt=factor)
            for name, variant in _VARIANTS.items():
                cells[network, factor, name] = {**variant, **both.values}
    with open_corpus(options.corpus) as corpus:
        loads = measure(corpus.all_pages, cells, options, runs=runs)
    rows: list[list[Any]] = []
    figures, notes = [], []
    for network in networks:
        tcp = loads[network, 0.0, "tcp"]
        points = []
        for factor in factors:
            base, mod = (against(tcp, loads[network, factor, name]) for name in _VARIANTS)
            points.append((factor, base.improvement_percent, mod.improvement_percent))
            rows.append(
                [
                    *network,
                    factor,
                    tcp.mean_s,
                    base.improvement_percent,
                    mod.improvement_percent,
                    base.same_or_better_percent,
                    mod.same_or_better_percent,
                    runs,
                ]
            )
        rate_bps, rtt_ms = network
        where = f"{rate_bps / 1e6:g} Mbit/s, {rtt_ms:g} ms"
        lowest = min(points, key=lambda point: point[1])
        notes.append(
            f"{where}: baseline {points[0][1]:+.1f} % at factor {points[0][0]:g}, least "
            f"{lowest[1]:+.1f} % at {lowest[0]:g}, {points[-1][1]:+.1f} % at {points[-1][0]:g}; "
            f"modified {points[0][2]:+.1f} %, least {min(p[2] for p in points):+.1f} %, "
            f"{points[-1][2]:+.1f} %"
        )
        figures.append(
            lines(
                name=f"rtt-ratios-{rate_bps / 1e6:g}-mbit-{rtt_ms:g}-ms",
                title=f"Improvement by RTT factor: {where}",
                caption="Mean load time of all sites over two paths below that of single-path TCP "
                "with TLP on the path of the lower round-trip time (simulated; thesis Figure "
                "6.25).",
                columns=("rtt_factor", "variant", "improvement_percent"),
                rows=[
                    [factor, name, improvement]
                    for factor, *both_improvements in points
                    for name, improvement in zip(_VARIANTS, both_improvements, strict=True)
                ],
                x="rtt_factor",
                y="improvement_percent",
                by="variant",
                log_x=False,
            )
        )
    return Result(
        title="PCP thesis, section 6.5.1.4: ratio of the round-trip times (simulated)",
        columns=[
            "rate_bps",
            "rtt_ms",
            "rtt_factor",
            "plt_tcp_s",
            "base_improvement_percent",
            "mod_improvement_percent",
            "base_same_or_better_percent",
            "mod_same_or_better_percent",
            "runs",
        ],
        rows=rows,
        notes=notes,
        figures=figures,
        settings={"runs": runs, "profile": "pcp"},
    )
