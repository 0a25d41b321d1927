"""How well a profile made on a fast link tells how long the page takes on a slow one.

Each page of `packages.toml` is profiled over loopback. The same page is loaded by a real browser
through an emulated link, several times, and the graph of the profile is simulated over the same
network: `make study-self-consistency`. Finished profiles and loads stay in the work folder, so that
an interrupted study goes on where it was; graphs and simulations are made anew each time. Writes
self-consistency.csv and self-consistency.md.

usage: studies/self_consistency.py WORK OUTPUT; --help lists the options
"""

import os
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import msgspec
import typer

from loadpath.api import simulate
from loadpath.cli.console import print_error, print_note
from loadpath.errors import LinkError, LoadpathError
from loadpath.output import write_atomic
from loadpath.profiler import Manifest, PassKind, read_manifest
from loadpath.testbed import Link, LinkSettings
from loadpath.testbed.loader import LoadSettings, Served, WebServer, load_over_link
from packages import Site, read_sites
from profile_packages import build_graph_file, folder_of, record
from serving import HTTP_VERSIONS, HttpVersion, serving
from tables import csv_text, markdown_table

AIM = 0.10
"""The median error by network is to be at most that."""

NETWORKS: dict[str, LinkSettings] = {
    "10 Mbit/s, 40 ms": {"profile": "linux", "rate": "10mbit", "rtt_ms": 40, "queue": "unlimited"},
    "1.6 Mbit/s, 150 ms": {
        "profile": "linux",
        "rate": "1.6mbit",
        "rtt_ms": 150,
        "queue": "unlimited",
    },
}
"""Parameters of the links, and of the simulations."""

CONNECTIONS: dict[HttpVersion, int] = {"h1": 6, "h2": 1}
"""Chromium's net/socket/client_socket_pool_manager.cc: six a host, one for HTTP/2."""

TIMEOUT_S = 180.0
"""The largest page takes a good half minute at 1.6 Mbit/s."""

ATTEMPTS = 3
"""A load whose link was late is repeated so often; a machine that is busier is of no use."""


class Load(msgspec.Struct, kw_only=True):
    """A load through a link."""

    load_ms: float | None
    on_time: bool
    reasons: tuple[str, ...] = ()
    """Why the link is not to be believed, or the page did not load."""
    queue_drops: int = 0


class Cell(msgspec.Struct, kw_only=True):
    """A page over an HTTP version and a network."""

    page: str
    http: HttpVersion
    network: str
    measured_ms: list[float]
    rejected: int
    """Loads whose link was late, or that did not come to the load event."""
    simulated_ms: float | None
    profiled_ms: float | None
    """Median of the plain passes over loopback."""
    problem: str = ""

    @property
    def error(self) -> float | None:
        """Of the simulated against the median of the measured load times, as a fraction."""
        if not self.measured_ms or self.simulated_ms is None:
            return None
        return self.simulated_ms / median(self.measured_ms) - 1


def load_through_link(site: Site, page: str, http: HttpVersion, network: str) -> Load:
    """One load over a link of its own, with servers of its own."""

    @contextmanager
    def serve(link: Link) -> Iterator[WebServer]:
        with serving([site], link) as server:
            yield Served(
                url=server.url(page, http),
                resolver_rules=server.resolver_rules,
                spki=server.spki,
            )

    settings = LoadSettings(http=http, timeout_s=TIMEOUT_S)
    try:
        loaded = load_over_link(NETWORKS[network], serve, settings)
    except LinkError:
        raise
    except LoadpathError as error:
        return Load(load_ms=None, on_time=False, reasons=(f"the page did not load: {error}",))
    assert loaded.link is not None
    return Load(
        load_ms=loaded.load_ms,
        on_time=loaded.believed,
        reasons=tuple(loaded.doubts) + ((loaded.reason,) if loaded.reason else ()),
        queue_drops=loaded.link.down.queue_drops + loaded.link.up.queue_drops,
    )


