"""How often the end of what was sent is lost: section 6.3.3.2 with Figures 6.12 and 6.13."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from loadpath.analysis.figures import Figure, lines
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import Loads, measure, repetitions
from loadpath.experiments.multipath.networks import (
    BANDWIDTH_RATES_BPS,
    GRID_RTTS_MS,
    Path,
    TwoPaths,
)
from loadpath.experiments.multipath.variants import BASELINE, SINGLE_PATH, TLP
from loadpath.experiments.preset import PresetOptions, Result, Value

__all__ = ["run"]

DEFAULT_RUNS = 5

_COLUMNS = (
    "transport",
    "rate_bps",
    "rtt_ms",
    "median_packet_loss_percent",
    "median_tail_losses_of_resources_percent",
    "mean_tail_losses_of_resources_percent",
    "median_tail_timeouts_of_resources_percent",
    "mean_tail_timeouts_of_resources_percent",
    "runs",
)


def run(
    options: PresetOptions,
    rates_bps: Sequence[int] = BANDWIDTH_RATES_BPS,
    rtts_ms: Sequence[float] = GRID_RTTS_MS,
) -> Result:
    """Medians over sites of lost packets, and of tail losses for each resource in two readings.

    The thesis counts what "the mechanisms described in Section 6.4.5" take for a tail loss: there,
    that nothing is heard for the probe timeout. So `tail_losses` are tail loss probes, of loads
    with such probes. `tail_timeouts` are what becomes of them without probes: retransmission
    timeouts of segments behind which there were too few others for duplicate ACKs.
    """
    runs = repetitions(options, DEFAULT_RUNS)
    fifths = [rate_bps // 5 for rate_bps in rates_bps]
    cells: dict[tuple[str, int, float, bool], Mapping[str, object]] = {}
    for rtt_ms in rtts_ms:
        for probes in (True, False):
            more = TLP if probes else {}
            for rate_bps in sorted({*rates_bps, *fifths}):
                alone = Path(rate_bps, rtt_ms).alone
                cells["TCP", rate_bps, rtt_ms, probes] = {**SINGLE_PATH, **more, **alone}
            for rate_bps, fifth in zip(rates_bps, fifths, strict=True):
                both = TwoPaths.scaled((rate_bps, rtt_ms), rate=0.2)
                cells["MPTCP", fifth, rtt_ms, probes] = {**BASELINE, **more, **both.values}
    with open_corpus(options.corpus) as corpus:
        loads = measure(corpus.all_pages, cells, options, runs=runs)
        resources = np.array([[page.resources] for page in corpus.all_pages.pages])
    rows = [
        _row(key[:3], of_cell, loads[*key[:3], False], resources, runs)
        for key, of_cell in loads.items()
        if key[3]
    ]
    return Result(
        title="PCP thesis, section 6.3.3.2: packet loss and tail loss (simulated)",
        columns=_COLUMNS,
        rows=rows,
        notes=_notes(rows),
        figures=_figures(rows),
        settings={"runs": runs, "profile": "pcp"},
    )


def _row(
    network: tuple[str, int, float],
    probed: Loads,
    unprobed: Loads,
    resources: npt.NDArray[np.int_],
    runs: int,
) -> list[Value]:
    losses = 100 * np.mean(probed.tail_probes / np.maximum(resources, 1), axis=1)
    timeouts = 100 * np.mean(unprobed.tail_losses / np.maximum(resources, 1), axis=1)
    return [
        *network,
        100 * float(np.median(np.mean(unprobed.loss, axis=1))),
        float(np.median(losses)),
        float(np.mean(losses)),
        float(np.median(timeouts)),
        float(np.mean(timeouts)),
        runs,
    ]


def _figures(rows: Sequence[Sequence[Value]]) -> list[Figure]:
    def drawn(name: str, title: str, transport: str, value: str, figure: str) -> Figure:
        at = _COLUMNS.index(value)
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
    return [
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
    ]


def _notes(rows: Sequence[Sequence[Value]]) -> list[str]:
    """What the thesis reads from Figure 6.13."""
    notes = []
    for what in ("losses", "timeouts"):
        at = _COLUMNS.index(f"median_tail_{what}_of_resources_percent")
        notes += _reading(f"tail {what}", {(row[0], row[1], row[2]): row[at] for row in rows})
    return notes


def _reading(what: str, found: Mapping[tuple[Value, Value, Value], Value]) -> list[str]:
    rate = {key: value for key, value in found.items() if isinstance(value, float)}
    notes = []
    shortest = min(key[2] for key in rate if isinstance(key[2], int | float))
    for transport in ("TCP", "MPTCP"):
        by_rate = {
            key[1]: value
            for key, value in rate.items()
            if key[0] == transport and key[2] == shortest and isinstance(key[1], int)
        }
        most = max(by_rate, key=lambda rate_bps: by_rate[rate_bps])
        notes.append(
            f"{what}, {transport}, {shortest:g} ms: most at {most / 1e6:g} Mbit/s, "
            f"{by_rate[most]:.1f} for 100 resources (thesis: TCP at 2 Mbit/s, 8 ms)"
        )
    slow, fast = rate.get(("TCP", 2_000_000, 8)), rate.get(("TCP", 10_000_000, 8))
    if slow is not None and fast:
        notes.append(
            f"{what}, TCP, 8 ms: {slow / fast:.1f} times as many at 2 as at 10 Mbit/s "
            "(thesis: five times)"
        )
    common = [
        (one, two)
        for (transport, rate_bps, rtt_ms), two in rate.items()
        if transport == "MPTCP" and (one := rate.get(("TCP", rate_bps, rtt_ms), 0.0)) > 0
    ]
    if common:
        notes.append(
            f"{what}: more with MPTCP than with TCP at the rate of its slower path on "
            f"{sum(two > one for one, two in common)} of {len(common)} networks that have some "
            "(thesis: there are twice as many tails)"
        )
    return notes
