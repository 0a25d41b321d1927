"""Chapter 6 of the PCP thesis: web pages over two paths.

One module a study; `variants` and `networks` say once what is compared and where. A study's
module is imported when it is run: it needs the packages of `loadpath[experiments]`.
"""

from importlib import import_module

from loadpath.experiments.preset import Preset, PresetOptions, Result

__all__ = ["PRESETS"]


def _preset(name: str, module: str, title: str) -> Preset:
    def run(options: PresetOptions) -> Result:
        result: Result = import_module(f"{__name__}.{module}").run(options)
        return result

    return Preset(name, title, run)


PRESETS = (
    _preset(
        "pcp-multipath-equal",
        "equal",
        "MPTCP over two equal paths, thesis section 6.3.1",
    ),
    _preset(
        "pcp-multipath-rtt-mismatch",
        "rtt_mismatch",
        "MPTCP with 5 x RTT on the second path, thesis Table 6.1",
    ),
    _preset(
        "pcp-multipath-bandwidth-mismatch",
        "bandwidth_mismatch",
        "MPTCP with 1/5 bandwidth on the second path, thesis Table 6.2",
    ),
    _preset(
        "pcp-multipath-worst-first",
        "worst_first",
        "MPTCP opened on the worse path, thesis section 6.3.4",
    ),
    _preset(
        "pcp-multipath-combination",
        "combination",
        "MPTCP over paths that differ in both, thesis sections 6.3.5 and 6.5.3",
    ),
    _preset(
        "pcp-multipath-rtt-ratios",
        "rtt_ratios",
        "MPTCP by the ratio of the RTTs, thesis section 6.5.1.4",
    ),
    _preset(
        "pcp-multipath-attribution",
        "attribution",
        "which modification of MPTCP brings what, thesis Figures 6.24 and 6.28",
    ),
    _preset(
        "pcp-multipath-tail-loss",
        "tail_loss",
        "packet loss and tail loss over one path and two, thesis section 6.3.3.2",
    ),
    _preset(
        "pcp-multipath-estimator",
        "estimator",
        "the Stream Scheduler's estimates against what happened, thesis Figure 6.20",
    ),
    _preset(
        "pcp-multipath-unsharded",
        "unsharded",
        "unsharded pages over two paths, which thesis section 6.6.3 leaves open",
    ),
    _preset(
        "multipath-schedulers",
        "schedulers",
        "path schedulers side by side, profiles pcp and linux",
    ),
)
"""In the order of the chapter."""
