"""Real loads: what is made of what the browser says, and what can go wrong."""

import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from loadpath.api import resolve_scenario
from loadpath.errors import LinkError, LoadpathError
from loadpath.profiler.chromium import DEFAULT_BROWSER
from loadpath.profiler.devtools import Event
from loadpath.testbed import Link, LinkSettings, emulation
from loadpath.testbed.emulation import Emulation
from loadpath.testbed.load import Load, Request
from loadpath.testbed.load_process import requests_of
from loadpath.testbed.loader import (
    BusyMachineError,
    LoadSettings,
    Served,
    WebServer,
    load_over_link,
    load_page,
    wait_until_idle,
)
from loadpath.testbed.machine import Machine
from loadpath.testbed.outcomes import outcome_of
from loadpath.testbed.pages import ArchivedPage, archived, http_of
from loadpath.testbed.sockets import parse_sockets
from loadpath.testbed.tables import load_row, median_load
from web import Page, serving

needs_browser = pytest.mark.skipif(
    shutil.which(DEFAULT_BROWSER) is None, reason=f"no {DEFAULT_BROWSER} to load with"
)

IDLE = Machine(
    load_average=0.1,
    busy_before=0.0,
    busy_after=0.0,
    cpu_pressure_ms=1.0,
    memory_pressure_ms=0.0,
    io_pressure_ms=0.0,
    stolen_ms=0.0,
    seconds=1.0,
)


def event(method: str, **params: object) -> Event:
    return Event(f"Network.{method}", "S", msgspec.Raw(msgspec.json.encode(params)))


def sent(identity: str, url: str, at_s: float, **more: object) -> Event:
    request = {"url": url, "method": "GET", "initialPriority": "High"}
    return event(
        "requestWillBeSent",
        requestId=identity,
        request=request,
        timestamp=at_s,
        type="Script",
        **more,
    )


RESPONSE: dict[str, Any] = {
    "mimeType": "text/javascript",
    "status": 200,
    "protocol": "h2",
    "remoteIPAddress": "100.64.0.2",
    "remotePort": 443,
    "connectionId": 7,
    "connectionReused": False,
    "encodedDataLength": 100,
    "timing": {
        "requestTime": 10.002,
        "dnsStart": -1,
        "connectStart": 1.0,
        "connectEnd": 81.0,
        "sendStart": 82.0,
        "sendEnd": 82.5,
        "receiveHeadersStart": 125.0,
        "receiveHeadersEnd": 125.2,
    },
}


def test_requests_have_their_phases_since_the_start_of_the_navigation() -> None:
    events = [
        sent("1", "https://a.test/x.js", 10.001),
        event("responseReceived", requestId="1", response=RESPONSE),
        event("dataReceived", requestId="1", encodedDataLength=3000),
        event("dataReceived", requestId="1", encodedDataLength=2000),
        event("loadingFinished", requestId="1", timestamp=10.140, encodedDataLength=5100),
        sent("2", "data:image/png;base64,AA", 10.002),
    ]
    [found] = requests_of(events, origin_ms=10_000.0)
    assert (found.connection, found.protocol, found.address) == (7, "h2", "100.64.0.2:443")
    assert (found.body_bytes, found.transferred_bytes) == (5000, 5100)
    times = [
        found.start_ms,
        found.connect_start_ms,
        found.connect_end_ms,
        found.send_start_ms,
        found.send_end_ms,
        found.response_start_ms,
        found.end_ms,
    ]
    assert times == pytest.approx([1.0, 3.0, 83.0, 84.0, 84.5, 127.0, 140.0])
    assert found.dns_start_ms is None


def test_redirects_failures_and_the_cache_are_told_apart() -> None:
    redirect = {"status": 302, "connectionId": 7, "encodedDataLength": 90, "timing": None}
    events = [
        sent("1", "http://a.test/old", 10.0),
        sent("1", "http://a.test/new", 10.05, redirectResponse=redirect),
        event("responseReceived", requestId="1", response=RESPONSE),
        event("loadingFinished", requestId="1", timestamp=10.2, encodedDataLength=350),
        sent("2", "http://b.test/gone", 10.1),
        event(
            "loadingFailed", requestId="2", timestamp=10.1, errorText="net::ERR_NAME_NOT_RESOLVED"
        ),
        sent("3", "http://a.test/again", 10.3),
        event("requestServedFromCache", requestId="3"),
        event("responseReceived", requestId="3", response=RESPONSE),
        event("loadingFinished", requestId="3", timestamp=10.3, encodedDataLength=0),
        # Frames of other processes tell of their document twice.
        sent("3", "http://a.test/again", 10.3),
    ]
    old, new, gone, again = requests_of(events, origin_ms=10_000.0)
    assert old.status == 302
    assert old.end_ms == pytest.approx(50.0)
    # Of documents, no bytes are told by piece: all less the headers.
    assert (new.url, new.body_bytes) == ("http://a.test/new", 250)
    assert (gone.error, gone.end_ms) == ("net::ERR_NAME_NOT_RESOLVED", None)
    assert again.cached
    assert (again.connection, again.transferred_bytes) == (0, 0)


