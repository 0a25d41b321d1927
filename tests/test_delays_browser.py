"""Server delays of a real server, found in profiles of a real browser."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from conftest import Loadpath
from loadpath.profiler.chromium import DEFAULT_BROWSER
from loadpath.profiler.delays import ServerDelays, server_delays
from loadpath.profiler.manifest import read_manifest
from loadpath.profiler.packets import read_capture
from loadpath.profiler.passes import CAPTURE_FILE, KEYS_FILE
from pagesite import server

pytestmark = pytest.mark.skipif(
    shutil.which(DEFAULT_BROWSER) is None, reason=f"no {DEFAULT_BROWSER} to profile with"
)

IMAGE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)
"""A PNG of one pixel."""

DELAYS_MS = {"0.png": 0, "150.css": 150, "300.png": 300, "600.json": 600, "1200.js": 1200}
"""Least delays of responses."""

TOLERANCE_MS = 120.0
"""What a busy machine may add between the server and the browser's clock; the steps are larger."""

NAME = "server-delays"


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A site with one page, whose responses take known times."""
    folder = tmp_path / "pages" / NAME
    folder.mkdir(parents=True)
    (folder / "index.html").write_text(
        '<!DOCTYPE html><title>Delays</title><link rel="stylesheet" href="150.css">'
        '<img src="0.png"><img src="300.png"><img src="empty.png">'
        '<script>fetch("600.json", {method: "POST", body: "x=1"})</script>'
        '<script src="1200.js"></script>'
    )
    (folder / "150.css").write_text("body { color: green }")
    (folder / "1200.js").write_text("0")
    (folder / "600.json").write_text("{}")
    for name in ("0.png", "300.png"):
        (folder / name).write_bytes(IMAGE)
    rules = [f'"{name}" = {{delay_ms = {delay}}}' for name, delay in DELAYS_MS.items()]
    (folder / "server.toml").write_text("\n".join([*rules, '"empty.png" = {status = 204}']))
    monkeypatch.setattr(server, "PAGES", folder.parent)
    server.response_rules.cache_clear()
    yield folder.parent
    server.response_rules.cache_clear()


class TimedSite(server.Site):
    """Measures its own delays, so that they are known on a busy machine, too."""

    def __init__(self, pages: Path, *, http2: bool) -> None:
        super().__init__(pages=pages, http2=http2)
        self.delays_ms: dict[str, list[float]] = {}

    async def _respond(
        self, scope: server.Scope, receive: server.Receive, send: server.Send
    ) -> None:
        begun = time.perf_counter()

        async def timed(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                delay_ms = (time.perf_counter() - begun) * 1000
                self.delays_ms.setdefault(scope["path"].lstrip("/"), []).append(delay_ms)
            await send(message)

        await super()._respond(scope, receive, timed)

    def __enter__(self) -> "TimedSite":
        super().__enter__()
        return self

    def check(self, found: ServerDelays) -> None:
        """The delays that were found are those that were."""
        assert {request.url.rpartition("/")[2] for request in found.requests} == {
            *DELAYS_MS,
            "",
            "empty.png",
        }
        rtt_ms = found.hosts[0].rtt_ms
        assert rtt_ms is not None
        for request in found.requests:
            delay_ms = median(self.delays_ms[request.url.rpartition("/")[2]])
            assert request.delay_ms is not None
            # On loopback all of the measured round trip is the machine's.
            assert delay_ms - rtt_ms - 3 <= request.delay_ms, request.url
            assert request.delay_ms <= delay_ms + TOLERANCE_MS, request.url
        ordered = sorted(found.requests, key=lambda request: request.delay_ms or 0.0)
        assert [request.url.rpartition("/")[2] for request in ordered][-4:] == list(DELAYS_MS)[1:]


def record(loadpath: Loadpath, site: server.Site, scheme: str, *options: str, runs: int) -> None:
    result = loadpath(
        *("profile", site.url(NAME, scheme), "-o", "profile", "--wait", "0.5"),
        *("-n", str(runs), "--plain-runs", "0", "--ignore-certificate-errors"),
        *options,
        *("--host-resolver-rules", site.browser_flags()[0].partition("=")[2]),
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("scheme", "http2", "protocol"),
    [("http", False, "http/1.1"), ("https", True, "h2")],
)
def test_delays_of_a_server_are_found(
    tmp_path: Path, loadpath: Loadpath, pages: Path, scheme: str, http2: bool, protocol: str
) -> None:
    with TimedSite(pages, http2=http2) as site:
        record(loadpath, site, scheme, runs=2)
    found = server_delays(tmp_path / "profile")
    site.check(found)
    assert {(request.source, request.passes) for request in found.requests} == {("timing", 3)}
    assert {request.protocol for request in found.requests} == {protocol}
    delays = {request.url.rpartition("/")[2]: request for request in found.requests}
    assert delays["600.json"].type == "post"
    (host,) = found.hosts
    assert (host.rtt_source, host.protocols) == ("connect", [protocol])
    assert host.rtt_ms is not None
    assert host.rtt_ms < TOLERANCE_MS
    assert (host.tls_ms is not None) == (scheme == "https")
    assert found.warnings == []
    check = found.cross_check
    assert check is not None
    assert check.requests == 3 * (len(DELAYS_MS) + 2)
    # Both ends are rounded to whole milliseconds.
    assert check.median_ms <= 2


@pytest.mark.skipif(os.geteuid() != 0, reason="capturing packets needs root")
@pytest.mark.skipif(
    not (shutil.which("dumpcap") and shutil.which("tshark")), reason="no dumpcap, no tshark"
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_capture_shows_the_same_delays(
    tmp_path: Path, loadpath: Loadpath, pages: Path, scheme: str
) -> None:
    with TimedSite(pages, http2=False) as site:
        record(loadpath, site, scheme, "--capture", runs=0)
    folder = tmp_path / "profile"
    warnings = read_manifest(folder).passes[0].warnings
    if any("no packet capture" in warning for warning in warnings):
        pytest.skip(warnings[0])
    times = read_capture(folder / "structure" / CAPTURE_FILE, folder / "structure" / KEYS_FILE)
    assert "127.0.0.1" in times.rtts_ms
    names = {e.url.rpartition("/")[2] for e in times.exchanges if f"{scheme}://{NAME}" in e.url}
    assert names == {*DELAYS_MS, "", "empty.png"}
    found = server_delays(folder)
    site.check(found)
    # New connections acknowledge at once; later requests may wait for the server's timer.
    assert "capture" in {request.source for request in found.requests}


SERVER = """
import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        time.sleep(int(self.path[1:] or 0) / 1000)
        body = b"<img src=150><img src=300>" if self.path == "/" else b"x"
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer((sys.argv[1], 8000), Handler).serve_forever()
"""


@pytest.mark.usefixtures("links")
def test_a_far_servers_round_trip_is_no_delay(tmp_path: Path, loadpath: Loadpath) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    result = loadpath(
        *("link", "--rate", "20mbit", "--rtt", "200ms", "--wait-port", "8000"),
        *("--server", f"{sys.executable} server.py $LOADPATH_SERVER_ADDRESS"),
        *("--", sys.executable, "-m", "loadpath", "profile", "http://100.64.0.2:8000/"),
        *("-n", "2", "--plain-runs", "0", "--wait", "0.5", "-o", "profile"),
    )
    assert (tmp_path / "profile").exists(), result.stderr
    found = server_delays(tmp_path / "profile")
    (host,) = found.hosts
    assert host.rtt_ms is not None
    assert 200 <= host.rtt_ms <= 200 + TOLERANCE_MS
    for request in found.requests:
        delay_ms = int(request.url.rpartition("/")[2] or 0)
        assert request.source == "timing"
        assert request.delay_ms is not None
        # With the round trip it would be 200 ms more.
        late_ms = host.rtt_ms - 200
        assert delay_ms - late_ms - 5 <= request.delay_ms <= delay_ms + TOLERANCE_MS, request.url
