"""Server delays of profiles whose times are known."""

import csv
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conftest import Loadpath
from loadpath._core import ServerDelays as EngineDelays
from loadpath.analysis.delays import delays_csv, delays_svg, distributions_json
from loadpath.errors import LoadpathError
from loadpath.profiler import delays as delays_module
from loadpath.profiler.delays import (
    DELAY_TYPES,
    HostTimes,
    RequestDelay,
    ServerDelays,
    apply_delays,
    delay_type,
    server_delays,
)
from loadpath.profiler.exchanges import read_exchanges
from loadpath.profiler.packets import CapturedExchange, PacketTimes, follow, read_packets
from profiles import Load, NetLogWriter, write_profile

CONNECTED = {"dnsStart": 1.0, "dnsEnd": 3.0, "connectStart": 3.0, "connectEnd": 23.0}
"""A TCP connection to a host 20 ms away, its name looked up in 2 ms."""
SECURE = CONNECTED | {"sslStart": 23.0, "sslEnd": 58.0, "connectEnd": 58.0}
"""The same with a TLS handshake of 35 ms."""


def measure(tmp_path: Path, *passes: list[Load], **options: Any) -> ServerDelays:
    return server_delays(write_profile(tmp_path / "profile", list(passes), **options))


def by_name(delays: ServerDelays) -> dict[str, RequestDelay]:
    return {request.url.rpartition("/")[2]: request for request in delays.requests}


def host(delays: ServerDelays) -> HostTimes:
    assert len(delays.hosts) == 1
    return delays.hosts[0]


# Round trips.


@pytest.mark.parametrize(("protocol", "connect"), [("http/1.1", CONNECTED), ("h2", SECURE)])
def test_the_delay_is_the_wait_less_the_round_trip(
    tmp_path: Path, protocol: str, connect: dict[str, float]
) -> None:
    found = measure(
        tmp_path,
        [
            Load("https://a.test/", 65.0, connect=connect, protocol=protocol),
            Load("https://a.test/b.css", 20.0, protocol=protocol),
            Load("https://a.test/c.js", 19.0, protocol=protocol),
        ],
    )
    assert [r.delay_ms for r in found.requests] == [45.0, 0.0, 0.0]
    assert {r.source for r in found.requests} == {"timing"}
    assert (host(found).rtt_ms, host(found).rtt_source) == (20.0, "connect")
    assert host(found).protocols == [protocol]


def test_hosts_tell_connection_tls_and_dns_times(tmp_path: Path) -> None:
    slower = {name: value + 10 * (name in ("sslStart", "sslEnd", "connectEnd")) for name, value in
              SECURE.items()}  # fmt: skip
    found = host(
        measure(
            tmp_path,
            [Load("https://a.test/", 65.0, connect=SECURE), Load("https://a.test/b", 65.0)],
            [Load("https://a.test/", 65.0, connect=slower)],
        )
    )
    assert found == HostTimes(
        host="a.test",
        rtt_ms=20.0,
        rtt_source="connect",
        connect_ms=25.0,
        tls_ms=35.0,
        dns_ms=2.0,
        protocols=["http/1.1"],
        addresses=["192.0.2.1"],
        connections=2,
        requests=2,
    )


def test_connections_begun_for_other_requests_give_no_round_trip(tmp_path: Path) -> None:
    truncated = {"dnsStart": 0.0, "dnsEnd": 0.0, "connectStart": 0.0, "connectEnd": 4.0}
    found = measure(
        tmp_path,
        [
            Load("http://a.test/", 65.0, connect=CONNECTED),
            Load("http://a.test/b", 65.0, connect=truncated),
        ],
    )
    assert host(found).rtt_ms == 20.0
    assert host(found).connections == 1


