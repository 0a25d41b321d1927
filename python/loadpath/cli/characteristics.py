"""`loadpath characteristics`: what pages are made of."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra, print_json, print_note, print_table, progress_bar
from loadpath.cli.options import Force, Json


def characteristics(
    pages: Annotated[
        list[str],
        typer.Argument(
            metavar="PAGE...",
            help="Page graphs, example:NAME, HAR files, DevTools traces, folders of `loadpath "
            "profile`, folders of any of these, a corpus.",
        ),
    ],
    filters: Annotated[
        list[Path] | None,
        typer.Option("--filters", help="Filter list in the syntax of EasyList; several times."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="DIR", help="Folder for the tables as CSV."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", metavar="DIR", help="Folder for the figures as SVG and CSV."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Count what pages are made of: sizes, hosts, advertisements, causes, caching (observed)."""
    from loadpath.analysis.characteristics import characterise, read_filters, read_sources
    from loadpath.analysis.characteristics.tables import csv_files, tables, write_folder

    ads = read_filters(filters or [])
    with progress_bar(None) as progress:
        found = characterise(read_sources(pages), filters=ads, progress=progress)
    if csv is not None:
        write_folder(csv, csv_files(found), force=force)
    if figures is not None:
        with extra("experiments"):
            from loadpath.analysis.characteristics.figures import characteristic_figures
            from loadpath.analysis.figures import render, to_csv

            files = {}
            for figure in characteristic_figures(found):
                files[f"{figure.name}.svg"] = render(figure, "svg")
                files[f"{figure.name}.csv"] = to_csv(figure).encode()
        write_folder(figures, files, force=force)
    if json:
        print_json(found)
        return
    for table in tables(found):
        print_table(table.title, list(table.columns), [list(row) for row in table.rows])
    if ads is None:
        print_note("no advertisements counted: --filters LIST.txt")
    if all(page.lifetimes is None for page in found.pages):
        print_note("no cache lifetimes: page graphs have no headers, profiles and HAR files do")
