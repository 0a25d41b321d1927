"""The origin server: what it serves, on loopback and behind a link, to programs and to Chromium."""

import asyncio
import base64
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from loadpath.errors import NotFoundError, OriginError
from loadpath.profiler import PassKind, Settings
from loadpath.profiler.chromium import DEFAULT_BROWSER, find_browser
from loadpath.profiler.passes import run_pass
from loadpath.testbed import LinkSettings, Origin, OriginSettings, open_link, start_origin
from loadpath.testbed.origin import HttpVersion

PAGE = "https://page.example/"
IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJg"
    "gg=="
)
SCRIPT = "fetch('/data.json?b=2&a=1').then(answer => answer.json());" + "/* padding */" * 400

ENTRIES: dict[str, tuple[str, str, dict[str, str]]] = {
    PAGE: (
        "text/html; charset=utf-8",
        "<!DOCTYPE html><html><head><link rel=stylesheet href=/style.css>"
        "<script src=//other.example/script.js></script></head>"
        "<body>caf\N{LATIN SMALL LETTER E WITH ACUTE}<img src=/old.png></body></html>",
        {"Content-Encoding": "gzip"},
    ),
    f"{PAGE}style.css": ("text/css", "body { color: green }", {"Cache-Control": "max-age=60"}),
    "https://other.example/script.js": ("text/javascript", SCRIPT, {"Content-Encoding": "br"}),
    f"{PAGE}old.png": ("", "", {"Location": "/image.png"}),
    f"{PAGE}image.png": ("image/png", IMAGE, {"Alt-Svc": 'h3=":443"'}),
    f"{PAGE}data.json?b=2&a=1": ("application/json", "[1]", {"Connection": "close"}),
}


def har(entries: Mapping[str, tuple[str, str, dict[str, str]]], scheme: str = "https") -> bytes:
    """An archive, as the profiler writes them."""
    return json.dumps(
        {
            "log": {
                "version": "1.2",
                "entries": [
                    {
                        "request": {"method": "GET", "url": url.replace("https:", f"{scheme}:", 1)},
                        "response": {
                            "status": 302 if "Location" in headers else 200,
                            "headers": [
                                {"name": "Content-Type", "value": kind},
                                *({"name": key, "value": headers[key]} for key in headers),
                            ],
                            "content": {"size": len(body), "text": body}
                            | ({"encoding": "base64"} if kind == "image/png" else {}),
                            "bodySize": -1,
                        },
                        "timings": {"connect": 11, "ssl": 1, "wait": 10},
                    }
                    for url, (kind, body, headers) in entries.items()
                ],
            }
        }
    ).encode()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "archive.har"
    path.write_bytes(har(ENTRIES))
    return path


def clear_port(origin: Origin, host: str = "page.example") -> tuple[str, int]:
    """Where a host is in the clear."""
    [rule] = [rule for rule in origin.resolver_rules.split(",") if f"MAP {host}:80 " in rule]
    address, _, port = rule.rpartition(" ")[2].rpartition(":")
    return address, int(port)


