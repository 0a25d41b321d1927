"""`loadpath profile`: a real page in a real browser, recorded."""

from pathlib import Path
from typing import Annotated

import typer

from loadpath.analysis.graph_tables import (
    RESIMULATION_COLUMNS,
    build_rows,
    resimulation_rows,
)
from loadpath.cli.console import print_json, print_summary, print_table, step_bar
from loadpath.cli.options import Json
from loadpath.graphs.build.resimulation import resimulate
from loadpath.profiler import Emulation, Settings, record_profile, summarize
from loadpath.profiler.settings import parse_pairs, read_script


def profile(
    url: Annotated[str, typer.Argument(help='The page; "https://" may be left out.')],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder to make; by default HOST-YYYYMMDD-HHMMSS."),
    ] = None,
    runs: Annotated[
        int, typer.Option("-n", "--runs", min=0, help="Timing passes, after the structure pass.")
    ] = 5,
    plain_runs: Annotated[
        int,
        typer.Option(min=0, help="Passes that record nothing, to see what recording costs."),
    ] = 3,
    http1: Annotated[
        bool, typer.Option("--http1", help="HTTP/1.1 only: no HTTP/2, no HTTP/3.")
    ] = False,
    emulate: Annotated[
        Emulation, typer.Option(help="The device that the page sees.")
    ] = Emulation.DESKTOP,
    cpu_slowdown: Annotated[
        float, typer.Option(min=1, help="How many times slower main threads run.")
    ] = 1.0,
    wait: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds to record after the load event; by default until the network is quiet "
            "for 1 s, at most 5 s.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds to wait for the load event of a pass.")
    ] = 60,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:VALUE", help="Send with every request, whatever its host."),
    ] = None,
    cookie: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Set for the page's host before each load."),
    ] = None,
    auth: Annotated[
        str | None,
        typer.Option(metavar="USER:PASSWORD", help="For the page's HTTP authentication."),
    ] = None,
    script: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="JavaScript to run in every document before its own, to answer a consent dialog.",
        ),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact", help="Keep no cookies, no authorisation headers, no request bodies."
        ),
    ] = False,
    netlog: Annotated[bool, typer.Option(help="Record Chromium's network log.")] = True,
    capture: Annotated[
        bool,
        typer.Option("--capture", help="Record packets (dumpcap) and TLS keys, where allowed."),
    ] = False,
    ignore_certificate_errors: Annotated[
        bool, typer.Option("--ignore-certificate-errors", help="Accept any certificate.")
    ] = False,
    host_resolver_rules: Annotated[
        str | None,
        typer.Option(metavar="RULES", help="Chromium's, as in 'MAP example.org 127.0.0.1:8080'."),
    ] = None,
    browser: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A Chromium; by default chromium-headless-shell."),
    ] = None,
    browser_flag: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FLAG", help="A further flag of Chromium's, as in --browser-flag=--FLAG."
        ),
    ] = None,
    no_sandbox: Annotated[
        bool,
        typer.Option("--no-sandbox", help="Run pages without a sandbox, as root always does."),
    ] = False,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate", help="Build the page graph, load it in simulation, print both loads."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Record a real page in Chromium: requests, computations, bodies and timings."""
    settings = Settings(
        runs=runs,
        plain_runs=plain_runs,
        browser=browser,
        browser_flags=tuple(browser_flag or ()),
        no_sandbox=no_sandbox,
        http1=http1,
        emulate=emulate,
        cpu_slowdown=cpu_slowdown,
        timeout_s=timeout,
        wait_s=wait,
        headers=parse_pairs("--header", header or [], ":"),
        cookies=parse_pairs("--cookie", cookie or [], "="),
        auth=auth,
        script=read_script(script),
        ignore_certificate_errors=ignore_certificate_errors,
        host_resolver_rules=host_resolver_rules,
        netlog=netlog,
        capture=capture,
        redact=redact,
    )
    with step_bar() as progress:
        recorded = record_profile(url, output, settings, progress=progress)
    again = resimulate(recorded.path) if simulate else None
    if json:
        result = {"path": str(recorded.path), "manifest": recorded.manifest}
        print_json(result | ({"simulation": again} if again is not None else {}))
        return
    print_summary(summarize(recorded))
    if again is not None:
        print_table("", ["what", "which", "number"], build_rows(again.graph), text=2)
        print_table("", RESIMULATION_COLUMNS, resimulation_rows(again), text=2)
    print(recorded.path)
