"""The manifest of a recorded profile."""

from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from loadpath.errors import LoadpathError, NotFoundError

__all__ = [
    "ARCHIVE_FILE",
    "MANIFEST_FILE",
    "ClockCheck",
    "Manifest",
    "Pass",
    "PassKind",
    "TlsHandshake",
    "read_manifest",
]

MANIFEST_FILE = "manifest.json"
ARCHIVE_FILE = "archive.har"
FORMAT = "loadpath-profile"
VERSION = 1


class PassKind(StrEnum):
    """What a pass is for."""

    STRUCTURE = "structure"
    TIMING = "timing"
    PLAIN = "plain"


class TlsHandshake(msgspec.Struct, kw_only=True):
    """Sizes of one TLS handshake, of its messages without records and packets."""

    address: str
    client_hello_bytes: int
    server_flight_bytes: int
    """All that the server sent until the client could."""
    resumed: bool


class Pass(msgspec.Struct, kw_only=True):
    """One load; times since fetchStart in ms, None where the page never got there."""

    name: str
    kind: PassKind
    status: str
    reason: str | None = None
    started_at: str
    load_ms: float | None = None
    dom_content_loaded_ms: float | None = None
    first_contentful_paint_ms: float | None = None
    requests: int | None = None
    transferred_bytes: int | None = None
    """Of all responses, with their headers as they were on the wire."""
    tls: list[TlsHandshake] = []
    """Of the structure pass; none without its network log, or if that was redacted."""
    warnings: list[str] = []


class ClockCheck(msgspec.Struct, kw_only=True):
    """How far the clocks of trace and network log are from that of DevTools, in ms.

    Compared are navigation starts (trace) and requests (network log); None where not found.
    """

    request: str
    trace_minus_devtools_ms: float | None
    netlog_minus_devtools_ms: float | None


class Manifest(msgspec.Struct, kw_only=True):
    """`manifest.json`."""

    format: str = FORMAT
    version: int = VERSION
    url: str
    status: str
    reason: str | None = None
    loadpath: str
    browser: dict[str, Any]
    settings: dict[str, Any]
    clock: ClockCheck | None = None
    passes: list[Pass]
    traced_over_plain: float | None = None
    warnings: list[str] = []


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a recorded profile.

    Raises
    ------
    NotFoundError
        `folder` is not a profile.
    LoadpathError
        Its manifest is damaged, or of a version that this one does not know.
    """
    path = folder / MANIFEST_FILE
    try:
        text = path.read_bytes()
    except OSError as error:
        raise NotFoundError(f"{folder} is not a recorded profile: no {MANIFEST_FILE}") from error
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except msgspec.DecodeError as error:
        raise LoadpathError(f"{path}: {error}") from error
    if (manifest.format, manifest.version) != (FORMAT, VERSION):
        raise LoadpathError(
            f"{path}: format {manifest.format} {manifest.version}, expected {FORMAT} {VERSION}"
        )
    return manifest
