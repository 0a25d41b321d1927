"""`loadpath sweep`: a matrix of scenarios over pages, stored as it is computed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loadpath.cli.console import extra, print_json, print_note, sweep_bar
from loadpath.cli.options import Json, Store

if TYPE_CHECKING:
    from loadpath.experiments.sweep.execution import Executor


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
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Compute on a Dask cluster: its scheduler's address, or local[:N] for N processes "
            "here. Rows are the same.",
        ),
    ] = None,
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
        from loadpath.experiments.sweep.execution import sweep as run_sweep
        from loadpath.experiments.sweep.specification import read_specification
    with _executor(jobs, None if plan_only else cluster) as executor:
        result = run_sweep(
            read_specification(specification),
            store=store,
            corpus=corpus,
            plan_only=plan_only,
            resume=resume,
            executor=executor,
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


@contextmanager
def _executor(jobs: int, cluster: str | None) -> Iterator["Executor"]:
    if cluster is None:
        from loadpath.experiments.sweep.execution import LocalExecutor

        yield LocalExecutor(jobs)
        return
    if jobs:
        raise typer.BadParameter("--jobs is for this machine; --cluster local:N starts N processes")
    with extra("cluster"):
        from loadpath.experiments.sweep.cluster import connected
    with connected(cluster) as executor:
        yield executor
