"""How much of a page graph a real browser gives back: `make study-synthetic`.

Every example page, and every Nth of the corpus so that there are 20 (if LOADPATH_CORPUS names
it), is made into a page for browsers, served on loopback and profiled; the graph of the profile
is compared with the one that the page was made from, and both are simulated over the same
networks. Finished profiles stay in the work folder, so that an interrupted study goes on where it
was. Writes synthetic.csv and synthetic.md.

usage: studies/synthetic_pages.py WORK OUTPUT; --help lists the options
"""

import os
import platform
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import msgspec
import typer

from loadpath.api import simulate
from loadpath.cli.console import print_error, print_note
from loadpath.errors import LoadpathError
from loadpath.experiments.corpus import open_corpus_folder
from loadpath.graphs import Graph, compare, read_graph
from loadpath.graphs.canonical import canonical_activities
from loadpath.output import write_atomic
from loadpath.pages import example_names
from loadpath.profiler import read_manifest, record_profile
from loadpath.testbed import OriginSettings, start_origin
from loadpath.testbed.synthetic import SyntheticPage, synthesise
from profile_packages import build_graph_file
from serving import profiler_settings
from tables import csv_text, markdown_table

SITES = 20
NETWORKS: dict[str, dict[str, Any]] = {
    "10 Mbit/s, 40 ms": {"rate": "10mbit", "rtt_ms": 40},
    "1.6 Mbit/s, 150 ms": {"rate": "1.6mbit", "rtt_ms": 150},
    "100 Mbit/s, 10 ms": {"rate": "100mbit", "rtt_ms": 10},
}
SCENARIO: dict[str, Any] = {
    "profile": "linux",
    "http": "h2",
    "connections": 1,
    "queue": "unlimited",
}
"""The same for both graphs; without loss, so that the graphs alone make the difference."""


class Page(msgspec.Struct, kw_only=True):
    """What became of a page."""

    name: str
    corpus: bool
    nodes: int = 0
    nodes_found: int = 0
    nodes_extra: int = 0
    edges: int = 0
    edges_found: int = 0
    edges_kept: int = 0
    """Found, or following from others: the one is an ancestor of the other."""
    resources: int = 0
    resources_found: int = 0
    bytes: int = 0
    bytes_made: int = 0
    same_structure: bool = False
    busy_ms: float = 0.0
    """Main-thread time that the graph has before the load event."""
    busy_made_ms: float = 0.0
    load_ms: dict[str, float | None] = {}
    load_made_ms: dict[str, float | None] = {}
    load_structure_ms: dict[str, float | None] = {}
    """With the original's main-thread times."""
    misses: int = 0
    approximations: dict[str, int] = {}
    causes: dict[str, int] = {}
    """Differences of structure by what they are."""
    problem: str = ""

    def error(self, network: str, *, structure: bool = False) -> float | None:
        """Of the load time of the page's graph against that of the original, as a fraction."""
        made = self.load_structure_ms if structure else self.load_made_ms
        a, b = self.load_ms.get(network), made.get(network)
        return b / a - 1 if a and b else None


def examine(
    name: str, source: Path | str, corpus: bool, work: Path, runs: int, wait_s: float
) -> Page:
    """Make, serve, profile (if it is not there), compare, simulate."""
    page = Page(name=name, corpus=corpus)
    try:
        graph = read_graph(source)
        made = synthesise(graph, scheme="https")
        page.approximations = dict(Counter(a.cause for a in made.approximations))
        folder = work / "profiles" / name
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            archive = work / "archives" / f"{name}.har"
            archive.parent.mkdir(exist_ok=True)
            write_atomic(archive, msgspec.json.encode(made.archive), force=True)
            with start_origin(OriginSettings(archive=archive, http="h1")) as origin:
                settings = profiler_settings(
                    origin, runs=runs, plain_runs=0, netlog=True, wait_s=wait_s
                )
                record_profile(origin.url, folder, settings)
                page.misses = len(origin.report().misses)
        manifest = read_manifest(folder)
        if manifest.status != "complete":
            page.problem = manifest.reason or manifest.status
        built, _ = build_graph_file(folder, manifest, work / "graphs", name)
        wanted = Graph.from_json(msgspec.json.encode(made.graph), name)
        _compare(page, graph, wanted, made, read_graph(built))
        timed = work / "graphs" / f"{name}-durations.json"
        write_atomic(
            timed, msgspec.json.encode(with_durations(read_graph(built), wanted)), force=True
        )
        for network, parameters in NETWORKS.items():
            for where, results in (
                (source, page.load_ms),
                (built, page.load_made_ms),
                (timed, page.load_structure_ms),
            ):
                [outcome] = simulate(where, **SCENARIO, **parameters)
                results[network] = outcome.plt_ms
    except LoadpathError as error:
        page.problem = str(error)
    except Exception as error:
        # A mistake of ours is a result of the study, not its end.
        page.problem = f"{type(error).__name__}: {error}"
    return page


