"""`loadpath archive`: the page archive of a profile, to be given to others."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import print_note
from loadpath.cli.options import Force
from loadpath.profiler import share_archive


def archive(
    profile: Annotated[Path, typer.Argument(help="Folder that `loadpath profile` made.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="File to write; by default NAME-OF-THE-PROFILE.har."),
    ] = None,
    with_secrets: Annotated[
        bool,
        typer.Option(
            "--with-secrets", help="Keep cookies, authorisation headers and request bodies."
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Write a profile's page archive as a HAR without cookies, credentials and posted data."""
    path = share_archive(profile, output, with_secrets=with_secrets, force=force)
    if not with_secrets:
        print_note("URLs and response bodies are as the server sent them: look before you share")
    print(path)
