"""`loadpath check`: the gate for CI."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from loadpath.cli.console import extra, print_json, print_note, print_table, progress_bar, step_bar
from loadpath.cli.options import AnyPage, Force, Json, LoadOptions, Runs, with_load_options
from loadpath.errors import LoadpathError, hinted
from loadpath.output import refuse_existing, write_atomic
from loadpath.parameters import resolve_scenario
from loadpath.sources import open_page

BROKEN = 3
"""Exit status if a budget is broken."""


@with_load_options
def check(
    page: AnyPage,
    load: LoadOptions,
    budget: Annotated[
        Path | None, typer.Option("--budget", help="Budget file in Lighthouse's form.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="What an earlier check saved.")
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(min=0, help="How much slower than the baseline is forgiven, per cent."),
    ] = 1.0,
    runs: Runs = 10,
    save: Annotated[
        Path | None, typer.Option("--save", help="File for this measurement: a later baseline.")
    ] = None,
    junit: Annotated[Path | None, typer.Option("--junit", help="File for JUnit XML.")] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", help="File for a summary of a pull request; '-' is stdout."),
    ] = None,
    threads: Annotated[
        int, typer.Option(min=0, help="Threads; 0 is one for each core.", show_default=False)
    ] = 0,
    json: Json = False,
    force: Force = False,
) -> None:
    """Check a page against a budget and a baseline: exit status 0 passed, 3 broken, 1 bad input."""
    with extra("experiments"):
        from loadpath.experiments import gate
        from loadpath.experiments.gate.output import COLUMNS
    if budget is None and baseline is None and save is None:
        raise hinted(
            LoadpathError("there is nothing to check against"),
            "give --budget, --baseline or both; --save measures for a later baseline",
        )
    stdout = Path("-")
    for path in (save, junit, markdown):
        if path is not None and path != stdout:
            refuse_existing(path, force=force)
    budgets = None if budget is None else gate.read_budgets(budget)
    before = None if baseline is None else gate.read_measurement(baseline)
    scenario = resolve_scenario(load.parameters())
    with step_bar() as steps:
        source = open_page(page, progress=steps)
    with progress_bar(runs) as progress:
        measured = gate.measure(
            source.page, scenario, runs=runs, threads=threads, progress=progress
        )
    checks = gate.check_page(
        measured, budgets=budgets, baseline=before, tolerance_percent=tolerance
    )
    if save is not None:
        write_atomic(save, msgspec.json.encode(measured) + b"\n", force=force)
    if junit is not None:
        write_atomic(junit, gate.junit(measured, checks), force=force)
    if markdown == stdout:
        print(gate.markdown(measured, checks))
    elif markdown is not None:
        write_atomic(markdown, gate.markdown(measured, checks), force=force)
    broken = any(check.verdict is gate.Verdict.BROKEN for check in checks)
    if json:
        print_json({"page": measured.page, "broken": broken, "checks": checks})
    elif markdown != stdout:
        print_note(f"{measured.page}: {runs} runs, {measured.label}, {measured.network}")
        print_table("", COLUMNS, gate.check_rows(checks), text=2)
    if broken:
        raise typer.Exit(BROKEN)