def measure(work: Path, site: Site, page: str, http: HttpVersion, network: str, runs: int) -> None:
    """Load until so many loads were on time; what is there already counts."""
    folder = work / "loads"
    folder.mkdir(parents=True, exist_ok=True)
    loads = read_loads(work, page, http, network)
    good = sum(load.on_time for load in loads)
    for attempt in range(len(loads), runs * ATTEMPTS):
        if good >= runs:
            break
        load = load_through_link(site, page, http, network)
        good += load.on_time
        text = f"{load.load_ms:.0f} ms" if load.load_ms is not None else "no load event"
        print_note("; ".join([f"{page} {http} {network}: {text}", *load.reasons]))
        write_atomic(
            folder / f"{_stem(page, http, network)}-{attempt + 1}.json", msgspec.json.encode(load)
        )


def read_loads(work: Path, page: str, http: HttpVersion, network: str) -> list[Load]:
    """The loads that are there."""
    files = sorted((work / "loads").glob(f"{_stem(page, http, network)}-*.json"))
    return [msgspec.json.decode(file.read_bytes(), type=Load) for file in files]


def _stem(page: str, http: HttpVersion, network: str) -> str:
    settings = NETWORKS[network]
    return f"{page}-{http}-{settings['rate']}-{settings['rtt_ms']}ms"


def tls_keys(manifest: Manifest) -> dict[str, object]:
    """Sizes of the TLS handshake as the profile has them."""
    handshakes = [each for each in manifest.passes[0].tls if not each.resumed]
    if not handshakes:
        return {"http.tls": "none"}
    # What the simulation calls server hello is the flight without the certificates.
    return {
        "http.tls": "1.3",
        "http.tls_client_hello_bytes": handshakes[0].client_hello_bytes,
        "http.tls_server_hello_bytes": handshakes[0].server_flight_bytes,
        "http.tls_certificate_bytes": 0,
    }


def examine(work: Path, page: str, http: HttpVersion, network: str, runs: int) -> Cell:
    """Simulate what was measured."""
    loads = read_loads(work, page, http, network)
    measured = [load.load_ms for load in loads if load.on_time and load.load_ms is not None]
    cell = Cell(
        page=page,
        http=http,
        network=network,
        measured_ms=measured[:runs],
        rejected=len(loads) - len(measured),
        simulated_ms=None,
        profiled_ms=None,
    )
    folder = folder_of(work / "profiles", page, http, 1)
    parameters: dict[str, Any] = dict(NETWORKS[network])
    try:
        manifest = read_manifest(folder)
        plain = [p.load_ms for p in manifest.passes if p.kind is PassKind.PLAIN and p.load_ms]
        cell.profiled_ms = median(plain) if plain else None
        graph, _ = build_graph_file(folder, manifest, work / "graphs", page)
        [outcome] = simulate(
            graph,
            http=http,
            connections=CONNECTIONS[http],
            set=tls_keys(manifest),
            **parameters,
        )
    except LoadpathError as error:
        cell.problem = str(error)
        return cell
    except Exception as error:
        # A mistake of the builder's is a result of the study, not its end.
        cell.problem = f"{type(error).__name__}: {error}"
        return cell
    cell.simulated_ms = outcome.plt_ms
    cell.problem = outcome.status.reason or ""
    return cell


COLUMNS = (
    "page",
    "http",
    "network",
    "loads",
    "rejected",
    "measured_ms",
    "measured_min_ms",
    "measured_max_ms",
    "simulated_ms",
    "error",
    "loopback_ms",
    "problem",
)
HEADINGS = (
    "page",
    "HTTP",
    "network",
    "loads",
    "rejected",
    "measured, ms",
    "min",
    "max",
    "simulated, ms",
    "error",
    "loopback, ms",
    "problem",
)


def row(cell: Cell) -> list[str]:
    """A row of self-consistency.csv."""
    measured = cell.measured_ms
    return [
        cell.page,
        cell.http,
        cell.network,
        str(len(measured)),
        str(cell.rejected),
        f"{median(measured):.0f}" if measured else "",
        f"{min(measured):.0f}" if measured else "",
        f"{max(measured):.0f}" if measured else "",
        f"{cell.simulated_ms:.0f}" if cell.simulated_ms is not None else "",
        f"{cell.error:+.3f}" if cell.error is not None else "",
        f"{cell.profiled_ms:.0f}" if cell.profiled_ms is not None else "",
        cell.problem,
    ]


