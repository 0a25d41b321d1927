"""Rows of tables on page graphs."""

from collections.abc import Iterator

from loadpath.graphs.build.profile import BuildSummary
from loadpath.graphs.build.resimulation import Resimulation
from loadpath.graphs.comparison import Comparison, ParentChange
from loadpath.graphs.critical_path import CriticalPath
from loadpath.graphs.graph import shorten
from loadpath.graphs.statistics import Statistics

__all__ = [
    "CHANGE_COLUMNS",
    "CRITICAL_PATH_COLUMNS",
    "RESIMULATION_COLUMNS",
    "build_rows",
    "change_rows",
    "comparison_lines",
    "critical_path_rows",
    "resimulation_rows",
    "shares_rows",
    "statistics_rows",
]

CRITICAL_PATH_COLUMNS = ["activity", "kind", "", "waits ms", "ms", "at ms"]
RESIMULATION_COLUMNS = ["load", "network", "load ms", "DCL ms"]
CHANGE_COLUMNS = ["node", "field", "A", "B"]


def critical_path_rows(path: CriticalPath) -> list[list[str]]:
    """A row an activity; the last column is when it ends."""
    rows = []
    at_ms = 0.0
    for step in path.steps:
        wait_ms = step.timer_wait_ms + step.busy_wait_ms
        at_ms += wait_ms + step.duration_ms
        rows.append(
            [
                step.id,
                step.kind,
                shorten(step.subject, 60),
                f"{wait_ms:.2f}" if wait_ms else "",
                f"{step.duration_ms:.2f}",
                f"{at_ms:.2f}",
            ]
        )
    return rows


def shares_rows(path: CriticalPath) -> list[list[str]]:
    """A row a kind: time and share of the whole path."""
    total_ms = path.total_ms or 1.0
    return [
        [kind, f"{ms:.2f}", f"{100 * ms / total_ms:.1f}"] for kind, ms in path.by_kind_ms.items()
    ]


def build_rows(summary: BuildSummary) -> list[list[str]]:
    """How a graph explains the load that it was built from: what, which, how many."""
    return [
        ["activities", "", str(summary.activities)],
        ["requests before load", "", str(sum(summary.requests.values()))],
        *(["  parent known by", name, str(count)] for name, count in summary.requests.items()),
        ["known by a fallback rule only", "", _percent(summary.fallback_share)],
        ["main thread busy, ms", "", f"{summary.busy_ms:.1f}"],
        ["  explained by parsing and computations", "", _percent(summary.explained_by_rules)],
        ["  with other work of known trigger", "", _percent(summary.explained)],
        ["callbacks left out", f"{summary.pruned_ms:.1f} ms", str(summary.pruned_callbacks)],
    ]


def resimulation_rows(again: Resimulation) -> list[list[str]]:
    """The measured and the simulated load of a profiled page."""
    network = f"{again.http}, {again.rate}, RTT {again.rtt_ms:g} ms, profile linux"
    loads = [
        ("observed", "here", again.measured_ms, again.measured_dom_content_loaded_ms),
        ("simulated", network, again.simulated_ms, again.simulated_dom_content_loaded_ms),
    ]
    return [
        [label, where, *("" if ms is None else f"{ms:.1f}" for ms in times)]
        for label, where, *times in loads
    ]


def statistics_rows(found: Statistics) -> list[list[str]]:
    """Rows of what, which, how many."""
    return [
        ["page", found.page, ""],
        ["", shorten(found.url, 80), ""],
        *([["source", shorten(found.source, 80), ""]] if found.source else []),
        ["activities", "", str(found.activities)],
        *_counted(found.activities_by_kind),
        ["edges", "", str(found.edges)],
        ["longest chain", "", str(found.depth)],
        ["after load", "", str(found.after_load)],
        ["frames", "", str(found.frames)],
        ["processes", "", str(found.processes)],
        ["resources", "", str(found.resources)],
        *_counted(found.resources_by_type),
        ["hosts", "", str(found.hosts)],
        ["bytes", "", str(found.bytes)],
        *_counted(found.bytes_by_type),
        ["served by", "", ""],
        *_counted(found.served_by),
        ["requested by", "", ""],
        *_counted(found.requested_by),
        ["parent known by", "", ""],
        *_counted(found.evidence),
        ["known by a fallback rule only", "", _percent(found.fallback_share)],
        ["discovered by", "", ""],
        *_counted(found.discovered_by),
        ["server delay from", "", ""],
        *_counted(found.server_delay_sources),
        ["browser's priority", "", ""],
        *_counted(found.browser_priorities),
        ["main thread", "", ""],
        *(["", kind, f"{work.duration_ms:.2f} ms"] for kind, work in found.computation.items()),
        ["main-thread time explained", "", _percent(found.explained_share)],
        ["not executed (pruned)", "", str(sum(found.pruned.values()))],
        *_counted(found.pruned),
    ]


def _counted(counts: dict[str, int]) -> list[list[str]]:
    return [["", name, str(count)] for name, count in counts.items()]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def comparison_lines(found: Comparison, most: int) -> Iterator[str]:
    """What differs, at most so many lines of each kind."""
    yield f"A: {found.a}, {found.nodes_a} nodes"
    yield f"B: {found.b}, {found.nodes_b} nodes"
    yield from found.summary
    for heading, lines in (
        ("only in A", [[name] for name in found.only_a]),
        ("only in B", [[name] for name in found.only_b]),
        ("other parents", [_parents(change) for change in found.parents]),
        ("the same up to", [[f"{p.up_to}: {p.a}", f"    {p.b}"] for p in found.pairs]),
    ):
        if lines and most:
            yield ""
            yield f"{heading}:"
            yield from (f"  {line}" for entry in lines[:most] for line in entry)
            if len(lines) > most:
                yield f"  ... and {len(lines) - most} more"


def _parents(change: ParentChange) -> list[str]:
    return [
        change.node,
        *(f"  A waits for {parent}" for parent in change.only_a),
        *(f"  B waits for {parent}" for parent in change.only_b),
    ]


def change_rows(found: Comparison, most: int) -> list[list[str]]:
    """A row a number that differs, at most so many of each field."""
    rows = []
    shown: dict[str, int] = {}
    for change in found.changes:
        shown[change.field] = shown.get(change.field, 0) + 1
        if shown[change.field] <= most:
            rows.append(
                [shorten(change.node, 80), change.field, _value(change.a), _value(change.b)]
            )
    return rows


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
