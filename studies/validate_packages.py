"""Simulated against real loads of real pages: `make validate`, `make validate-quick`.

Each page of `packages.toml` is profiled over loopback. Its graph then predicts loads over other
networks, which Chromium makes for real, from the archive of the profile, which the origin server
replays. With `--server nginx` the pages come from nginx, as they did for the profile, by HTTP/1.1
in the clear and by HTTP/2. Example pages are added whose bodies are made up from their graphs
(`--examples`); they are profiled, too, from the origin server over loopback. Profiles and loads
stay in the work folder, so that the study goes on where it was.

usage: studies/validate_packages.py WORK OUTPUT; --help lists the options
"""

import hashlib
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from loadpath._core import Page
from loadpath.cli.console import print_error, print_note, step_bar
from loadpath.errors import LoadpathError
from loadpath.graphs.build.profile import build_profile, graph_text
from loadpath.pages import EXAMPLE_PREFIX
from loadpath.profiler import record_profile
from loadpath.profiler.manifest import ARCHIVE_FILE
from loadpath.testbed import Link
from loadpath.testbed.load import Http
from loadpath.testbed.loader import Served, WebServer
from loadpath.testbed.origin import OriginSettings, start_origin
from loadpath.testbed.pages import Serve, archived
from loadpath.validation.cells import PROTOCOLS
from loadpath.validation.pages import ValidationPage, validation_pages
from loadpath.validation.run import ValidationOptions, validate_pages
from loadpath.validation.study import QUICK_PAGES
from packages import Site, read_sites
from profile_packages import folder_of, record
from serving import HTTP_VERSIONS, HttpVersion, profiler_settings, serving

PLAIN_RUNS, TIMING_RUNS = 3, 5

EXAMPLES = (
    "shape-amazon",
    "shape-baidu",
    "shape-facebook",
    "shape-google",
    "shape-reddit",
    "shape-twitter",
    "shape-wikipedia",
    "shape-yahoo",
)
"""Pages with the published counts and sizes of well-known sites."""


def nginx_page(work: Path, site: Site, name: str) -> ValidationPage:
    """A page that nginx serves."""
    folders: dict[Http, Path] = {http: folder_of(work, name, http, 1) for http in HTTP_VERSIONS}
    digest = hashlib.sha256()
    for folder in folders.values():
        digest.update((folder / ARCHIVE_FILE).read_bytes())
    graphs = {http: _graph(folder, name) for http, folder in folders.items()}

    def serve(http: Http) -> Serve:
        version: HttpVersion = "h1" if http == "h1" else "h2"

        @contextmanager
        def start(link: Link) -> Iterator[WebServer]:
            with serving([site], link) as server:
                yield Served(
                    url=server.url(name, version),
                    resolver_rules=server.resolver_rules,
                    spki=server.spki,
                )

        def started(link: Link) -> AbstractContextManager[WebServer]:
            return start(link)

        return started

    return ValidationPage(
        name=name,
        digest=digest.hexdigest(),
        server="nginx",
        graph=lambda http: graphs[http],
        serve=serve,
        profile=lambda http: folders[http],
    )


def record_examples(profiles: Path, names: Sequence[str]) -> None:
    """Profile the example pages that have no profile yet."""
    for name in names:
        folder = folder_of(profiles, name, "h2", 1)
        if folder.is_dir():
            continue
        print_note(f"profiling {name}")
        with (
            archived(f"{EXAMPLE_PREFIX}{name}") as page,
            start_origin(OriginSettings(archive=page.archive)) as origin,
        ):
            settings = profiler_settings(origin, runs=TIMING_RUNS, plain_runs=PLAIN_RUNS)
            try:
                record_profile(origin.url, folder, settings)
            except LoadpathError as error:
                # The next run of the study tries again.
                print_error(error)


def example_page(profiles: Path, page: ValidationPage, name: str) -> ValidationPage:
    """An example as it was profiled; its own graph if there is no profile."""
    folder = folder_of(profiles, name, "h2", 1)
    if not folder.is_dir():
        return replace(page, name=name)
    graph = _graph(folder, name)
    return replace(page, name=name, graph=lambda http: graph, profile=lambda http: folder)


def _graph(folder: Path, name: str) -> Page:
    graph, _ = build_profile(folder)
    graph["name"] = name
    return Page.from_json(graph_text(graph).encode(), f"the graph of {folder}")


def _profiled(server: str) -> Sequence[HttpVersion]:
    """What is profiled: the origin replays HTTP/2, whose URLs all protocols can have."""
    return HTTP_VERSIONS if server == "nginx" else ("h2",)


