"""`loadpath delays`: how long the servers of a recorded page think."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Annotated

import typer

from loadpath.analysis.delays import (
    delays_csv,
    delays_svg,
    distributions_json,
    samples_by_type,
)
from loadpath.cli.console import print_json, print_note, print_table
from loadpath.cli.options import Force, Json
from loadpath.output import refuse_existing, write_atomic
from loadpath.profiler.delays import ServerDelays, server_delays


def delays(
    profiles: Annotated[
        list[Path], typer.Argument(help="Folders that `loadpath profile` made; pooled.")
    ],
    svg: Annotated[Path | None, typer.Option(help="Draw the distributions by type.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the distributions as a table.")] = None,
    distributions: Annotated[
        Path | None,
        typer.Option(help="Write the distributions as a server-delay file for page graphs."),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Print the server processing delays of recorded profiles, by host and by type."""
    outputs = [
        (path, make)
        for path, make in (
            (svg, lambda found: delays_svg(found).encode()),
            (csv, delays_csv),
            (distributions, distributions_json),
        )
        if path is not None
    ]
    for path, _ in outputs:
        refuse_existing(path, force=force)
    found = []
    for index, profile in enumerate(profiles):
        if len(profiles) > 1:
            print_note(f"{profile} ({index + 1}/{len(profiles)})")
        found.append(server_delays(profile))
    made = [(path, make(found)) for path, make in outputs]
    for path, data in made:
        write_atomic(path, data, force=force)
    if json:
        print_json(found)
    else:
        _print_tables(found)
    for profile_delays in found:
        for warning in profile_delays.warnings:
            print_note(f"warning: {warning}")


def _print_tables(found: Sequence[ServerDelays]) -> None:
    print_table(
        "hosts (ms)",
        ["host", "protocol", "RTT by", "RTT", "connect", "TLS", "DNS", "connections", "requests"],
        [
            [
                host.host,
                " ".join(host.protocols) or "-",
                host.rtt_source or "-",
                *map(_ms, (host.rtt_ms, host.connect_ms, host.tls_ms, host.dns_ms)),
                str(host.connections),
                str(host.requests),
            ]
            for profile in found
            for host in profile.hosts
        ],
        text=3,
    )
    print_table(
        "server delays of successful responses up to 1 s, by type (ms)",
        ["type", "requests", "median", "90 %", "most"],
        [
            [name, str(len(delays)), _ms(median(delays)), _ms(_p90(delays)), _ms(max(delays))]
            for name, delays in samples_by_type(found).items()
        ],
    )
    sources = Counter(
        "cached" if request.cached else request.source or "unknown"
        for profile in found
        for request in profile.requests
    )
    print_table(
        "sources", ["source", "requests"], [[name, str(n)] for name, n in sources.most_common()]
    )
    for profile in found:
        check = profile.cross_check
        if check is not None:
            print_note(
                f"{profile.profile}: DevTools and the network log differ by "
                f"{check.median_ms:.1f} ms (median of {check.requests} waits), "
                f"at most by {check.worst_ms:.1f} ms"
            )


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _p90(delays: list[float]) -> float:
    return quantiles(delays, n=10, method="inclusive")[-1] if len(delays) > 1 else delays[0]
