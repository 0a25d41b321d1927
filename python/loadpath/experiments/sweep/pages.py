"""The pages of a sweep: found by globs, known by their content.

A source is `example:GLOB` (pages that ship with Loadpath), `corpus:GLOB` (names of pages in the
corpus), a path or glob of page graphs, or a folder of them.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from loadpath._core import Page
from loadpath.errors import CorpusError, NotFoundError, SpecificationError, hinted
from loadpath.experiments.corpus import CorpusEntry, open_corpus_folder
from loadpath.experiments.sweep.specification import PageSelection
from loadpath.pages import EXAMPLE_PREFIX, example_names, find_pages, load_graph, read_page
from loadpath.transforms import AS_IT_IS

__all__ = ["CORPUS_PREFIX", "PlannedPage", "open_pages", "plan_page"]

CORPUS_PREFIX = "corpus:"
DIGEST_LENGTH = 32
"""Hexadecimal digits of the digests that name contents: 128 bits."""


@dataclass(frozen=True, slots=True)
class PlannedPage:
    """A page of a plan, after a transform."""

    name: str
    source: str
    """What finds it again."""
    file: str
    """What `load_graph` reads."""
    digest: str
    """Of the graph's file and its server delays."""
    transform: str = AS_IT_IS

    @property
    def identity(self) -> str:
        """Digest of what is loaded."""
        if self.transform == AS_IT_IS:
            return self.digest
        text = f"{self.digest} {self.transform}"
        return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]

    def load(self) -> Page:
        """Read, transform and compile it."""
        return self.after_transform(load_graph(self.file))

    def after_transform(self, page: Page) -> Page:
        """The page as it is loaded, from the page as it was read."""
        return page if self.transform == AS_IT_IS else page.transformed(self.transform)


@contextmanager
def open_pages(
    selection: PageSelection, folder: Path, corpus: Path | None
) -> Iterator[tuple[PlannedPage, ...]]:
    """The selected pages in order of their sources, each after every transform of the selection.

    A corpus as published is imported meanwhile.

    Parameters
    ----------
    selection
        What the specification says.
    folder
        What relative paths start from.
    corpus
        The corpus, if the selection does not name its own.

    Raises
    ------
    NotFoundError
        A source finds nothing.
    SpecificationError
        Two pages have the same name, or a page is not what it was.
    TransformError
        There is no such transform, or it does not fit a page.
    """
    if not any(source.startswith(CORPUS_PREFIX) for source in selection.include):
        if selection.sharded is not None:
            raise hinted(
                SpecificationError("pages.sharded: only pages of the corpus are known as sharded"),
                "select them by corpus:GLOB",
            )
        yield _select(selection, folder, None, {})
        return
    with open_corpus_folder(selection.corpus or corpus) as (corpus_folder, entries):
        by_name = {Path(entry.file).stem: entry for entry in entries}
        yield _select(selection, folder, corpus_folder, by_name)


def _select(
    selection: PageSelection,
    folder: Path,
    corpus: Path | None,
    entries: dict[str, CorpusEntry],
) -> tuple[PlannedPage, ...]:
    if selection.sharded is not None:
        wanted = selection.sharded
        entries = {name: e for name, e in entries.items() if e.no_sharding != wanted}
    files: dict[str, str] = {}
    for source in selection.include:
        files |= _find(source, folder, corpus, entries)
    expected = dict(selection.digests)
    pages: dict[str, list[PlannedPage]] = {}
    for source, file in files.items():
        page = load_graph(file)
        if any(fnmatchcase(page.name, pattern) for pattern in selection.exclude):
            continue
        if selection.min_resources is not None and page.resources < selection.min_resources:
            continue
        if selection.max_resources is not None and page.resources > selection.max_resources:
            continue
        if page.name in pages:
            raise hinted(
                SpecificationError(
                    f"{source} and {pages[page.name][0].source} are both named {page.name!r}"
                ),
                "results go by the name of a page: rename one, or exclude it",
            )
        digest = _digest(file, page)
        if expected.get(page.name, digest) != digest:
            raise hinted(
                SpecificationError(f"{source} has changed since the plan was made"),
                "without [pages.digests] the page is taken as it is now",
            )
        pages[page.name] = list(
            _variants(PlannedPage(page.name, source, file, digest), page, selection)
        )
        if len(pages) == selection.first:
            break
    missing = sorted(expected.keys() - pages.keys())
    if missing:
        raise NotFoundError(f"pages of the plan are missing: {', '.join(missing)}")
    if not pages:
        raise hinted(
            SpecificationError("pages: nothing is left after exclude and the other filters"),
            f"{len(files)} page graphs were found",
        )
    return tuple(variant for variants in pages.values() for variant in variants)


def _variants(planned: PlannedPage, page: Page, selection: PageSelection) -> Iterator[PlannedPage]:
    for transform in selection.transforms or (AS_IT_IS,):
        variant = replace(planned, transform=transform)
        variant.after_transform(page)  # Now is the time to find that it does not fit.
        yield variant


def _find(
    source: str, folder: Path, corpus: Path | None, entries: dict[str, CorpusEntry]
) -> dict[str, str]:
    """Files by source; a file that is there wins over a glob that looks like it."""
    if source.startswith(EXAMPLE_PREFIX):
        names = _matching(source.removeprefix(EXAMPLE_PREFIX), example_names())
        found = {f"{EXAMPLE_PREFIX}{name}": f"{EXAMPLE_PREFIX}{name}" for name in names}
        hint = "`loadpath profiles --pages` lists the examples"
    elif source.startswith(CORPUS_PREFIX):
        names = _matching(source.removeprefix(CORPUS_PREFIX), list(entries))
        found = {
            f"{CORPUS_PREFIX}{name}": str((corpus or Path()) / entries[name].file) for name in names
        }
        hint = "names in the corpus are those of its index.json"
    else:
        path = (folder / source).absolute()
        root = Path(path.anchor)
        paths = [path] if path.exists() else sorted(root.glob(str(path.relative_to(root))))
        found = {str(Path(file).resolve()): file for file in find_pages(paths)}
        hint = "paths are relative to the specification"
    if not found:
        raise hinted(NotFoundError(f"pages: nothing matches {source!r}"), hint)
    return found


def _matching(pattern: str, names: list[str]) -> list[str]:
    return [pattern] if pattern in names else [n for n in names if fnmatchcase(n, pattern)]


def plan_page(source: str, file: str, transform: str = AS_IT_IS) -> PlannedPage:
    """A page by the file that `load_graph` reads, and what is done to it."""
    page = load_graph(file)
    return PlannedPage(page.name, source, file, _digest(file, page), transform)


def _digest(file: str, page: Page) -> str:
    data, _, folder = read_page(file)
    digest = hashlib.sha256(hashlib.sha256(data).digest())
    if page.server_delay_file is not None:
        digest.update(_file_digest(str(folder), page.server_delay_file))
    return digest.hexdigest()[:DIGEST_LENGTH]


@lru_cache(maxsize=64)
def _file_digest(folder: str, name: str) -> bytes:
    """Once for the pages that share the file."""
    try:
        return hashlib.sha256((Path(folder) / name).read_bytes()).digest()
    except OSError as error:
        raise CorpusError(f"cannot read {folder}/{name}: {error.strerror}") from error
