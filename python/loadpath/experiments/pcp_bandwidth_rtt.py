"""Section 4.4.2 of the PCP thesis: load times by bandwidth and round-trip time (Figures 4.12-4.14).

HTTP/1.1 with six connections a host, all sites, medians over sites and runs; and what the text says
about which of the two matters where, as numbers.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from loadpath.analysis.figures import Figure, contour, heat_map, lines, surface
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.grid import NETWORKS, RATES_BPS, RTTS_MS, run_cells
from loadpath.experiments.preset import Preset, PresetOptions, Result, Table

__all__ = ["PRESET"]

DEFAULT_RUNS = 5
QUICK_PAGES = 100
SETTINGS: Mapping[str, str | int] = {
    "http.version": "http/1.1",
    "http.connections_per_host": 6,
    "http.priorities": "none",
}

COLUMNS = ("rate_bps", "rtt_ms", "median_s", "mean_s", "rate_elasticity", "rtt_elasticity", "bound")
LEVELS = (2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 50)
"""Seconds, of the contour lines."""
SOURCE = "PCP thesis, section 4.4.2"

Floats = npt.NDArray[np.float64]


def _run(options: PresetOptions) -> Result:
    runs = options.runs or (1 if options.quick else DEFAULT_RUNS)
    cells = [
        {"network.rate_bps": rate_bps, "network.rtt_ms": rtt_ms, **SETTINGS}
        for rate_bps, rtt_ms in NETWORKS
    ]
    with open_corpus(options.corpus) as corpus:
        pages = corpus.all_pages.first(QUICK_PAGES) if options.quick else corpus.all_pages
        loads = run_cells(pages, cells, options, runs=runs)
    shape = (len(RATES_BPS), len(RTTS_MS))
    medians = np.array([np.median(cell.plt_ms) / 1000 for cell in loads]).reshape(shape)
    means = np.array([np.mean(cell.plt_ms) / 1000 for cell in loads]).reshape(shape)
    by_rate, by_rtt = _elasticities(medians)
    rows = [
        (
            rate,
            rtt,
            float(medians[at]),
            float(means[at]),
            float(by_rate[at]),
            float(by_rtt[at]),
            "bandwidth" if by_rate[at] > by_rtt[at] else "latency",
        )
        for at, (rate, rtt) in zip(np.ndindex(shape), NETWORKS, strict=True)
    ]
    return Result(
        title="PCP thesis, section 4.4.2: load time by bandwidth and RTT, HTTP/1.1 (simulated)",
        columns=COLUMNS,
        rows=rows,
        notes=_notes(medians, by_rate, by_rtt),
        tables=[_expected(medians, by_rate, by_rtt)],
        figures=_figures(rows, len(pages), runs),
        settings=options.settings({"profile": "pcp", **SETTINGS}, pages=len(pages), runs=runs),
    )


def _elasticities(medians: Floats) -> tuple[Floats, Floats]:
    """By how many per cent the median falls if a per cent is added to the rate, or taken from RTT.

    Slopes of ln(median) over ln(rate) and ln(RTT): one-sided at the edges, else second-order.
    """
    logs = np.log(medians)
    return (
        -np.gradient(logs, np.log(RATES_BPS), axis=0),
        np.gradient(logs, np.log(RTTS_MS), axis=1),
    )


class _Fit:
    """median = constant + slope x RTT + bytes / rate, least squares over all networks."""

    def __init__(self, medians: Floats) -> None:
        rate, rtt = (np.array(axis, float) for axis in zip(*NETWORKS, strict=True))
        terms = np.column_stack([np.ones(len(rate)), rtt / 1000, 8e6 / rate])
        values = medians.ravel()
        (self.constant_s, self.round_trips, self.megabytes), *_ = np.linalg.lstsq(terms, values)
        residuals = values - terms @ [self.constant_s, self.round_trips, self.megabytes]
        self.r_squared = float(1 - np.sum(residuals**2) / np.sum((values - values.mean()) ** 2))
        self.worst_percent = float(100 * np.max(np.abs(residuals) / values))


def _round_trips(medians: Floats, rate_bps: int) -> tuple[float, float]:
    """Least-squares slope (RTTs) and constant (s) of the median over RTT at one rate."""
    slope, constant = np.polyfit(np.array(RTTS_MS) / 1000, medians[RATES_BPS.index(rate_bps)], 1)
    return float(slope), float(constant)


def _expected(medians: Floats, by_rate: Floats, by_rtt: Floats) -> Table:
    """What the text says, beside what we find."""
    slow, fast = medians[0], medians[-1]
    ten = medians[RATES_BPS.index(10_000_000)]
    fit = _Fit(medians)
    _, floor = _round_trips(medians, RATES_BPS[-1])
    slopes = [_round_trips(medians, rate)[0] for rate in RATES_BPS]
    monotone_rtt = bool(np.all(np.diff(medians, axis=1) > 0))
    monotone_rate = bool(np.all(np.diff(medians, axis=0) < 0.02 * medians[1:]))
    statements = [
        ("median at 500 kbit/s", "50 to 60 s", f"{slow.min():.1f} to {slow.max():.1f} s"),
        ("rises with RTT at every bandwidth", "yes", "yes" if monotone_rtt else "no"),
        (
            "falls with bandwidth at every RTT (or stays within 2 %)",
            "yes",
            "yes" if monotone_rate else "no",
        ),
        (
            "500 kbit/s to 1 Mbit/s",
            "a large drop",
            f"-{100 * (1 - medians[1] / slow).min():.0f} to "
            f"-{100 * (1 - medians[1] / slow).max():.0f} %",
        ),
        (
            "10 Mbit/s to 1 Gbit/s",
            "little effect",
            f"-{100 * (1 - fast / ten).min():.0f} to -{100 * (1 - fast / ten).max():.0f} %",
        ),
        (
            "RTT 8 to 400 ms at 500 kbit/s, as a factor",
            "small",
            f"{slow[-1] / slow[0]:.2f}",
        ),
        ("RTT 8 to 400 ms at 1 Gbit/s, as a factor", "crucial", f"{fast[-1] / fast[0]:.2f}"),
        (
            "linear in RTT and 1/bandwidth",
            "fairly close",
            f"R2 = {fit.r_squared:.4f}, worst cell {fit.worst_percent:.0f} % off; "
            f"{fit.round_trips:.1f} round trips, {fit.megabytes:.2f} MB, {fit.constant_s:.2f} s",
        ),
        (
            "except that RTT contributes differently at low and high bandwidths",
            "yes",
            "round trips in the slope over RTT, by bandwidth from 500 kbit/s to 1 Gbit/s: "
            + ", ".join(f"{slope:.0f}" for slope in slopes),
        ),
        (
            "a constant remains with an infinitely fast network",
            "yes, no number",
            f"{fast[0]:.2f} s at 1 Gbit/s and 8 ms; {floor:.2f} s extrapolated to RTT 0",
        ),
        (
            "low bandwidths: only more bandwidth helps",
            "yes",
            f"500 kbit/s: elasticity {by_rate[0].min():.2f} to {by_rate[0].max():.2f} "
            "for bandwidth, "
            f"{by_rtt[0].min():.2f} to {by_rtt[0].max():.2f} for RTT",
        ),
        (
            "high bandwidths: only a shorter RTT helps",
            "yes",
            f"1 Gbit/s: {by_rate[-1].min():.2f} to {by_rate[-1].max():.2f} for bandwidth, "
            f"{by_rtt[-1].min():.2f} to {by_rtt[-1].max():.2f} for RTT",
        ),
    ]
    return Table(
        title="What the text of section 4.4.2 says, and what is found",
        columns=("statement", "thesis", "simulated"),
        rows=statements,
    )


def _notes(medians: Floats, by_rate: Floats, by_rtt: Floats) -> list[str]:
    latency = int(np.sum(by_rtt > by_rate))
    table = _expected(medians, by_rate, by_rtt)
    return [
        *(f"{what}: thesis {theirs}; ours {ours}" for what, theirs, ours in table.rows),
        f"a per cent of RTT is worth more than a per cent of bandwidth in {latency} of 50 networks",
    ]


def _figures(rows: Sequence[tuple[object, ...]], pages: int, runs: int) -> list[Figure]:
    plain = [(r[0], r[1], r[2]) for r in rows]
    columns = ("rate_bps", "rtt_ms", "median_s")
    data = {"columns": columns, "rows": plain}
    what = f"HTTP/1.1, six connections a host, {pages} sites, {runs} runs (simulated)."
    return [
        surface(
            name="figure-4-12",
            title="Median load time by bandwidth and RTT (Figure 4.12)",
            caption=f"Median load time. {what} After Figure 4.12, {SOURCE}.",
            **data,  # type: ignore[arg-type]
            x="rate_bps",
            y="rtt_ms",
            value="median_s",
        ),
        surface(
            name="figure-4-13",
            title="Median load time by 1/bandwidth and RTT (Figure 4.13)",
            caption="Median load time; a plane if it were linear. "
            f"{what} After Figure 4.13, {SOURCE}.",
            **data,  # type: ignore[arg-type]
            x="rate_bps",
            y="rtt_ms",
            value="median_s",
            inverse_x=True,
        ),
        contour(
            name="figure-4-14",
            title="Lines of equal median load time (Figure 4.14)",
            caption=f"Steep lines: bandwidth matters; flat lines: RTT does. {what} "
            f"After Figure 4.14, {SOURCE}.",
            **data,  # type: ignore[arg-type]
            x="rate_bps",
            y="rtt_ms",
            value="median_s",
            levels=LEVELS,
        ),
        heat_map(
            name="median-load-time",
            title="Median load time (s)",
            caption="The line parts networks in which a per cent of bandwidth is worth more "
            f"(above) from those in which a per cent of RTT is (below). {what}",
            columns=COLUMNS,
            rows=rows,  # type: ignore[arg-type]
            x="rtt_ms",
            y="rate_bps",
            value="median_s",
            divide="bound",
            log=True,
        ),
        lines(
            name="bandwidth-effect",
            title="Median load time over bandwidth",
            caption=f"Each line an RTT, both axes logarithmic. {what}",
            **data,  # type: ignore[arg-type]
            x="rate_bps",
            y="median_s",
            by="rtt_ms",
            log_y=True,
        ),
    ]


PRESET = Preset("pcp-bandwidth-rtt", "load times by bandwidth and RTT, thesis section 4.4.2", _run)
