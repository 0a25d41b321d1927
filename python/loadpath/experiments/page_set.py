"""Lists of pages for experiments."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from loadpath._core import Page
from loadpath.pages import load_graph
from loadpath.transforms import AS_IT_IS

__all__ = ["PageSet"]


@dataclass(frozen=True)
class PageSet:
    """Pages by their files; nothing is read before it is needed."""

    files: tuple[tuple[str, str], ...]
    """What finds each page again (`pages.include` of a sweep), and what `load_graph` reads."""
    transform: str = AS_IT_IS
    """What is done to each page (`loadpath.transforms`)."""

    @classmethod
    def load(cls, files: Sequence[str | Path]) -> "PageSet":
        """Of page graphs: files, or `example:NAME`."""
        return cls(tuple((str(file), str(file)) for file in files))

    def __len__(self) -> int:
        return len(self.files)

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        """The pages, read, transformed and compiled."""
        pages = (load_graph(file) for _, file in self.files)
        if self.transform == AS_IT_IS:
            return tuple(pages)
        return tuple(page.transformed(self.transform) for page in pages)

    def after(self, transform: str) -> "PageSet":
        """The same pages after a transform."""
        return replace(self, transform=transform)

    def first(self, count: int) -> "PageSet":
        """So many of them, evenly from all; all if there are no more."""
        if count >= len(self.files):
            return self
        files = (self.files[i * len(self.files) // count] for i in range(count))
        return replace(self, files=tuple(files))

    def named(self, *patterns: str) -> "PageSet":
        """Those whose name (of the file, or behind the colon of the source) matches a glob."""

        def name(source: str) -> str:
            return Path(source).name.rpartition(":")[2].removesuffix(".json")

        found = (
            pair
            for pair in self.files
            if any(fnmatchcase(name(pair[0]), pattern) for pattern in patterns)
        )
        return replace(self, files=tuple(found))
