"""Predictions that may not move silently.

    FOLDER/predictions.json      predicted load times by page, network and protocol
           NAME-HTTP.json.gz     graphs of pages that do not ship with Loadpath

How exact predictions are is kept apart, in the report: a change of the engine moves predictions
whether or not it makes them better, and both have to be seen.
"""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from loadpath._core import Page
from loadpath.errors import LoadpathError
from loadpath.output import write_atomic
from loadpath.pages import EXAMPLE_PREFIX, load_graph
from loadpath.testbed.load import Http
from loadpath.validation.cells import parse_network
from loadpath.validation.predict import predict

__all__ = ["FILE", "Kept", "Moved", "keep", "keep_graph", "moved", "read_kept"]

FILE = "predictions.json"

DIGITS = 3
"""Of milliseconds: a microsecond is what the file shows."""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction that was kept, with all that it depends on but the engine."""

    page: str
    graph: str
    """File in the folder, or "example:NAME"."""
    http: Http
    network: str
    keys: dict[str, Any] = {}
    load_ms: float | None


class Moved(msgspec.Struct, frozen=True):
    """A prediction that is another one now."""

    kept: Kept
    load_ms: float | None

    @property
    def change(self) -> float:
        """As a fraction; infinite if one of both has no end."""
        if self.load_ms is None or not self.kept.load_ms:
            return float("inf")
        return self.load_ms / self.kept.load_ms - 1

    def describe(self) -> str:
        """The change in one line."""
        kept = self.kept
        return (
            f"{kept.page} {kept.http} {kept.network}: {kept.load_ms} ms, now {self.load_ms} ms "
            f"({self.change:+.2%})"
        )


def keep_graph(folder: Path, page: str, http: Http, graph: Page) -> str:
    """Write a page's graph; the name of its file."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{page}-{http}.json.gz"
    write_atomic(folder / name, gzip.compress(graph.to_json(), 9, mtime=0), force=True)
    return name


def keep(folder: Path, predictions: Sequence[Kept]) -> Path:
    """Write the file of predictions, one a line; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(
        msgspec.json.encode(msgspec.structs.replace(each, load_ms=_rounded(each.load_ms))).decode()
        for each in predictions
    )
    write_atomic(folder / FILE, f"[\n{lines}\n]\n", force=True)
    return folder / FILE


def read_kept(folder: Path) -> list[Kept]:
    """The predictions of a folder.

    Raises
    ------
    LoadpathError
        There are none, or the file is damaged.
    """
    path = folder / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Kept])
    except OSError as error:
        raise LoadpathError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise LoadpathError(f"{path}: {error}") from error


def moved(folder: Path, kept: Sequence[Kept]) -> list[Moved]:
    """Predict again; what is different now, largest change first."""
    graphs = {each.graph: _graph(folder, each.graph) for each in kept}
    found = predict(
        [(graphs[each.graph], parse_network(each.network), each.http, each.keys) for each in kept],
        pcp=False,
    )
    changes = [
        Moved(each, _rounded(prediction.load_ms))
        for each, prediction in zip(kept, found, strict=True)
        if _rounded(prediction.load_ms) != each.load_ms
    ]
    return sorted(changes, key=lambda change: -abs(change.change))


def _graph(folder: Path, name: str) -> Page:
    if name.startswith(EXAMPLE_PREFIX):
        return load_graph(name)
    return Page.from_json(gzip.decompress((folder / name).read_bytes()), name)


def _rounded(load_ms: float | None) -> float | None:
    return None if load_ms is None else round(load_ms, DIGITS)
