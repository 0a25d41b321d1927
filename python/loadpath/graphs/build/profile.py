"""From the folder of a recorded profile to its page graph."""

from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from loadpath._core import Page
from loadpath.errors import LoadpathError, hinted
from loadpath.graphs.build.builder import BuildReport, build_graph
from loadpath.graphs.build.recording import read_recording
from loadpath.output import write_atomic
from loadpath.profiler.delays import apply_delays, server_delays
from loadpath.profiler.headers import apply_header_sizes, header_sizes
from loadpath.profiler.stalls import apply_stalls, request_stalls

__all__ = ["BuildSummary", "build_profile", "graph_text", "write_profile_graph"]

MAX_FALLBACK_SHARE = 0.02
"""Above this share of guessed parents a graph is not to be trusted."""


class BuildSummary(msgspec.Struct, kw_only=True):
    """How well a graph explains the recorded load.

    Attributes
    ----------
    requests
        Sent before the load event, by how it is known what made the browser send them.
    fallback_share
        Share of these that a guess explains only.
    busy_ms, explained_by_rules, explained
        Median over the timing passes: main-thread time before the load event, and the shares of it
        that parsing and computations, and these with other work of known trigger, account for.
    pruned_callbacks, pruned_ms
        Callbacks left out since they lead to no request, and their duration.
    """

    path: str = ""
    activities: int
    requests: dict[str, int]
    fallback_share: float
    fallback_urls: list[str]
    busy_ms: float
    explained_by_rules: float
    explained: float
    pruned_callbacks: int
    pruned_ms: float
    warnings: list[str]


def build_profile(folder: Path) -> tuple[dict[str, Any], BuildSummary]:
    """Build the page graph of a profile, with durations and server delays.

    Raises
    ------
    LoadpathError
        The folder is no profile, or its structure pass is damaged.
    """
    manifest = _manifest(folder)
    structure = read_recording(folder / "structure", folder / "archive.har")
    warnings = []
    timings = []
    for path in sorted(folder.glob("timing-*")):
        try:
            timings.append(read_recording(path, None))
        except LoadpathError as error:
            warnings.append(f"{path.name} left out: {error}")
    host = manifest.get("url", "")
    graph, report = build_graph(
        structure,
        timings,
        source=f"profiled {host} with {manifest.get('browser', {}).get('product', 'Chromium')}",
    )
    apply_delays(graph, server_delays(folder))
    apply_stalls(graph, request_stalls(folder))
    apply_header_sizes(graph, header_sizes(folder / "archive.har"))
    if structure.events.load is None:
        warnings.append("the load event never came: everything recorded counts as before it")
    warnings += _not_modelled(structure.events) + report.warnings
    summary = _summary(graph, report, warnings)
    if summary.busy_ms:
        graph["recorded_busy_ms"] = round(summary.busy_ms, 3)
    if summary.fallback_share > MAX_FALLBACK_SHARE:
        summary.warnings.append(
            f"{summary.fallback_share:.1%} of the requests are explained by a guess only"
        )
    return graph, summary


def write_profile_graph(
    folder: Path, output: Path | None = None, *, force: bool = False
) -> BuildSummary:
    """Build the graph of a profile and write it, to `graph.json` in its folder by default."""
    graph, summary = build_profile(folder)
    path = output or folder / "graph.json"
    text = graph_text(graph)
    # Nothing is written that the engine would refuse.
    Page.from_json(text.encode(), str(path))
    write_atomic(path, text, force=force)
    summary.path = str(path)
    return summary


def graph_text(graph: dict[str, Any]) -> str:
    """A page graph's JSON, a frame or activity a line."""
    lines = []
    for name, value in graph.items():
        text = msgspec.json.encode(value).decode()
        if name in ("frames", "activities"):
            items = ",\n".join(f"    {msgspec.json.encode(item).decode()}" for item in value)
            text = f"[\n{items}\n  ]"
        lines.append(f'  "{name}": {text}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError) as error:
        raise hinted(
            LoadpathError(f"{folder} is not a recorded profile: {error}"),
            "record one with `loadpath profile URL -o DIR`",
        ) from None
    if manifest.get("format") != "loadpath-profile" or manifest.get("version") != 1:
        raise hinted(
            LoadpathError(f"{path}: not a manifest of a profile of version 1"),
            "profile the page again with this version of the program",
        )
    return manifest


def _not_modelled(events: Any) -> list[str]:
    found = {
        "service worker": events.service_workers,
        "WebSocket": events.web_sockets,
        "WebTransport session": events.web_transports,
    }
    return [
        f"{count} {name}{'s' if count > 1 else ''}: recorded, but not part of the graph"
        for name, count in found.items()
        if count
    ]


def _summary(graph: dict[str, Any], report: BuildReport, warnings: list[str]) -> BuildSummary:
    requests = dict(sorted(report.evidence.items()))
    total = sum(requests.values())
    shares = [
        (rules / busy, (rules + other) / busy)
        for busy, rules, other in zip(
            report.busy_ms, report.by_rules_ms, report.other_work_ms, strict=True
        )
        if busy
    ]
    return BuildSummary(
        activities=len(graph["activities"]),
        requests=requests,
        fallback_share=requests.get("fallback", 0) / total if total else 0.0,
        fallback_urls=report.fallback_urls,
        busy_ms=median(report.busy_ms) if report.busy_ms else 0.0,
        explained_by_rules=median(share for share, _ in shares) if shares else 1.0,
        explained=median(share for _, share in shares) if shares else 1.0,
        pruned_callbacks=report.pruned,
        pruned_ms=round(report.pruned_ms, 3),
        warnings=warnings,
    )
