"""What the profiler explains of real pages: `make study-profiler`.

Every page of `packages.toml` is profiled several times over HTTP/1.1 and HTTP/2; from each profile
the page graph is built. Finished profiles stay in the work folder, so that an interrupted study
goes on where it was; graphs are built anew each time. Writes profiler.csv (a row for each page and
HTTP version), profiler-profiles.csv (a row for each profile) and profiler.md.

usage: studies/profile_packages.py WORK OUTPUT; --help lists the options
"""

import os
import platform
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Annotated
from urllib.parse import urldefrag

import msgspec
import typer

from loadpath.cli.console import print_error, print_note
from loadpath.errors import LoadpathError
from loadpath.graphs.build.builder import BuildReport, build_graph
from loadpath.graphs.build.recording import read_recording
from loadpath.graphs.comparison import Comparison, compare
from loadpath.graphs.graph import Graph, read_graph
from loadpath.output import write_atomic
from loadpath.profiler import Manifest, PassKind, read_manifest, record_profile
from packages import Site, read_sites
from serving import HTTP_VERSIONS, HttpVersion, profiler_settings, serving
from tables import csv_text, markdown_table

MAX_FALLBACK = 0.02
"""At most so large a share of the requests may be explained by a fallback rule alone."""
MIN_EXPLAINED = 0.95
"""At least so large a share of busy main-thread time is aimed at."""
SHOWN_DIFFERENCES = 6

EVIDENCE_ORDER = ("fallback", "unverified")
"""Kinds of evidence that are named first, worst first; the others follow by frequency."""


PageKey = tuple[str, HttpVersion]
"""A page and the HTTP version by which it was loaded."""


class Measured(msgspec.Struct, kw_only=True):
    """What was found of one profile."""

    page: str
    http: HttpVersion
    profile: str
    problem: str | None = None
    """Why there is no graph."""
    ended: int = 0
    """Requests that ended before the load event, by the page archive."""
    missing: list[str] = []
    """Those of them that the graph does not have."""
    orphans: list[str] = []
    """Resources without a parent, besides the page itself."""
    evidence: dict[str, int] = {}
    """Requests sent before the load event by how their cause is known."""
    fallback_urls: list[str] = []
    busy_ms: float = 0.0
    graph_ms: float = 0.0
    """Main-thread time that the graph has before the load event."""
    explained_by_rules: float = 0.0
    explained: float = 0.0
    traced_over_plain: float | None = None
    load_ms: float | None = None
    """Median of the plain passes."""
    warnings: list[str] = []


def folder_of(work: Path, page: str, http: HttpVersion, number: int) -> Path:
    """The folder of a profile, of which there are several, from 1."""
    return work / (f"{page}-{http}" if number == 1 else f"{page}-{http}-{number}")


def record(
    work: Path,
    sites: Sequence[Site],
    pages: Sequence[str],
    profiles: int,
    runs: int,
    plain_runs: int = 3,
    versions: Sequence[HttpVersion] = HTTP_VERSIONS,
) -> None:
    """Record the profiles that are not there yet."""
    wanted = [
        (page, http, number)
        for number in range(1, profiles + 1)
        for page in pages
        for http in versions
    ]
    left = [job for job in wanted if not folder_of(work, *job).is_dir()]
    if not left:
        return
    work.mkdir(parents=True, exist_ok=True)
    with serving(sites) as server:
        for index, (page, http, number) in enumerate(left, 1):
            print_note(f"{index} of {len(left)}: {page} {http} {number}")
            try:
                record_profile(
                    server.url(page, http),
                    folder_of(work, page, http, number),
                    profiler_settings(server, runs=runs, plain_runs=plain_runs),
                )
            except LoadpathError as error:
                # The next run of the study tries again.
                print_error(error)


def examine(
    folder: Path, graphs: Path, page: str, http: HttpVersion
) -> tuple[Measured, Graph | None]:
    """Build the graph of a profile, keep it in `graphs`, compare it with what was recorded."""
    found = Measured(page=page, http=http, profile=folder.name)
    try:
        manifest = read_manifest(folder)
        found.traced_over_plain = manifest.traced_over_plain
        plain = [p.load_ms for p in manifest.passes if p.kind is PassKind.PLAIN and p.load_ms]
        found.load_ms = median(plain) if plain else None
        if manifest.status != "complete":
            found.problem = manifest.reason
        path, report = build_graph_file(folder, manifest, graphs, page)
        graph = read_graph(path)
    except LoadpathError as error:
        found.problem = str(error)
        return found, None
    except Exception as error:
        # A mistake of the builder's is a result of the study, not its end.
        found.problem = f"{type(error).__name__}: {error}"
        return found, None
    _compare_requests(found, folder, graph)
    found.evidence = dict(report.evidence)
    found.fallback_urls = report.fallback_urls
    found.warnings = report.warnings
    found.busy_ms = median(report.busy_ms)
    found.graph_ms = sum(
        activity.get("duration_ms", 0.0)
        for activity in graph.activities.values()
        if activity.get("phase") != "end"
    )
    found.explained_by_rules = _share(report.by_rules_ms, report.busy_ms)
    both = [a + b for a, b in zip(report.by_rules_ms, report.other_work_ms, strict=True)]
    found.explained = _share(both, report.busy_ms)
    return found, graph


