"""`loadpath simulate`: load pages, print how long they take."""

from typing import Annotated

import typer

from loadpath.analysis.tables import PLT_COLUMNS, plt_row
from loadpath.api import simulate_many
from loadpath.cli.console import print_json, print_note, print_table, progress_bar
from loadpath.cli.options import Json, LoadOptions, Pages, Runs, with_load_options
from loadpath.outcome import Outcome
from loadpath.pages import find_pages, load_graph
from loadpath.parameters import describe, resolve_scenario, scenario_values


@with_load_options
def simulate(
    pages: Pages,
    load: LoadOptions,
    runs: Runs = 1,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads; 0 is one for each core.", show_default=False)
    ] = 0,
    json: Json = False,
) -> None:
    """Load pages in simulation and print the medians of their load times.

    The same command prints the same numbers, on any machine and any number of threads.
    """
    scenario = resolve_scenario(load.parameters())
    graphs = [load_graph(source) for source in find_pages(pages)]
    jobs = [(page, scenario, run) for page in graphs for run in range(runs)]
    with progress_bar(len(jobs)) as progress:
        outcomes: list[Outcome] = simulate_many(jobs, threads=threads, progress=progress)
    print_note(describe(scenario))
    if json:
        print_json({"scenario": scenario_values(scenario), "outcomes": outcomes})
        return
    by_page = [outcomes[start : start + runs] for start in range(0, len(outcomes), runs)]
    print_table("", PLT_COLUMNS, [plt_row(of_page) for of_page in by_page])