def with_durations(built: Graph, wanted: Graph) -> dict[str, Any]:
    """The page's graph with the original's main-thread times, where they have the same nodes.

    Parsing takes as long as in the original, document by document; other work takes no time.
    """
    data = deepcopy(dict(built.data))
    activities = {activity["id"]: activity for activity in data["activities"]}
    _, ids_wanted = canonical_activities(wanted.data)
    _, ids_built = canonical_activities(built.data)
    same = {ids_built[name]: id for name, id in ids_wanted.items() if name in ids_built}
    totals: dict[str, float] = defaultdict(float)
    for id in wanted.activities:
        totals[_computation(wanted, id)] += wanted.activities[id].get("duration_ms", 0.0)
    parsing, parsing_wanted = _parsing(built), _parsing(wanted)
    begun: set[str] = set()
    for id, activity in activities.items():
        if activity["type"] == "main_thread":
            activity["duration_ms"] = 0.0
        elif activity["type"] == "parse_chunk":
            url = built.subject(id)
            if parsing[url]:
                activity["duration_ms"] *= parsing_wanted.get(url, 0.0) / parsing[url]
        elif activity["type"] == "evaluation":
            computation = _computation(built, id)
            if id in same and computation not in begun:
                begun.add(computation)
                activity["duration_ms"] = totals[_computation(wanted, same[id])]
            elif computation in begun:
                activity["duration_ms"] = 0.0
    return data


def _computation(graph: Graph, id: str) -> str:
    """Name of the computation of which an activity is a piece."""
    return str(graph.activities[id].get("continues") or id.removesuffix("_0"))


def _parsing(graph: Graph) -> dict[str, float]:
    """Time of parsing by URL of the document."""
    found: dict[str, float] = defaultdict(float)
    for id, activity in graph.activities.items():
        if activity["type"] == "parse_chunk":
            found[graph.subject(id)] += activity["duration_ms"]
    return found


def _compare(page: Page, graph: Graph, wanted: Graph, made: SyntheticPage, built: Graph) -> None:
    found = compare(wanted, built)
    nodes, ids = canonical_activities(wanted.data)
    page.same_structure = found.same_structure
    page.nodes, page.nodes_found = found.nodes_a, found.nodes_a - len(found.only_a)
    page.nodes_extra = len(found.only_b)
    page.edges = sum(len(parents) for parents in nodes.values())
    lost = [(parent, change.node) for change in found.parents for parent in change.only_a]
    lost += [(parent, node) for node in found.only_a for parent in nodes[node]]
    page.edges_found = page.edges - len(lost)
    name_in_a = {pair.b: pair.a for pair in found.pairs}
    above = _ancestors(canonical_activities(built.data)[0], name_in_a)
    page.edges_kept = page.edges - sum(parent not in above.get(node, ()) for parent, node in lost)
    page.resources = sum(_kind(node) == "resource" for node in nodes)
    page.resources_found = page.resources - sum(_kind(n) == "resource" for n in found.only_a)
    page.bytes, page.bytes_made = _bytes(graph.data), _bytes(built.data)
    page.busy_ms, page.busy_made_ms = _busy_ms(graph), _busy_ms(built)
    noted = {a.activity: a.cause for a in made.approximations if _is_structural(a.cause)}
    causes: Counter[str] = Counter()
    gone = set(found.only_a)
    for node in found.only_a:
        causes[f"missing {_kind(node)}: {_cause(ids[node], wanted, noted)}"] += 1
    for node in found.only_b:
        causes[f"further {_kind(node)}"] += 1
    for parent, node in lost:
        if node not in gone and parent not in gone and parent not in above[node]:
            causes[f"{_kind(parent)} before {_target(node)}"] += 1
    page.causes = dict(causes)


def _ancestors(
    graph: Mapping[str, frozenset[str]], names: Mapping[str, str]
) -> dict[str, set[str]]:
    """All ancestors of each node, all of them by the names that `names` gives to some."""
    found: dict[str, set[str]] = {}
    for node in TopologicalSorter(graph).static_order():
        above = {names.get(parent, parent) for parent in graph[node]}
        found[names.get(node, node)] = above.union(*(found[parent] for parent in above))
    return found


def _is_structural(cause: str) -> bool:
    return not cause.startswith(
        ("computes", "parsing", "style takes", "its server", "its tags", "other work")
    )