def build_graph_file(
    folder: Path, manifest: Manifest, graphs: Path, page: str
) -> tuple[Path, BuildReport]:
    """Build the page graph of a profile anew, into a folder."""
    timings = [
        read_recording(folder / each.name, None)
        for each in manifest.passes
        if each.kind is PassKind.TIMING and each.status == "complete"
    ]
    structure = read_recording(folder / "structure", folder / "archive.har")
    graph, report = build_graph(structure, timings, name=page)
    graphs.mkdir(parents=True, exist_ok=True)
    path = graphs / f"{folder.name}.json"
    write_atomic(path, msgspec.json.encode(graph), force=True)
    return path, report


def _share(parts: Iterable[float], wholes: Iterable[float]) -> float:
    return median(a / b if b else 1.0 for a, b in zip(parts, wholes, strict=True))


def _compare_requests(found: Measured, folder: Path, graph: Graph) -> None:
    """Compare the graph with the archive, which the builder does not take requests from."""
    log = msgspec.json.decode((folder / "archive.har").read_bytes())["log"]
    begin = datetime.fromisoformat(log["pages"][0]["startedDateTime"])
    on_load = log["pages"][0]["pageTimings"]["onLoad"]
    activities = list(graph.activities.values())
    resources = [a for a in activities if a["type"] == "resource"]
    left = Counter((a.get("method", "GET"), a["url"]) for a in resources)
    for entry in log["entries"]:
        request = entry["request"]
        url = urldefrag(request["url"]).url
        since = (datetime.fromisoformat(entry["startedDateTime"]) - begin).total_seconds() * 1e3
        if on_load is None or since + entry["time"] > on_load:
            continue
        if url.startswith(("data:", "blob:", "about:")):
            continue
        found.ended += 1
        key = (request["method"], url)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.missing.append(url)
    children = {child for a in activities for child in a.get("children", ())}
    found.orphans = [
        a["url"] for a in resources if a["id"] not in children and a["id"] != graph.data["root"]
    ]


class Differences(msgspec.Struct, kw_only=True):
    """How the structures of several profiles of a page differ."""

    graphs: int
    like_most: int
    """Profiles that give the commonest structure."""
    lines: list[tuple[int, str]]
    """How many profiles differ from it in what, the most frequent first."""


def compare_structures(graphs: Sequence[Graph]) -> Differences:
    """Compare with the commonest structure; queries with random values are not differences."""
    alike: list[list[Graph]] = []
    for graph in graphs:
        for group in alike:
            if compare(group[0], graph).same_structure:
                group.append(graph)
                break
        else:
            alike.append([graph])
    alike.sort(key=len, reverse=True)
    lines: Counter[str] = Counter()
    for group in alike[1:]:
        for line in _lines(compare(alike[0][0], group[0])):
            lines[line] += len(group)
    return Differences(
        graphs=len(graphs),
        like_most=len(alike[0]),
        lines=[(count, line) for line, count in lines.most_common()],
    )


def _lines(found: Comparison) -> list[str]:
    lines = [f"without {node}" for node in found.only_a]
    lines += [f"with {node}" for node in found.only_b]
    for change in found.parents:
        now, before = (", ".join(names) or "nothing" for names in (change.only_b, change.only_a))
        lines.append(f"{change.node} waits for {now} instead of {before}")
    return lines


PROFILE_COLUMNS = (
    "page",
    "http",
    "profile",
    "problem",
    "load_ms",
    "ended_requests",
    "missing",
    "without_parent",
    "evidence",
    "fallback",
    "busy_ms",
    "graph_ms",
    "explained_by_rules",
    "explained",
    "traced_over_plain",
)


