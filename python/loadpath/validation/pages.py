"""The pages of a validation: what is served, and what is simulated."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadpath._core import Page
from loadpath.parameters import resolve_scenario
from loadpath.sources import open_page
from loadpath.testbed.load import Http, Load
from loadpath.testbed.pages import ArchivedPage, Serve, archived, served_by_origin
from loadpath.validation.cells import SIMULATED_HTTP

__all__ = ["ValidationPage", "tls_keys", "validation_pages"]

Keys = Mapping[str, object]


@dataclass(frozen=True)
class ValidationPage:
    """A page in both worlds."""

    name: str
    digest: str
    """Of what is served."""
    server: str
    """Kind of server, for the store."""
    graph: Callable[[Http], Page]
    """What is simulated for a protocol."""
    serve: Callable[[Http], Serve]
    """What is loaded by a protocol."""
    server_keys: Callable[[Http], Keys] = lambda http: {}
    """What is known of the server in scenarios."""
    profile: Callable[[Http], Path | None] = lambda http: None
    """Folder of the profile behind the graph, if there is one."""


@contextmanager
def validation_pages(sources: Sequence[str]) -> Iterator[list[ValidationPage]]:
    """Pages of profiles, HAR files or page graphs, replayed by the origin server.

    Raises
    ------
    LoadpathError
        A page cannot be served, or there is no graph of it.
    """
    with ExitStack() as stack:
        yield [_page(source, stack.enter_context(archived(source))) for source in sources]


def _page(source: str, found: ArchivedPage) -> ValidationPage:
    graph = open_page(source).page

    def serve(http: Http) -> Serve:
        return served_by_origin(
            found, resolve_scenario({"profile": "linux", "http": SIMULATED_HTTP[http]})
        )

    folder = Path(source) if Path(source).is_dir() else None
    return ValidationPage(
        name=found.name,
        digest=found.digest,
        server="origin",
        graph=lambda http: graph,
        serve=serve,
        server_keys=origin_keys,
        profile=lambda http: folder,
    )


def origin_keys(http: Http) -> Keys:
    """How the origin server writes: the `h2` crate's HEADERS frames leave before their DATA."""
    return {"server.headers_apart": True} if http == "h2" else {}


def tls_keys(probe: Load | None) -> Keys:
    """Scenario keys for the TLS handshakes of a load that recorded them.

    What the server's flight has more than in a resumed handshake counts as its certificates.
    """
    if probe is None:
        return {}
    if not any(each.url.startswith("https:") and each.connection for each in probe.requests):
        return {"http.tls": "none"}
    full = [each for each in probe.tls if not each.resumed]
    resumed = [each for each in probe.tls if each.resumed]
    if not full:
        return {"http.tls": "1.3"}
    all_bytes = full[0].server_flight_bytes
    hello_bytes = resumed[0].server_flight_bytes if resumed else all_bytes
    return {
        "http.tls": "1.3",
        "http.tls_client_hello_bytes": full[0].client_hello_bytes,
        "http.tls_server_hello_bytes": min(hello_bytes, all_bytes),
        "http.tls_certificate_bytes": max(0, all_bytes - hello_bytes),
    }
