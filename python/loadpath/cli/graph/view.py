"""`loadpath graph view`: draw a page graph."""

from enum import StrEnum
from typing import Annotated

import typer

from loadpath.cli.console import write_output
from loadpath.cli.options import Force, Output, Page
from loadpath.graphs import draw, read_graph, select
from loadpath.graphs.dot import DEFAULT_TIMEOUT_S


class Format(StrEnum):
    """What to draw as; see `loadpath.graphs.draw`."""

    SVG = "svg"
    PDF = "pdf"
    DOT = "dot"
    HTML = "html"


class Until(StrEnum):
    """How far into the load."""

    LOAD = "load"
    END = "end"


def view(
    page: Page,
    output: Output = None,
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="svg and pdf by Graphviz; dot is its input; html is a page to be explored, for "
            "graphs of any size. Default: the ending of the output file, else svg.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        Until, typer.Option("--until", help="load leaves out what happens after the load event.")
    ] = Until.END,
    critical_path_only: Annotated[
        bool, typer.Option("--critical-path-only", help="Only the critical path.")
    ] = False,
    focus: Annotated[
        str | None,
        typer.Option(
            "--focus", metavar="ID", help="Only what leads to this activity and follows from it."
        ),
    ] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", min=0, help="With --focus: at most so many edges away.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=0.1, help="Seconds that Graphviz may take.")
    ] = DEFAULT_TIMEOUT_S,
    force: Force = False,
) -> None:
    """Draw a page graph.

    Parse chunks are black, computations red, resources blue, timers orange, events green, other
    main-thread work grey; the critical path is bold.
    """
    graph = read_graph(page)
    kept = select(
        graph,
        until_load=until is Until.LOAD,
        critical_path_only=critical_path_only,
        focus=focus,
        depth=depth,
    )
    ending = output.suffix.removeprefix(".") if output is not None else ""
    kind = format or (Format(ending) if ending in set(Format) else Format.SVG)
    data = draw(graph, kind, kept=kept, timeout_s=time_limit)
    write_output(output, f"{graph.name}.graph.{kind}", data, force=force)
