"""Importing a recording of another tool: which kind of file it is, and its page graph."""

import gzip
import zlib
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import ijson  # type: ignore[import-untyped]
import msgspec

from loadpath import _core
from loadpath.errors import LoadpathError, hinted
from loadpath.graphs.import_har import import_har
from loadpath.graphs.import_report import ImportReport
from loadpath.graphs.import_trace import import_trace

__all__ = ["FileKind", "ImportReport", "import_recording", "recognise"]

_CORPUS_KEYS = frozenset({"root_activity", "activities", "loadEvent", "DOMContentLoadedEvent"})


class FileKind(StrEnum):
    """What a file holds."""

    HAR = "har"
    TRACE = "trace"
    CORPUS_GRAPH = "corpus graph"


def recognise(path: Path) -> FileKind:
    """What a file holds, by the keys of its JSON, plain or gzip.

    Raises
    ------
    LoadpathError
        It cannot be read, or is nothing that can be imported.
    """
    seen: list[str] = []
    try:
        with _open(path) as file:
            depth = 0
            for event, value in ijson.basic_parse(file):
                if depth == 0 and event == "start_array":
                    return FileKind.TRACE
                depth += event.startswith("start_") - event.startswith("end_")
                if depth != 1 or event != "map_key":
                    continue
                if value == "log":
                    return FileKind.HAR
                if value == "traceEvents":
                    return FileKind.TRACE
                if value in _CORPUS_KEYS:
                    return FileKind.CORPUS_GRAPH
                seen.append(str(value)[:40])
    except (OSError, EOFError, zlib.error) as error:
        raise LoadpathError(f"cannot read {path}: {error}") from None
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise _unknown(path, f"not JSON: {error}") from None
    keys = ", ".join(seen[:8]) or "none"
    raise _unknown(path, f"its JSON has neither log nor traceEvents, but the keys {keys}")


def import_recording(
    path: Path, *, page: str | None = None, waits: bool = True, name: str = ""
) -> tuple[bytes, ImportReport]:
    """The page graph of a HAR or of a DevTools trace, as JSON, and what it could not tell.

    Parameters
    ----------
    path
        A HAR 1.2 file or a trace of DevTools ("Save profile"), plain or gzip.
    page
        Which page of several: number from 1, of a HAR its id or title, too; by default the first.
    waits
        With a HAR: keep the recorded time between what a request waited for and the request.
    name
        Of the graph; by default the host.

    Raises
    ------
    LoadpathError
        The file is of another kind, damaged, or too large.
    NotFoundError
        It has no such page.
    """
    kind = recognise(path)
    graph: dict[str, Any]
    if kind == FileKind.HAR:
        graph, report = import_har(path, page=page, waits=waits, name=name)
    elif kind == FileKind.TRACE:
        graph, report = import_trace(path, page=page, name=name)
    else:
        raise _unknown(path, "a page graph of the PCP corpus")
    data = msgspec.json.format(msgspec.json.encode(graph), indent=1)
    _core.Page.from_json(data, f"the graph of {path}")
    return data + b"\n", report


def _open(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if is_gzip else path.open("rb")  # type: ignore[return-value]


def _unknown(path: Path, what: str) -> LoadpathError:
    return hinted(
        LoadpathError(f"{path}: {what}"),
        "give a HAR 1.2 file, a trace of DevTools (Save profile), or graphs of the PCP corpus",
    )