def test_a_quic_handshake_bounds_the_round_trip(tmp_path: Path) -> None:
    # Chromium reports TLS and connection as one on QUIC.
    quic = {"connectStart": 3.0, "connectEnd": 27.0, "sslStart": 3.0, "sslEnd": 27.0}
    found = measure(tmp_path, [Load("https://a.test/", 65.0, connect=quic, protocol="h3")])
    assert (host(found).rtt_ms, host(found).rtt_source) == (24.0, "quic")
    assert (host(found).connect_ms, host(found).tls_ms) == (24.0, None)
    assert found.requests[0].delay_ms == 41.0


def test_tcp_tells_the_round_trip_better_than_quic(tmp_path: Path) -> None:
    quic = {"connectStart": 3.0, "connectEnd": 20.0, "sslStart": 3.0, "sslEnd": 20.0}
    found = measure(
        tmp_path,
        [
            Load("https://a.test/", 65.0, connect=SECURE),
            Load("https://a.test/b", 65.0, connect=quic, protocol="h3"),
        ],
    )
    assert (host(found).rtt_ms, host(found).rtt_source) == (20.0, "connect")


def test_a_host_on_anothers_connection_has_that_hosts_round_trip(tmp_path: Path) -> None:
    found = measure(
        tmp_path,
        [
            Load("https://a.test/", 65.0, connect=SECURE, protocol="h2"),
            Load("https://coalesced.test/x", 50.0, protocol="h2"),
        ],
    )
    assert by_name(found)["x"].delay_ms == 30.0


def test_a_delay_without_a_round_trip_is_an_upper_bound(tmp_path: Path) -> None:
    found = measure(tmp_path, [Load("http://a.test/", 65.0)])
    assert (found.requests[0].delay_ms, found.requests[0].source) == (65.0, "censored")
    assert "a.test: no connection was measured" in found.warnings[0]


# Passes, statuses, what is missing.


def test_the_median_over_the_passes_counts(tmp_path: Path) -> None:
    passes = [
        [Load("http://a.test/", 20.0 + delay, connect=CONNECTED)] for delay in (90.0, 40.0, 42.0)
    ]
    found = measure(tmp_path, *passes).requests[0]
    assert (found.delay_ms, found.passes) == (42.0, 3)


def test_repeated_requests_are_told_apart_by_order(tmp_path: Path) -> None:
    def loads(first: float, second: float) -> list[Load]:
        return [
            Load("http://a.test/", 20.0, connect=CONNECTED),
            Load("http://a.test/poll#1", 20 + first, sent_ms=1100),
            Load("http://a.test/poll#2", 20 + second, sent_ms=1200),
        ]

    found = measure(tmp_path, loads(10, 70), loads(12, 74)).requests[1:]
    assert [(r.url, r.ordinal, r.delay_ms) for r in found] == [
        ("http://a.test/poll", 0, 11.0),
        ("http://a.test/poll", 1, 72.0),
    ]


def test_failures_redirects_and_outliers_keep_their_delay_but_are_not_typical(
    tmp_path: Path,
) -> None:
    found = measure(
        tmp_path,
        [
            Load("http://a.test/", 25.0, connect=CONNECTED),
            Load("http://a.test/error", 80.0, status=404),
            Load("http://a.test/same", 90.0, status=304),
            Load("http://a.test/slow", 1500.0),
        ],
    )
    assert {name: r.delay_ms for name, r in by_name(found).items()} == {
        "": 5.0,
        "error": 60.0,
        "same": 70.0,
        "slow": 1480.0,
    }
    classes = json.loads(distributions_json([found]))["classes"]
    assert classes["text"] == [[5.0, 0.0], [5.0, 1.0]]


def test_after_early_hints_the_final_response_counts(tmp_path: Path) -> None:
    found = measure(
        tmp_path, [Load("http://a.test/", 320.0, early_hints_ms=25.0, connect=CONNECTED)]
    )
    assert found.requests[0].delay_ms == 300.0


