"""Pages as archives that a server can replay: of profiles, of other tools, of page graphs."""

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from loadpath._core import Scenario
from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.graphs import read_graph
from loadpath.pages import EXAMPLE_PREFIX
from loadpath.parameters import scenario_values
from loadpath.profiler.manifest import ARCHIVE_FILE
from loadpath.testbed.link import Link
from loadpath.testbed.load import Http
from loadpath.testbed.loader import WebServer
from loadpath.testbed.origin import OriginSettings, start_origin
from loadpath.testbed.synthetic import synthetic_archive

__all__ = ["ArchivedPage", "Serve", "archived", "http_of", "served_by_origin"]

Serve = Callable[[Link], AbstractContextManager[WebServer]]
"""Starts a page's server at the far end of a link."""

_HTTP: dict[str, Http] = {"http/1.1": "h1", "http/2": "h2", "quic-lite": "h3"}
"""What a real browser speaks of the scenario's HTTP versions."""

_PRIORITIES: dict[str, Literal["none", "client"]] = {
    "none": "none",
    "browser": "client",
    "mime-type": "client",
    "mime-class": "client",
}
"""Chromium's own priorities go by the kind of the resource, too."""


@dataclass(frozen=True)
class ArchivedPage:
    """A page that can be replayed."""

    name: str
    archive: Path
    """HAR file, or the folder of the profile that it is in."""
    digest: str
    """SHA-256 of the HAR file."""


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
        # With the folder, the server knows the delays that the profile measured.
        yield ArchivedPage(path.resolve().name, path, _digest(path / ARCHIVE_FILE))
    elif path.suffix == ".har" and path.is_file():
        yield ArchivedPage(path.stem, path, _digest(path))
    else:
        archive = synthetic_archive(read_graph(name))
        stem = name.removeprefix(EXAMPLE_PREFIX) if name.startswith(EXAMPLE_PREFIX) else path.stem
        with tempfile.TemporaryDirectory(prefix="loadpath-page-") as folder:
            file = Path(folder) / f"{stem}.har"
            file.write_bytes(msgspec.json.encode(archive))
            yield ArchivedPage(stem, file, _digest(file))


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as archive:
            return hashlib.file_digest(archive, "sha256").hexdigest()
    except OSError as error:
        raise LoadpathError(f"cannot read {file}: {error.strerror}") from error


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
    """A replay server for a page, as far as the scenario says what a server does.

    Raises
    ------
    LoadpathError
        The scenario's priorities are none that a browser signals.
    """
    http, values = http_of(scenario), scenario_values(scenario)
    priorities = values["http"]["priorities"]
    if priorities not in _PRIORITIES:
        raise hinted(
            LoadpathError(f"http.priorities = {priorities}: browsers do not signal these"),
            "--priorities browser leaves them to the browser, none does without",
        )
    settings = OriginSettings(
        archive=page.archive,
        http=http,
        # HTTP/2 and HTTP/3 have no form in the clear.
        tls=http != "h1" or values["http"]["tls"] != "none",
        server_model=values["server"]["model"],
        delays="recorded" if values["server"]["delays"] else "none",
        priorities=_PRIORITIES[priorities],
        certificate_bytes=values["http"]["tls_certificate_bytes"],
    )

    def serve(link: Link) -> AbstractContextManager[WebServer]:
        return start_origin(settings, link)

    return serve
