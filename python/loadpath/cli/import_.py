"""`loadpath import`: page graphs of others into our format."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import print_json, print_note, progress_bar
from loadpath.cli.options import Json
from loadpath.graphs.importer import import_corpus, import_one


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            help="Corpus folder (with index.json, or a clone of github.com/kusoof/alexa_traces), "
            "or one graph file of it."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to make.")],
    delays: Annotated[
        Path | None, typer.Option("--delays", help="With one graph: the delays of its page.")
    ] = None,
    distributions: Annotated[
        Path | None,
        typer.Option("--distributions", help="With one graph: the folder with *.dist files."),
    ] = None,
    fetch_late_references: Annotated[
        bool,
        typer.Option(
            "--fetch-late-references",
            help="Fetch what the recording served from its cache after the load event.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Import page graphs of the PCP corpus with their server delays, all or nothing."""
    if source.is_file():
        summary = import_one(
            source,
            output,
            delays=delays,
            distributions=distributions,
            fetch_late_references=fetch_late_references,
        )
    else:
        with progress_bar(None) as progress:
            summary = import_corpus(
                source, output, fetch_late_references=fetch_late_references, progress=progress
            )
    if json:
        print_json(summary)
    else:
        print_note(f"{summary.pages} pages imported")
        print(output)
