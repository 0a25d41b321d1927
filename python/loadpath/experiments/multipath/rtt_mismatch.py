"""Second path with five times the round-trip time: sections 6.3.2 and 6.5.1, Table 6.1."""

from dataclasses import replace

from loadpath.experiments.multipath.mismatch import Study, run_study
from loadpath.experiments.multipath.networks import RTT_RATES_BPS, grid
from loadpath.experiments.preset import PresetOptions, Result

__all__ = ["STUDY", "run"]

STUDY = Study(
    name="rtt-mismatch",
    title="PCP thesis, section 6.5.1: second path with 5 x RTT",
    networks=grid(RTT_RATES_BPS),
    second_rate=1.0,
    second_rtt=5.0,
    baseline_figure="6.6",
    modified_figure="6.22",
)

_LATENCY_BOUND_BPS = 100_000_000
_LONG_RTT_MS = 100
"""What section 6.5.1.3 calls high bandwidths and long round-trip times, as numbers."""


def run(options: PresetOptions, study: Study = STUDY) -> Result:
    """Table 6.1 with Figures 6.6 and 6.22."""
    result, found = run_study(study, options)
    notes = []
    if (50_000_000, 100) in found:
        cell = found[50_000_000, 100]
        base, mod = cell.base_against_tcp, cell.mod_against_tcp
        notes.append(
            "50 Mbit/s, 100 ms: as fast or faster than TCP on "
            f"{base.same_or_better_percent:.1f} % of sites under baseline MPTCP (thesis 36 %) and "
            f"on {mod.same_or_better_percent:.1f} % under modified MPTCP (thesis 77.9 %)"
        )
    high = [
        (cell.base_against_tcp.improvement_percent, cell.mod_against_tcp.improvement_percent)
        for (rate_bps, rtt_ms), cell in found.items()
        if rate_bps >= _LATENCY_BOUND_BPS and rtt_ms >= _LONG_RTT_MS
    ]
    if high:
        base_high, mod_high = zip(*high, strict=True)
        notes.append(
            f"from 100 Mbit/s and 100 ms on: baseline {min(base_high):+.2f} to "
            f"{max(base_high):+.2f} % (thesis: up to about 3 % slower than TCP), modified "
            f"{min(mod_high):+.2f} to {max(mod_high):+.2f} % (thesis: no harm)"
        )
    low = [
        cell.mod_against_tcp.improvement_percent - cell.base_against_tcp.improvement_percent
        for (rate_bps, _), cell in found.items()
        if rate_bps < 50_000_000
    ]
    if low:
        notes.append(
            f"below 50 Mbit/s modified MPTCP improves by {min(low):+.2f} to {max(low):+.2f} "
            "percentage points more than baseline (thesis: slightly more)"
        )
    return replace(result, notes=notes)
