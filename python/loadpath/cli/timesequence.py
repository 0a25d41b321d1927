"""`loadpath timesequence`: one load packet by packet."""

from typing import Annotated

import typer

from loadpath.analysis.timesequence import timesequence_svg
from loadpath.cli.console import print_note, write_output
from loadpath.cli.options import Force, LoadOptions, Output, Page, with_load_options
from loadpath.loading import load_traced
from loadpath.parameters import describe


@with_load_options
def timesequence(
    page: Page,
    load: LoadOptions,
    connection: Annotated[
        int | None,
        typer.Option("--connection", min=0, help="Draw this connection; default all, stacked."),
    ] = None,
    output: Output = None,
    run: Annotated[int, typer.Option(min=0, help="Which repetition to draw.")] = 0,
    force: Force = False,
) -> None:
    """Draw sequence numbers over time as SVG: data, retransmissions, ACKs, drops, window."""
    outcome, scenario = load_traced(page, load.parameters(), run)
    svg = timesequence_svg(outcome, connection=connection, subtitle=describe(scenario))
    print_note(describe(scenario))
    write_output(output, f"{outcome.page}.timesequence.svg", svg.encode(), force=force)
