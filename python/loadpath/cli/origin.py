"""`loadpath origin`: a recorded page, served again."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import print_json, print_note
from loadpath.cli.options import Json
from loadpath.testbed.origin import (
    Addresses,
    HttpVersion,
    OriginSettings,
    PriorityKind,
    ServerModel,
    read_order,
    start_origin,
)


def origin(
    archive: Annotated[
        Path, typer.Argument(help="HAR file with bodies, or folder that `loadpath profile` made.")
    ],
    http: Annotated[HttpVersion, typer.Option(help="What to speak over TLS.")] = "h2",
    clear: Annotated[
        bool, typer.Option("--clear", help="Ask for the page by http://; with --http h1.")
    ] = False,
    addresses: Annotated[
        Addresses, typer.Option(help="Whether all hosts are at one address.")
    ] = "one",
    server: Annotated[
        ServerModel, typer.Option(help="How several requests on one connection are treated.")
    ] = "out-of-order",
    delays: Annotated[
        bool, typer.Option("--delays/--no-delays", help="Take as long as the recorded servers.")
    ] = True,
    priorities: Annotated[
        PriorityKind, typer.Option(help="Which response's bytes go first on a connection.")
    ] = "client",
    order: Annotated[
        Path | None,
        typer.Option(help="File with a URL a line, the most urgent first, for --priorities order."),
    ] = None,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Make clock and Math.random repeat themselves.")
    ] = False,
    log: Annotated[
        Path | None, typer.Option(help="File for a line of JSON for each request.")
    ] = None,
    json: Json = False,
) -> None:
    """Serve a recorded page on loopback until Ctrl-C; print what a browser needs to load it.

    Then print what was asked for and was not in the archive.
    """
    settings = OriginSettings(
        archive=archive,
        http=http,
        tls=not clear,
        addresses=addresses,
        server_model=server,
        delays="recorded" if delays else "none",
        priorities=priorities,
        order=[] if order is None else read_order(order),
        freeze=freeze,
        log=log,
    )
    with start_origin(settings) as running, suppress(KeyboardInterrupt):
        if json:
            print_json(
                {
                    "url": running.url,
                    "resolver_rules": running.resolver_rules,
                    "spki": running.spki,
                    "browser_flags": running.browser_flags,
                    "archive": running.archive,
                }
            )
            sys.stdout.flush()
        else:
            print(f"page            {running.url}")
            print(f"resolver rules  {running.resolver_rules}")
            print(f"SPKI            {running.spki}")
            print(f"command         {running.command_line()}", flush=True)
        for url in running.archive.bodies_missing:
            print_note(f"warning: {url}: no body in the archive; zeros of its size are sent")
        running.wait()
    if json:
        print_json(running.report())
    else:
        print_note(running.report().describe())
