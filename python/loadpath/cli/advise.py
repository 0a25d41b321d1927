"""`loadpath advise`: what would make a page load faster."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra, print_json, print_note, print_table, progress_bar, step_bar
from loadpath.cli.options import (
    AnyPage,
    Force,
    Json,
    LoadOptions,
    Markdown,
    Runs,
    with_load_options,
)
from loadpath.output import refuse_existing
from loadpath.parameters import resolve_scenario
from loadpath.sources import open_page

Share = typer.Option(min=0.1, max=100, help="How much of the bytes of a type is cut, per cent.")
DelayShare = typer.Option(min=0.1, max=100, help="How much of server delays is cut, per cent.")


@with_load_options
def advise(
    page: AnyPage,
    load: LoadOptions,
    runs: Runs = 10,
    cut_bytes: Annotated[float, Share] = 30.0,
    cut_delay: Annotated[float, DelayShare] = 50.0,
    most: Annotated[int, typer.Option(min=1, help="Most changes in a combination.")] = 5,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads; 0 is one for each core.", show_default=False)
    ] = 0,
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="DIR", help="Keep the changed page and scenario in this folder."
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Also what does not gain, every network, what is left out."),
    ] = False,
    json: Json = False,
    markdown: Markdown = False,
    force: Force = False,
) -> None:
    """Try changes of a page and its servers in simulation, and rank them by what they gain."""
    with extra("experiments"):
        from loadpath.experiments import advice
        from loadpath.experiments.advice.changes import Shares
        from loadpath.experiments.advice.tables import COLUMNS, NETWORK_COLUMNS, headline
    scenario = resolve_scenario(load.parameters())
    if write is not None:
        refuse_existing(write / "page.json", force=force)
    with step_bar() as steps:
        source = open_page(page, progress=steps)
    with progress_bar(None) as progress:
        found = advice.advise(
            source,
            scenario,
            advice.AdviceOptions(
                runs=runs,
                shares=Shares(cut_bytes, cut_delay),
                most=most,
                threads=threads,
                progress=progress,
            ),
        )
    if write is not None:
        advice.write_advice(write, found, source, scenario, force=force)
        print_note(
            f"`loadpath simulate {write}/page.json --scenario {write}/scenario.toml -n {runs}` "
            "loads the page with all that is advised"
        )
    if json:
        print_json(found)
        return
    if markdown:
        print(advice.markdown(found))
        return
    for line in headline(found):
        print_note(line)
    print_table("", COLUMNS, advice.ranked_rows(found, all_changes=verbose))
    for item in found.items:
        if item.recommended and item.change.caveat:
            print_note(f"{item.change.name}: {item.change.caveat}")
    for warning in found.warnings:
        print_note(f"note: {warning}")
    if verbose:
        print_table("every network", NETWORK_COLUMNS, advice.network_rows(found), text=2)
        for left in found.left_out:
            print_note(f"left out: {left.name}: {left.reason}")
