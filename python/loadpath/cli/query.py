"""`loadpath query`: SQL over the loads of sweeps."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra, print_note, print_records
from loadpath.cli.options import Csv, Json, Markdown, Store

MOST_ROWS = 1000
"""Rows of a table for people."""


def query(
    sql: Annotated[
        str, typer.Argument(metavar="SQL", help="Over tables loads, scenarios, pages, planned.")
    ],
    store: Store = Path("results"),
    csv: Csv = None,
    markdown: Markdown = False,
    json: Json = False,
) -> None:
    """Ask DuckDB about stored loads, of one plan or of several (columns sweep and plan).

    `loadpath query 'DESCRIBE loads'` lists the columns. Scenario keys need no quotes:
    network.rate_bps.
    """
    with extra("experiments"):
        from loadpath.analysis.query import open_tables, run_query
        from loadpath.experiments.sweep.store import find_plans
    plans = find_plans(store)
    with open_tables(plans) as connection:
        result = run_query(connection, sql)
        columns = [column[0] for column in result.description or ()]
        everything = csv is not None or json
        rows = result.fetchall() if everything else result.fetchmany(MOST_ROWS + 1)
    if not everything and len(rows) > MOST_ROWS:
        rows.pop()
        print_note(f"only the first {MOST_ROWS} rows; --csv and --json have all")
    for folder in plans:
        if folder.finished_rows < folder.manifest.rows:
            print_note(
                f"{folder.path}: {folder.finished_rows} of {folder.manifest.rows} loads finished"
            )
    print_records(columns, rows, csv=csv, markdown=markdown, json=json)
