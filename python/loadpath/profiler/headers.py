"""How long the headers of requests and responses are, as HTTP/1.1 writes them (RFC 9112).

The archive of a profile has what was sent, whatever the version: pseudo-headers of HTTP/2 become
the start line and Host. What redaction took out of an archive is missing here, too.

>>> request_header_bytes("GET", "https://a.test/x?y", [(":path", "/x?y"), ("accept", "*/*")])
72
>>> response_header_bytes(404, [("content-length", "0")])
45
"""

from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from loadpath.errors import LoadpathError
from loadpath.profiler.delays import Key, keyed_resources, request_keys

__all__ = [
    "apply_header_sizes",
    "header_sizes",
    "request_header_bytes",
    "response_header_bytes",
]

Headers = Iterable[tuple[str, str]]

_ENDS = len("\r\n")


def request_header_bytes(method: str, url: str, headers: Headers) -> int:
    """Bytes of a request's start line and headers; browsers ask HTTP/1.1 to keep connections."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fields = {"host": parts.netloc, "connection": "keep-alive"} | _fields(headers)
    return len(f"{method} {target} HTTP/1.1\r\n".encode()) + _block_bytes(fields)


def response_header_bytes(status: int, headers: Headers) -> int:
    """Bytes of a response's start line and headers."""
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    return len(f"HTTP/1.1 {status} {phrase}\r\n") + _block_bytes(_fields(headers))


def header_sizes(archive: Path) -> dict[Key, tuple[int, int]]:
    """Bytes of the header blocks of the requests and responses of an archive, of those that have
    both.

    Raises
    ------
    LoadpathError
        It is no archive.
    """
    try:
        entries = msgspec.json.decode(archive.read_bytes(), type=_Archive).log.entries
    except OSError as error:
        raise LoadpathError(f"cannot read {archive}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise LoadpathError(f"{archive}: not a page archive: {error}") from error
    keys = request_keys((entry.request.url, entry.request.method) for entry in entries)
    found = {}
    for key, entry in zip(keys, entries, strict=True):
        request, response = entry.request, entry.response
        if request.headers and response.headers:
            found[key] = (
                request_header_bytes(request.method, request.url, _pairs(request.headers)),
                response_header_bytes(response.status, _pairs(response.headers)),
            )
    return found


def apply_header_sizes(graph: dict[str, Any], sizes: dict[Key, tuple[int, int]]) -> None:
    """Give the resources of a page graph (as JSON values) the sizes of their headers."""
    for key, resource in keyed_resources(graph):
        known = sizes.get(key)
        if known is not None and "original" not in resource and not resource.get("cached"):
            resource["request_header_bytes"], resource["response_header_bytes"] = known


def _fields(headers: Headers) -> dict[str, str]:
    """Headers by name; what a name has several times takes a line each, like one with line ends."""
    fields: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if not key.startswith(":"):
            before = fields.get(key)
            fields[key] = value if before is None else f"{before}\n{value}"
    return fields


def _block_bytes(fields: dict[str, str]) -> int:
    lines = (f"{name}: {line}" for name, lines in fields.items() for line in lines.split("\n"))
    return sum(len(line.encode()) + _ENDS for line in lines) + _ENDS


class _Header(msgspec.Struct):
    name: str
    value: str


class _Request(msgspec.Struct):
    method: str
    url: str
    headers: list[_Header] = []


class _Response(msgspec.Struct):
    status: int = 0
    headers: list[_Header] = []


class _Entry(msgspec.Struct):
    request: _Request
    response: _Response


class _Log(msgspec.Struct):
    entries: list[_Entry]


class _Archive(msgspec.Struct):
    log: _Log


def _pairs(headers: list[_Header]) -> Headers:
    return ((each.name, each.value) for each in headers)
