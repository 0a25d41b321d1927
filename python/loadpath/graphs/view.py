"""Drawing page graphs."""

from loadpath.graphs.dot import DEFAULT_TIMEOUT_S, dot_text, render_dot
from loadpath.graphs.graph import Graph
from loadpath.graphs.html import graph_html

__all__ = ["draw"]


def draw(
    graph: Graph,
    format: str,
    *,
    kept: frozenset[str] | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> bytes:
    """A drawing of a page graph.

    Parameters
    ----------
    graph
        The page graph.
    format
        "html" (see `graph_html`), "dot" (see `dot_text`), or "svg", "pdf" and what else Graphviz's
        `dot` makes of that.
    kept
        Ids of the activities to draw, all by default; see `select`.
    timeout_s
        Seconds that Graphviz may take.

    Raises
    ------
    LoadpathError
        Graphviz is not there, fails, or takes too long.
    """
    if format == "html":
        return graph_html(graph, kept).encode()
    text = dot_text(graph, kept)
    return text.encode() if format == "dot" else render_dot(text, format, timeout_s=timeout_s)
