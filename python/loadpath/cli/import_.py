"""`loadpath import`: page graphs of others into our format."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import print_json, print_note
from loadpath.cli.options import Json
from loadpath.graphs.importer import import_corpus


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            help="The corpus folder (with index.json, or as its public origin lays it out), or one "
            "graph."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to make.")],
    delays: Annotated[
        Path | None, typer.Option("--delays", help="One graph: its file of server delays.")
    ] = None,
    distributions: Annotated[
        Path | None,
        typer.Option("--distributions", help="One graph: folder with the .dist files."),
    ] = None,
    json: Json = False,
) -> None:
    """Import page graphs of the PCP corpus with their server delays, all or nothing."""
    report = import_corpus(source, output, delays=delays, distributions=distributions)
    if json:
        print_json(report)
    else:
        print_note(f"{report.pages} pages in {output}")