def get(
    origin: Origin, path: str, host: str = "page.example", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Ask in the clear."""
    connection = http.client.HTTPConnection(*clear_port(origin, host))
    with_host = {"Host": host} | {name.replace("_", "-"): headers[name] for name in headers}
    connection.request("GET", path, headers=with_host)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, {name.lower(): value for name, value in response.getheaders()}, body


def test_a_recorded_response_comes_as_it_was_without_what_belongs_to_its_connection(
    archive: Path,
) -> None:
    with start_origin(OriginSettings(archive=archive)) as origin:
        assert origin.url == PAGE
        status, headers, body = get(origin, "/image.png")
        assert (status, body) == (200, base64.b64decode(IMAGE))
        assert headers["content-type"] == "image/png"
        assert "alt-svc" not in headers
        status, headers, body = get(origin, "/style.css")
        assert headers["cache-control"] == "max-age=60"
        status, headers, _ = get(origin, "/old.png")
        assert (status, headers["location"]) == (302, "/image.png")
    report = origin.report()
    assert (report.requests, report.misses, report.connections) == (3, [], {"h1": 3})


def test_what_is_not_recorded_is_a_miss_and_another_query_the_closest_one(archive: Path) -> None:
    with start_origin(OriginSettings(archive=archive)) as origin:
        assert get(origin, "/data.json?a=1&b=3")[::2] == (200, b"[1]")
        assert get(origin, "/data.json?b=2&a=1")[::2] == (200, b"[1]")
        for path in ("/nothing", "/../archive.har", "/%2e%2e/archive.har", "//etc/passwd"):
            assert get(origin, path)[0] == 404
        assert get(origin, "/script.js")[0] == 404
        assert get(origin, "/script.js", "other.example")[0] == 200
        running = origin.report()
        assert len(running.misses) == 6
    found = {miss.url: miss.found for miss in origin.report().misses}
    assert found["http://page.example/data.json?a=1&b=3"] == "closest"
    assert found["http://page.example/nothing"] == "missing"
    assert "missing: GET http://page.example/nothing" in origin.report().describe()


@pytest.mark.skipif(shutil.which(DEFAULT_BROWSER) is None, reason=f"no {DEFAULT_BROWSER}")
@pytest.mark.parametrize(
    ("version", "tls", "protocol"),
    [("h1", False, "http/1.1"), ("h1", True, "http/1.1"), ("h2", True, "h2"), ("h3", True, "h3")],
)
def test_chromium_loads_a_page_without_misses_over_the_protocol_that_is_asked_for(
    tmp_path: Path, version: HttpVersion, tls: bool, protocol: str
) -> None:
    archive = tmp_path / "recorded.har"
    archive.write_bytes(har(ENTRIES, "https" if tls else "http"))
    log = tmp_path / "log"
    settings = OriginSettings(archive=archive, http=version, tls=tls, log=log, freeze=True)
    with start_origin(settings) as origin:
        assert origin.url == (PAGE if tls else "http://page.example/")
        entries = browse(origin, tmp_path)
        report = origin.report()
    assert report.misses == []
    assert report.errors == {}
    assert list(report.connections) == [version + "-tls" * (version == "h1" and tls)]
    loaded = {entry["request"]["url"]: entry["_protocol"] for entry in entries}
    scheme = "https:" if tls else "http:"
    assert loaded == {url.replace("https:", scheme, 1): protocol for url in ENTRIES}
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["status"] for line in asked} == {200, 302}
    # Chromium may open one ahead that it does not need.
    assert len({line["connection"] for line in asked}) <= sum(report.connections.values())


@pytest.mark.usefixtures("links")
@pytest.mark.parametrize("addresses", ["one", "one-per-host"])
def test_behind_a_link_each_host_has_an_address_of_the_servers(
    archive: Path, addresses: Literal["one", "one-per-host"]
) -> None:
    settings = OriginSettings(archive=archive, addresses=addresses, delays="none")
    ask = (
        "import http.client, sys\n"
        "connection = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]))\n"
        "connection.request('GET', '/style.css', headers={'Host': 'page.example'})\n"
        "print(connection.getresponse().read().decode())\n"
    )
    with open_link(**LinkSettings(rate="100mbit", rtt_ms=1)) as link:
        with start_origin(settings, link) as origin:
            places = {clear_port(origin, host)[0] for host in ("page.example", "other.example")}
            if addresses == "one":
                assert places == {link.server_address}
            else:
                assert places == {"100.65.0.1", "100.65.0.2"}
            address, port = clear_port(origin)
            command = [sys.executable, "-c", ask, address, str(port)]
            result = link.run("client", command, capture_output=True, text=True, check=True)
            assert result.stdout == "body { color: green }\n"
        report = origin.report()
    assert report.requests == 1
    assert link.close().down.delivered_packets > 0


def test_it_serves_from_loopback_or_a_namespace_of_its_own_only(archive: Path) -> None:
    configuration = {"archive": str(archive), "http": "h2", "tls": True, "control": True}
    inode = os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116
    for wrong in (
        {"address": "0.0.0.0"},
        {"address": "100.64.0.2"},
        {"address": "100.64.0.2", "outside_network": inode},
    ):
        process = subprocess.run(
            [sys.executable, "-m", "loadpath.testbed.origin_process"],
            input=json.dumps(configuration | wrong) + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 1
        assert "cannot serve from" in json.loads(process.stdout)["error"]


def test_delays_are_recorded_ones_given_ones_or_none(archive: Path, tmp_path: Path) -> None:
    delays: list[Literal["recorded", "none"] | dict[str, float]] = ["recorded", "none", {PAGE: 3.5}]
    seen = []
    for kind in delays:
        log = tmp_path / "log"
        with start_origin(OriginSettings(archive=archive, delays=kind, log=log)) as origin:
            get(origin, "/")
        seen.append(json.loads(log.read_text())["delay_ms"])
    # 10 ms of waiting less 11 ms of connecting, 1 ms of which was TLS.
    assert seen == [0.0, 0.0, 3.5]


def test_coded_bodies_are_what_was_recorded(archive: Path) -> None:
    with start_origin(OriginSettings(archive=archive, http="h1", tls=False)) as origin:
        _, headers, body = get(origin, "/", accept_encoding="gzip")
        assert headers["content-encoding"] == "gzip"
        assert gzip.decompress(body).decode() == ENTRIES[PAGE][1]
        _, headers, plain = get(origin, "/")
        assert "content-encoding" not in headers
        assert plain.decode() == ENTRIES[PAGE][1]
        # Brotli is not taken in the clear.
        _, headers, body = get(origin, "/script.js", "other.example", accept_encoding="gzip, br")
        assert headers["content-encoding"] == "gzip"
        assert gzip.decompress(body).decode() == SCRIPT


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not an archive"),
        (b"[1]", "not an archive"),
        (b'{"log": {"entries": []}}', "no HTTP exchange"),
        (har({"data:text/plain,x": ("", "", {})}), "no HTTP exchange"),
        (har({"https://[": ("", "", {})}), "entries[0]: request.url"),
        (har({PAGE: ("image/png", "!", {})}), "entries[0]: response.content.text"),
        (har({PAGE: ("x", "", {"X": "y" * 300_000})}), "entries[0]: response.headers"),
        (har({PAGE: ("x", "", {})}).replace(b"200", b"0"), "no response in it"),
        (har({PAGE: ("x", "", {})}).replace(b"200", b"1000"), "response.status = 1000"),
    ],
)
def test_an_archive_that_cannot_be_served_is_refused(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "archive.har"
    path.write_bytes(content)
    with (
        pytest.raises(OriginError, match=re.escape(problem)) as raised,
        start_origin(OriginSettings(archive=path)),
    ):
        pass
    assert raised.value.__notes__


def test_settings_that_make_no_sense_are_refused(archive: Path, tmp_path: Path) -> None:
    wrong = [
        OriginSettings(archive=archive, http="h2", tls=False),
        OriginSettings(archive=archive, order=[PAGE]),
        OriginSettings(archive=archive, delays={PAGE: -1.0}),
        OriginSettings(archive=archive, certificate_bytes=1_000_000),
        OriginSettings(archive=archive, log=tmp_path),
    ]
    for settings in wrong:
        with pytest.raises(OriginError) as raised, start_origin(settings):
            pass
        assert raised.value.__notes__
    with pytest.raises(NotFoundError), start_origin(OriginSettings(archive=tmp_path)):
        pass


def test_an_origin_ends_with_the_process_that_started_it(archive: Path) -> None:
    starter = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from loadpath.testbed import OriginSettings, start_origin\n"
        "with start_origin(OriginSettings(archive=Path(sys.argv[1]))) as origin:\n"
        "    print(origin._process.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", starter, str(archive)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.02)
    assert time.monotonic() < deadline


def test_the_verb_prints_what_a_browser_needs_and_then_the_misses(archive: Path) -> None:
    command = [sys.executable, "-m", "loadpath", "origin", str(archive), "--http", "h1", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        report = json.loads(process.stdout.readline())
    assert process.returncode == 0
    assert ready["url"] == PAGE
    assert f"--host-resolver-rules={ready['resolver_rules']}" in ready["browser_flags"]
    assert ready["resolver_rules"].endswith(",MAP * ~NOTFOUND")
    assert report["requests"] == 0


@pytest.mark.skipif(shutil.which(DEFAULT_BROWSER) is None, reason=f"no {DEFAULT_BROWSER}")
def test_a_frozen_page_is_the_same_each_time(tmp_path: Path) -> None:
    script = "fetch('/seen?' + [Date.now(), new Date().getTime(), Math.random()]).catch(() => 0)"
    body = f"<!DOCTYPE html><html><head><title>x</title></head><script>{script}</script></html>"
    archive = tmp_path / "page.har"
    archive.write_bytes(
        har({PAGE: ("text/html", body, {"Content-Security-Policy": "script-src 'none'"})})
    )
    seen = set()
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        with start_origin(OriginSettings(archive=archive, freeze=True)) as origin:
            browse(origin, folder)
            [miss] = origin.report().misses
        seen.add(miss.url)
    [url] = seen
    assert url.startswith(f"{PAGE}seen?1700000000000,1700000000001,0.")


def browse(origin: Origin, folder: Path) -> list[dict[str, Any]]:
    """The page's requests in Chromium."""
    options = Settings(browser_flags=tuple(origin.browser_flags), wait_s=0.5, timeout_s=50)
    output = asyncio.run(
        run_pass(origin.url, "pass", PassKind.STRUCTURE, options, find_browser(), folder)
    )
    assert output.result.load_ms is not None
    entries: list[dict[str, Any]] = json.loads((folder / "archive.har").read_text())["log"][
        "entries"
    ]
    return entries
