"""Changed pages: page graph in, page graph out (`loadpath_web::transform` in the engine).

A transform is text, as `unshard` or `cut-bytes:image:30`; `loadpath transform` lists them.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from loadpath import _core
from loadpath._core import Page
from loadpath.errors import NotFoundError, hinted
from loadpath.output import write_atomic
from loadpath.pages import read_page

__all__ = [
    "AS_IT_IS",
    "changed_graph",
    "transform_file",
    "transform_forms",
    "transformed",
    "write_transformed",
]


AS_IT_IS = "none"
"""What stands in lists of transforms for a page that is not changed."""


class _Head(msgspec.Struct):
    """What a page graph says about other files."""

    server_delay_file: str | None = None


def transform_forms() -> list[tuple[str, str]]:
    """Text form and meaning of each transform."""
    return _core.transform_forms()


def transformed(page: Page, transforms: Iterable[str]) -> Page:
    """The page after all transforms, in their order.

    Raises
    ------
    TransformError
        There is no such transform, or it does not fit the page.
    """
    for transform in transforms:
        page = page.transformed(transform)
    return page


def changed_graph(graph: bytes, transforms: Iterable[str], origin: str) -> bytes:
    """A page graph's JSON after all transforms; `origin` names it in errors.

    Raises
    ------
    GraphError, TransformError
        It is not a page graph, or cannot be changed like this.
    """
    for transform in transforms:
        graph = _core.transform_graph(graph, transform, origin)
    return graph


def transform_file(source: str | Path, transforms: Iterable[str]) -> tuple[bytes, Path | None]:
    """A page graph after all transforms, and the server-delay file that it needs beside it.

    Raises
    ------
    NotFoundError
        There is no such page, or not the server-delay file that it names.
    GraphError, TransformError
        It is not a page graph, or cannot be changed like this.
    """
    graph, origin, folder = read_page(source)
    graph = changed_graph(graph, transforms, origin)
    name = msgspec.json.decode(graph, type=_Head).server_delay_file
    if name is None:
        return graph, None
    delays = Path(str(folder)) / name
    if not delays.is_file():
        raise NotFoundError(f"{origin}: server_delay_file: there is no {name} beside it")
    return graph, delays


def write_transformed(
    source: str | Path, transforms: Iterable[str], output: Path, *, force: bool = False
) -> None:
    """Write a changed page graph, with the server-delay file that it names beside it.

    Raises
    ------
    LoadpathError
        As `transform_file`; the output exists, or cannot be written; a different server-delay file
        of that name is there.
    """
    graph, delays = transform_file(source, transforms)
    if delays is not None:
        copy, content = output.parent / delays.name, delays.read_bytes()
        if not copy.exists():
            write_atomic(copy, content)
        elif copy.read_bytes() != content:
            raise hinted(
                NotFoundError(f"{copy} is not the {delays.name} of {source}"),
                "page graphs name their server delays by a file in their own folder: write into "
                "another one",
            )
    write_atomic(output, graph, force=force)
