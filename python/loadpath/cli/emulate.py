"""`loadpath emulate`: load pages for real, over an emulated link."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.analysis.waterfall import waterfall_svg
from loadpath.cli.console import print_json, print_note, print_table, step_bar
from loadpath.cli.options import Force, Json, LoadOptions, Runs, with_load_options
from loadpath.errors import LoadpathError
from loadpath.output import refuse_existing, write_atomic
from loadpath.parameters import scenario_values
from loadpath.testbed.emulation import Emulated, Emulation
from loadpath.testbed.loader import LoadSettings
from loadpath.testbed.pages import archived
from loadpath.testbed.tables import LOAD_COLUMNS, load_row, median_load, one_line

_BROWSER = "Browser"


@with_load_options
def emulate(
    page: Annotated[
        str,
        typer.Argument(
            metavar="PAGE", help="Folder of a profile, HAR file with bodies, or page graph."
        ),
    ],
    load: LoadOptions,
    runs: Runs = 1,
    json: Json = False,
    waterfall: Annotated[
        Path | None, typer.Option(help="SVG file for the waterfall of the median load.")
    ] = None,
    netlog: Annotated[
        Path | None,
        typer.Option(rich_help_panel=_BROWSER, help="Folder for Chromium's network logs."),
    ] = None,
    capture: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=_BROWSER, help="Folder for what both ends of the link see, pcapng."
        ),
    ] = None,
    browser: Annotated[
        Path | None,
        typer.Option(rich_help_panel=_BROWSER, help="Chromium to use; default the headless shell."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(min=0.1, rich_help_panel=_BROWSER, help="Seconds until the load event."),
    ] = 60.0,
    require_idle: Annotated[
        bool, typer.Option("--require-idle", help="Refuse to load on a busy machine.")
    ] = False,
    force: Force = False,
) -> None:
    """Load a page for real: kernels, a server that replays it, and Chromium behind a link.

    The same words as `loadpath simulate`, and the same outcome. Loads over a link that was late,
    on a busy machine, or with another protocol are marked.
    """
    if waterfall is not None:
        refuse_existing(waterfall, force=force)
    for folder in (netlog, capture):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    settings = LoadSettings(browser=browser, timeout_s=timeout, refuse_busy=require_idle)
    done: list[Emulated] = []
    problem: LoadpathError | None = None
    with archived(page) as found:
        emulation = Emulation(found, load.parameters(), settings, netlog, capture)
        print_note(emulation.describe())
        try:
            with step_bar() as progress:
                progress("loading", 0, runs)
                for each in emulation.loads(runs):
                    done.append(each)
                    progress("loading", len(done), runs)
                    print_note(one_line(each))
        except LoadpathError as error:
            if not done:
                raise
            problem = error
    if json:
        print_json(
            {
                "scenario": scenario_values(emulation.scenario()),
                "outcomes": [each.outcome for each in done],
                "loads": [each.load for each in done],
            }
        )
    else:
        print_table("", LOAD_COLUMNS, [load_row(found.name, [each.load for each in done])])
    if waterfall is not None:
        svg = waterfall_svg(median_load(done).outcome, subtitle=emulation.describe())
        write_atomic(waterfall, svg, force=force)
    if problem is not None:
        raise problem
