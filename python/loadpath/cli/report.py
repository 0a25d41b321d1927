"""`loadpath report`: a sweep as one HTML page."""

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra, write_output
from loadpath.cli.options import Force, Output
from loadpath.output import refuse_existing


def report(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="Folder of a plan, or of a sweep with one.")
    ],
    output: Output = None,
    force: Force = False,
) -> None:
    """Write cells, comparisons and figures of a sweep as an HTML page that works offline."""
    with extra("experiments"):
        from loadpath.analysis.overview import sweep_result
        from loadpath.experiments.sweep.store import find_plan
        from loadpath.reports.html import result_html
    folder = find_plan(store)
    name = f"{folder.manifest.name}.html"
    if output != Path("-"):
        refuse_existing(output or Path(name), force=force)
    command = shlex.join(["loadpath", *sys.argv[1:]])
    page = result_html(sweep_result(folder), command=command, created=datetime.now(UTC))
    write_output(output, name, page.encode(), force=force)
