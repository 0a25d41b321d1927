"""`loadpath table`: load times of a sweep by cell, or variants against their baseline."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra, print_note, print_records
from loadpath.cli.options import Csv, Json, Markdown
from loadpath.errors import SpecificationError

BRIEF = (
    *("sites", "pairs", "mean_baseline", "mean_variant", "difference_mean", "difference_sd"),
    *("improvement_percent", "same_or_better_percent", "anova_p", "site_t_p", "site_wilcoxon_p"),
)
"""Columns of a comparison for people; CSV and JSON have all."""


def table(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="Folder of a plan, or of a sweep with one.")
    ],
    by: Annotated[
        str | None,
        typer.Option("--by", help="Columns of a cell, separated by commas; default: what varies."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option("--compare", help="A comparison of the specification instead of cells."),
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", help="plt_ms or dcl_ms; default the specification's.")
    ] = None,
    csv: Csv = None,
    markdown: Markdown = False,
    json: Json = False,
) -> None:
    """Print statistics of load times (ms): means, medians, deviations, intervals, tests."""
    with extra("experiments"):
        from loadpath.analysis.cells import (
            cell_table,
            comparison_table,
            find_comparison,
            stored_specification,
        )
        from loadpath.experiments.sweep.specification import METRICS
        from loadpath.experiments.sweep.store import find_plan
    folder = find_plan(store)
    specification = stored_specification(folder)
    chosen = next((m for m in METRICS if m == (metric or specification.metric)), None)
    if chosen is None:
        raise SpecificationError(f"--metric {metric}: expected one of {', '.join(METRICS)}")
    if compare is None:
        columns = folder.manifest.axes if by is None else [c.strip() for c in by.split(",")]
        records = cell_table(folder, columns, chosen)
        shown = list(records[0]) if records else []
    else:
        records = comparison_table(folder, find_comparison(folder, compare))
        labels = [c for c in folder.manifest.axes if records and c in records[0]]
        everything = csv is not None or json
        shown = list(records[0]) if records and everything else [*labels, *BRIEF]
    finished, rows = folder.finished_rows, folder.manifest.rows
    print_note(f"{folder.path}: {finished} of {rows} loads finished (simulated)")
    values = [[record[column] for column in shown] for record in records]
    print_records(shown, values, csv=csv, markdown=markdown, json=json)
