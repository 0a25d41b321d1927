"""`loadpath export`: one load in the format of another tool."""

from enum import StrEnum
from typing import Annotated

import typer

from loadpath import loading
from loadpath.cli.console import print_note, write_output
from loadpath.cli.options import Force, LoadOptions, Output, Page, with_load_options
from loadpath.parameters import describe
from loadpath.reports import FORMATS, CapturePoint


class Format(StrEnum):
    """Names of the formats; a test keeps them equal to `FORMATS`."""

    HAR = "har"
    CHROME_TRACE = "chrome-trace"
    PCAPNG = "pcapng"
    QLOG = "qlog"


@with_load_options
def export(
    page: Page,
    load: LoadOptions,
    format: Annotated[
        Format,
        typer.Option("--format", help="HAR 1.2, Chrome trace, packet capture or transport events."),
    ],
    output: Output = None,
    run: Annotated[int, typer.Option(min=0, help="Which repetition to export.")] = 0,
    capture: Annotated[
        CapturePoint,
        typer.Option(
            help="pcapng: where packets are captured; both are two interfaces of one file, to be "
            "analysed one at a time (frame.interface_id == 0)."
        ),
    ] = CapturePoint.CLIENT,
    force: Force = False,
) -> None:
    """Write one load as HAR, Chrome trace JSON, pcapng or qlog."""
    outcome, scenario = loading.load_traced(page, load.parameters(), run)
    data = loading.export(outcome, format.value, scenario=scenario, page=page, capture=capture)
    print_note(describe(scenario))
    write_output(output, f"{outcome.page}.{FORMATS[format].suffix}", data, force=force)
