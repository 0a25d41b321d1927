"""HTML documents whose text was not recorded: only where the parser found something is known.

Such a document is a text of blanks with tags at the known lines and columns, so that the graph
builder can cut it into chunks in the right order. The tags say what was requested, no more.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from loadpath.graphs.build.html import Source, Tag

__all__ = ["Mark", "SkeletonSource"]

MAX_LINES = 10_000_000
"""More lines than any document has; positions beyond are damaged."""
MAX_TEXT = 1 << 26
"""Longest made-up text; what is beyond shares its end."""


@dataclass(frozen=True)
class Mark:
    """A start tag that ends at a line and column, both from 1."""

    line: int
    column: int
    name: str
    url: str = ""
    attributes: tuple[tuple[str, str], ...] = field(default=())


class _MarkedTag(Tag):
    """A tag that is known by the URLs that were requested for it."""

    __slots__ = ("known",)

    def __init__(self, name: str, attributes: dict[str, str], start: int, end: int) -> None:
        super().__init__(name, attributes, start, end)
        self.known: list[str] = []

    def urls(self, base: str) -> list[str]:
        """The absolute URLs that were requested for the tag."""
        return self.known


class SkeletonSource(Source):
    """A document of a known length with tags at known positions.

    Parameters
    ----------
    url
        The document's.
    size
        Bytes of its text, 0 if unknown; positions may prove it longer.
    marks
        Tags; several at one position become one.
    """

    def __init__(self, url: str, size: int, marks: Iterable[Mark]) -> None:
        super().__init__("", url)
        valid = [m for m in marks if 1 <= m.line <= MAX_LINES and 1 <= m.column <= MAX_TEXT]
        valid.sort(key=lambda mark: (mark.line, mark.column))
        self._lines = _line_starts(valid, min(size, MAX_TEXT))
        widths = self._lines[-1] + (valid[-1].column if valid else 0)
        self.text = " " * max(min(size, MAX_TEXT), widths, 1)
        self.tags = []
        tags: dict[int, _MarkedTag] = {}
        for mark in valid:
            end = self._lines[mark.line - 1] + mark.column - 1
            tag = tags.get(end)
            if tag is None:
                before = self.tags[-1].end if self.tags else 0
                tag = _MarkedTag(mark.name, dict(mark.attributes), before, end)
                self.tags.append(tag)
                tags[end] = tag
            if mark.url:
                tag.known.append(mark.url)
        ends = [tag.end for tag in self.tags[1:]] + [len(self.text) + 1]
        for script, following in zip(self.tags, ends, strict=False):
            if script.name == "script":
                # Where the element ends is unknown: behind its tag, before the next tag's end.
                script.close = max(script.end, min(script.end + 1, following - 1))
        self._by_end = {tag.end: tag for tag in self.tags}


def _line_starts(marks: list[Mark], size: int) -> list[int]:
    """Where lines start: each as long as its marks demand, the rest of the size shared out."""
    if not marks:
        return [0]
    count = marks[-1].line
    widest: dict[int, int] = {}
    for mark in marks:
        widest[mark.line] = max(widest.get(mark.line, 0), mark.column)
    known = sum(widest.values())
    others = max(1, count - len(widest))
    share = max(1, (size - known) // others) if size > known else 1
    starts, at = [], 0
    for line in range(1, count + 1):
        starts.append(at)
        at += widest.get(line, share)
    return starts
