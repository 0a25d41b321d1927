"""`loadpath transform`: changed page graphs."""

import sys
from typing import Annotated

import typer

from loadpath.cli.console import print_json, print_table
from loadpath.cli.options import Force, Json, Output
from loadpath.errors import LoadpathError, hinted
from loadpath.transforms import transform_file, transform_forms, write_transformed


def transform(
    page: Annotated[
        str | None,
        typer.Argument(metavar="[PAGE]", help="Page graph; without it, the transforms are listed."),
    ] = None,
    transforms: Annotated[
        list[str] | None,
        typer.Argument(metavar="TRANSFORM...", help="What to change, in this order."),
    ] = None,
    output: Output = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Change a page graph: merge its hosts, make responses smaller, servers faster, ..."""
    if page is None:
        forms = transform_forms()
        if json:
            print_json([{"transform": form, "meaning": meaning} for form, meaning in forms])
        else:
            print_table("", ["transform", "what"], [list(row) for row in forms], text=2)
        return
    if not transforms:
        raise hinted(
            LoadpathError(f"{page}: change what?"), "`loadpath transform` lists the transforms"
        )
    if output is None:
        raise hinted(LoadpathError("where to?"), "-o FILE, or -o - for standard output")
    if str(output) == "-":
        sys.stdout.buffer.write(transform_file(page, transforms)[0])
        return
    write_transformed(page, transforms, output, force=force)
    if json:
        print_json({"graph": str(output), "transforms": transforms})
    else:
        print(output)
