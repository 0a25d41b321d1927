"""The Stream Scheduler's estimates of completion against what happened: thesis Figure 6.20.

For every segment of a response that leaves, the server's estimate of when the rest of that response
will have arrived if only the best path sends, against when it had. Over a single path, as in the
thesis, and over two with the Stream Scheduler.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from loadpath._core import Page, Scenario
from loadpath.analysis.figures import Figure, scatter
from loadpath.api import simulate_many
from loadpath.errors import LoadpathError
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.networks import Network, TwoPaths
from loadpath.experiments.multipath.variants import MODIFIED, SINGLE_PATH, Values
from loadpath.experiments.preset import PresetOptions, Result, Value
from loadpath.outcome import Outcome
from loadpath.parameters import override

__all__ = ["NETWORKS", "Estimate", "estimates", "run"]

NETWORKS: Sequence[Network] = ((10_000_000, 40), (50_000_000, 100))
"""Figure 6.20's, and the one that the thesis argues with most."""

PAGE = "amazon.co.uk"
"""The page of Figure 6.20."""

QUICK_PAGES = 40

FORMS = ("loop", "closed-form")
"""Over a single path nothing schedules by the estimate, and its trace has the loop only."""

_CHUNK = 8
"""Loads whose traces are in memory at a time."""

_STATES = {
    "slow_start": "slow start",
    "avoidance": "congestion avoidance",
    "recovery": "fast recovery",
    "loss": "after a timeout",
}


@dataclass(frozen=True)
class Estimate:
    """One segment of a response that leaves."""

    page: str
    resource: int
    state: str
    remaining_bytes: int
    estimated_ms: float
    actual_ms: float


def estimates(outcome: Outcome) -> Iterator[Estimate]:
    """From a load with a trace; responses that were not complete when the page was are left out."""
    assert outcome.trace is not None
    for record in outcome.trace.completions:
        if record.resource is None:
            continue
        end_ms = outcome.resources[record.resource].end_ms
        if end_ms is not None:
            yield Estimate(
                outcome.page,
                record.resource,
                _STATES.get(record.state, record.state),
                record.remaining_bytes,
                record.estimate_ms,
                end_ms - record.t_ms,
            )


def run(options: PresetOptions, networks: Sequence[Network] = NETWORKS, page: str = PAGE) -> Result:
    """Estimates and truth by congestion state, over all pages, and the scatter of one page."""
    with open_corpus(options.corpus) as corpus:
        pages = list(corpus.all_pages.pages)
    shown = next((p for p in pages if re.match(rf"(www\.)?{re.escape(page)}\b", p.name)), pages[0])
    if options.quick:
        others = [p for p in pages if p is not shown]
        pages = [shown, *others[: QUICK_PAGES - 1]]
    setups: dict[tuple[str, Network, str], Values] = {}
    for network in networks:
        both = TwoPaths.scaled(network, rtt=5.0)
        setups["TCP", network, FORMS[0]] = {**SINGLE_PATH, **both.one.alone}
        for form in FORMS:
            setups["modified MPTCP, 5 x RTT", network, form] = {
                **MODIFIED,
                **both.values,
                "multipath.estimator": form,
            }
    total = len(setups) * len(pages)
    bar = nullcontext(None) if options.progress is None else options.progress(total, 0)
    rows: list[list[Value]] = []
    figures: list[Figure] = []
    with bar as report:
        for number, ((transport, network, form), values) in enumerate(setups.items()):
            scenario = Scenario.resolve(
                "pcp", None, [*((k, override(v)) for k, v in values.items()), *options.overrides]
            )
            found = []
            for done, outcome in enumerate(_loads(pages, scenario, options.threads)):
                found += list(estimates(outcome))
                if outcome.page == shown.name and form == FORMS[0] and network == networks[0]:
                    figures.append(_figure(transport, network, outcome))
                if report is not None:
                    report(number * len(pages) + done + 1)
            rows += _rows(transport, network, form, found)
    return Result(
        title="PCP thesis, Figure 6.20: estimated and actual completion of responses (simulated)",
        columns=[
            "transport",
            "rate_bps",
            "rtt_ms",
            "form",
            "state",
            "segments",
            "median_actual_to_estimated",
            "within_factor_2_percent",
            "underestimated_percent",
            "underestimated_beyond_2_percent",
            "median_error_rtts",
        ],
        rows=rows,
        notes=_notes(rows),
        figures=figures,
        settings={"pages": len(pages), "runs": 1, "profile": "pcp"},
    )


def _loads(pages: Sequence[Page], scenario: Scenario, threads: int) -> Iterator[Outcome]:
    for start in range(0, len(pages), _CHUNK):
        jobs = [(page, scenario, 0) for page in pages[start : start + _CHUNK]]
        for outcome in simulate_many(jobs, trace=True, threads=threads):
            if outcome.plt_ms is None:
                raise LoadpathError(f"{outcome.page}: {outcome.status.reason}")
            yield outcome


def _rows(
    transport: str, network: Network, form: str, found: Iterable[Estimate]
) -> list[list[Value]]:
    by_state: dict[str, list[Estimate]] = {"all": []}
    for estimate in found:
        by_state["all"].append(estimate)
        by_state.setdefault(estimate.state, []).append(estimate)
    rows: list[list[Value]] = []
    for state, of_state in by_state.items():
        if not of_state:
            continue
        actual = np.array([e.actual_ms for e in of_state])
        estimated = np.array([e.estimated_ms for e in of_state])
        ratio = actual / estimated
        rows.append(
            [
                transport,
                *network,
                form,
                state,
                len(of_state),
                float(np.median(ratio)),
                100 * float(np.mean((ratio >= 0.5) & (ratio <= 2.0))),
                100 * float(np.mean(ratio > 1.0)),
                100 * float(np.mean(ratio > 2.0)),
                float(np.median(actual - estimated)) / network[1],
            ]
        )
    return rows


def _notes(rows: Sequence[Sequence[Value]]) -> list[str]:
    return [
        f"{row[0]}, {float(row[1] or 0) / 1e6:g} Mbit/s, {row[2]:g} ms, {row[3]}: "
        f"{row[7]:.1f} % of {row[5]} segments within a factor of 2 of the estimate (thesis: most "
        f"outliers are), {row[9]:.1f} % took more than twice as long"
        for row in rows
        if row[4] == "all"
    ]


def _figure(transport: str, network: Network, outcome: Outcome) -> Figure:
    rate_bps, rtt_ms = network
    kind = "tcp" if transport == "TCP" else "mptcp"
    return scatter(
        name=f"estimator-{kind}",
        title=f"{outcome.page}, {transport}: {rate_bps / 1e6:g} Mbit/s, {rtt_ms:g} ms",
        caption="Every segment of a response as it leaves: what the completion estimator expects "
        "(Algorithm 8), and when the response was complete; lines at equal and at a factor of 2 "
        "(simulated; thesis Figure 6.20).",
        columns=("estimated_ms", "actual_ms", "state"),
        rows=[[e.estimated_ms, e.actual_ms, e.state] for e in estimates(outcome)],
        x="estimated_ms",
        y="actual_ms",
        by="state",
        slopes=(1.0, 2.0, 0.5),
    )