def test_missing_delays_are_drawn_from_the_same_host_and_type(tmp_path: Path) -> None:
    png: dict[str, Any] = {"mime_type": "image/png"}
    found = measure(
        tmp_path,
        [
            Load("http://a.test/", 20.0, connect=CONNECTED),
            *(Load(f"http://a.test/{d}.png", 20.0 + d, **png) for d in (30, 50, 70)),
            *(Load(f"http://a.test/missing{i}.png", None, **png) for i in range(20)),
            Load("http://a.test/empty.png", None, **png, status=204, size_bytes=0),
            Load("http://a.test/font", None, mime_type="font/woff2"),
            Load("http://b.test/missing.png", None, **png),
            Load("http://a.test/missing.png", None, **png, method="POST"),
        ],
    )
    drawn = [r.delay_ms for r in found.requests if r.source == "host"]
    assert set(drawn[:-1]) == {30.0, 50.0, 70.0}
    assert drawn[-1] == 10.0
    assert [r.delay_ms for r in found.requests[-3:]] == [None, None, None]
    again = server_delays(tmp_path / "profile")
    assert again == found


def test_what_a_cache_served_has_no_delay(tmp_path: Path) -> None:
    found = measure(
        tmp_path,
        [
            Load("http://a.test/", 25.0, connect=CONNECTED),
            Load("http://a.test/", 25.0, sent_ms=1500, from_cache=True),
            Load("data:,x", None),
        ],
    )
    assert [(r.delay_ms, r.cached) for r in found.requests] == [(5.0, False), (None, True)]


@pytest.mark.parametrize(
    ("method", "mime_type", "expected"),
    [
        ("GET", "application/xhtml+xml", "text"),
        ("GET", "text/css", "css"),
        ("GET", "application/x-javascript", "javascript"),
        ("GET", "Image/PNG", "image"),
        ("GET", "text/plain", "text"),
        ("GET", "application/json", "other"),
        ("post", "text/css", "post"),
    ],
)
def test_types_are_those_of_the_engine(method: str, mime_type: str, expected: str) -> None:
    assert delay_type(method, mime_type) == expected


# The network log.


def test_the_network_log_stands_in_for_missing_timing_and_round_trips(tmp_path: Path) -> None:
    log = NetLogWriter()
    log.tcp(6, "a.test", 1001, 20)
    log.http1(10, "http://a.test/", 1100, 1165)
    found = measure(tmp_path, [Load("http://a.test/", None)], netlogs={0: log})
    assert (found.requests[0].delay_ms, found.requests[0].source) == (45.0, "timing")
    assert (host(found).rtt_ms, host(found).rtt_source) == (20.0, "netlog")


def test_the_network_log_is_compared_with_devtools(tmp_path: Path) -> None:
    log = NetLogWriter()
    log.http1(10, "http://a.test/", 1100, 1166)
    # The request of an earlier load of the browser itself is not this one.
    log.http1(11, "http://a.test/b", 500, 900)
    log.http1(12, "http://a.test/b", 1100, 1130)
    loads = [Load("http://a.test/", 65.0, connect=CONNECTED), Load("http://a.test/b", 33.5)]
    check = measure(tmp_path, loads, netlogs={0: log}).cross_check
    assert check is not None
    assert (check.requests, check.median_ms, check.worst_ms) == (2, 2.25, 3.5)


