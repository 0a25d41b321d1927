"""`loadpath simulate`: load pages, print how long they take."""

from typing import Annotated

import typer

from loadpath.analysis.tables import PLT_COLUMNS, plt_row
from loadpath.api import simulate_many, summarise_many
from loadpath.cli.console import print_json, print_note, print_table, progress_bar
from loadpath.cli.options import Json, LoadOptions, Pages, Runs, Transforms, with_load_options
from loadpath.pages import find_pages, load_graph
from loadpath.parameters import describe, resolve_scenario, scenario_values
from loadpath.transforms import transformed


@with_load_options
def simulate(
    pages: Pages,
    load: LoadOptions,
    runs: Runs = 1,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads; 0 is one for each core.", show_default=False)
    ] = 0,
    transform: Transforms = None,
    json: Json = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="With --json: every packet and main-thread activity.")
    ] = False,
) -> None:
    """Load pages in simulation and print the medians of their load times.

    The same command prints the same numbers, on any machine and any number of threads.
    """
    scenario = resolve_scenario(load.parameters())
    graphs = [transformed(load_graph(source), transform or ()) for source in find_pages(pages)]
    jobs = [(page, scenario, run) for page in graphs for run in range(runs)]
    print_note(describe(scenario))
    with progress_bar(len(jobs)) as progress:
        if json:
            outcomes = simulate_many(jobs, trace=trace, threads=threads, progress=progress)
        else:
            summaries = summarise_many(jobs, threads=threads, progress=progress)
    if json:
        print_json({"scenario": scenario_values(scenario), "outcomes": outcomes})
        return
    rows = [
        plt_row(page.name, summaries[first : first + runs])
        for page, first in zip(graphs, range(0, len(summaries), runs), strict=True)
    ]
    print_table("", PLT_COLUMNS, rows)
    for (page, _, run), summary in zip(jobs, summaries, strict=True):
        if summary.status.reason is not None:
            print_note(f"{page.name}, run {run} failed: {summary.status.reason}")
