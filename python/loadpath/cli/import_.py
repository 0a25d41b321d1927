"""`loadpath import`: page graphs of others, and recordings of other tools, into our format."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import print_json, print_note, print_table, progress_bar
from loadpath.cli.options import Force, Json, Transforms
from loadpath.errors import LoadpathError
from loadpath.graphs.importer import import_corpus, import_one
from loadpath.graphs.recordings import FileKind, import_recording, recognise
from loadpath.output import write_atomic
from loadpath.transforms import changed_graph


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            help="HAR file or trace of DevTools, plain or gzip; or a corpus folder (with "
            "index.json, or a clone of github.com/kusoof/alexa_traces), or one graph file of it."
        ),
    ],
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Graph file to write; of a corpus the folder to make."),
    ],
    page: Annotated[
        str | None,
        typer.Option(
            "--page",
            help="Of a recording with several pages: number from 1; of a HAR also id or title.",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="Of the page graph; by default the page's host.")
    ] = "",
    waits: Annotated[
        bool,
        typer.Option(
            "--waits/--no-waits",
            help="Of a HAR: keep the recorded time between what a request waited for and itself.",
        ),
    ] = True,
    delays: Annotated[
        Path | None, typer.Option("--delays", help="With one corpus graph: its page's delays.")
    ] = None,
    distributions: Annotated[
        Path | None,
        typer.Option("--distributions", help="With one corpus graph: the folder of *.dist files."),
    ] = None,
    fetch_late_references: Annotated[
        bool,
        typer.Option(
            "--fetch-late-references",
            help="Of a corpus: fetch what the recording served from its cache after the load "
            "event.",
        ),
    ] = False,
    transform: Transforms = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Import recordings of other tools, or page graphs of the PCP corpus, all or nothing."""
    kind = recognise(source) if source.is_file() else FileKind.CORPUS_GRAPH
    if kind != FileKind.CORPUS_GRAPH:
        if delays or distributions or fetch_late_references:
            raise LoadpathError(
                f"{source}: a {kind} has no corpus delays, distributions, references"
            )
        data, report = import_recording(source, page=page, waits=waits, name=name)
        data = changed_graph(data, transform or (), f"the graph of {source}")
        if str(output) == "-":
            sys.stdout.buffer.write(data)
        else:
            write_atomic(output, data, force=force)
        if json and str(output) != "-":
            print_json(report)
        elif str(output) == "-":
            for what, how_much in report.rows():
                print_note(f"{what}: {how_much}")
        else:
            print_table("", ["", str(output)], [list(row) for row in report.rows()], text=2)
        for warning in report.warnings:
            print_note(warning)
        return
    if source.is_file():
        summary = import_one(
            source,
            output,
            delays=delays,
            distributions=distributions,
            fetch_late_references=fetch_late_references,
            transforms=transform or (),
        )
    else:
        with progress_bar(None) as progress:
            summary = import_corpus(
                source,
                output,
                fetch_late_references=fetch_late_references,
                transforms=transform or (),
                progress=progress,
            )
    if json:
        print_json(summary)
    else:
        print_note(f"{summary.pages} pages imported")
        print(output)