@pytest.mark.parametrize(
    ("asked", "answered", "body"),
    [
        ("HTTP2_SESSION_SEND_HEADERS", "HTTP2_SESSION_RECV_HEADERS", "HTTP2_SESSION_RECV_DATA"),
        ("HTTP3_HEADERS_SENT", "HTTP3_HEADERS_DECODED", "HTTP3_DATA_FRAME_RECEIVED"),
    ],
)
def test_streams_are_followed_to_their_final_headers(
    tmp_path: Path, asked: str, answered: str, body: str
) -> None:
    log = NetLogWriter()

    def headers(path: str) -> list[str]:
        return [":method: GET", ":authority: a.test", ":scheme: https", f":path: {path}", "x: :y"]

    size: dict[str, Any] = {"size" if body.startswith("HTTP2") else "payload_length": 5000}
    log.add(100, 1, asked, headers=headers("/?a: b"), stream_id=1)
    log.add(101, 1, asked, headers=headers("/b"), stream_id=3)
    log.add(105, 1, answered, headers=[":status: 103"], stream_id=1)
    log.add(110, 1, answered, headers=[":status: 200"], stream_id=3)
    log.add(111, 1, body, stream_id=3, **size)
    log.add(140, 1, answered, headers=[":status: 200"], stream_id=1)
    log.add(150, 1, answered, headers=["trailer: x"], stream_id=1)
    log.write(tmp_path / "netlog.json")
    first, second = read_exchanges(tmp_path / "netlog.json").exchanges
    assert (first.url, first.wait_ms, first.competing_bytes) == ("https://a.test/?a: b", 40, 5000)
    assert (second.url, second.wait_ms, second.competing_bytes) == ("https://a.test/b", 9, 0)


def test_the_network_log_tells_connections_and_look_ups(tmp_path: Path) -> None:
    log = NetLogWriter()
    log.tcp(6, "a.test:8443", 1001, 20, tls_ms=30)
    log.add(1000, 20, "QUIC_SESSION", "begin", host="b.test", port=443)
    log.add(1001, 20, "QUIC_SESSION_PACKET_SENT", size=1200)
    log.add(1002, 20, "QUIC_SESSION_PACKET_SENT", size=1200)
    log.add(1041, 20, "QUIC_SESSION_PACKET_RECEIVED", peer_address="[2001:db8::1]:443")
    log.add(1050, 20, "QUIC_SESSION_PACKET_RECEIVED", peer_address="[2001:db8::1]:443")
    log.add(900, 30, "HOST_RESOLVER_MANAGER_JOB", "begin", host="https://a.test:8443")
    log.add(912, 30, "HOST_RESOLVER_MANAGER_JOB", "end")
    log.write(tmp_path / "netlog.json")
    found = read_exchanges(tmp_path / "netlog.json")
    tcp, quic = found.connections
    assert (tcp.host, tcp.address, tcp.connect_ms, tcp.tls_ms) == ("a.test", "192.0.2.1", 20, 30)
    assert (quic.host, quic.address, quic.connect_ms) == ("b.test", "2001:db8::1", 40)
    assert quic.is_quic
    assert found.dns_ms == {"a.test": [12]}


def test_a_failed_connection_is_no_round_trip(tmp_path: Path) -> None:
    log = NetLogWriter()
    log.add(1, 5, "SOCKET_POOL_CONNECT_JOB_CREATED", group_id="http://a.test")
    log.add(1, 6, "SOCKET_ALIVE", "begin", source_dependency={"id": 5})
    log.add(1, 6, "TCP_CONNECT_ATTEMPT", "begin", address="192.0.2.1:80")
    log.add(3, 6, "TCP_CONNECT_ATTEMPT", "end", net_error=-102)
    log.write(tmp_path / "netlog.json")
    assert read_exchanges(tmp_path / "netlog.json").connections == []


def test_a_network_log_that_was_cut_off_is_good_up_to_the_cut(tmp_path: Path) -> None:
    log = NetLogWriter()
    log.http1(10, "http://a.test/", 1100, 1165)
    log.http1(11, "http://a.test/b", 1200, 1265)
    loads = [Load("http://a.test/", None, connect=CONNECTED), Load("http://a.test/b", None)]
    profile = write_profile(tmp_path / "profile", [loads], {0: log})
    path = profile / "structure" / "netlog.json"
    text = path.read_text()
    path.write_text(text[: text.index('"time":"1265"')])
    found = server_delays(profile)
    assert [r.passes for r in found.requests] == [1, 0]
    assert "structure: the network log is cut off" in found.warnings


# Packet captures, as `tshark -T fields` prints them.


