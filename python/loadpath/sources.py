"""Pages from wherever they are: graphs, recordings of any tool, profiles, corpus pages, URLs."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loadpath._core import Page, ServerDelays
from loadpath.errors import CorpusError, LoadpathError, NotFoundError, hinted
from loadpath.pages import EXAMPLE_PREFIX, load_graph, read_delays, read_page

__all__ = ["CORPUS_PREFIX", "PageSource", "open_page"]

CORPUS_PREFIX = "corpus:"
_GRAPH_MARK = b'"loadpath-page-graph"'
_MARK_WITHIN = 1000
"""Page graphs say what they are in their first lines."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class PageSource:
    """A page that is ready to load.

    Attributes
    ----------
    page
        The page, with its server delays.
    came_from
        What it was made from, for people.
    delays
        Content of the server-delay file that the graph names.
    warnings
        What a recording could not tell.
    """

    page: Page
    came_from: str
    delays: bytes | None = None
    warnings: tuple[str, ...] = ()


def open_page(
    source: str | Path, *, corpus: Path | None = None, progress: Progress | None = None
) -> PageSource:
    """A page from its graph, or from what a graph can be made of.

    Parameters
    ----------
    source
        A page graph or "example:NAME"; a HAR file or DevTools trace; the folder of a profile;
        "corpus:NAME" for a page of the corpus; or a URL, which is profiled (one timing pass).
    corpus
        Folder of the corpus; by default what LOADPATH_CORPUS says.
    progress
        Called with the name of each pass while a URL is profiled.

    Raises
    ------
    LoadpathError
        There is no such page, or it cannot be used.
    """
    name = str(source)
    if name.startswith(("http://", "https://")):
        return _profiled(name, progress)
    if name.startswith(CORPUS_PREFIX):
        return _of_corpus(name.removeprefix(CORPUS_PREFIX), corpus)
    path = Path(name)
    if path.is_dir():
        return _from_profile(path)
    if name.startswith(EXAMPLE_PREFIX) or not path.is_file() or _is_graph(path):
        # Also what does not exist: the error tells of the examples.
        page = load_graph(name)
        _, origin, folder = read_page(name)
        file = page.server_delay_file
        return PageSource(page, name, None if file is None else read_delays(folder, file, origin))
    return _imported(path)


def _is_graph(path: Path) -> bool:
    with path.open("rb") as file:
        return _GRAPH_MARK in file.read(_MARK_WITHIN)


def _imported(path: Path) -> PageSource:
    from loadpath.graphs.recordings import FileKind, import_recording, recognise

    kind = recognise(path)
    if kind == FileKind.CORPUS_GRAPH:
        raise hinted(
            LoadpathError(f"{path} is a graph of the PCP corpus"),
            f"name it {CORPUS_PREFIX}{path.stem}, with LOADPATH_CORPUS set to the corpus folder",
        )
    data, report = import_recording(path)
    page = Page.from_json(data, f"the graph of {path}")
    return PageSource(page, f"{path} ({kind})", warnings=tuple(report.warnings))


def _from_profile(folder: Path) -> PageSource:
    from loadpath.graphs.build.profile import build_profile, graph_text

    graph, summary = build_profile(folder)
    page = Page.from_json(graph_text(graph).encode(), f"the graph of {folder}")
    return PageSource(page, f"profile {folder}", warnings=tuple(summary.warnings))


def _profiled(url: str, progress: Progress | None) -> PageSource:
    from loadpath.profiler import Settings, record_profile

    with tempfile.TemporaryDirectory(prefix="loadpath-profile-") as scratch:
        settings = Settings(runs=1, plain_runs=0)
        folder = Path(scratch) / "profile"
        if progress is None:
            record_profile(url, folder, settings)
        else:
            record_profile(url, folder, settings, progress=progress)
        profiled = _from_profile(folder)
    return PageSource(profiled.page, f"{url}, profiled now", warnings=profiled.warnings)


def _of_corpus(name: str, folder: Path | None) -> PageSource:
    from loadpath.graphs.importer import import_page

    if folder is None and "LOADPATH_CORPUS" in os.environ:
        folder = Path(os.environ["LOADPATH_CORPUS"])
    if folder is None:
        raise hinted(
            CorpusError(f"{CORPUS_PREFIX}{name}: where is the corpus?"),
            "set LOADPATH_CORPUS to its folder",
        )
    if (folder / f"{name}.json").is_file():
        return open_page(folder / f"{name}.json")
    try:
        data, delays = import_page(folder, name)
    except KeyError:
        raise NotFoundError(f"{folder} has no page {name!r}") from None
    page = Page.from_json(data, f"{CORPUS_PREFIX}{name}")
    page = page.with_server_delays(ServerDelays.from_json(delays, f"delays of {folder}"))
    return PageSource(page, f"{CORPUS_PREFIX}{name}", delays)
