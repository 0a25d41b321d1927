"""Path schedulers side by side on the same pages, which nobody has published for web pages.

Three stacks, in each of which nothing but the scheduler varies: the thesis's baseline (HTTP/2 in
order, LIA), its modified one (QUIC-lite, preemption, no coupling, tail loss probes), and the linux
profile (HTTP/2 over TLS 1.3, uncoupled CUBIC, SACK, drop-tail queues). The reference is the same
stack over the better path alone.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from loadpath.analysis.figures import Figure, difference_cdf, heat_map
from loadpath.analysis.statistics import adjust, wilcoxon
from loadpath.experiments.cells import PageSet
from loadpath.experiments.corpus import open_corpus
from loadpath.experiments.multipath.comparison import Loads, against, measure, repetitions
from loadpath.experiments.multipath.networks import TwoPaths
from loadpath.experiments.multipath.unsharded import TRANSFORM
from loadpath.experiments.multipath.variants import BASELINE, MODIFIED, Values
from loadpath.experiments.preset import PresetOptions, Result, Value

__all__ = ["PATHS", "SCHEDULERS", "STACKS", "Stack", "run"]

DEFAULT_RUNS = 3

SCHEDULERS = (
    "lowest-rtt",
    "round-robin",
    "redundant",
    "blest",
    "ecf",
    "otias",
    "stream-simple",
    "stream",
)


class Stack(NamedTuple):
    """What schedulers are compared in."""

    name: str
    profile: str
    several: Values
    single: Values


def _alone(values: Values) -> Values:
    return {**values, "multipath.paths": "single"}


_LINUX: Values = {
    "http.priorities": "mime-class",
    "multipath.paths": "independent",
}

STACKS = (
    Stack("pcp baseline", "pcp", BASELINE, _alone(BASELINE)),
    Stack("pcp modified", "pcp", MODIFIED, _alone(MODIFIED)),
    Stack("linux", "linux", _LINUX, _alone(_LINUX)),
)

PATHS: Mapping[str, TwoPaths] = {
    "equal, 10 Mbit/s, 40 ms": TwoPaths.scaled((10_000_000, 40)),
    "5 x RTT, 1 Mbit/s, 40 ms": TwoPaths.scaled((1_000_000, 40), rtt=5.0),
    "5 x RTT, 10 Mbit/s, 40 ms": TwoPaths.scaled((10_000_000, 40), rtt=5.0),
    "5 x RTT, 50 Mbit/s, 100 ms": TwoPaths.scaled((50_000_000, 100), rtt=5.0),
    "2 x RTT, 50 Mbit/s, 40 ms": TwoPaths.scaled((50_000_000, 40), rtt=2.0),
    "1/5 bandwidth, 10 Mbit/s, 40 ms": TwoPaths.scaled((10_000_000, 40), rate=0.2),
    "1/5 bandwidth, 50 Mbit/s, 8 ms": TwoPaths.scaled((50_000_000, 8), rate=0.2),
    "1/5 bandwidth and 5 x RTT, 50 Mbit/s, 40 ms": TwoPaths.scaled(
        (50_000_000, 40), rate=0.2, rtt=5.0
    ),
}
"""Connections are opened on the first, better path."""

_PAGES = ("as they are", "unsharded")


def run(
    options: PresetOptions,
    paths: Mapping[str, TwoPaths] = PATHS,
    schedulers: Sequence[str] = SCHEDULERS,
) -> Result:
    """Every scheduler in every stack on every pair of paths, pages as they are and unsharded."""
    runs = repetitions(options, DEFAULT_RUNS)
    rows: list[list[Value]] = []
    figures: list[Figure] = []
    with open_corpus(options.corpus) as corpus:
        page_sets = dict(
            zip(_PAGES, (corpus.all_pages, corpus.all_pages.after(TRANSFORM)), strict=True)
        )
        for stack in STACKS:
            for pages, page_set in page_sets.items():
                loads = _measure(stack, page_set, paths, schedulers, options, runs)
                for label in paths:
                    rows += _rows(stack, pages, label, schedulers, loads, runs)
                if pages == _PAGES[0]:
                    figures += _figures(stack, paths, schedulers, loads)
    return Result(
        title="Path schedulers on real pages (simulated)",
        columns=[
            "stack",
            "pages",
            "paths",
            "scheduler",
            "mean_s",
            "improvement_percent",
            "same_or_better_percent",
            "median_site_change_percent",
            "p95_site_slowdown_percent",
            "difference_to_stream_percent",
            "p_of_difference_to_stream",
            "runs",
        ],
        rows=rows,
        notes=_notes(rows, schedulers),
        figures=figures,
        settings={"runs": runs, "pages": len(page_sets[_PAGES[0]])},
    )


_Loads = Mapping[tuple[str, str], Loads]


def _measure(
    stack: Stack,
    pages: PageSet,
    paths: Mapping[str, TwoPaths],
    schedulers: Sequence[str],
    options: PresetOptions,
    runs: int,
) -> _Loads:
    cells: dict[tuple[str, str], Values] = {}
    for label, both in paths.items():
        cells[label, "single"] = {**stack.single, **both.one.alone}
        for scheduler in schedulers:
            cells[label, scheduler] = {
                **stack.several,
                **both.values,
                "multipath.scheduler": scheduler,
            }
    return measure(pages, cells, options, runs=runs, profile=stack.profile)


def _rows(
    stack: Stack,
    pages: str,
    label: str,
    schedulers: Sequence[str],
    loads: _Loads,
    runs: int,
) -> list[list[Value]]:
    single = loads[label, "single"]
    stream = loads[label, schedulers[-1]]
    tests = {
        scheduler: wilcoxon(loads[label, scheduler].site_means_s - stream.site_means_s).p
        for scheduler in schedulers
    }
    # Holm over the schedulers of a row of the report: one family of comparisons with Stream.
    known = [scheduler for scheduler, p in tests.items() if p is not None]
    adjusted = dict(zip(known, adjust([tests[s] for s in known], "holm"), strict=True))
    rows: list[list[Value]] = [
        [stack.name, pages, label, "single path", single.mean_s, *[None] * 6, runs]
    ]
    for scheduler in schedulers:
        several = loads[label, scheduler]
        result = against(single, several)
        change = 100 * (several.site_means_s / single.site_means_s - 1)
        rows.append(
            [
                stack.name,
                pages,
                label,
                scheduler,
                several.mean_s,
                result.improvement_percent,
                result.same_or_better_percent,
                float(np.median(change)),
                float(np.percentile(change, 95)),
                100 * (several.mean_s / stream.mean_s - 1),
                adjusted.get(scheduler),
                runs,
            ]
        )
    return rows


def _figures(
    stack: Stack,
    paths: Mapping[str, TwoPaths],
    schedulers: Sequence[str],
    loads: _Loads,
) -> list[Figure]:
    name = stack.name.replace(" ", "-")
    figures = [
        heat_map(
            name=f"schedulers-{name}",
            title=f"Improvement over the better path alone, {stack.name}",
            caption="Mean load time of all sites below that of the same stack over the better path "
            "alone (simulated).",
            columns=("scheduler", "paths", "improvement_percent"),
            rows=[
                [
                    scheduler,
                    label,
                    against(loads[label, "single"], loads[label, scheduler]).improvement_percent,
                ]
                for label in paths
                for scheduler in schedulers
            ],
            x="scheduler",
            y="paths",
            value="improvement_percent",
            centre=0.0,
        )
    ]
    for label in paths:
        if label.startswith("5 x RTT, 50"):
            single = loads[label, "single"].site_means_s
            figures.append(
                difference_cdf(
                    name=f"schedulers-{name}-difference",
                    title=f"{stack.name}: {label}",
                    caption="Differences of the sites' mean load times to the same stack over the "
                    "better path alone (simulated).",
                    samples={
                        scheduler: [float(v) for v in loads[label, scheduler].site_means_s - single]
                        for scheduler in schedulers
                    },
                    column="difference_s",
                    by="scheduler",
                )
            )
    return figures


def _notes(rows: Sequence[Sequence[Value]], schedulers: Sequence[str]) -> list[str]:
    """Of each stack: mean over the pairs of paths, and where several paths harm."""
    notes = []
    for stack in STACKS:
        for pages in _PAGES:
            parts = []
            for scheduler in schedulers:
                values = [
                    float(row[5] or 0.0)
                    for row in rows
                    if (row[0], row[1], row[3]) == (stack.name, pages, scheduler)
                ]
                if values:
                    parts.append(
                        f"{scheduler} {np.mean(values):+.1f} % (least {min(values):+.1f} %)"
                    )
            notes.append(
                f"{stack.name}, pages {pages}: mean improvement over the pairs of paths: "
                + ", ".join(parts)
            )
    return notes