def packets(text: str) -> list[str]:
    """Lines "time sender seq-length ack what": times in ms, S a SYN, H a TLS handshake."""
    lines = []
    sequence = {"client": 1, "server": 1}
    for line in text.strip().splitlines():
        time, sender, length, ack, *what = line.split()
        kind = what[0] if what else ""
        sequence[sender] += int(length)
        address = {"client": "192.0.2.9", "server": "192.0.2.1"}[sender]
        fields = [
            f"{float(time) / 1000:.6f}",
            "0",
            address,
            "",
            {"client": "5000", "server": "80"}[sender],
            "1" if kind == "S" else "0",
            length,
            str(sequence[sender]),
            ack,
            "4" if kind == "H" else "",
            *(("GET", kind) if kind.startswith("http") else ("", "")),
        ]
        lines.append("\t".join(fields) + "\n")
    return lines


def test_a_capture_measures_from_the_acknowledgement_to_the_response() -> None:
    found = follow(
        read_packets(
            packets(
                """
                0    client 0   0   S
                20   server 0   1   S
                20.1 client 0   1
                21   client 100 1   http://a.test/
                41   server 0   101
                101  server 500 101
                102  server 500 101
                """
            )
        )
    )
    assert found.rtts_ms == {"192.0.2.1": [pytest.approx(20.0)]}
    (exchange,) = found.exchanges
    assert exchange.ack_alone
    assert exchange.response_ms - exchange.ack_ms == pytest.approx(60.0)


def test_an_acknowledgement_with_the_response_is_told() -> None:
    (exchange,) = follow(
        read_packets(packets("21 client 100 1 http://a.test/\n101 server 500 101"))
    ).exchanges
    assert not exchange.ack_alone
    assert exchange.response_ms == pytest.approx(80.0)


def test_data_that_do_not_acknowledge_the_request_are_no_response() -> None:
    (exchange,) = follow(
        read_packets(
            packets(
                """
                21  client 100 1 http://a.test/
                30  server 500 1
                41  server 200 101 H
                101 server 500 101
                """
            )
        )
    ).exchanges
    assert exchange.ack_alone
    assert [exchange.ack_ms, exchange.response_ms] == pytest.approx([20.0, 80.0])


@pytest.mark.parametrize(
    ("ack_ms", "response_ms", "alone", "expected"),
    [
        # The capture says 60; DevTools' own 65 - 20 is less exact.
        (20.0, 80.0, True, (60.0, "capture")),
        # The acknowledgement waited 40 ms for the server's timer: DevTools' word counts.
        (60.0, 65.0, True, (45.0, "timing")),
        (64.0, 64.0, False, (44.0, "censored")),
    ],
)
def test_the_capture_refines_what_devtools_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ack_ms: float,
    response_ms: float,
    alone: bool,
    expected: tuple[float, str],
) -> None:
    exchange = CapturedExchange("http://a.test/", "GET", 0.0, ack_ms, response_ms, alone)
    monkeypatch.setattr(
        delays_module, "read_capture", lambda path, keys: PacketTimes([exchange], {})
    )
    profile = write_profile(
        tmp_path / "profile", [[Load("http://a.test/", 65.0, connect=CONNECTED)]]
    )
    (profile / "structure" / "capture.pcapng").touch()
    found = server_delays(profile).requests[0]
    assert (found.delay_ms, found.source) == expected


# Page graphs and output.


def some_delays(tmp_path: Path) -> ServerDelays:
    return measure(
        tmp_path,
        [
            Load("http://a.test/", 45.0, connect=CONNECTED),
            Load("http://a.test/a.css", 30.0, mime_type="text/css"),
            Load("http://a.test/a.css", 60.0, mime_type="text/css", sent_ms=1500),
            Load("https://a.test/b.css", 50.0, mime_type="text/css"),
        ],
    )


