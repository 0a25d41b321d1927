"""Importing the page graphs that were published with the PCP thesis.

The engine converts text to text; this reads and writes the files. A corpus becomes a folder with a
graph a page, the server-delay file that they share, and `index.json`.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from loadpath import _core
from loadpath.errors import CorpusError, hinted
from loadpath.output import refuse_existing
from loadpath.transforms import changed_graph

if TYPE_CHECKING:
    from loadpath._core import CorpusPage

__all__ = ["SERVER_DELAYS", "ImportSummary", "import_corpus", "import_one", "import_page"]

SERVER_DELAYS = "server-delays.json"

Progress = Callable[[int], object]


class ImportSummary(msgspec.Struct, frozen=True):
    """What was imported; `counts` are sums over the pages, by what was met."""

    pages: int
    counts: dict[str, int]


def import_corpus(
    source: Path,
    output: Path,
    *,
    fetch_late_references: bool = False,
    transforms: Sequence[str] = (),
    progress: Progress | None = None,
) -> ImportSummary:
    """Import all pages of a corpus folder into a new folder, or nothing.

    Parameters
    ----------
    source
        A folder with `index.json`, `graphs`, `delays` and `dist`, or a clone of the public origin
        (github.com/kusoof/alexa_traces).
    output
        The folder to make; it must not exist.
    fetch_late_references
        Fetch, at their place in the load, what the recording served from its cache after the load
        event by fetches that are not part of the load. Otherwise such references cost nothing.
    transforms
        What is changed in each graph (`loadpath.transforms`), in this order. The index describes
        the graphs as they were.
    progress
        Called with the number of finished pages.

    Raises
    ------
    CorpusError
        `source` is no such folder, or a file in it is malformed.
    OutputExistsError
        `output` exists.
    """
    refuse_existing(output, force=False)
    pages, distributions = _find_corpus(source)
    with _new_folder(output) as folder:
        delays = _core.import_distributions(
            [(path.name, _read(path), str(path)) for path in sorted(distributions.glob("*.dist"))]
        )
        (folder.path / SERVER_DELAYS).write_bytes(delays)
        counts: dict[str, int] = {}
        index = []
        # The engine works without the interpreter's lock.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            entries = pool.map(
                lambda page: _import_page(
                    source, page, folder.path, fetch_late_references, transforms
                ),
                pages,
            )
            for done, (entry, report) in enumerate(entries, start=1):
                index.append(entry)
                for name, count in report.items():
                    counts[name] = counts.get(name, 0) + count
                if progress is not None:
                    progress(done)
        (folder.path / "index.json").write_text(json.dumps(index, indent=1) + "\n")
        folder.commit()
    return ImportSummary(pages=len(pages), counts=counts)


def import_one(
    graph: Path,
    output: Path,
    *,
    delays: Path | None = None,
    distributions: Path | None = None,
    fetch_late_references: bool = False,
    transforms: Sequence[str] = (),
) -> ImportSummary:
    """Import one graph into a new folder.

    Parameters
    ----------
    graph
        A graph file of the corpus.
    output
        The folder to make; it must not exist.
    delays
        The delays measured for its page.
    distributions
        The folder with the `.dist` files, for resources without a measured delay.
    fetch_late_references, transforms
        As in `import_corpus`.
    """
    refuse_existing(output, force=False)
    with _new_folder(output) as folder:
        if distributions is not None:
            files = [(p.name, _read(p), str(p)) for p in sorted(distributions.glob("*.dist"))]
            (folder.path / SERVER_DELAYS).write_bytes(_core.import_distributions(files))
        page, _, report = _core.import_graph(
            graph.stem,
            (_read(graph), str(graph)),
            None if delays is None else (_read(delays), str(delays)),
            None if distributions is None else SERVER_DELAYS,
            fetch_late_references,
        )
        page = changed_graph(page, transforms, str(graph))
        (folder.path / f"{graph.stem}.json").write_bytes(page)
        folder.commit()
    return ImportSummary(pages=1, counts=json.loads(report))


def import_page(source: Path, name: str) -> tuple[bytes, bytes]:
    """The graph of one page of a corpus, and the server delays that it refers to.

    Raises
    ------
    CorpusError
        `source` is no such folder, or a file in it is malformed.
    KeyError
        It has no page of that name.
    """
    pages, distributions = _find_corpus(source)
    page = {page["name"]: page for page in pages}[name]
    files = [(p.name, _read(p), str(p)) for p in sorted(distributions.glob("*.dist"))]
    data, _, _ = _convert(source, page, fetch_late_references=False)
    return data, _core.import_distributions(files)


def _find_corpus(source: Path) -> tuple[list["CorpusPage"], Path]:
    """The pages of a corpus in either layout, and its folder of distributions."""
    index = source / "index.json"
    if index.is_file():
        return _core.parse_corpus_index(_read(index), str(index)), source / "dist"
    graphs, _, distributions = _core.origin_folders()
    if (source / graphs).is_dir():
        names = sorted(path.name for path in (source / graphs).iterdir() if path.is_file())
        return _core.pages_in_origin(names), source / distributions
    what = "has neither index.json nor" if source.is_dir() else "is not a folder with index.json or"
    raise hinted(
        CorpusError(f"{source} {what} {graphs}"),
        "give the corpus folder, a clone of github.com/kusoof/alexa_traces, or one graph file",
    )


def _import_page(
    source: Path,
    page: "CorpusPage",
    folder: Path,
    fetch_late_references: bool,
    transforms: Sequence[str],
) -> tuple[dict[str, object], dict[str, int]]:
    data, sharded, report = _convert(source, page, fetch_late_references=fetch_late_references)
    file = f"{page['name']}.json"
    (folder / file).write_bytes(changed_graph(data, transforms, str(source / page["graph"])))
    counts: dict[str, int] = json.loads(report)
    no_sharding = page["no_sharding"]
    entry: dict[str, object] = {
        "name": page["name"],
        "file": file,
        "original_name": page["original_name"],
        "number": page["number"],
        "activities": counts["activities"],
        "resources": counts["resources"],
        "no_sharding": not sharded if no_sharding is None else no_sharding,
    }
    return entry, counts


def _convert(
    source: Path, page: "CorpusPage", *, fetch_late_references: bool
) -> tuple[bytes, bool, bytes]:
    graph, delays = source / page["graph"], source / page["delays"]
    return _core.import_graph(
        page["name"],
        (_read(graph), str(graph)),
        (_read(delays), str(delays)) if delays.is_file() else None,
        SERVER_DELAYS,
        fetch_late_references,
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CorpusError(f"cannot read {path}: {error.strerror}") from error


class _new_folder:  # noqa: N801 (a context manager reads as a function)
    """A folder that gets its name by `commit`, and is removed without."""

    def __init__(self, final: Path) -> None:
        self._final = final
        final.parent.mkdir(parents=True, exist_ok=True)
        self.path = Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))

    def __enter__(self) -> "_new_folder":
        return self

    def commit(self) -> None:
        """Put the folder in its place."""
        self.path.chmod(0o755)
        self.path.rename(self._final)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