def summary(cells: Sequence[Cell]) -> list[list[str]]:
    """Medians over pages, by network and HTTP version."""
    rows = []
    for network in NETWORKS:
        for http in (None, *HTTP_VERSIONS):
            errors = [
                cell.error
                for cell in cells
                if cell.network == network and http in (None, cell.http) and cell.error is not None
            ]
            if not errors:
                continue
            absolute = [abs(error) for error in errors]
            rows.append(
                [
                    network,
                    http or "both",
                    str(len(errors)),
                    f"{median(absolute):.1%}",
                    f"{median(errors):+.1%}",
                    f"{max(absolute):.1%}",
                    f"{sum(error <= AIM for error in absolute)}",
                ]
            )
    return rows


SUMMARY_HEADINGS = (
    "network",
    "HTTP",
    "pages",
    "median error",
    "median, signed",
    "largest",
    f"within {AIM:.0%}",
)

INTRODUCTION = """# Profiles of a fast link, loads on slow ones

Written by `make study-self-consistency`; the same numbers are in
[self-consistency.csv](self-consistency.csv).

Pages of packages from public registries (`studies/packages.toml`) are profiled over loopback. Then
Chromium loads them through an emulated link without recording (at least {runs} loads; the median
counts; a load whose link was late is rejected and repeated), and the graph of the profile is
simulated over the same network: profile `linux`, HTTP version and TLS as served. Neither queue has
a limit, so that no packet is lost: this is a test of graphs, not of loss recovery. The error is
that of the simulated against the measured load time; the aim is a median of its size within
{aim:.0%}.

Measured: **emulated** (real kernels, server and browser behind an emulated link). Simulated:
**simulated**. Loopback: the median of the profile's plain passes, **observed**. Requests to other
hosts fail at once in the measured loads: those hosts do not exist.

Measured on {machine}, {date}; load average {load:.2f} at the end.

"""


def report(output: Path, cells: Sequence[Cell], runs: int) -> None:
    """Write the tables."""
    rows = [row(cell) for cell in cells]
    text = INTRODUCTION.format(
        runs=runs,
        aim=AIM,
        machine=f"{os.cpu_count()} processors, Linux {platform.release()}",
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        load=os.getloadavg()[0],
    )
    text += markdown_table(SUMMARY_HEADINGS, summary(cells), words=("network", "HTTP"))
    words = ("page", "HTTP", "network", "problem")
    text += "\n## By page\n\n" + markdown_table(HEADINGS, rows, words=words)
    output.mkdir(parents=True, exist_ok=True)
    write_atomic(output / "self-consistency.csv", csv_text(COLUMNS, rows), force=True)
    write_atomic(output / "self-consistency.md", text, force=True)


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the profiles and loads.")],
    output: Annotated[Path, typer.Argument(help="Folder for the tables.")],
    runs: Annotated[int, typer.Option("-n", min=1, help="Loads of each page.")] = 5,
    page: Annotated[list[str] | None, typer.Option(help="Only this site or page.")] = None,
    only_simulate: Annotated[bool, typer.Option(help="Use what is there.")] = False,
) -> None:
    """Profile, load, simulate what is not there yet; write the tables."""
    sites = read_sites(page or ())
    pages = [(site, name) for site in sites for name in site.pages]
    if not only_simulate:
        record(work / "profiles", sites, [name for _, name in pages], 1, 5)
    cells = []
    for network in NETWORKS:
        for site, name in pages:
            for http in HTTP_VERSIONS:
                if not only_simulate:
                    measure(work, site, name, http, network, runs)
                cells.append(examine(work, name, http, network, runs))
    report(output, cells, runs)
    print(output / "self-consistency.md")


if __name__ == "__main__":
    # Servers and their folder go when the study is asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        typer.run(study)
    except LoadpathError as error:
        print_error(error)
        sys.exit(1)