def profile_row(found: Measured) -> list[str]:
    """A row of profiler-profiles.csv."""
    return [
        found.page,
        found.http,
        found.profile,
        found.problem or "",
        f"{found.load_ms:.1f}" if found.load_ms is not None else "",
        str(found.ended),
        str(len(found.missing)),
        str(len(found.orphans)),
        "; ".join(f"{kind} {count}" for kind, count in sorted(found.evidence.items())),
        str(found.evidence.get("fallback", 0)),
        f"{found.busy_ms:.1f}",
        f"{found.graph_ms:.1f}",
        f"{found.explained_by_rules:.4f}",
        f"{found.explained:.4f}",
        f"{found.traced_over_plain:.3f}" if found.traced_over_plain is not None else "",
    ]


PAGE_COLUMNS = (
    "page",
    "http",
    "profiles",
    "ended_requests",
    "in_graph",
    "fallback_share",
    "evidence",
    "busy_ms",
    "graph_ms",
    "explained_by_rules",
    "explained",
    "same_structure",
    "traced_over_plain",
)
PAGE_HEADINGS = (
    "page",
    "HTTP",
    "profiles",
    "requests",
    "in the graph",
    "by fallback",
    "evidence",
    "busy, ms",
    "in the graph, ms",
    "by rules",
    "explained",
    "same structure",
    "traced/plain",
)


def page_row(group: Sequence[Measured], differences: Differences | None) -> list[str]:
    """A row of profiler.csv: sums of counts, medians of the others."""
    good = [found for found in group if found.evidence]
    if not good:
        return [group[0].page, group[0].http, "0", *[""] * (len(PAGE_COLUMNS) - 3)]
    evidence = _total(good)
    ended = sum(found.ended for found in good)
    ratios = [found.traced_over_plain for found in good if found.traced_over_plain is not None]
    kinds = sorted(evidence, key=lambda kind: (kind not in EVIDENCE_ORDER, -evidence[kind]))
    total = sum(evidence.values())
    return [
        group[0].page,
        group[0].http,
        str(len(good)),
        str(ended),
        str(ended - sum(len(found.missing) for found in good)),
        f"{evidence['fallback'] / total:.4f}",
        ", ".join(f"{kind} {evidence[kind] / total:.0%}" for kind in kinds),
        f"{median(found.busy_ms for found in good):.0f}",
        f"{median(found.graph_ms for found in good):.0f}",
        f"{median(found.explained_by_rules for found in good):.3f}",
        f"{median(found.explained for found in good):.3f}",
        f"{differences.like_most}/{differences.graphs}" if differences else "",
        f"{median(ratios):.2f}" if ratios else "",
    ]


def _total(group: Iterable[Measured]) -> Counter[str]:
    total: Counter[str] = Counter()
    for found in group:
        total.update(found.evidence)
    return total


INTRODUCTION = """# What the profiler explains of real pages

Written by `make study-profiler`; the same numbers are in [profiler.csv](profiler.csv), those of
each profile in [profiler-profiles.csv](profiler-profiles.csv). Load and busy times are observed,
over loopback.

{pages} pages of packages from public registries (`studies/packages.toml`: pinned, with hashes),
served by nginx, HTTP/1.1 in the clear and HTTP/2 over TLS; {profiles} profiles in all, each of a
structure pass and {runs} timing passes.

* Requests: those that ended before the load event, by the page archive, and how many of them the
  graph has.
* Evidence: how the cause of a request is known; `fallback` is the only one that is a guess.
* Busy: time of the main thread before the load event in the timing passes; in the graph: the time
  that its activities before the load event take; by rules: the share of the busy time that
  computations and parsing cover; explained: with style, layout, paint and the like whose trigger is
  known.
* Same structure: profiles whose canonical graph is the commonest one of the page (`graph diff`;
  random values in queries do not count).
* Traced/plain: median load of the timing passes over that of the plain ones.

Measured on {machine}, {date}, {browser}.

| | found | aim |
| --- | ---: | ---: |
| requests before the load event that the graph has | {in_graph} of {ended} | all |
| resources without a parent | {orphans} | 0 |
| requests explained only by a fallback | {fallback:.2%} | at most {max_fallback:.0%} |
| busy time explained, median over pages | {explained:.1%} | {min_explained:.0%} |
| pages whose profiles all have the same structure | {same} of {groups} | or explained below |

"""