SS = """\
ESTAB 0 0  100.64.0.2:443 100.64.0.1:40000 cubic wscale:7,7 rto:244 rtt:40.5/2.25 mss:1448 cwnd:32 \
ssthresh:20 bytes_sent:66826 bytes_retrans:2896 bytes_received:2686 segs_out:58 retrans:0/2
ESTAB 0 0  100.64.0.2:443 100.64.0.1:40002 reno rto:244 rtt:41/3 mss:1448 cwnd:10 bytes_sent:900
"""


def request(**values: Any) -> Request:
    return Request(
        **{
            "url": "https://a.test/",
            "protocol": "h2",
            "address": "100.64.0.2:443",
            "connection": 7,
            "start_ms": 0.0,
            "connect_start_ms": 1.0,
            "connect_end_ms": 81.0,
            "send_start_ms": 82.0,
            "send_end_ms": 83.0,
            "response_start_ms": 131.0,
            "end_ms": 150.0,
            "body_bytes": 5000,
            "transferred_bytes": 5100,
            **values,
        }
    )


def test_a_load_has_the_outcome_of_a_simulation() -> None:
    late = {
        "start_ms": 151.0,
        "reused": True,
        "connect_start_ms": None,
        "connect_end_ms": None,
        "send_start_ms": 152.0,
        "send_end_ms": 152.5,
        "response_start_ms": 160.0,
        "end_ms": 170.0,
    }
    requests = [request(), request(url="https://a.test/x", **late), request(end_ms=None)]
    load = Load(
        status="complete",
        load_ms=200.0,
        dom_content_loaded_ms=180.0,
        requests=requests,
        sockets=parse_sockets(SS),
        http="h2",
    )
    scenario = resolve_scenario(profile="linux", rtt_ms=40)
    outcome = outcome_of(load, "page", scenario, 3, {"https://a.test/": 5.0})
    assert (outcome.label, outcome.run, outcome.plt_ms, outcome.dcl_ms) == (
        "emulated",
        3,
        200.0,
        180.0,
    )
    first, second, unfinished = outcome.resources
    for each in (first, second):
        assert each.phases is not None
        assert each.end_ms is not None
        total = sum(msgspec.structs.astuple(each.phases))
        assert total == pytest.approx(each.end_ms - each.start_ms)
    assert first.phases is not None
    assert (first.phases.connection_setup_ms, first.phases.client_queue_ms) == (80.0, 3.0)
    assert (first.phases.request_flight_ms, first.phases.first_byte_flight_ms) == (20.0, 20.0)
    assert (first.phases.server_processing_ms, first.phases.response_wait_ms) == (5.0, 3.0)
    # A response faster than the link: its wait is not negative.
    assert second.phases is not None
    assert second.phases.request_flight_ms == 7.5
    assert unfinished.phases is None
    [connection] = outcome.connections
    # The larger of the two sockets at that address.
    assert (connection.retransmissions, connection.requests) == (2, 3)
    assert (connection.opened_ms, connection.established_ms) == (1.0, 81.0)
    assert outcome.status.result == "complete"
    assert type(outcome).from_json(outcome.to_json()) == outcome


def test_a_load_without_its_event_has_failed() -> None:
    load = Load(status="partial", reason="no load event within 1 s", requests=[request()])
    outcome = outcome_of(load, "page", resolve_scenario(profile="linux"))
    assert (outcome.status.result, outcome.status.reason) == ("failed", "no load event within 1 s")
    assert (outcome.plt_ms, len(outcome.resources)) == (None, 1)
    assert not load.believed


def test_sockets_that_cannot_be_told_apart_are_nobodys() -> None:
    requests = [request(connection=number) for number in (1, 2, 3)]
    load = Load(status="complete", load_ms=1.0, requests=requests, sockets=parse_sockets(SS))
    outcome = outcome_of(load, "page", resolve_scenario(profile="linux"))
    assert [each.srtt_ms for each in outcome.connections] == [None] * 3
    assert outcome.totals.retransmissions == 2


