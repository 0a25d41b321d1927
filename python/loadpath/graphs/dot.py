"""Page graphs as Graphviz draws them: Figures 3.6 and 3.10 of the PCP thesis.

Parse chunks are black, computations red, resources blue, timers orange, events green, other
main-thread work grey. Grey boxes hold the chunks of a frame, or the pieces of a computation. The
critical path is drawn with thick lines.
"""

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import pairwise

from loadpath.errors import LoadpathError, hinted
from loadpath.graphs.critical_path import critical_path
from loadpath.graphs.graph import Graph, Kind, short_url, shorten

__all__ = ["COLOURS", "dot_text", "render_dot", "select"]

COLOURS = {
    Kind.RESOURCE: "#1f5fbf",
    Kind.DOWNLOAD: "#7fa8dc",
    Kind.PARSE: "#000000",
    Kind.SCRIPT: "#cc1111",
    Kind.STYLE: "#cc1111",
    Kind.SET_UP: "#cc1111",
    Kind.TIMER: "#d97700",
    Kind.EVENT: "#1a8a1a",
    Kind.MAIN_THREAD: "#808080",
}
"""Colours of the caption of Figure 3.6; the shades are dark enough for text on white."""

DEFAULT_TIMEOUT_S = 60.0
"""Layout of the graphs of the PCP corpus with up to a thousand activities takes less."""


def select(
    graph: Graph,
    *,
    until_load: bool = False,
    critical_path_only: bool = False,
    focus: str | None = None,
    depth: int | None = None,
) -> frozenset[str]:
    """Ids of the activities to draw.

    Parameters
    ----------
    graph
        The page graph.
    until_load
        Leave out what happens after the load event.
    critical_path_only
        Only what is on the critical path.
    focus
        Only this activity, what leads to it and what follows from it.
    depth
        With `focus`: at most so many edges away.

    Raises
    ------
    LoadpathError
        There is no activity `focus`, or it is left out.
    """
    kept = graph.until_load if until_load else frozenset(graph.activities)
    if critical_path_only:
        kept &= frozenset(critical_path(graph).ids)
    if focus is not None:
        if focus not in kept:
            what = "is left out" if focus in graph.activities else "does not exist"
            raise hinted(
                LoadpathError(f"{graph.name}: activity {focus!r} {what}"),
                "`loadpath graph view PAGE --format html` finds activities by URL",
            )
        kept &= _reach(graph.parents, focus, depth) | _reach(graph.children, focus, depth)
    return kept


def _reach(edges: dict[str, list[str]], start: str, depth: int | None) -> frozenset[str]:
    reached = {start}
    ring = [start]
    while ring and (depth is None or depth > 0):
        ring = [id for id in dict.fromkeys(n for r in ring for n in edges[r]) if id not in reached]
        reached.update(ring)
        depth = None if depth is None else depth - 1
    return frozenset(reached)


def dot_text(graph: Graph, kept: frozenset[str] | None = None) -> str:
    """The graph in Graphviz's DOT language.

    Nodes are named by activity ids; their classes say the kind ("parse-chunk") and "critical", and
    pass into SVG.

    Parameters
    ----------
    graph
        The page graph.
    kept
        Ids of the activities to draw, all by default; see `select`.
    """
    return "\n".join(_lines(graph, frozenset(graph.activities) if kept is None else kept)) + "\n"


def _lines(graph: Graph, kept: frozenset[str]) -> Iterator[str]:
    path = [id for id in critical_path(graph).ids if id in kept]
    critical = set(pairwise(path))
    yield f"digraph {_quote(graph.name)} {{"
    yield f"  graph [label={_text(_title(graph))} labelloc=t fontname={FONT} fontsize=14"
    # newrank lets no edge go up between boxes. Unbounded, the network simplex takes minutes for 500
    # nodes; two rounds a node (nslimit) change little in the drawing.
    yield '    newrank=true nslimit=2 nslimit1=2 ranksep=0.3 nodesep=0.2 tooltip=" "]'
    yield f"  node [shape=box style=rounded fontname={FONT} fontsize=10"
    yield '    margin="0.08,0.04" height=0.3]'
    yield '  edge [arrowsize=0.6 color="#666666"]'
    grouped: set[str] = set()
    for number, (name, members) in enumerate(_boxes(graph, kept)):
        yield f"  subgraph cluster_{number} {{"
        yield f'    label={_text(name)} color="#bbbbbb" bgcolor="#f4f4f4" fontsize=9 class=box'
        for id in members:
            yield f"    {_node(graph, id, id in path)}"
        yield "  }"
        grouped.update(members)
    for id in graph.activities:
        if id in kept and id not in grouped:
            yield f"  {_node(graph, id, id in path)}"
    for id in graph.activities:
        if id in kept:
            for child in graph.children[id]:
                if child in kept:
                    thick = ' [penwidth=3 color="#111111" class=critical]'
                    mark = thick if (id, child) in critical else ""
                    yield f"  {_quote(id)} -> {_quote(child)}{mark}"
    yield "}"


FONT = '"Helvetica,Arial,sans-serif"'


def _title(graph: Graph) -> str:
    return f"{graph.name}\n{shorten(str(graph.data['url']), 100)}"