def report(
    output: Path,
    measured: Sequence[Measured],
    structures: Mapping[PageKey, Differences],
    manifest: Manifest,
) -> None:
    """Write the tables; `manifest` is that of any profile, for versions and settings."""
    groups = _groups(measured)
    good = [found for found in measured if found.evidence]
    evidence = _total(good)
    ended = sum(found.ended for found in good)
    rows = [page_row(group, structures.get(key)) for key, group in groups.items()]
    by_page = [
        median(found.explained for found in group if found.evidence)
        for group in groups.values()
        if any(found.evidence for found in group)
    ]
    text = INTRODUCTION.format(
        pages=len({found.page for found in measured}),
        profiles=len(good),
        runs=manifest.settings["runs"],
        machine=f"{os.cpu_count()} processors, Linux {platform.release()}",
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        browser=manifest.browser["product"],
        in_graph=ended - sum(len(found.missing) for found in good),
        ended=ended,
        orphans=sum(len(found.orphans) for found in good),
        fallback=evidence["fallback"] / max(1, sum(evidence.values())),
        max_fallback=MAX_FALLBACK,
        explained=median(by_page) if by_page else 0.0,
        min_explained=MIN_EXPLAINED,
        same=sum(found.like_most == found.graphs for found in structures.values()),
        groups=len(structures),
    )
    text += markdown_table(PAGE_HEADINGS, rows, words=("page", "HTTP", "evidence"))
    text += _details(measured, structures)
    output.mkdir(parents=True, exist_ok=True)
    write_atomic(output / "profiler.csv", csv_text(PAGE_COLUMNS, rows), force=True)
    profiles = [profile_row(found) for found in measured]
    write_atomic(output / "profiler-profiles.csv", csv_text(PROFILE_COLUMNS, profiles), force=True)
    write_atomic(output / "profiler.md", text, force=True)


def _groups(measured: Iterable[Measured]) -> dict[PageKey, list[Measured]]:
    groups: dict[PageKey, list[Measured]] = {}
    for found in measured:
        groups.setdefault((found.page, found.http), []).append(found)
    return groups


def _details(measured: Sequence[Measured], structures: Mapping[PageKey, Differences]) -> str:
    """What is not as it should be, by page."""
    parts = []
    for (page, http), group in _groups(measured).items():
        lines: Counter[str] = Counter()
        for found in group:
            if found.problem:
                lines[found.problem] += 1
            lines.update(f"not in the graph: `{url}`" for url in found.missing)
            lines.update(f"without a parent: `{url}`" for url in found.orphans)
            lines.update(f"by fallback: `{url}`" for url in found.fallback_urls)
        texts = [f"* {line} ({count} of {len(group)})" for line, count in lines.most_common()]
        differences = structures.get((page, http))
        if differences is not None and differences.lines:
            others = differences.graphs - differences.like_most
            texts.append(f"* {others} of {differences.graphs} differ from the commonest graph:")
            shown = differences.lines[:SHOWN_DIFFERENCES]
            texts += [f"  * {count} times `{line}`" for count, line in shown]
            if len(differences.lines) > len(shown):
                texts.append(f"  * and {len(differences.lines) - len(shown)} differences more")
        if texts:
            parts.append(f"\n### {page}, {http}\n\n" + "\n".join(texts) + "\n")
    return "\n## Exceptions\n" + "".join(parts) if parts else ""


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the profiles.")],
    output: Annotated[Path, typer.Argument(help="Folder for the tables.")],
    profiles: Annotated[int, typer.Option(min=1, help="Profiles of each page and version.")] = 10,
    runs: Annotated[int, typer.Option("-n", min=1, help="Timing passes of a profile.")] = 5,
    plain_runs: Annotated[int, typer.Option(min=0, help="Passes without a trace.")] = 3,
    page: Annotated[list[str] | None, typer.Option(help="Only this site or page.")] = None,
    only_build: Annotated[bool, typer.Option(help="Use the profiles that are there.")] = False,
) -> None:
    """Record profiles that are not there yet, build all graphs, write the tables."""
    sites = read_sites(page or ())
    pages = [name for site in sites for name in site.pages]
    if not only_build:
        record(work, sites, pages, profiles, runs, plain_runs)
    measured: list[Measured] = []
    structures: dict[PageKey, Differences] = {}
    manifest = None
    for name in pages:
        for http in HTTP_VERSIONS:
            folders = [folder_of(work, name, http, number) for number in range(1, profiles + 1)]
            graphs: list[Graph] = []
            for folder in filter(Path.is_dir, folders):
                print_note(f"building {folder.name}")
                found, graph = examine(folder, work / "graphs", name, http)
                measured.append(found)
                if graph is not None:
                    graphs.append(graph)
                    manifest = manifest or read_manifest(folder)
            if graphs:
                structures[name, http] = compare_structures(graphs)
    if manifest is None:
        raise LoadpathError(f"{work}: no profile of which a graph can be built")
    report(output, measured, structures, manifest)
    print(output / "profiler.md")


if __name__ == "__main__":
    # Servers and their folder go when the study is asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        typer.run(study)
    except LoadpathError as error:
        print_error(error)
        sys.exit(1)
