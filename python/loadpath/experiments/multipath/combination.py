"""Paths that differ in bandwidth and in round-trip time: sections 6.3.5 and 6.5.3.

With base bandwidth B and base round-trip time R: a path (B/5, 5R) beside (B, R), and (B, 5R) beside
(B/5, R), of which neither is better everywhere: the one with the lower mean load time of
single-path TCP is what several paths are compared with, and a line parts the networks by it
(Figures 6.17, 6.18, 6.29).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from loadpath.analysis.figures import heat_map
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import Loads, against, measure, repetitions
from loadpath.experiments.multipath.networks import (
    BANDWIDTH_RATES_BPS,
    Network,
    Path,
    TwoPaths,
    grid,
)
from loadpath.experiments.multipath.variants import (
    BASELINE,
    MODIFIED,
    MODIFIED_LIA,
    SINGLE_PATH,
    SINGLE_PATH_TLP,
    Values,
)
from loadpath.experiments.preset import PresetOptions, Result

__all__ = ["CASES", "Case", "run"]

DEFAULT_RUNS = 5


class _Paths(NamedTuple):
    """The four paths of section 6.3.5."""

    best: Path
    worst: Path
    fat_and_long: Path
    thin_and_short: Path

    @classmethod
    def of(cls, network: Network) -> "_Paths":
        rate_bps, rtt_ms = network
        fifth = round(rate_bps / 5)
        return cls(
            best=Path(rate_bps, rtt_ms),
            worst=Path(fifth, 5 * rtt_ms),
            fat_and_long=Path(rate_bps, 5 * rtt_ms),
            thin_and_short=Path(fifth, rtt_ms),
        )


class Case(NamedTuple):
    """One heat map."""

    name: str
    figure: str
    first: str
    """The path that connections are opened on."""
    other: str
    tcp: Sequence[str]
    """Paths of single-path TCP, of which the best is the reference."""
    variant: Values
    reference: Values


_MIXED = ("fat_and_long", "thin_and_short")

CASES = (
    Case("best-first", "6.17(a)", "best", "worst", ("best",), BASELINE, SINGLE_PATH),
    Case("worst-first", "6.17(b)", "worst", "best", ("best",), BASELINE, SINGLE_PATH),
    Case("mixed-long-first", "6.18(a)", _MIXED[0], _MIXED[1], _MIXED, BASELINE, SINGLE_PATH),
    Case("mixed-thin-first", "6.18(b)", _MIXED[1], _MIXED[0], _MIXED, BASELINE, SINGLE_PATH),
    Case("best-first-modified", "6.29(a)", "best", "worst", ("best",), MODIFIED, SINGLE_PATH_TLP),
    Case(
        "best-first-modified-lia",
        "6.29(a), with LIA as its caption says",
        "best",
        "worst",
        ("best",),
        MODIFIED_LIA,
        SINGLE_PATH_TLP,
    ),
    # Section 6.5.3: "only the cases where MPTCP initiates connections on the best path", which is
    # another one on either side of the line.
    Case("mixed-modified", "6.29(b)", "", "", _MIXED, MODIFIED, SINGLE_PATH_TLP),
    Case(
        "mixed-modified-lia",
        "6.29(b), with LIA as its caption says",
        "",
        "",
        _MIXED,
        MODIFIED_LIA,
        SINGLE_PATH_TLP,
    ),
)
"""Every heat map."""

_Key = tuple[str, Network, str]


def run(options: PresetOptions, networks: Sequence[Network] = grid(BANDWIDTH_RATES_BPS)) -> Result:
    """Figures 6.17, 6.18 and 6.29."""
    runs = repetitions(options, DEFAULT_RUNS)
    with open_corpus(options.corpus) as corpus:
        pages = corpus.all_pages
        alone = measure(pages, _single_path_cells(networks), options, runs=runs)
        several = measure(pages, _several_path_cells(networks, alone), options, runs=runs)
    rows: list[list[Any]] = []
    figures, notes = [], []
    for case in CASES:
        of_case: list[list[Any]] = []
        for network in networks:
            path, tcp = _reference(case, network, alone)
            result = against(tcp, several[case.name, network, ""])
            of_case.append(
                [
                    case.name,
                    *network,
                    path,
                    tcp.mean_s,
                    result.mean_variant,
                    result.improvement_percent,
                    result.same_or_better_percent,
                    runs,
                ]
            )
        rows += of_case
        slower = sum(row[6] < 0 for row in of_case)
        notes.append(
            f"{case.name} (Figure {case.figure}): slower than TCP on the best path on {slower} of "
            f"{len(of_case)} networks, as fast or faster on "
            f"{min(row[7] for row in of_case):.0f} to {max(row[7] for row in of_case):.0f} % of "
            "sites"
        )
        figures.append(
            heat_map(
                name=f"combination-{case.name}",
                title=f"Combined mismatch: {case.name.replace('-', ' ')}",
                caption="Share of sites whose mean load time over both paths is not more than "
                "20 ms above that of single-path TCP on the path with the lower mean; the line "
                f"parts networks by which path that is (simulated; thesis Figure {case.figure}).",
                columns=("rate_bps", "rtt_ms", "same_or_better_percent", "best_path"),
                rows=[[row[1], row[2], row[7], row[3]] for row in of_case],
                x="rtt_ms",
                y="rate_bps",
                value="same_or_better_percent",
                centre=50.0,
                limits=(0.0, 100.0),
                divide="best_path",
            )
        )
    return Result(
        title="PCP thesis, sections 6.3.5 and 6.5.3: bandwidth and RTT mismatch (simulated)",
        columns=[
            "case",
            "rate_bps",
            "rtt_ms",
            "best_path",
            "plt_tcp_s",
            "plt_mptcp_s",
            "improvement_percent",
            "same_or_better_percent",
            "runs",
        ],
        rows=rows,
        notes=notes,
        figures=figures,
        settings={"runs": runs, "profile": "pcp"},
    )


def _reference_name(case: Case) -> str:
    return "tcp" if case.reference is SINGLE_PATH else "tcp with TLP"


def _single_path_cells(networks: Sequence[Network]) -> dict[_Key, Values]:
    return {
        (_reference_name(case), network, path): {
            **case.reference,
            **getattr(_Paths.of(network), path).alone,
        }
        for case in CASES
        for network in networks
        for path in case.tcp
    }


def _reference(case: Case, network: Network, alone: Mapping[_Key, Loads]) -> tuple[str, Loads]:
    """The path with the lowest mean load time, and its loads."""
    reference = _reference_name(case)
    best = min(case.tcp, key=lambda path: alone[reference, network, path].mean_s)
    return best, alone[reference, network, best]


def _several_path_cells(
    networks: Sequence[Network], alone: Mapping[_Key, Loads]
) -> dict[_Key, Values]:
    cells: dict[_Key, Values] = {}
    for case in CASES:
        for network in networks:
            first, other = case.first, case.other
            if not first:
                first, _ = _reference(case, network, alone)
                [other] = (path for path in case.tcp if path != first)
            paths = _Paths.of(network)
            both = TwoPaths(getattr(paths, first), getattr(paths, other))
            cells[case.name, network, ""] = {**case.variant, **both.values}
    return cells