def _boxes(graph: Graph, kept: frozenset[str]) -> Iterator[tuple[str, list[str]]]:
    """Chunks of each frame, pieces of each computation, with a name for the box."""
    for frame, about in graph.frames.items():
        chunks = (Kind.DOWNLOAD, Kind.PARSE)
        members = [
            id
            for id in _kept(graph, kept)
            if graph.frame_of[id] == frame and graph.kinds[id] in chunks
        ]
        if members:
            yield f"frame {frame}  {shorten(str(about['url']), 60)}", members
    pieces: dict[str, list[str]] = {}
    for id in _kept(graph, kept):
        computation = graph.computation(id)
        if computation is not None:
            pieces.setdefault(computation, []).append(id)
    yield from ((name, members) for name, members in pieces.items() if len(members) > 1)


def _kept(graph: Graph, kept: frozenset[str]) -> Iterable[str]:
    return (id for id in graph.activities if id in kept)


def _node(graph: Graph, id: str, critical: bool) -> str:
    kind = graph.kinds[id]
    colour = COLOURS[kind]
    classes = kind.value.replace(" ", "-")
    attributes = [
        f"label={_text(chr(10).join(label(graph, id)))}",
        f"tooltip={_tooltip(f'{id}: {graph.subject(id)}')}",
        f'color="{colour}"',
        f'fontcolor="{colour}"',
    ]
    if critical:
        classes += " critical"
        attributes += ["penwidth=3", 'style="rounded,filled"', 'fillcolor="#fff3c4"']
    return f'{_quote(id)} [{" ".join(attributes)} class="{classes}"]'


def label(graph: Graph, id: str) -> list[str]:
    """What a node says: Figure 3.6's words, and short names."""
    activity = graph.activities[id]
    kind = graph.kinds[id]
    if kind is Kind.RESOURCE:
        notes = [size_text(activity["size_bytes"])]
        notes += ["another response"] if "original" in activity else []
        notes += ["cached"] if activity.get("cached") and "original" not in activity else []
        return [id, short_url(activity["url"]), ", ".join(notes)]
    if kind is Kind.DOWNLOAD:
        first, size = activity["offset_bytes"], activity["size_bytes"]
        return [id, f"bytes {first} to {first + size}"]
    if kind is Kind.PARSE:
        size_bytes = graph.size_bytes(id)
        lines = [id] if size_bytes is None else [f"{id}  {size_text(size_bytes)}"]
        if "position" in activity:
            row, column, end_row, end_column = activity["position"]
            lines.append(f"({row}, {column}) to ({end_row}, {end_column})")
        return [*lines, time_text(activity["duration_ms"])]
    what = {
        Kind.EVENT: f"{activity.get('event_name', '')} {activity.get('event_target', '')}".strip(),
        Kind.TIMER: f"after {time_text(activity.get('timeout_ms') or 0.0)}",
        Kind.MAIN_THREAD: graph.subject(id),
    }.get(kind)
    if what is None:
        what = short_url(graph.subject(id)) or f"inline {kind.value}"
    return [id, what, time_text(activity["duration_ms"])]


def size_text(size_bytes: int) -> str:
    """A number of bytes for people."""
    return f"{size_bytes} B" if size_bytes < 10_000 else f"{size_bytes / 1000:.0f} kB"


def time_text(ms: float) -> str:
    """A time for people."""
    return f"{ms:.2f} ms" if 0 < ms < 10 else f"{ms:.0f} ms"


def _text(text: str) -> str:
    """A label: Graphviz reads backslashes and HTML entities in it, and NUL ends it."""
    escaped = _printable(text).replace("&", "&amp;").replace("\\", "\\\\")
    return _quote_raw(escaped.replace("\n", "\\n"))


def _tooltip(text: str) -> str:
    """A tooltip. Versions of Graphviz read backslashes once or twice there; URLs may have %5C."""
    return _quote_raw(_printable(text).replace("&", "&amp;").replace("\\", "%5C"))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else REPLACEMENT for c in text)


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def _quote(name: str) -> str:
    """A name; valid ids hold no control characters. A last backslash would escape the quote."""
    return _quote_raw(name.replace("\\", "\\\\"))


def _quote_raw(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def render_dot(text: str, format: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> bytes:
    """Lay out and draw by Graphviz's `dot`.

    Parameters
    ----------
    text
        A graph in the DOT language.
    format
        "svg", "pdf" or another of Graphviz's formats.
    timeout_s
        Give up after so many seconds: layout time grows faster than the graph.

    Raises
    ------
    LoadpathError
        Graphviz is not there, fails, or takes too long.
    """
    dot = shutil.which("dot")
    if dot is None:
        raise hinted(
            LoadpathError("Graphviz's dot is not installed"),
            "`apt-get install graphviz`; --format html and --format dot work without it",
        )
    try:
        result = subprocess.run(
            [dot, f"-T{format}"],
            input=text.encode(),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise hinted(
            LoadpathError(f"Graphviz has not finished the layout within {timeout_s:g} s"),
            "--format html draws graphs of any size; --critical-path-only, --until load and "
            "--focus make them smaller; --time-limit gives more time",
        ) from None
    if result.returncode != 0:
        said = result.stderr.decode(errors="replace").strip()
        raise LoadpathError(f"Graphviz failed (exit status {result.returncode}): {said[:500]}")
    return result.stdout
