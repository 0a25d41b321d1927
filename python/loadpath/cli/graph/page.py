"""`loadpath graph page`: a page graph as a page for real browsers."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from loadpath.cli.console import print_json, print_note, write_output
from loadpath.cli.options import Force, Output, Page
from loadpath.graphs import read_graph
from loadpath.output import refuse_existing, write_atomic
from loadpath.testbed.synthetic import Scheme, approximation_counts, synthesise


def page(
    page: Page,
    output: Output = None,
    places: Annotated[
        Path | None,
        typer.Option(
            "--places",
            metavar="FILE",
            help="Write the graph, too, with the places that code and tags have in the page: what "
            "a profile of the page is to be compared with.",
        ),
    ] = None,
    scheme: Annotated[
        Scheme | None,
        typer.Option(
            "--scheme",
            help="Of all URLs: https for servers of HTTP/2 and HTTP/3, http for HTTP/1.1 in the "
            "clear. By default they stay as they are.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    json: Annotated[
        bool, typer.Option("--json", help="What is approximated, as JSON on standard output.")
    ] = False,
) -> None:
    """Make a page that a real browser loads as a page graph says, as an archive (HAR) with bodies.

    What the page does not do, or does differently, is listed; the archive has the list, too.
    """
    graph = read_graph(page)
    if places is not None:
        refuse_existing(places, force=force)
    made = synthesise(graph, scheme=scheme)
    archive = msgspec.json.encode(made.archive)
    target = output or Path(f"{graph.name}.page.har")
    if json and target != Path("-"):
        write_atomic(target, archive, force=force)
        print_json({"path": str(target), "approximations": made.approximations})
    else:
        write_output(target, "", archive, force=force)
        for count in approximation_counts(made.approximations):
            example = f" ({count.example})" if count.example else ""
            print_note(f"approximated: {count.number} times {count.cause}{example}")
    if places is not None:
        write_atomic(places, msgspec.json.encode(made.graph), force=force)
