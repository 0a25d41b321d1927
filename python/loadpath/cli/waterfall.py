"""`loadpath waterfall`: where the time of one load goes."""

from typing import Annotated

import typer

from loadpath.analysis.waterfall import waterfall_svg
from loadpath.cli.console import print_note, write_output
from loadpath.cli.options import Force, LoadOptions, Output, Page, with_load_options
from loadpath.loading import load_traced
from loadpath.parameters import describe


@with_load_options
def waterfall(
    page: Page,
    load: LoadOptions,
    output: Output = None,
    run: Annotated[int, typer.Option(min=0, help="Which repetition to draw.")] = 0,
    force: Force = False,
) -> None:
    """Draw one load as SVG: phases of each resource, main thread, load and DOMContentLoaded."""
    outcome, scenario = load_traced(page, load.parameters(), run)
    svg = waterfall_svg(outcome, subtitle=describe(scenario))
    print_note(describe(scenario))
    write_output(output, f"{outcome.page}.waterfall.svg", svg.encode(), force=force)