def _usable(
    profiles: Path, sites: Sequence[Site], names: Sequence[str], server: str
) -> list[tuple[Site, str]]:
    """Pages of which there are profiles; others are left out with a note."""
    usable = []
    for site in sites:
        for name in site.pages:
            folders = [folder_of(profiles, name, http, 1) for http in _profiled(server)]
            if name not in names:
                continue
            if all((folder / ARCHIVE_FILE).is_file() for folder in folders):
                usable.append((site, name))
            else:
                print_note(f"{name}: left out, there is no profile of it")
    return usable


@contextmanager
def _validation_pages(
    profiles: Path, usable: Sequence[tuple[Site, str]], server: str, examples: Sequence[str]
) -> Iterator[list[ValidationPage]]:
    if server == "nginx":
        yield [nginx_page(profiles, site, name) for site, name in usable]
        return
    sources = [str(folder_of(profiles, name, "h2", 1)) for _, name in usable]
    names = [name for _, name in usable]
    made = [f"{EXAMPLE_PREFIX}{name}" for name in examples]
    with validation_pages([*sources, *made]) as pages:
        recorded, shapes = pages[: len(sources)], pages[len(sources) :]
        yield [
            *(replace(page, name=name) for page, name in zip(recorded, names, strict=True)),
            *(
                example_page(profiles, page, name)
                for page, name in zip(shapes, examples, strict=True)
            ),
        ]


@contextmanager
def profiled_pages(work: Path) -> Iterator[list[ValidationPage]]:
    """All pages of the study whose profiles are there."""
    sites, profiles = read_sites(()), work / "profiles"
    usable = _usable(profiles, sites, [name for site in sites for name in site.pages], "origin")
    with _validation_pages(profiles, usable, "origin", EXAMPLES) as pages:
        yield pages


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the profiles and loads.")],
    output: Annotated[Path, typer.Argument(help="Folder for the report.")],
    runs: Annotated[int | None, typer.Option("-n", min=1, help="Loads of a cell.")] = None,
    lossy_runs: Annotated[
        int | None, typer.Option(min=1, help="Where packets may be lost.")
    ] = None,
    page: Annotated[list[str] | None, typer.Option(help="Only this site or page.")] = None,
    networks: Annotated[str | None, typer.Option(help="As for `loadpath validate`.")] = None,
    server: Annotated[str, typer.Option(help="origin or nginx.")] = "origin",
    examples: Annotated[
        bool, typer.Option("--examples", help="Example pages, too, with bodies made up.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Six pages, four networks.")] = False,
    http: Annotated[str, typer.Option(help="Protocols, separated by commas.")] = "h1,h2,h3",
    measure: Annotated[bool, typer.Option("--measure/--no-measure")] = True,
    minutes: Annotated[float | None, typer.Option(help="Measure for so long.")] = None,
    baseline: Annotated[Path | None, typer.Option(help="As for `loadpath validate`.")] = None,
) -> None:
    """Profile, load, simulate what is not there yet; write the report."""
    sites = read_sites(page or ())
    names = [name for site in sites for name in site.pages if not page or _named(site, name, page)]
    if quick and not page:
        names = names[:QUICK_PAGES]
    sites = [site for site in sites if set(site.pages) & set(names)]
    profiles = work / "profiles"
    if measure:
        record(profiles, sites, names, 1, TIMING_RUNS, PLAIN_RUNS, _profiled(server))
        if examples:
            record_examples(profiles, EXAMPLES)
    served = HTTP_VERSIONS if server == "nginx" else PROTOCOLS
    protocols = [each for each in served if each in http.split(",")]
    options = ValidationOptions(
        networks=networks,
        protocols=protocols,
        runs=runs,
        lossy_runs=lossy_runs,
        quick=quick,
        store=work / "loads",
        output=output,
        name="accuracy-quick" if quick else "accuracy",
        command="make validate-quick" if quick else "make validate",
        measure=measure,
        minutes=minutes,
        baseline=baseline,
    )
    usable = _usable(profiles, sites, names, server)
    with (
        _validation_pages(profiles, usable, server, EXAMPLES if examples else ()) as pages,
        step_bar() as progress,
    ):
        files = validate_pages(pages, options, progress=progress, note=print_note)
    for file in files:
        print(file)


def _named(site: Site, name: str, wanted: Sequence[str]) -> bool:
    return bool({site.name, name} & set(wanted))


if __name__ == "__main__":
    # Servers and their folder go when the study is asked to end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        typer.run(study)
    except LoadpathError as error:
        print_error(error)
        sys.exit(1)
