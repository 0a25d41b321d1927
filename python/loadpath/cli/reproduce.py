"""`loadpath reproduce`: published results again."""

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra, print_json, print_note, print_table, progress_bar
from loadpath.cli.options import Force, Json
from loadpath.errors import LoadpathError, ScenarioError, hinted
from loadpath.output import refuse_existing, write_atomic


def _complete_preset(incomplete: str) -> list[str]:
    from loadpath.experiments.presets import PRESETS

    return [name for name in PRESETS if name.startswith(incomplete)]


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise hinted(ScenarioError(f"--set {text}: expected KEY=VALUE"), "`loadpath scenario`")
    return key, value


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="Preset; without it, all are listed.", autocompletion=_complete_preset),
    ] = None,
    runs: Annotated[
        int | None, typer.Option("-n", "--runs", min=1, help="Repetitions; default the preset's.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer pages or networks: five minutes on two cores at most."),
    ] = False,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", envvar="LOADPATH_CORPUS", help="Folder of the page corpus."),
    ] = None,
    published: Annotated[
        Path | None, typer.Option("--published", help="File with the published numbers.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Scenario value; replaces the preset's."),
    ] = None,
    filters: Annotated[
        list[Path] | None,
        typer.Option("--filters", help="Ad-block list, for pcp-corpus; several times."),
    ] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="File for the table as CSV.")] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE.html", help="Report with figures and all tables."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="Folder for figures and their numbers."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache", help="Folder for finished loads, a store of sweeps; what it has is kept."
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=0, help="Threads; 0 is one for each core.")] = 0,
    json: Json = False,
    force: Force = False,
) -> None:
    """Run a published experiment again and print our numbers beside the published ones."""
    with extra("experiments"):
        from loadpath.analysis.figures import save
        from loadpath.experiments.preset import PresetOptions
        from loadpath.experiments.presets import PRESETS, run_preset
        from loadpath.reports.html import result_html
    if name is None:
        print_table("", ["preset", "what"], [[p.name, p.title] for p in PRESETS.values()], text=2)
        return
    for file in (csv, report):
        if file is not None:
            refuse_existing(file, force=force)
    if figures is not None and figures.exists():
        if not figures.is_dir():
            raise LoadpathError(f"--figures {figures}: not a folder")
        if any(figures.iterdir()):
            refuse_existing(figures, force=force)
    result = run_preset(
        name,
        PresetOptions(
            runs=runs,
            quick=quick,
            corpus=corpus,
            overrides=[_pair(text) for text in set_ or []],
            published=published,
            filters=filters or (),
            cache=cache,
            threads=threads,
            progress=progress_bar,
        ),
    )
    if csv is not None:
        write_atomic(csv, result.to_csv(), force=force)
    if figures is not None:
        for figure in result.figures:
            save(figure, figures, force=force)
    if report is not None:
        command = shlex.join(["loadpath", *sys.argv[1:]])
        page = result_html(result, command=command, created=datetime.now(UTC))
        write_atomic(report, page, force=force)
    if json:
        print_json(result.to_records())
    else:
        print_table(result.title, list(result.columns), result.to_text(), text=0)
    for line in result.notes:
        print_note(line)
