"""How long headers are, as text and compressed: `make study-headers`.

Requests and responses in the archives of the profiles that `make validate` made, each host with a
connection of its own, in the order of the requests. Their sizes as HTTP/1.1 text stand beside what
HPACK leaves of them (RFC 7541; Huffman codes, a table of 4096 bytes) and what compression leaves
that knows the static table alone, as QPACK's where a server announces no dynamic one. These are
the parts in crates/web/src/http/http2.rs and quic_lite.rs, and the sizes of the `linux` profile.

usage: studies/header_bytes.py WORK OUTPUT; WORK is that of `validate_packages.py`
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
import typer
from hpack import Encoder

from loadpath.profiler.headers import request_header_bytes, response_header_bytes
from loadpath.profiler.manifest import ARCHIVE_FILE
from loadpath.testbed.load import Load
from tables import markdown_table

FRAME_BYTES, PRIORITY_BYTES = 9, 5
"""RFC 9113 sections 4.1 and 6.2: Chromium's HEADERS of requests have a priority."""

Headers = Sequence[tuple[str, str]]


@dataclass
class Sizes:
    """Of one direction."""

    text: list[int] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    """Part of the text that HPACK leaves of a connection's first block."""
    later: list[float] = field(default_factory=list)
    static: list[float] = field(default_factory=list)
    """Part that is left without a dynamic table."""

    def add(self, text_bytes: int, headers: Headers, encoder: Encoder, frame_bytes: int) -> None:
        """Count a header block; the encoder is its connection's."""
        known = self.later if encoder.header_table.dynamic_entries else self.first
        known.append((len(encoder.encode(headers)) + frame_bytes) / text_bytes)
        self.text.append(text_bytes)
        self.static.append((len(_without_table().encode(headers)) + frame_bytes) / text_bytes)


def study(
    work: Annotated[Path, typer.Argument(help="Folder of the profiles and loads.")],
    output: Annotated[Path, typer.Argument(help="Folder for the report.")],
) -> None:
    """Measure the headers of all profiles; write the report."""
    requests, responses = Sizes(), Sizes()
    archives = sorted((work / "profiles").glob(f"*-h2/{ARCHIVE_FILE}"))
    for archive in archives:
        _take(msgspec.json.decode(archive.read_bytes()), requests, responses)
    file = output / "header-bytes.md"
    file.write_text(_markdown(len(archives), requests, responses, _observed(work / "loads")))
    print(file)


def _take(archive: Any, requests: Sizes, responses: Sizes) -> None:
    encoders: dict[str, tuple[Encoder, Encoder]] = defaultdict(lambda: (Encoder(), Encoder()))
    for entry in archive["log"]["entries"]:
        request, response = entry["request"], entry["response"]
        sent, received = _headers(request), _headers(response)
        if not received or not any(name == ":path" for name, _ in sent):
            continue
        url = request["url"]
        up, down = encoders[urlsplit(url).netloc]
        # In HTTP/2 the version's own come first, but a recording sorts them by name.
        sent.sort(key=lambda header: not header[0].startswith(":"))
        text_bytes = request_header_bytes(request["method"], url, sent)
        requests.add(text_bytes, sent, up, FRAME_BYTES + PRIORITY_BYTES)
        received = [each for each in received if each[0] != ":status"]
        text_bytes = response_header_bytes(response["status"], received)
        responses.add(text_bytes, [(":status", str(response["status"])), *received], down, 0)


def _headers(side: Any) -> list[tuple[str, str]]:
    return [(each["name"].lower(), each["value"]) for each in side["headers"]]


def _without_table() -> Encoder:
    encoder = Encoder()
    encoder.header_table_size = 0
    return encoder


def _observed(loads: Path) -> Iterator[tuple[str, int, float]]:
    """What Chromium received as headers of its first and later responses in the loads measured."""
    found: dict[str, list[int]] = defaultdict(list)
    for file in loads.glob("loads/*/*.json"):
        load: Load = msgspec.json.decode(file.read_bytes(), type=_Stored).load
        seen: set[int] = set()
        for each in load.requests:
            if each.connection and each.status == 200 and each.body_bytes:
                place = "later" if each.connection in seen else "first"
                found[f"{load.http}, {place}"].append(each.transferred_bytes - each.body_bytes)
                seen.add(each.connection)
    for name, sizes in sorted(found.items()):
        yield name, len(sizes), median(sizes)


class _Stored(msgspec.Struct):
    load: Load


def _markdown(
    pages: int, requests: Sizes, responses: Sizes, observed: Iterator[tuple[str, int, float]]
) -> str:
    rows = [
        [
            name,
            str(len(sizes.text)),
            f"{mean(sizes.text):.0f}",
            f"{mean(sizes.first):.2f}",
            f"{mean(sizes.later):.2f}",
            f"{mean(sizes.static):.2f}",
        ]
        for name, sizes in (("requests", requests), ("responses", responses))
    ]
    columns = ["headers of", "blocks", "text, bytes", "HPACK, first", "later", "static table"]
    seen = [[name, str(count), f"{size:.0f}"] for name, count, size in observed]
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return f"""# How long headers are

Written by `make study-headers`, {date}: the archives of {pages} profiles, **observed**.
Parts are of the HTTP/1.1 text, means over the blocks; a request's has the 9 bytes of its frame and
the 5 of its priority.

{markdown_table(columns, rows, words=["headers of"])}
What Chromium received as headers of responses with bodies in the loads of
[accuracy](accuracy.md), **emulated** (DevTools, with frame heads and what the origin server adds),
medians:

{markdown_table(["response", "responses", "bytes"], seen, words=["response"])}"""


if __name__ == "__main__":
    typer.run(study)
