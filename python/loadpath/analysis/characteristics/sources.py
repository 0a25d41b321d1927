"""Reading what a page's characteristics come from: graphs, recordings of other tools, profiles."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from loadpath._core import AdFilters
from loadpath.analysis.characteristics.caching import lifetime_s
from loadpath.errors import LoadpathError, NotFoundError, hinted
from loadpath.experiments.corpus import open_corpus_folder
from loadpath.graphs.build.profile import build_profile
from loadpath.graphs.graph import Graph, read_graph
from loadpath.graphs.har_file import PageRecord, read_har
from loadpath.graphs.recordings import FileKind, import_recording, recognise
from loadpath.pages import EXAMPLE_PREFIX, find_pages
from loadpath.profiler.delays import server_delays
from loadpath.profiler.manifest import ARCHIVE_FILE, MANIFEST_FILE

__all__ = ["Source", "read_filters", "read_sources"]


@dataclass(frozen=True)
class Source:
    """A page graph, and what its recording knows beside it.

    Attributes
    ----------
    rtts_ms
        By host: least round-trip time and how it was measured.
    headers
        URL, MIME type and stated lifetime (s) of each response; `None` without headers.
    """

    graph: Graph
    rtts_ms: Mapping[str, tuple[float, str]] | None = None
    headers: Sequence[tuple[str, str, float | None]] | None = None


def read_sources(pages: Iterable[str | Path]) -> Iterator[Source]:
    """Each page in turn.

    Parameters
    ----------
    pages
        Page graphs ("example:NAME" too), HAR files and DevTools traces, folders that `loadpath
        profile` made, folders of page graphs, corpora as published or imported.

    Raises
    ------
    NotFoundError, GraphError, LoadpathError
        Something is no such thing; what it is, and where.
    """
    for page in map(str, pages):
        path = Path(page)
        if page.startswith(EXAMPLE_PREFIX) or not path.exists():
            yield Source(read_graph(page))
        elif (path / MANIFEST_FILE).is_file():
            yield _profile(path)
        elif path.is_dir():
            yield from _folder(path)
        else:
            yield from _file(path)


def read_filters(lists: Sequence[Path]) -> AdFilters | None:
    """Filter lists in the syntax of EasyList; `None` without any.

    Raises
    ------
    LoadpathError
        A list cannot be read, is no text, or is a web page.
    """
    texts = []
    for path in lists:
        try:
            text = path.read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise LoadpathError(f"cannot read the filter list {path}: {error}") from None
        if text.lstrip()[:1] == "<" or not text.strip():
            raise hinted(
                LoadpathError(f"{path}: not a filter list"),
                "EasyList's are plain text with a rule a line, such as ||ads.example^",
            )
        texts.append(text)
    return AdFilters(texts) if texts else None


def _folder(path: Path) -> Iterator[Source]:
    if (path / "index.json").is_file() or (path / "dependency_graphs").is_dir():
        with open_corpus_folder(path) as (folder, entries):
            for entry in entries:
                yield Source(read_graph(folder / entry.file))
        return
    profiles = sorted(manifest.parent for manifest in path.glob(f"*/{MANIFEST_FILE}"))
    try:
        files = find_pages([path])
    except NotFoundError:
        if not profiles:
            raise
        files = []
    for file in files:
        yield from _file(Path(file))
    for profile in profiles:
        yield _profile(profile)


def _file(path: Path) -> Iterator[Source]:
    if _is_page_graph(path):
        yield Source(read_graph(path))
        return
    if recognise(path) is not FileKind.HAR:
        data, _ = import_recording(path)
        yield Source(Graph.from_json(data, str(path)))
        return
    har = read_har(path)
    for number, record in enumerate(har.pages, 1):
        if record.entries:
            data, _ = import_recording(path, page=str(number))
            graph = Graph.from_json(data, f"{path}: page {number}")
            yield Source(graph, _connect_times(record), list(_lifetimes(record)))


def _is_page_graph(path: Path) -> bool:
    class Head(msgspec.Struct):
        format: str = ""

    try:
        return msgspec.json.decode(path.read_bytes(), type=Head).format == "loadpath-page-graph"
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False


def _profile(folder: Path) -> Source:
    graph, _ = build_profile(folder)
    rtts_ms = {
        host.host: (host.rtt_ms, host.rtt_source or "")
        for host in server_delays(folder).hosts
        if host.rtt_ms is not None
    }
    archive = folder / ARCHIVE_FILE
    record = read_har(archive).page(None, archive)
    data = msgspec.json.encode(graph)
    return Source(Graph.from_json(data, str(folder)), rtts_ms, list(_lifetimes(record)))


def _lifetimes(record: PageRecord) -> Iterator[tuple[str, str, float | None]]:
    """Of complete, successful responses to GET over the network: what a cache can store."""
    for entry in record.entries:
        if entry.response_headers and _is_stored(entry.method, entry.status):
            if not entry.from_cache and entry.url.startswith(("http:", "https:")):
                yield entry.url, entry.mime_type, lifetime_s(entry.response_headers)


def _is_stored(method: str, status: int) -> bool:
    # Redirects and errors have lifetimes of their own kind; section 3.7.5 counts resources.
    return method == "GET" and 200 <= status < 300 and status != 206


def _connect_times(record: PageRecord) -> dict[str, tuple[float, str]]:
    """Least TCP handshake of each host, from the timings of the file."""
    found: dict[str, float] = {}
    for entry in record.entries:
        if entry.connect_ms:
            host = entry.host.rpartition("@")[2].lower()
            host = host.rsplit(":", 1)[0] if host.rsplit(":", 1)[-1].isdecimal() else host
            found[host] = min(entry.connect_ms, found.get(host, entry.connect_ms))
    return {host: (rtt_ms, "connect") for host, rtt_ms in found.items()}
