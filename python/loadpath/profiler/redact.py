"""Removing secrets: cookies, authorisation headers, bodies of requests.

Not removed: what the page itself holds (URLs, response bodies), which may be private, too.
"""

import gzip
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from loadpath.errors import LoadpathError, NotFoundError
from loadpath.output import atomic_file
from loadpath.profiler.manifest import ARCHIVE_FILE, read_manifest
from loadpath.profiler.settings import REDACTED

__all__ = ["Redactor", "redact_har", "share_archive"]

SECRET_HEADERS = frozenset(
    {"authorization", "cookie", "cookie2", "proxy-authorization", "set-cookie", "set-cookie2"}
)
"""RFC 6265, RFC 2965, RFC 9110 section 11."""

_DROPPED_KEYS = frozenset(
    {
        "associatedCookies",
        "blockedCookies",
        "exemptedCookies",
        "headersText",
        "postData",
        "postDataEntries",
        "requestHeadersText",
    }
)
"""In DevTools' Network domain: secrets, and headers as they were on the wire."""

_SENT_FRAMES = frozenset({"Network.webSocketFrameSent"})
"""What a page sends over a WebSocket is as private as what it posts."""


class Redactor:
    """Removes secrets from what the profiler writes."""

    def __init__(self, secret_headers: Iterable[str] = ()) -> None:
        """Take further names of headers that are secret, such as those of `--header`."""
        self._secret = SECRET_HEADERS | {name.lower() for name in secret_headers}

    def event(self, method: str, params: bytes | msgspec.Raw) -> bytes | msgspec.Raw:
        """The parameters of a DevTools event, as JSON."""
        if not method.startswith(("Network.", "Fetch.", "Audits.", "Storage.")):
            return params
        value = self._clean(msgspec.json.decode(params))
        if method in _SENT_FRAMES:
            value["response"]["payloadData"] = REDACTED
        return msgspec.json.encode(value)

    def trace(self, path: Path) -> None:
        """A trace in place: Chromium puts response headers into it."""

        def line(text: bytes) -> bytes:
            if b'"headers":' not in text:
                return text
            end = b",\n" if text.rstrip().endswith(b",") else b"\n"
            # Not msgspec: the trace may hold what is not quite UTF-8.
            value = json.loads(text.rstrip().rstrip(b",").decode(errors="replace"))
            return json.dumps(self._clean(value), separators=(",", ":")).encode() + end

        _rewrite(path, line, compressed=True)

    def netlog(self, path: Path, values: Iterable[str]) -> None:
        """A network log in place, in which Chromium left out cookies and authorisation itself."""
        # As they stand in JSON.
        secrets = [msgspec.json.encode(value)[1:-1] for value in values if value]

        def line(text: bytes) -> bytes:
            for secret in secrets:
                text = text.replace(secret, REDACTED.encode())
            return text

        _rewrite(path, line, compressed=False)

    def har_entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry of a HAR."""
        for side in (entry.get("request"), entry.get("response")):
            if isinstance(side, dict):
                side["cookies"] = []
                side["headers"] = self._headers(side.get("headers", []))
        request = entry.get("request")
        if isinstance(request, dict) and isinstance(request.get("postData"), dict):
            request["postData"] = {
                "mimeType": request["postData"].get("mimeType", ""),
                "text": "",
                "comment": REDACTED,
            }
        # What other tools add: raw headers under names of their own, WebSocket messages.
        return {
            key: self._clean(value)
            for key, value in entry.items()
            if key not in ("_webSocketMessages", "_postData")
        }

    def _clean(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._clean(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            key: self._headers(item) if key in ("headers", "requestHeaders") else self._clean(item)
            for key, item in value.items()
            if key not in _DROPPED_KEYS or (key == "postData" and isinstance(item, dict))
        }

    def _headers(self, headers: Any) -> Any:
        if isinstance(headers, dict):
            return {k: v for k, v in headers.items() if k.lower() not in self._secret}
        if isinstance(headers, list):
            return [
                header
                for header in headers
                if not isinstance(header, dict)
                or str(header.get("name", "")).lower() not in self._secret
            ]
        return headers


def redact_har(
    source: Path, target: Path, *, secret_headers: Iterable[str] = (), force: bool = False
) -> None:
    """Copy a HAR without cookies, authorisation headers and bodies of requests.

    An archive of the profiler is copied entry by entry, a HAR of another tool is read whole.

    Raises
    ------
    LoadpathError
        `source` is not a HAR, or `target` exists and is not to be replaced.
    """
    redactor = Redactor(secret_headers)
    try:
        with source.open("rb") as file, atomic_file(target, force=force) as out:
            head = file.readline()
            if head.endswith(b'"entries":[\n'):
                out.write(head)
                for line in file:
                    if not line.startswith(b"{"):
                        out.write(line)
                        continue
                    end = b",\n" if line.endswith(b",\n") else b"\n"
                    entry = msgspec.json.decode(line[: -len(end)])
                    out.write(msgspec.json.encode(redactor.har_entry(entry)) + end)
                return
            har = msgspec.json.decode(head + file.read())
            har["log"]["entries"] = [redactor.har_entry(entry) for entry in har["log"]["entries"]]
            out.write(msgspec.json.encode(har))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no {source}") from error
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError) as error:
        raise LoadpathError(f"{source} is not a HAR: {error}") from error


def share_archive(
    profile: Path, output: Path | None = None, *, with_secrets: bool = False, force: bool = False
) -> Path:
    """Write the page archive of a profile, redacted unless asked otherwise, and say where to.

    By default NAME.har beside the caller. Raises `LoadpathError` as `redact_har` and
    `read_manifest` do.
    """
    manifest = read_manifest(profile)
    source = profile / ARCHIVE_FILE
    target = output or Path(f"{profile.resolve().name}.har")
    if with_secrets:
        with source.open("rb") as file, atomic_file(target, force=force) as out:
            shutil.copyfileobj(file, out)
    else:
        redact_har(source, target, secret_headers=manifest.settings["headers"], force=force)
    return target


def _rewrite(path: Path, line: Callable[[bytes], bytes], *, compressed: bool) -> None:
    temporary = path.with_name(f".{path.name}")
    if compressed:
        with gzip.open(path, "rb") as source, gzip.open(temporary, "wb", 1) as target:
            target.writelines(map(line, source))
    else:
        with path.open("rb") as source, temporary.open("wb") as target:
            target.writelines(map(line, source))
    temporary.replace(path)
