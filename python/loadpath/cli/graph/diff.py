"""`loadpath graph diff`: what two page graphs do not have in common."""

from typing import Annotated

import typer

from loadpath.analysis.graph_tables import CHANGE_COLUMNS, change_rows, comparison_lines
from loadpath.cli.console import print_json, print_table
from loadpath.cli.options import Json
from loadpath.graphs import compare, read_graph


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="Page graph: JSON file or example:NAME.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The one to compare with it.")],
    most: Annotated[
        int,
        typer.Option("--most", min=0, help="Lines of each kind to print; --json has all."),
    ] = 20,
    json: Json = False,
) -> None:
    """Compare the structure of two page graphs, and explain the difference.

    Nodes are compared by what they are and where they stand in the source, not by ids and times.
    The exit status is 0 whether or not they differ.
    """
    found = compare(read_graph(a), read_graph(b))
    if json:
        print_json(found)
        return
    for line in comparison_lines(found, most):
        print(line)
    if found.changes and most:
        print()
        print_table("", CHANGE_COLUMNS, change_rows(found, most), text=2)
