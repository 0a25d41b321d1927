"""Sizes of header blocks, as text and in graphs of profiles and of HAR files."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadpath.errors import LoadpathError
from loadpath.profiler.headers import (
    apply_header_sizes,
    header_sizes,
    request_header_bytes,
    response_header_bytes,
)

ROOT = "https://a.test/"
REQUEST = [(":authority", "a.test"), (":method", "GET"), (":path", "/"), ("Accept", "*/*")]
REQUEST_TEXT = b"GET / HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive\r\nAccept: */*\r\n\r\n"


def test_a_request_of_http_2_is_as_long_as_http_1_1_would_write_it() -> None:
    assert request_header_bytes("GET", ROOT, REQUEST) == len(REQUEST_TEXT)
    written = [("Host", "a.test"), ("Connection", "keep-alive"), ("Accept", "*/*")]
    assert request_header_bytes("GET", ROOT + "#part", written) == len(REQUEST_TEXT)


def test_each_value_of_a_header_takes_a_line() -> None:
    text = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n"
    for headers in (
        [("set-cookie", "a=1"), ("Set-Cookie", "b=2")],
        [(":status", "200"), ("set-cookie", "a=1\nb=2")],
    ):
        assert response_header_bytes(200, headers) == len(text)
    assert response_header_bytes(999, []) == len(b"HTTP/1.1 999 \r\n\r\n")


def archive(folder: Path, *requests: tuple[str, list[tuple[str, str]]]) -> Path:
    def pairs(headers: list[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in headers]

    entries = [
        {
            "request": {"method": "GET", "url": url, "headers": pairs(headers)},
            "response": {"status": 200, "headers": pairs(headers and [("etag", "1")])},
        }
        for url, headers in requests
    ]
    path = folder / "archive.har"
    path.write_bytes(msgspec.json.encode({"log": {"entries": entries}}))
    return path


def test_resources_get_the_sizes_that_the_archive_has(tmp_path: Path) -> None:
    sizes = header_sizes(archive(tmp_path, (ROOT, REQUEST), (ROOT + "failed", [])))
    resource = {"type": "resource", "method": "GET", "url": ROOT}
    activities: list[dict[str, Any]] = [
        dict(resource),
        resource | {"url": ROOT + "failed"},
        resource | {"url": ROOT, "recorded_sent_ms": 5.0, "original": "x"},
    ]
    apply_header_sizes({"activities": activities}, sizes)
    assert activities[0]["request_header_bytes"] == len(REQUEST_TEXT)
    assert activities[0]["response_header_bytes"] == len(b"HTTP/1.1 200 OK\r\netag: 1\r\n\r\n")
    assert not any("request_header_bytes" in each for each in activities[1:])


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "archive.har"
    with pytest.raises(LoadpathError, match="cannot read"):
        header_sizes(path)
    path.write_text('{"log": 1}')
    with pytest.raises(LoadpathError, match="not a page archive"):
        header_sizes(path)