def _cause(id: str, graph: Graph, noted: Mapping[str, str]) -> str:
    """What was noted of an activity, or of the next one above it."""
    pending, seen = [id], {id}
    for each in pending:
        if each in noted:
            return noted[each]
        above = [p for p in graph.parents.get(each, []) if p not in seen]
        seen.update(above)
        pending += above
        if len(pending) > 30:
            break
    return "nothing noted"


def _kind(node: str) -> str:
    return {"parse": "parse chunk", "style": "style sheet"}.get(first := node.split(" ")[0], first)


def _target(node: str) -> str:
    return "the load event" if node == "event load" else _kind(node)


def _bytes(graph: Mapping[str, Any]) -> int:
    return sum(
        a["size_bytes"]
        for a in graph["activities"]
        if a["type"] == "resource" and a["url"].startswith("http") and "original" not in a
    )


def _busy_ms(graph: Graph) -> float:
    return sum(
        float(graph.activities[id].get("duration_ms", 0.0))
        for id in graph.until_load
        if id in graph.activities
    )


def sources(only: Sequence[str], corpus: Path | None) -> Iterator[tuple[str, Path | str, bool]]:
    """Names, files and whether they are of the corpus."""
    for name in example_names():
        if not only or name in only:
            yield name, f"example:{name}", False
    if corpus is None:
        return
    with open_corpus_folder(corpus) as (folder, entries):
        step = max(1, len(entries) // SITES)
        for entry in entries[::step][:SITES]:
            name = Path(entry.file).stem
            if not only or name in only:
                yield name, folder / entry.file, True


def row(page: Page) -> list[str]:
    """A row of synthetic.csv."""
    return [
        page.name,
        "corpus" if page.corpus else "example",
        *(str(value) for value in (page.nodes, page.nodes_found, page.nodes_extra)),
        *(str(value) for value in (page.edges, page.edges_found, page.edges_kept)),
        *(str(value) for value in (page.resources, page.resources_found)),
        *(str(value) for value in (page.bytes, page.bytes_made)),
        f"{page.busy_ms:.0f}",
        f"{page.busy_made_ms:.0f}",
        *(_signed(page.error(network)) for network in NETWORKS),
        *(_signed(page.error(network, structure=True)) for network in NETWORKS),
        page.problem,
    ]


COLUMNS = (
    "page",
    "from",
    "nodes",
    "found",
    "further",
    "dependencies",
    "dependencies_found",
    "dependencies_kept",
    "resources",
    "resources_found",
    "bytes",
    "bytes_made",
    "busy_ms",
    "busy_made_ms",
    *(f"error {network}" for network in NETWORKS),
    *(f"error {network}, same durations" for network in NETWORKS),
    "problem",
)


def _signed(error: float | None) -> str:
    return "" if error is None else f"{error:+.1%}"


def summary(pages: Sequence[Page]) -> list[list[str]]:
    """Sums and medians over the examples and the corpus."""
    rows = []
    for title, corpus in (("examples", False), ("corpus", True)):
        chosen = [page for page in pages if page.corpus is corpus and page.nodes]
        if not chosen:
            continue
        errors = [
            [
                abs(error)
                for page in chosen
                if (error := page.error(network, structure=structure)) is not None
            ]
            for structure in (True, False)
            for network in NETWORKS
        ]
        rows.append(
            [
                title,
                str(len(chosen)),
                str(sum(page.same_structure for page in chosen)),
                _share(chosen, "resources_found", "resources"),
                _share(chosen, "nodes_found", "nodes"),
                _share(chosen, "edges_found", "edges"),
                _share(chosen, "edges_kept", "edges"),
                _share(chosen, "nodes_extra", "nodes"),
                *(f"{median(each):.1%}" if each else "" for each in errors),
            ]
        )
    return rows


def _share(pages: Sequence[Page], part: str, whole: str) -> str:
    total = sum(getattr(page, whole) for page in pages)
    return f"{sum(getattr(page, part) for page in pages) / total:.1%}" if total else ""


SUMMARY_HEADINGS = (
    "pages",
    "number",
    "same structure",
    "resources found",
    "nodes found",
    "dependencies found",
    "dependencies kept",
    "further nodes",
    *(f"{network}: median error, same durations" for network in NETWORKS),
    *(f"{network}: median error" for network in NETWORKS),
)

INTRODUCTION = """# Page graphs as pages for real browsers

Written by `make study-synthetic`; the same numbers are in [synthetic.csv](synthetic.csv).

Each graph is made into a page (`loadpath graph page`) that is served on loopback (HTTP/1.1 over
TLS, all of it https, the graph's server delays) and profiled in Chromium. The graph that is built
from the profile is compared, in the canonical form of `loadpath graph diff`, with the one that
the page was made from: nodes and dependencies that it has, too, and nodes that only it has. A
dependency is found if the page's graph has it between the same two nodes, and kept if it follows
there from others. Then both graphs are simulated over the same networks (profile `linux`, HTTP/2,
no loss): the error is that of the page's graph against the original, in load time, as measured
and with the original's main-thread times ("same durations", which leaves what structure, sizes
and server delays make). Structure: **observed**. Load times: **simulated**. Main-thread time of
the page ("busy") is measured on this machine while it loads.

Measured on {machine}, {date}; {runs} timing passes a page; load average {load:.2f} at the end.

"""


READING = """
## Reading it

* The examples are made of published counts and sizes: hardly any of them has computation, and
  none knows what requests and parsing cost a browser. Their structure comes back whole; their
  load times differ by main-thread time alone, the more the faster the network.
* The corpus was recorded in 2016 by another browser and other rules. Where it has load listeners
  of scripts behind the resource, browsers run them behind the evaluation; where its load event
  waits for an XMLHttpRequest or a timer, the page holds the load event by a frame that no profile
  shows.
* V8 traces no calls within calls: listeners of events that a script dispatches are not seen
  ("missing event"), and what they do counts as the script's.
* Images that a script makes are requested when it ends, so that pieces of a computation merge.
* Several tags at the end of a chunk are several chunks for a browser; listeners of completion
  need a script that registers them ("further parse chunk", "further script").
* Building a graph drops timers and callbacks that lead to no request, and puts timers of more than
  a second behind the load event ("missing timer").
* Two resources of the same URL share one body, and the browser's cache serves the second.
"""


def report(output: Path, pages: Sequence[Page], runs: int) -> None:
    """Write the tables."""
    text = INTRODUCTION.format(
        machine=f"{os.cpu_count()} processors, Linux {platform.release()}",
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        runs=runs,
        load=os.getloadavg()[0],
    )
    text += markdown_table(SUMMARY_HEADINGS, summary(pages), words=("pages",)) + READING
    for title, corpus in (("examples", False), ("corpus", True)):
        chosen = [page for page in pages if page.corpus is corpus]
        if not chosen:
            continue
        text += f"\n## Differences of structure: {title}\n\n"
        text += _counted([page.causes for page in chosen], "difference")
        text += f"\n## Approximations: {title}\n\nWhat `loadpath graph page` itself says.\n\n"
        text += _counted([page.approximations for page in chosen], "approximation")
    words = ("page", "from", "problem")
    text += "\n## By page\n\n" + markdown_table(COLUMNS, [row(p) for p in pages], words=words)
    output.mkdir(parents=True, exist_ok=True)
    write_atomic(output / "synthetic.csv", csv_text(COLUMNS, [row(p) for p in pages]), force=True)
    write_atomic(output / "synthetic.md", text, force=True)


def _counted(each: Sequence[Mapping[str, int]], heading: str) -> str:
    total: Counter[str] = Counter()
    pages: Counter[str] = Counter()
    for counts in each:
        total.update(counts)
        pages.update(counts.keys())
    if not total:
        return "None.\n"
    rows = [[what, str(count), str(pages[what])] for what, count in total.most_common()]
    return markdown_table((heading, "number", "pages"), rows, words=(heading,))


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the profiles.")],
    output: Annotated[Path, typer.Argument(help="Folder for the tables.")],
    runs: Annotated[int, typer.Option("-n", min=1, help="Timing passes of each page.")] = 3,
    page: Annotated[list[str] | None, typer.Option(help="Only this page.")] = None,
    corpus: Annotated[Path | None, typer.Option(envvar="LOADPATH_CORPUS")] = None,
    wait_s: Annotated[float, typer.Option(help="After the load event.", min=0)] = 2.0,
) -> None:
    """Make, profile, compare, simulate; write the tables."""
    pages = []
    for name, source, is_corpus in sources(page or (), corpus):
        found = examine(name, source, is_corpus, work, runs, wait_s)
        print_note(
            f"{name}: {found.nodes_found} of {found.nodes} nodes, {found.edges_found} of "
            f"{found.edges} dependencies; {found.problem}"
        )
        pages.append(found)
        # After each page, so that an interrupted study has something to show.
        report(output, pages, runs)
    print(output / "synthetic.md")


if __name__ == "__main__":
    try:
        typer.run(study)
    except LoadpathError as error:
        print_error(error)
        sys.exit(1)
