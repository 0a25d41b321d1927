"""`loadpath graph critical-path`: what the load event waited for."""

from typing import Annotated

import typer

from loadpath import graphs
from loadpath.analysis.graph_tables import CRITICAL_PATH_COLUMNS, critical_path_rows, shares_rows
from loadpath.cli.console import print_json, print_note, print_table
from loadpath.cli.options import Json, LoadOptions, Page, with_load_options
from loadpath.loading import load_traced
from loadpath.parameters import describe


@with_load_options
def critical_path(
    page: Page,
    load: LoadOptions,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="In a simulated load, not in the recording. Any of the options below implies it.",
        ),
    ] = False,
    run: Annotated[
        int | None, typer.Option("--run", min=0, help="With --simulate: which repetition.")
    ] = None,
    timer_waits: Annotated[
        bool,
        typer.Option(
            "--timer-waits",
            help="Count the wait of timers in the recording, too: Algorithm 1 of the thesis does "
            "not. Simulated loads always count it.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Print the longest path to the load event, and its shares by kind."""
    graph = graphs.read_graph(page)
    parameters = load.parameters()
    if simulate or run is not None or any(value not in (None, {}) for value in parameters.values()):
        outcome, scenario = load_traced(page, parameters, run or 0)
        print_note(describe(scenario))
        path = graphs.simulated_critical_path(graph, outcome)
    else:
        path = graphs.critical_path(graph, timer_waits=timer_waits)
    if json:
        print_json(path)
        return
    print_table("", CRITICAL_PATH_COLUMNS, critical_path_rows(path), text=3)
    print()
    print_table(f"{path.basis}: {path.total_ms:.2f} ms", ["", "ms", "%"], shares_rows(path))