def test_resources_of_a_graph_get_their_delays(tmp_path: Path) -> None:
    def resource(url: str, sent_ms: float, **more: Any) -> dict[str, Any]:
        return {"type": "resource", "url": url, "recorded_sent_ms": sent_ms} | more

    first, second = (
        resource("http://a.test/a.css", 10.0),
        resource("http://a.test/a.css", 30.0),
    )
    again = resource("https://a.test/b.css", 5.0, original="x")
    unknown = resource("http://b.test/", 5.0)
    script = {"type": "evaluation", "url": "http://a.test/"}
    apply_delays({"activities": [second, script, first, again, unknown]}, some_delays(tmp_path))
    assert (first["server_delay_ms"], second["server_delay_ms"]) == (10.0, 40.0)
    assert first["server_delay_source"] == "timing"
    assert not any("server_delay_ms" in node for node in (again, unknown, script))


def test_the_engine_reads_the_distributions(tmp_path: Path) -> None:
    data = distributions_json([some_delays(tmp_path)])
    EngineDelays.from_json(data, "delays")
    document = json.loads(data)
    assert document["classes"]["css"] == [[10.0, 0.0], [30.0, 0.5], [40.0, 1.0]]
    assert document["classes"]["post"] == [[10, 0], [25, 1 / 3], [30, 2 / 3], [40, 1]]
    assert document["source"] == (
        "4 requests of profile; image, javascript, post, other: as all types together"
    )


def test_profiles_without_a_delay_have_no_distributions(tmp_path: Path) -> None:
    found = measure(tmp_path, [Load("http://a.test/", failed="net::ERR_FAILED")])
    for make in (distributions_json, delays_svg):
        with pytest.raises(LoadpathError, match="no server delay was measured"):
            make([found])


def test_the_table_and_the_figure_show_each_scheme_and_type(tmp_path: Path) -> None:
    found = [some_delays(tmp_path)]
    rows = list(csv.DictReader(delays_csv(found).decode().splitlines()))
    assert [tuple(row.values()) for row in rows] == [
        ("http", "css", "10", "0.5"),
        ("http", "css", "40", "1"),
        ("http", "text", "25", "1"),
        ("https", "css", "30", "1"),
    ]
    svg = ElementTree.fromstring(delays_svg(found))
    texts = {element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"http", "https", "css (2)", "text (1)", "css (1)"} <= texts


def test_the_verb_prints_tables_and_writes_files(tmp_path: Path, loadpath: Loadpath) -> None:
    some_delays(tmp_path)
    outputs = ["--svg", "d.svg", "--csv", "d.csv", "--distributions", "d.json"]
    result = loadpath("delays", "profile", *outputs)
    assert result.returncode == 0, result.stderr
    assert "a.test" in result.stdout
    assert "timing" in result.stdout
    assert all((tmp_path / name).exists() for name in ("d.svg", "d.csv", "d.json"))
    assert "d.svg exists already" in loadpath("delays", "profile", *outputs).stderr
    (profile,) = json.loads(loadpath("delays", "profile", "profile", "--json").stdout)[1:]
    assert [r["delay_ms"] for r in profile["requests"]] == [25.0, 10.0, 30.0, 40.0]
    assert set(DELAY_TYPES) >= {r["type"] for r in profile["requests"]}


def test_a_folder_that_is_no_profile_is_an_error(tmp_path: Path, loadpath: Loadpath) -> None:
    result = loadpath("delays", ".")
    assert result.returncode == 1
    assert "is not a recorded profile: no manifest.json" in result.stderr


def test_a_damaged_timing_pass_is_left_out_with_a_warning(tmp_path: Path) -> None:
    loads = [Load("http://a.test/", 45.0, connect=CONNECTED)]
    profile = write_profile(tmp_path / "profile", [loads, loads])
    (profile / "timing-1" / "events.jsonl.gz").write_bytes(b"no gzip")
    found = server_delays(profile)
    assert found.requests[0].passes == 1
    assert "timing-1" in found.warnings[0]
    (profile / "structure" / "events.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(LoadpathError, match="structure"):
        server_delays(profile)
