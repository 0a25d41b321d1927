"""`loadpath figure`: a figure of a sweep."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import extra
from loadpath.cli.options import Force
from loadpath.errors import LoadpathError, hinted

_KINDS = (
    "heat-map, lines, cdf, difference-cdf, bars, regions, best, cost, surface, contour, histogram"
)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise hinted(
            LoadpathError(f"--where {text}: expected KEY=VALUE"), "--where network.rtt_ms=40"
        )
    return key.strip(), value.strip()


def figure(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {_KINDS}.")],
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="Folder of a plan, or of a sweep with one.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", help="File (.svg, .pdf, .png), or folder for all three formats."
        ),
    ] = Path(),
    x: Annotated[str | None, typer.Option("--x", help="Column of the x axis.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="Column of the y axis.")] = None,
    by: Annotated[str | None, typer.Option("--by", help="Column that makes lines or bars.")] = None,
    value: Annotated[
        str | None,
        typer.Option("--value", help="Column of `loadpath table` to draw; default median_ms."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option("--compare", help="A comparison of the specification instead of cells."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="KEY=VALUE", help="Only loads with this value."),
    ] = None,
    choice: Annotated[
        str | None,
        typer.Option("--choice", help="best, cost: axis of choices; default connections a host."),
    ] = None,
    fixed: Annotated[
        int | None, typer.Option("--fixed", help="cost: the choice whose cost is drawn.")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option("--margin", help="What counts as equal: ms, or the value's unit (regions)."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Another title.")] = None,
    force: Force = False,
) -> None:
    """Draw a figure of a sweep's finished loads, with its numbers as CSV beside it."""
    with extra("experiments"):
        from loadpath.analysis.figures import save
        from loadpath.analysis.stored_figures import Wanted, draw_stored
        from loadpath.experiments.sweep.store import find_plan
    drawn = draw_stored(
        kind,
        find_plan(store),
        Wanted(
            x=x,
            y=y,
            by=by,
            value=value,
            compare=compare,
            where=[_pair(text) for text in where or []],
            choice=choice,
            fixed=fixed,
            margin=margin,
            title=title,
        ),
    )
    for file in save(drawn, output, force=force):
        print(file)
