"""`loadpath link`: any command behind an emulated link."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.cli.console import print_note
from loadpath.cli.options import Force, NetworkOptions, with_load_options
from loadpath.testbed import LinkSettings
from loadpath.testbed.session import Session, drops

_LINK = "Link"
_SERVER = "Server"


@with_load_options
def link(
    load: NetworkOptions,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND...]", help="What to run; default a shell."),
    ] = None,
    delay_down: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=_LINK, help="Part of the RTT towards the client, ms; default half."
        ),
    ] = None,
    drop_down: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_LINK,
            help="Drop exactly these packets towards the client, counted from 0, or those with "
            "data of a flow: 3,7,0:12.",
        ),
    ] = None,
    drop_up: Annotated[
        str | None, typer.Option(rich_help_panel=_LINK, help="The same towards the server.")
    ] = None,
    run: Annotated[
        int,
        typer.Option(min=0, rich_help_panel=_LINK, help="Which repetition's random losses."),
    ] = 0,
    icwnd: Annotated[
        int | None,
        typer.Option(rich_help_panel=_LINK, help="Initial congestion window of the kernels."),
    ] = None,
    congestion: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_LINK, help="Congestion controller of the kernels: cubic, reno, ..."
        ),
    ] = None,
    server: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_SERVER, help="Shell command to run at the server's end meanwhile."
        ),
    ] = None,
    wait_port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ADDRESS:]PORT[/udp]",
            rich_help_panel=_SERVER,
            help="Begin when something listens there at the server's end.",
        ),
    ] = None,
    tap: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel=_LINK, help="Capture what both ends see, as pcapng."
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option("--json", help="File for scenario, counters, lateness, verdict.")
    ] = None,
    force: Force = False,
) -> None:
    """Run a command behind an emulated link; at the other end, servers.

    The command finds the addresses of both ends in LOADPATH_CLIENT_ADDRESS and
    LOADPATH_SERVER_ADDRESS. The exit status is the command's.
    """
    settings = LinkSettings(
        **load.parameters(),
        icwnd=icwnd,
        delay_down_ms=delay_down,
        drop_down=drops("--drop-down", drop_down),
        drop_up=drops("--drop-up", drop_up),
        tap=tap,
        run=run,
        kernel_congestion=congestion,
    )
    session = Session(settings, server or [], wait_port or [], command or [])
    status, report = session.run(json, force=force, note=print_note)
    print_note(report.describe())
    raise typer.Exit(status)
