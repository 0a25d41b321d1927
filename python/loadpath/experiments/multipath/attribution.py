"""Which modification brings how much: Figures 6.24 and 6.28, and each part left out of the whole.

Adding optimisations one by one, as the thesis does, gives each the credit that is left when its
turn comes. Modified MPTCP less one part shows what the part is worth beside all others; where both
are small, it is worth little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loadpath.analysis.figures import Figure, difference_cdf
from loadpath.analysis.statistics import wilcoxon
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import Loads, against, measure, repetitions
from loadpath.experiments.multipath.networks import Network, TwoPaths
from loadpath.experiments.multipath.variants import (
    LEFT_OUT,
    RTT_LADDER,
    SINGLE_PATH,
    SINGLE_PATH_TLP,
    Values,
)
from loadpath.experiments.preset import PresetOptions, Result, Value

__all__ = ["REGIMES", "Regime", "run"]

DEFAULT_RUNS = 5

_WHOLE = "MP QUIC Stream No LIA TLP"


@dataclass(frozen=True)
class Regime:
    """A network on which the thesis adds optimisations one by one."""

    figure: str
    what: str
    network: Network
    rate: float
    """Rate of the second path as a part of the first's."""
    rtt: float
    """Round-trip time of the second path as a multiple of the first's."""
    drawn: tuple[str, ...]
    """The curves of the thesis's figure."""

    @property
    def name(self) -> str:
        """For people."""
        rate_bps, rtt_ms = self.network
        return f"{self.what}: {rate_bps / 1e6:g} Mbit/s, {rtt_ms:g} ms"


_RTT_CURVES = tuple(label for label in RTT_LADDER if label != _WHOLE)
_BANDWIDTH_CURVES = (
    "MPTCP HTTP/2 RTT",
    "MP QUIC Stream",
    "MP QUIC Stream No LIA",
    _WHOLE,
)

REGIMES = (
    Regime("6.24(a)", "5 x RTT, bandwidth limited", (1_000_000, 100), 1.0, 5.0, _RTT_CURVES),
    Regime("6.24(b)", "5 x RTT, boundary", (10_000_000, 40), 1.0, 5.0, _RTT_CURVES),
    Regime("6.24(c)", "5 x RTT, latency bound", (50_000_000, 100), 1.0, 5.0, _RTT_CURVES),
    Regime("6.24(d)", "5 x RTT, latency bound", (500_000_000, 200), 1.0, 5.0, _RTT_CURVES),
    Regime("6.28(a)", "1/5 bandwidth, high loss", (10_000_000, 40), 0.2, 1.0, _BANDWIDTH_CURVES),
    Regime("6.28(b)", "1/5 bandwidth, tail loss", (50_000_000, 8), 0.2, 1.0, _BANDWIDTH_CURVES),
    Regime("6.28(c)", "1/5 bandwidth, slow start", (50_000_000, 200), 0.2, 1.0, _BANDWIDTH_CURVES),
    Regime("6.28(d)", "1/5 bandwidth, no loss", (1_000_000_000, 100), 0.2, 1.0, _BANDWIDTH_CURVES),
)
"""The text names the networks of 6.24(b), (c), 6.28(b) and (c); the others are ours."""

_STEPS = {
    "MP QUIC RTT": ("out-of-order delivery", "MPTCP HTTP/2 RTT"),
    "MP QUIC RTT Preempt": ("preemption", "MP QUIC RTT"),
    "MPTCP HTTP/2 Stream": ("Stream Scheduler and preemption over HTTP/2", "MPTCP HTTP/2 RTT"),
    "MP QUIC Stream": ("Stream Scheduler", "MP QUIC RTT Preempt"),
    "MP QUIC Stream Retrans": ("retransmission on the other path", "MP QUIC Stream"),
    "MP QUIC Stream No LIA": ("no LIA", "MP QUIC Stream"),
    _WHOLE: ("tail loss probes", "MP QUIC Stream No LIA"),
}
"""What each curve adds, and to which."""


