"""The page corpus as experiments use it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from loadpath.errors import CorpusError, hinted
from loadpath.experiments.page_set import PageSet
from loadpath.graphs.importer import import_corpus

__all__ = ["Corpus", "CorpusEntry", "open_corpus", "open_corpus_folder"]


class CorpusEntry(msgspec.Struct, frozen=True):
    """A page in the index of an imported corpus."""

    file: str
    no_sharding: bool
    """It does not spread over several hosts of one site (thesis section 5.2)."""


@dataclass(frozen=True)
class Corpus:
    """All pages, and those that spread over several hosts of one site (thesis section 5.2)."""

    all_pages: PageSet
    sharded: PageSet


@contextmanager
def open_corpus(folder: Path | None) -> Iterator[Corpus]:
    """The corpus in `folder`: as published, or as `loadpath import` wrote it.

    Raises
    ------
    CorpusError
        There is no corpus in that folder.
    """
    with open_corpus_folder(folder) as (imported, entries):
        yield _corpus(imported, entries)


@contextmanager
def open_corpus_folder(folder: Path | None) -> Iterator[tuple[Path, list[CorpusEntry]]]:
    """As `open_corpus`: the imported folder and its index, no page read yet.

    Raises
    ------
    CorpusError
        There is no corpus in that folder.
    """
    if folder is None:
        raise hinted(
            CorpusError("this experiment needs the page corpus"),
            "name its folder with --corpus or LOADPATH_CORPUS",
        )
    imported = _imported(folder)
    if imported is not None:
        yield folder, imported
        return
    with tempfile.TemporaryDirectory(prefix="loadpath-corpus-") as scratch:
        output = Path(scratch) / "corpus"
        import_corpus(folder, output)
        yield output, _imported(output) or []


def _imported(folder: Path) -> list[CorpusEntry] | None:
    """The index of an imported corpus; `None` if the folder is not one."""
    try:
        return msgspec.json.decode((folder / "index.json").read_bytes(), type=list[CorpusEntry])
    except (OSError, msgspec.ValidationError):
        return None


def _corpus(folder: Path, entries: list[CorpusEntry]) -> Corpus:
    def pages(chosen: list[CorpusEntry]) -> PageSet:
        return PageSet(tuple((f"corpus:{Path(e.file).stem}", str(folder / e.file)) for e in chosen))

    return Corpus(pages(entries), pages([entry for entry in entries if not entry.no_sharding]))