def test_a_busy_machine_is_waited_for_and_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = iter([1.5, 0.9, 0.01])
    monkeypatch.setattr("loadpath.testbed.loader.busy_processors", lambda: next(busy))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    notes: list[str] = []
    wait_until_idle(60.0, notes.append)
    assert notes == ["waiting for the machine to be idle: 1.50 processors in use"]
    monkeypatch.setattr("loadpath.testbed.loader.busy_processors", lambda: 1.5)
    with pytest.raises(BusyMachineError, match=r"busy: 1\.50 processors in use by others"):
        wait_until_idle(-1.0)
    machine = msgspec.structs.replace(IDLE, busy_after=1.0)
    assert machine.doubts == ["busy machine: 1.00 processors in use after the load"]


PAGE = ArchivedPage("page", Path("page.har"), "0" * 64)


@contextmanager
def nowhere(link: Link) -> Iterator[WebServer]:
    yield Served(url="http://nowhere.test/")


def emulated(
    monkeypatch: pytest.MonkeyPatch, loads: Sequence[Load | Exception], **parameters: Any
) -> Emulation:
    """An emulation whose loads are these."""
    left = iter(loads)

    def load(*_: object) -> Load:
        each = next(left)
        if isinstance(each, Exception):
            raise each
        return each

    monkeypatch.setattr(emulation, "load_over_link", load)
    return Emulation(
        PAGE,
        parameters or {"http": "h3"},  # type: ignore[arg-type]
        LoadSettings(),
        served_by=lambda page, scenario: nowhere,
    )


def complete(load_ms: float, **values: Any) -> Load:
    return Load(status="complete", load_ms=load_ms, **values)


def test_a_load_that_fails_is_kept_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = LoadpathError("http://page.test/: net::ERR_CONNECTION_REFUSED")
    found = list(emulated(monkeypatch, [complete(5.0), failing, complete(7.0)]).loads(3))
    assert [each.outcome.plt_ms for each in found] == [5.0, None, 7.0]
    assert found[1].outcome.status.reason == str(failing)
    row = load_row("page", [each.load for each in found])
    assert row[:5] == ["page", "3", "1", "6.0", "5.0"]
    assert median_load(found).run == 0


def test_without_a_first_load_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LoadpathError, match="REFUSED"):
        list(emulated(monkeypatch, [LoadpathError("net::ERR_CONNECTION_REFUSED")]).loads(3))


