"""Pages as archives that a server can replay: of profiles, of other tools, of page graphs."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from loadpath._core import Scenario
from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.pages import EXAMPLE_PREFIX, read_page
from loadpath.parameters import scenario_values
from loadpath.profiler.manifest import ARCHIVE_FILE
from loadpath.testbed.link import Link
from loadpath.testbed.load import Http
from loadpath.testbed.loader import WebServer

__all__ = ["ArchivedPage", "Serve", "archived", "http_of", "served_by_origin"]

Serve = Callable[[Link], AbstractContextManager[WebServer]]
"""Starts a page's server at the far end of a link."""

_HTTP: dict[str, Http] = {"http/1.1": "h1", "http/2": "h2", "quic-lite": "h3"}
"""What a real browser speaks of the scenario's HTTP versions."""


@dataclass(frozen=True)
class ArchivedPage:
    """A page that can be replayed."""

    name: str
    archive: Path
    """HAR file."""
    digest: str
    """SHA-256 of the archive."""


@contextmanager
def archived(source: str | Path) -> Iterator[ArchivedPage]:
    """The page of a profile's folder, a HAR file, or a page graph, whose bodies are made up.

    Raises
    ------
    LoadpathError
        There is no such page, or it has no bodies to serve.
    """
    name = str(source)
    path = Path(name)
    if path.is_dir():
        if not (path / ARCHIVE_FILE).is_file():
            raise hinted(
                NotFoundError(f"{path} is not a recorded profile: no {ARCHIVE_FILE}"),
                "record one with `loadpath profile URL -o DIR`",
            )
        yield _page(path.name, path / ARCHIVE_FILE)
    elif path.suffix == ".har" and path.is_file():
        yield _page(path.stem, path)
    else:
        graph, origin, _ = read_page(name)
        stem = name.removeprefix(EXAMPLE_PREFIX) if name.startswith(EXAMPLE_PREFIX) else path.stem
        with tempfile.TemporaryDirectory(prefix="loadpath-page-") as folder:
            file = Path(folder) / f"{stem}.har"
            file.write_bytes(_synthetic(graph, origin))
            yield _page(stem, file)


def _page(name: str, archive: Path) -> ArchivedPage:
    try:
        with archive.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LoadpathError(f"cannot read {archive}: {error.strerror}") from error
    return ArchivedPage(name, archive, digest)


def _synthetic(graph: bytes, origin: str) -> bytes:
    """The archive of a page graph."""
    try:
        from loadpath.testbed.synthetic import synthetic_archive
    except ImportError:
        raise hinted(
            LoadpathError(f"{origin}: this version cannot make up a page from its graph"),
            "give the folder of a profile, or a HAR file with bodies",
        ) from None
    return msgspec.json.encode(synthetic_archive(msgspec.json.decode(graph)))


def http_of(scenario: Scenario) -> Http:
    """The HTTP version that a browser has to use.

    Raises
    ------
    LoadpathError
        No browser of today speaks the scenario's version.
    """
    version = scenario_values(scenario)["http"]["version"]
    try:
        return _HTTP[version]
    except KeyError:
        raise hinted(
            LoadpathError(f"http.version = {version}: no browser speaks it"),
            "--http h1, h2 or h3",
        ) from None


def served_by_origin(page: ArchivedPage, scenario: Scenario) -> Serve:
    """A replay server for a page, as the scenario wants it."""

    def serve(link: Link) -> AbstractContextManager[WebServer]:
        from loadpath.testbed.origin import OriginSettings, start_origin

        values = scenario_values(scenario)
        settings = OriginSettings(
            archive=page.archive,
            http=http_of(scenario),
            server_model=values["server"]["model"],
        )
        return start_origin(settings, link)

    return serve
