"""Second path with a fifth of the bandwidth: sections 6.3.3 and 6.5.2, Table 6.2."""

from dataclasses import replace

from loadpath.experiments.multipath.mismatch import Study, run_study
from loadpath.experiments.multipath.networks import BANDWIDTH_RATES_BPS, grid
from loadpath.experiments.preset import PresetOptions, Result

__all__ = ["STUDY", "run"]

STUDY = Study(
    name="bandwidth-mismatch",
    title="PCP thesis, section 6.5.2: second path with 1/5 bandwidth",
    networks=grid(BANDWIDTH_RATES_BPS),
    second_rate=0.2,
    second_rtt=1.0,
    baseline_figure="6.8",
    modified_figure="6.26",
)


def run(options: PresetOptions, study: Study = STUDY) -> Result:
    """Table 6.2 with Figures 6.8 and 6.26."""
    result, found = run_study(study, options)
    notes = []
    for (rate_bps, rtt_ms), cell in found.items():
        if rate_bps in (50_000_000, 100_000_000) and rtt_ms == 8:
            base, mod = cell.base_against_tcp, cell.mod_against_tcp
            notes.append(
                f"{rate_bps / 1e6:g} Mbit/s, 8 ms: baseline {base.improvement_percent:+.2f} %, "
                f"modified {mod.improvement_percent:+.2f} % (thesis: TLP mitigates the decrease "
                f"of baseline MPTCP); {base.same_or_better_percent:.1f} and "
                f"{mod.same_or_better_percent:.1f} % of sites as fast or faster"
            )
    gain = {
        network: cell.mod_against_tcp.improvement_percent
        - cell.base_against_tcp.improvement_percent
        for network, cell in found.items()
    }
    low = [points for (rate_bps, _), points in gain.items() if rate_bps <= 10_000_000]
    high = [points for (rate_bps, _), points in gain.items() if rate_bps > 100_000_000]
    if low:
        notes.append(
            f"up to 10 Mbit/s modified MPTCP improves by {min(low):+.2f} to {max(low):+.2f} "
            "percentage points more than baseline (thesis: a larger improvement)"
        )
    if high:
        notes.append(
            f"from 500 Mbit/s on by {min(high):+.2f} to {max(high):+.2f} (thesis: no longer "
            "significantly different)"
        )
    return replace(result, notes=notes)