def test_what_stops_every_load_ends_the_emulation(monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/tmp/x")
    for problem, words in (
        (full, "the disk is full: no space left for /tmp/x"),
        (LinkError("the link's process was killed"), "was killed"),
        (BusyMachineError("this machine is busy"), "busy"),
    ):
        done = []
        with pytest.raises(LoadpathError, match=words):
            for each in emulated(monkeypatch, [complete(5.0), problem]).loads(3):
                done.append(each)
        assert [each.load.load_ms for each in done] == [5.0]


def test_the_scenario_says_what_a_browser_has_to_speak(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "RTT 70 ms" in emulated(monkeypatch, [], http="h2", rtt_ms=70).describe()
    for http, expected in (("h1", "h1"), ("h2", "h2"), ("h3", "h3"), ("quic", "h3")):
        assert http_of(emulated(monkeypatch, [], http=http).scenario()) == expected
    with pytest.raises(LoadpathError, match="no browser speaks it"):
        http_of(resolve_scenario(http="spdy"))


def test_python_has_the_words_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    har = tmp_path / "some.har"
    har.write_text("{}")
    asked: list[LinkSettings] = []

    def load(link: LinkSettings, serve: object, settings: LoadSettings) -> Load:
        asked.append(link)
        return complete(5.0, http=settings.http)

    monkeypatch.setattr(emulation, "load_over_link", load)
    found = emulation.emulate(har, runs=2, rate="5mbit", rtt_ms=20, http="h3")
    assert [each.outcome.run for each in found] == [0, 1]
    assert {each.outcome.page for each in found} == {"some"}
    assert {each.load.http for each in found} == {"h3"}
    assert [(link["profile"], link["rate"], link["run"]) for link in asked] == [
        ("linux", "5mbit", 0),
        ("linux", "5mbit", 1),
    ]
    with pytest.raises(LoadpathError, match="browsers do not signal these"):
        emulation.emulate(har, priorities="critical-path")


def test_pages_without_an_archive_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LoadpathError, match="not a recorded profile"), archived(tmp_path):
        pass
    har = tmp_path / "some.har"
    har.write_text("{}")
    with archived(har) as page:
        assert (page.name, len(page.digest)) == ("some", 64)


SITE: dict[str, bytes] = {
    "/": b"<!doctype html><title>x</title><script src=/a.js></script><p>text<img src=/i.png>",
    "/a.js": b"document.title = 'y'",
    "/i.png": bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
        "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    ),
}


@needs_browser
@pytest.mark.usefixtures("links")
def test_a_page_loads_over_a_link(tmp_path: Path) -> None:
    for path, content in SITE.items():
        file = tmp_path / (path.removeprefix("/") or "index.html")
        file.write_bytes(content)
    command = [sys.executable, "-m", "http.server", "--protocol", "HTTP/1.1"]

    @contextmanager
    def serve(link: Link) -> Iterator[WebServer]:
        where = ["--directory", str(tmp_path), "--bind", link.server_address, "8000"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        link.start_server([*command, *where], wait_port=8000, **quiet)
        yield Served(url=f"http://{link.server_address}:8000/")

    settings = LoadSettings(http="h2", timeout_s=90.0, netlog=tmp_path / "netlog.json")
    load = load_over_link(LinkSettings(rate="10mbit", rtt_ms=40), serve, settings)
    assert load.status == "complete", load.reason
    assert load.load_ms is not None
    # The handshake, the page, what is on it: three round trips at least.
    assert load.load_ms >= 120
    assert load.dom_content_loaded_ms is not None
    assert load.dom_content_loaded_ms <= load.load_ms
    assert load.first_contentful_paint_ms is not None
    paths = {each.url.rpartition("/")[2] for each in load.requests}
    assert paths >= {"", "a.js", "i.png"}
    document = load.requests[0]
    assert document.end_ms is not None
    assert document.connect_end_ms is not None
    assert document.connect_end_ms - (document.connect_start_ms or 0.0) >= 39
    # It was not what had been forced, and that is said.
    assert "h2 was forced, but http/1.1 used" in load.doubts
    assert {socket.congestion for socket in load.sockets} <= {"cubic", "reno", "bbr"}
    assert load.link is not None
    assert load.link.down.delivered_packets > 0
    assert load.machine is not None
    assert json.loads((tmp_path / "netlog.json").read_text())["events"]
    outcome = outcome_of(load, "page", resolve_scenario(profile="linux", rtt_ms=40))
    assert {queue.name for queue in outcome.queues} == {"bottleneck.down", "bottleneck.up"}


@needs_browser
def test_a_server_that_dies_puts_the_load_in_doubt() -> None:
    with socket.socket() as nobody:
        # Bound, so that no other program gets it, but not listened on.
        nobody.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{nobody.getsockname()[1]}/gone.png"
        with serving({"/": f"<!doctype html><title>x</title><p>text<img src={gone}>"}) as web:
            load = load_page(None, Served(url=f"{web.url}/"), LoadSettings(http="h1", timeout_s=90))
    assert load.status == "complete"
    assert "1 requests failed: net::ERR_CONNECTION_REFUSED" in load.doubts
    assert not load.believed


LOADER = """
import sys
from loadpath.testbed.loader import LoadSettings, Served, load_page
load_page(None, Served(url=sys.argv[1]), LoadSettings(timeout_s=100))
"""


@needs_browser
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_load_that_is_ended_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    pages: dict[str, Page] = {"/": "<!doctype html><script src=/never.js></script>"}
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with serving(pages) as web:
        pages["/never.js"] = web.hang
        web.pages = pages
        process = subprocess.Popen(
            [sys.executable, "-c", LOADER, f"{web.url}/"],
            env=os.environ | {"TMPDIR": str(scratch)},
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            eventually(lambda: "/never.js" in web.paths())
            if number == signal.SIGINT:
                # As a terminal does it: all in the foreground hear of it.
                os.killpg(process.pid, number)
            else:
                process.kill()
            process.wait(60)
            eventually(lambda: not any(scratch.iterdir()))
        finally:
            process.kill()
            process.wait()
            web.released.set()


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@needs_browser
def test_what_killed_loaders_left_goes_with_the_next_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, used = tmp_path / "loadpath-load-left", tmp_path / "loadpath-load-used"
    for folder in (left, used):
        folder.mkdir()
        (folder / ".lock").touch()
    with (used / ".lock").open("rb") as lock, serving(dict(SITE)) as web:
        fcntl.flock(lock, fcntl.LOCK_EX)
        load = load_page(None, Served(url=f"{web.url}/"), LoadSettings(http="h1", timeout_s=90))
        assert load.status == "complete"
        assert [path.name for path in tmp_path.iterdir()] == ["loadpath-load-used"]
