"""`loadpath reproduce`: published results again."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import print_json, print_note, print_table, progress_bar
from loadpath.cli.options import Force, Json
from loadpath.errors import ScenarioError, hinted
from loadpath.experiments.preset import PresetOptions
from loadpath.experiments.presets import PRESETS, run_preset
from loadpath.output import refuse_existing, write_atomic


def _complete_preset(incomplete: str) -> list[str]:
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
    cache: Annotated[
        Path | None,
        typer.Option("--cache", help="Folder for finished cells; a second start continues there."),
    ] = None,
    threads: Annotated[int, typer.Option(min=0, help="Threads; 0 is one for each core.")] = 0,
    json: Json = False,
    force: Force = False,
) -> None:
    """Run a published experiment again and print our numbers beside the published ones."""
    if name is None:
        print_table("", ["preset", "what"], [[p.name, p.title] for p in PRESETS.values()], text=2)
        return
    if csv is not None:
        refuse_existing(csv, force=force)
    result = run_preset(
        name,
        PresetOptions(
            runs=runs,
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
    if json:
        print_json(result.to_records())
    else:
        print_table(result.title, list(result.columns), result.to_text(), text=0)
    for line in result.notes:
        print_note(line)
