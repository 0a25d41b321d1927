"""The pages and their true graphs; positions in their sources."""

import re
from pathlib import Path

import msgspec

from loadpath.graphs.canonical import CanonicalGraph, parse_text, transitive_reduction

__all__ = ["PAGES", "Page", "as_seen", "load_page", "page_names", "position_after", "text_before"]

PAGES = Path(__file__).resolve().parent / "pages"


class Page(msgspec.Struct, frozen=True):
    """A page of the site."""

    name: str
    folder: Path
    description: str
    graph: CanonicalGraph
    seen: dict[str, str]
    """Nodes that a trace shows as another one, or as part of it."""
    secure_only: bool
    """Needs a secure context: not to be loaded in the clear."""


def as_seen(page: Page) -> CanonicalGraph:
    """The page's graph with nodes that no trace tells apart made one."""
    merged: dict[str, set[str]] = {}
    for node, parents in page.graph.items():
        name = page.seen.get(node, node)
        merged.setdefault(name, set()).update(page.seen.get(parent, parent) for parent in parents)
    for name in merged:
        merged[name].discard(name)
    return {node: frozenset(found) for node, found in transitive_reduction(merged).items()}


def page_names() -> list[str]:
    """Names of all pages, sorted."""
    return sorted(path.name for path in PAGES.iterdir() if path.is_dir())


def load_page(name: str) -> Page:
    """A page with its graph; the leading comment of `graph.txt` is its description."""
    path = PAGES / name / "graph.txt"
    text = path.read_text()
    seen = dict(re.findall(r"^seen (.+) as (.+)$", text, re.MULTILINE))
    text = re.sub(r"^seen .*\n", "", text, flags=re.MULTILINE)
    comments = re.match(r"(?:#.*\n)*", text)
    description = " ".join(
        line.lstrip("# ") for line in (comments.group() if comments else "").splitlines()
    )
    return Page(
        name=name,
        folder=path.parent,
        description=description,
        graph=parse_text(text, str(path)),
        seen=seen,
        secure_only="[https only]" in description,
    )


def position_after(source: str, offset: int) -> tuple[int, int]:
    """Line and column, from 1, of a place in a source; columns count UTF-16 code units."""
    line = source[:offset].rpartition("\n")[2]
    return source.count("\n", 0, offset) + 1, len(line.encode("utf-16-le")) // 2 + 1


def text_before(source: str, line: int, column: int) -> str:
    """What stands before a position: all of the source up to there."""
    lines = source.split("\n")
    units = lines[line - 1].encode("utf-16-le")[: 2 * (column - 1)]
    return "\n".join([*lines[: line - 1], units.decode("utf-16-le")])
