"""`loadpath sweep`: a matrix of scenarios over pages, stored as it is computed."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra, print_json, print_note, sweep_bar
from loadpath.cli.options import Json, Store


def sweep(
    specification: Annotated[
        Path, typer.Argument(metavar="SPEC", help="What to sweep: a TOML file.")
    ],
    store: Store = Path("results"),
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Make the plan, compute nothing.")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option("--jobs", "-j", min=0, help="Threads; 0 is one a core. Rows are the same."),
    ] = 0,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Check what is there, and compute what is missing."),
    ] = False,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", envvar="LOADPATH_CORPUS", help="Folder of the page corpus."),
    ] = None,
    json: Json = False,
) -> None:
    """Compute every load of a specification and print the folder that holds them.

    Ctrl-C keeps what is finished; --resume computes the rest.
    """
    with extra("experiments"):
        from loadpath.experiments.sweep.execution import LocalExecutor
        from loadpath.experiments.sweep.execution import sweep as run_sweep
        from loadpath.experiments.sweep.specification import read_specification
    result = run_sweep(
        read_specification(specification),
        store=store,
        corpus=corpus,
        plan_only=plan_only,
        resume=resume,
        executor=LocalExecutor(jobs),
        progress=sweep_bar,
    )
    for file in result.damaged:
        print_note(f"{file.name} was damaged; its loads are computed again")
    manifest, finished = result.folder.manifest, result.folder.finished_rows
    print_note(
        f"{manifest.pages} pages x {manifest.scenarios} scenarios x {manifest.runs} runs = "
        f"{manifest.rows} loads (simulated), {finished} finished, {result.computed} of them now"
    )
    if result.failed:
        print_note(f"{result.failed} loads failed: see the column failure")
    if json:
        print_json({"folder": str(result.folder.path), "finished": finished, "plan": manifest})
    else:
        print(result.folder.path)
