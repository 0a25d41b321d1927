"""`loadpath graph build`: the page graph of a recorded profile."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.analysis.graph_tables import build_rows
from loadpath.cli.console import print_json, print_note, print_table
from loadpath.cli.options import Force, Json
from loadpath.graphs.build.profile import write_profile_graph


def build(
    profile: Annotated[Path, typer.Argument(help="Folder that `loadpath profile` made.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write; by default graph.json in the folder."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Build the dependency graph of a recorded page, and say how well it explains the load."""
    summary = write_profile_graph(profile, output, force=force)
    if json:
        print_json(summary)
        return
    print_table("", ["what", "which", "number"], build_rows(summary), text=2)
    for warning in summary.warnings:
        print_note(f"warning: {warning}")
    print(summary.path)
