"""`loadpath graph stats`: what is in a page graph."""

from loadpath.analysis.graph_tables import statistics_rows
from loadpath.cli.console import print_json, print_table
from loadpath.cli.options import Json, Page
from loadpath.graphs import read_graph, statistics


def stats(page: Page, json: Json = False) -> None:
    """Count activities, sizes, who requests what and how that is known, main-thread time."""
    found = statistics(read_graph(page))
    if json:
        print_json(found)
    else:
        print_table("", ["what", "which", "number"], statistics_rows(found), text=2)
