"""`loadpath validate`: how far predicted load times are from real ones."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra, print_note, step_bar
from loadpath.errors import LoadpathError, hinted
from loadpath.testbed.load import Http


def validate(
    pages: Annotated[
        list[str],
        typer.Argument(
            metavar="PAGE...", help="Folders of profiles, HAR files with bodies, or page graphs."
        ),
    ],
    networks: Annotated[
        str | None,
        typer.Option(help="RATE/RTT[/LOSS%][/BUFFERkB], separated by commas: 10mbit/40ms/1%."),
    ] = None,
    protocols: Annotated[str, typer.Option(help="Of h1, h2, h3.")] = "h1,h2,h3",
    runs: Annotated[
        int | None, typer.Option("-n", "--runs", min=1, help="Loads of a cell; default 10.")
    ] = None,
    lossy_runs: Annotated[
        int | None,
        typer.Option(min=1, help="Loads of a cell that loses packets; default three times -n."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The first six pages, four networks, fewer loads.")
    ] = False,
    store: Annotated[
        Path, typer.Option(help="Folder of the loads; a validation goes on where it was.")
    ] = Path("validation"),
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the report, replaced if there.")
    ] = Path("validation"),
    name: Annotated[str, typer.Option(help="Name of the report's files.")] = "accuracy",
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Or report on the loads that are there.")
    ] = True,
    minutes: Annotated[
        float | None,
        typer.Option(min=1, help="Measure for so long, and report; the same command goes on."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="Folder for the graphs and predictions, to see them move.")
    ] = None,
    browser: Annotated[
        Path | None, typer.Option(help="Chromium to use; default the headless shell.")
    ] = None,
) -> None:
    """Predict the load times of pages, measure them for real, and report the error of each cell.

    Takes hours on an idle machine; everything measured is kept. Ctrl-C, and the same command again.
    """
    with extra("experiments"):
        from loadpath.validation.run import ValidationOptions, run

    options = ValidationOptions(
        networks=networks,
        protocols=_protocols(protocols),
        runs=runs,
        lossy_runs=lossy_runs,
        quick=quick,
        store=store,
        output=output,
        name=name,
        measure=measure,
        minutes=minutes,
        browser=browser,
        baseline=baseline,
    )
    try:
        with step_bar() as progress:
            files = run(pages, options, progress=progress, note=print_note)
    except KeyboardInterrupt:
        print_note("what is measured is kept: the same command goes on")
        raise
    for file in files:
        print(file)


def _protocols(text: str) -> list[Http]:
    found: list[Http] = []
    for word in text.split(","):
        match word.strip():
            case "h1" | "h2" | "h3" as http:
                found.append(http)
            case other:
                raise hinted(
                    LoadpathError(f"--protocols {other}: no such protocol"), "h1, h2 and h3 are"
                )
    return list(dict.fromkeys(found))
