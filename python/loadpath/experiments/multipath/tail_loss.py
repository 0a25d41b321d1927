"""How often the end of what was sent is lost: section 6.3.3.2 with Figures 6.12 and 6.13."""

from collections.abc import Sequence

import numpy as np

from loadpath.analysis.figures import Figure, lines
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import measure, repetitions
from loadpath.experiments.multipath.networks import (
    BANDWIDTH_RATES_BPS,
    GRID_RTTS_MS,
    Path,
    TwoPaths,
)
from loadpath.experiments.multipath.variants import BASELINE, SINGLE_PATH
from loadpath.experiments.preset import PresetOptions, Result, Value

__all__ = ["run"]

DEFAULT_RUNS = 5


def run(
    options: PresetOptions,
    rates_bps: Sequence[int] = BANDWIDTH_RATES_BPS,
    rtts_ms: Sequence[float] = GRID_RTTS_MS,
) -> Result:
    """Medians over sites of lost packets and of tail losses for each resource.

    A tail loss is a retransmission timeout of a segment behind which there were too few others to
    tell of its loss by duplicate ACKs (section 6.3.3.2); nobody probes for it here.
    """
    runs = repetitions(options, DEFAULT_RUNS)
    fifths = [rate_bps // 5 for rate_bps in rates_bps]
    cells = {}
    for rtt_ms in rtts_ms:
        for rate_bps in sorted({*rates_bps, *fifths}):
            cells["TCP", rate_bps, rtt_ms] = {**SINGLE_PATH, **Path(rate_bps, rtt_ms).alone}
        for rate_bps, fifth in zip(rates_bps, fifths, strict=True):
            both = TwoPaths.scaled((rate_bps, rtt_ms), rate=0.2)
            cells["MPTCP", fifth, rtt_ms] = {**BASELINE, **both.values}
    with open_corpus(options.corpus) as corpus:
        loads = measure(corpus.all_pages, cells, options, runs=runs)
        resources = np.array([[page.resources] for page in corpus.all_pages.pages])
    rows: list[list[Value]] = []
    for (transport, rate_bps, rtt_ms), of_cell in loads.items():
        tail_loss_rates = np.mean(of_cell.tail_losses / np.maximum(resources, 1), axis=1)
        rows.append(
            [
                transport,
                rate_bps,
                rtt_ms,
                100 * float(np.median(np.mean(of_cell.loss, axis=1))),
                100 * float(np.median(tail_loss_rates)),
                100 * float(np.mean(tail_loss_rates)),
                runs,
            ]
        )
    columns = (
        "transport",
        "rate_bps",
        "rtt_ms",
        "median_packet_loss_percent",
        "median_tail_losses_of_resources_percent",
        "mean_tail_losses_of_resources_percent",
        "runs",
    )

    def drawn(name: str, title: str, transport: str, value: str, figure: str) -> Figure:
        at = columns.index(value)
        return lines(
            name=name,
            title=title,
            caption=f"Median over sites (simulated; thesis Figure {figure}).",
            columns=("rate_bps", "rtt_ms", value),
            rows=[[row[1], row[2], row[at]] for row in rows if row[0] == transport],
            x="rate_bps",
            y=value,
            by="rtt_ms",
            log_x=True,
        )

    tail = "median_tail_losses_of_resources_percent"
    return Result(
        title="PCP thesis, section 6.3.3.2: packet loss and tail loss (simulated)",
        columns=columns,
        rows=rows,
        notes=_notes(rows),
        figures=[
            drawn(
                "packet-loss",
                "Packets lost, single path",
                "TCP",
                "median_packet_loss_percent",
                "6.12",
            ),
            drawn("tail-loss-tcp", "Tail losses, single path", "TCP", tail, "6.13(a)"),
            drawn(
                "tail-loss-mptcp",
                "Tail losses, a fifth of the bandwidth on the second path, by that bandwidth",
                "MPTCP",
                tail,
                "6.13(b)",
            ),
        ],
        settings={"runs": runs, "profile": "pcp"},
    )


def _notes(rows: Sequence[Sequence[Value]]) -> list[str]:
    """What the thesis reads from Figure 6.13."""
    rate = {(row[0], row[1], row[2]): row[5] for row in rows}
    notes = []
    for transport in ("TCP", "MPTCP"):
        most = max(
            (row for row in rows if row[0] == transport), key=lambda row: float(row[5] or 0.0)
        )
        notes.append(
            f"{transport}: at most {most[5]:.2f} tail losses for 100 resources in the mean over "
            f"sites, at {float(most[1] or 0) / 1e6:g} Mbit/s, {most[2]:g} ms"
        )
    slow, fast = rate.get(("TCP", 2_000_000, 8)), rate.get(("TCP", 10_000_000, 8))
    if isinstance(slow, float) and isinstance(fast, float) and fast > 0:
        notes.append(
            f"8 ms: tail losses at 2 Mbit/s are {slow / fast:.1f} times those at 10 Mbit/s, in the "
            "mean over sites (thesis: five times, medians)"
        )
    common = [
        (one, two)
        for (transport, rate_bps, rtt_ms), two in rate.items()
        if transport == "MPTCP"
        and isinstance(two, float)
        and isinstance(one := rate.get(("TCP", rate_bps, rtt_ms)), float)
        and one > 0
    ]
    if common:
        notes.append(
            f"more tail losses with MPTCP than with TCP at the rate of its slower path on "
            f"{sum(two > one for one, two in common)} of {len(common)} networks with tail losses "
            "(thesis: there are twice as many tails)"
        )
    return notes
