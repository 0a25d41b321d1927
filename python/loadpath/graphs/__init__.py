"""Page graphs: importers, drawings, critical paths, statistics, comparisons."""

from loadpath.graphs.comparison import Comparison, compare
from loadpath.graphs.critical_path import (
    CriticalPath,
    Step,
    critical_path,
    simulated_critical_path,
)
from loadpath.graphs.dot import dot_text, render_dot, select
from loadpath.graphs.graph import Graph, Kind, read_graph
from loadpath.graphs.html import graph_html
from loadpath.graphs.statistics import Statistics, statistics
from loadpath.graphs.view import draw

__all__ = [
    "Comparison",
    "CriticalPath",
    "Graph",
    "Kind",
    "Statistics",
    "Step",
    "compare",
    "critical_path",
    "dot_text",
    "draw",
    "graph_html",
    "read_graph",
    "render_dot",
    "select",
    "simulated_critical_path",
    "statistics",
]
