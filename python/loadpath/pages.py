"""Finding and reading page graphs."""

from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import msgspec

from loadpath._core import Page, ServerDelays
from loadpath.errors import GraphError, NotFoundError, hinted

__all__ = [
    "EXAMPLE_PREFIX",
    "Example",
    "example_names",
    "examples",
    "find_pages",
    "load_graph",
    "read_delays",
    "read_page",
]

EXAMPLE_PREFIX = "example:"
DELAYS_SUFFIX = "server-delays.json"
"""End of the names of server-delay files."""


def _examples() -> Traversable:
    return resources.files("loadpath.examples") / "pages"


class Example(msgspec.Struct, frozen=True):
    """An entry of the index of example pages."""

    name: str
    title: str
    source: str
    resources: int
    bytes: int
    hosts: int


def examples() -> list[Example]:
    """The pages that ship with the package."""
    return msgspec.json.decode((_examples() / "index.json").read_bytes(), type=list[Example])


def example_names() -> list[str]:
    """Names of the pages that ship with the package."""
    return [example.name for example in examples()]


def load_graph(source: str | Path) -> Page:
    """Read a page graph from a file, or one that ships with the package from "example:NAME".

    The server-delay file that the graph names is read from the graph's own folder.

    Raises
    ------
    NotFoundError
        There is no such file or example.
    GraphError
        It is not a page graph, or one that cannot be loaded.
    """
    data, origin, folder = read_page(source)
    page = Page.from_json(data, origin)
    if page.server_delay_file is None:
        return page
    name = page.server_delay_file
    data = read_delays(folder, name, origin)
    return page.with_server_delays(_parse_server_delays(data, f"{folder}/{name}"))


def read_delays(folder: Path | Traversable, name: str, origin: str) -> bytes:
    """Content of the server-delay file `name` that the graph `origin` in `folder` refers to."""
    file = folder / name
    if not file.is_file():
        raise GraphError(f"{origin}: server_delay_file: there is no {name} beside it")
    return file.read_bytes()


@lru_cache(maxsize=4)
def _parse_server_delays(data: bytes, origin: str) -> ServerDelays:
    """Parsed once for the pages of a folder that share it."""
    return ServerDelays.from_json(data, origin)


def find_pages(sources: Iterable[str | Path]) -> list[str]:
    """Each source that is a folder replaced by the page graphs in it, by name."""
    found: list[str] = []
    for source in map(str, sources):
        if source.startswith(EXAMPLE_PREFIX) or not Path(source).is_dir():
            found.append(source)
            continue
        pages = sorted(str(path) for path in Path(source).glob("*.json") if _is_page(path))
        if not pages:
            raise NotFoundError(f"there are no page graphs (*.json) in {source}")
        found += pages
    return found


def _is_page(path: Path) -> bool:
    """Not the index and the server delays that lie beside the graphs."""
    return path.name != "index.json" and not path.name.endswith(DELAYS_SUFFIX)


def read_page(source: str | Path) -> tuple[bytes, str, Path | Traversable]:
    """Content of a page graph's file, a name for it in errors, and the folder that it is in."""
    name = str(source)
    if name.startswith(EXAMPLE_PREFIX):
        file = _examples() / f"{name.removeprefix(EXAMPLE_PREFIX)}.json"
        if not file.is_file():
            raise hinted(
                NotFoundError(f"there is no example page {name!r}"),
                "the examples are " + ", ".join(example_names()),
            )
        return file.read_bytes(), name, _examples()
    path = Path(source)
    try:
        return path.read_bytes(), name, path.parent
    except FileNotFoundError:
        raise hinted(
            NotFoundError(f"there is no page graph {name}"),
            "`loadpath simulate example:NAME` loads a page that ships with Loadpath, and "
            "`loadpath profiles --pages` lists them",
        ) from None
    except OSError as error:
        raise GraphError(f"cannot read {name}: {error.strerror}") from error