def run(options: PresetOptions, regimes: Sequence[Regime] = REGIMES) -> Result:
    """Each optimisation added, and each left out, in the regimes of Figures 6.24 and 6.28."""
    runs = repetitions(options, DEFAULT_RUNS)
    variants = {**RTT_LADDER, **LEFT_OUT}
    cells: dict[tuple[str, str], Values] = {}
    for regime in regimes:
        both = TwoPaths.scaled(regime.network, rate=regime.rate, rtt=regime.rtt)
        cells[regime.figure, "TCP"] = {**SINGLE_PATH, **both.one.alone}
        cells[regime.figure, "TCP TLP"] = {**SINGLE_PATH_TLP, **both.one.alone}
        for label, variant in variants.items():
            cells[regime.figure, label] = {**variant, **both.values}
    with open_corpus(options.corpus) as corpus:
        loads = measure(corpus.all_pages, cells, options, runs=runs)
    rows: list[list[Value]] = []
    notes: list[str] = []
    figures: list[Figure] = []
    for regime in regimes:
        found = {label: loads[regime.figure, label] for label in ("TCP", "TCP TLP", *variants)}
        rows += _rows(regime, found, runs)
        notes.append(_note(regime, found))
        figures.append(_figure(regime, found))
    return Result(
        title="PCP thesis, Figures 6.24 and 6.28: which modification brings what (simulated)",
        columns=[
            "figure",
            "regime",
            "rate_bps",
            "rtt_ms",
            "variant",
            "change",
            "mean_s",
            "improvement_percent",
            "change_brings_percentage_points",
            "p_of_change",
            "same_or_better_percent",
            "runs",
        ],
        rows=rows,
        notes=notes,
        figures=figures,
        settings={"runs": runs, "profile": "pcp"},
    )


def _rows(regime: Regime, found: Mapping[str, Loads], runs: int) -> list[list[Value]]:
    """A row for each curve with what its change brings, then one for each part left out.

    Improvements are against single-path TCP, with tail loss probes if the variant has them.
    """
    rows: list[list[Value]] = []

    def add(label: str, change: str, brings: float | None, p: float | None) -> None:
        result = against(found[_reference(label)], found[label])
        rows.append(
            [
                regime.figure,
                regime.what,
                *regime.network,
                label,
                change,
                result.mean_variant,
                result.improvement_percent,
                brings,
                p,
                result.same_or_better_percent,
                runs,
            ]
        )

    for label in RTT_LADDER:
        if label in _STEPS:
            change, before = _STEPS[label]
            add(label, change, *_brings(found, before, label))
        else:
            add(label, "", None, None)
    for label in LEFT_OUT:
        add(label, "left out or added", *_brings(found, _WHOLE, label))
    return rows


def _reference(label: str) -> str:
    probes = label == _WHOLE or (label in LEFT_OUT and label != "without tail loss probes")
    return "TCP TLP" if probes else "TCP"


def _brings(found: Mapping[str, Loads], before: str, after: str) -> tuple[float, float | None]:
    """Difference of the means in per cent of single-path TCP's, and p of the sites' (Wilcoxon)."""
    gain = found[before].mean_s - found[after].mean_s
    test = wilcoxon(found[before].site_means_s - found[after].site_means_s)
    return 100 * gain / found["TCP"].mean_s, test.p


def _note(regime: Regime, found: Mapping[str, Loads]) -> str:
    steps = {label: _brings(found, before, label)[0] for label, (_, before) in _STEPS.items()}
    text = ", ".join(f"{_STEPS[label][0]} {points:+.2f}" for label, points in steps.items())
    base, whole = (
        against(found[_reference(label)], found[label]) for label in ("MPTCP HTTP/2 RTT", _WHOLE)
    )
    return (
        f"Figure {regime.figure}, {regime.name}: baseline {base.improvement_percent:+.2f} % "
        f"({base.same_or_better_percent:.0f} % of sites as fast or faster than TCP), all "
        f"{whole.improvement_percent:+.2f} % ({whole.same_or_better_percent:.0f} %); "
        f"percentage points by step: {text}"
    )


def _figure(regime: Regime, found: Mapping[str, Loads]) -> Figure:
    return difference_cdf(
        name=f"attribution-{regime.figure.replace('.', '-').replace('(', '').rstrip(')')}",
        title=regime.name,
        caption="Differences of the sites' mean load times to single-path TCP, which has tail "
        "loss probes where the variant has them; right of zero a site is slower than over the "
        f"better path alone (simulated; thesis Figure {regime.figure}).",
        samples={
            label: [
                float(v) for v in found[label].site_means_s - found[_reference(label)].site_means_s
            ]
            for label in regime.drawn
        },
        column="difference_s",
        by="variant",
    )
