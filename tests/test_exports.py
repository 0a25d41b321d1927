"""Exports are what other tools expect."""

import json
import shutil
import struct
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from loadpath.cli.export import Format
from loadpath.loading import export as write_export
from loadpath.loading import load_traced
from loadpath.reports import FORMATS, CapturePoint, ExportContext
from scripted import GRAPH, scripted_outcome

SCENARIO = {
    "http": {"version": "http/2"},
    "transport": {"mss_bytes": 1448, "window_scale": 7, "recovery": "sack"},
}
CONTEXT = ExportContext(SCENARIO, GRAPH)
DATA = Path(__file__).parent / "data"


FIELDS = (
    "frame.interface_id",
    "frame.time_epoch",
    "ip.src",
    "tcp.stream",
    "tcp.srcport",
    "tcp.flags.str",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.window_size",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.sack_perm",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.lost_segment",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.out_of_order",
    "tcp.checksum.status",
    "ip.checksum.status",
    "_ws.malformed",
    "_ws.expert.message",
)


def read_capture(file: Path) -> list[dict[str, str]]:
    """What tshark says of each packet."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed (apt-get install tshark)")
    options = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    fields = [part for field in FIELDS for part in ("-e", field)]
    command = ["tshark", "-r", str(file), *options, "-T", "fields", "-E", "separator=|"]
    output = subprocess.run([*command, *fields], capture_output=True, text=True, check=True)
    rows = [line.split("|") for line in output.stdout.splitlines()]
    return [dict(zip(FIELDS, row, strict=True)) for row in rows]


def export(name: str, context: ExportContext = CONTEXT) -> bytes:
    return FORMATS[name].write(scripted_outcome(), context)


def test_the_command_line_knows_every_format() -> None:
    assert [format.value for format in Format] == list(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_an_export_is_the_same_each_time(name: str) -> None:
    assert export(name) == export(name)


class TestHar:
    def har(self) -> dict[str, Any]:
        log = json.loads(export("har"))
        schema = json.loads((DATA / "har-1.2.schema.json").read_text())
        jsonschema.validate(log, schema, format_checker=jsonschema.FormatChecker())
        entries: dict[str, Any] = log["log"]
        return entries

    def test_it_is_valid(self) -> None:
        assert self.har()["version"] == "1.2"

    def test_times_of_an_entry_add_up(self) -> None:
        for entry, expected in zip(self.har()["entries"], [133.0, 83.0], strict=True):
            parts = [t for name, t in entry["timings"].items() if name != "ssl" and t >= 0]
            assert sum(parts) == pytest.approx(entry["time"]) == pytest.approx(expected)

    def test_it_keeps_chromes_fields(self) -> None:
        document, image = self.har()["entries"]
        assert document["_priority"] == "VeryHigh"
        assert document["_initiator"] == {"type": "other"}
        assert image["_priority"] == "Low"
        assert image["_initiator"] == {
            "type": "parser",
            "url": "http://www.example/?q=1",
            "lineNumber": 3,
        }

    def test_events_and_query_are_there(self) -> None:
        log = self.har()
        assert log["pages"][0]["pageTimings"] == {"onContentLoad": 135.0, "onLoad": 176.0}
        assert log["entries"][0]["request"]["queryString"] == [{"name": "q", "value": "1"}]


class TestChromeTrace:
    def events(self) -> list[dict[str, Any]]:
        trace = json.loads(export("chrome-trace"))
        events: list[dict[str, Any]] = trace["traceEvents"]
        return events

    def test_every_event_has_what_its_phase_needs(self) -> None:
        for event in self.events():
            assert {"ph", "name", "pid", "tid", "ts", "args"} <= event.keys(), event
            assert isinstance(event["ts"], int)
            if event["ph"] == "X":
                assert event["dur"] >= 0
            if event["ph"] in "be":
                assert "id" in event

    def test_times_ascend(self) -> None:
        times = [event["ts"] for event in self.events() if event["ph"] != "M"]
        assert all(a <= b for a, b in pairwise(times))

    def test_devtools_finds_process_frame_and_marks(self) -> None:
        by_name = {event["name"]: event for event in self.events()}
        started = by_name["TracingStartedInBrowser"]["args"]["data"]
        assert started["frames"][0]["url"] == "http://www.example/?q=1"
        start = by_name["navigationStart"]["ts"]
        assert by_name["MarkLoad"]["ts"] - start == 176_000
        assert by_name["MarkDOMContent"]["ts"] - start == 135_000
        threads = {e["args"]["name"] for e in self.events() if e["name"] == "thread_name"}
        assert {"CrRendererMain", "CrBrowserMain", "0: www.example", "1: img.example"} <= threads

    def test_each_request_is_sent_answered_and_finished_in_order(self) -> None:
        for number in ("0", "1"):
            of_request = [
                event
                for event in self.events()
                if event["args"].get("data", {}).get("requestId") == number
            ]
            assert [event["name"] for event in of_request] == [
                "ResourceSendRequest",
                "ResourceReceiveResponse",
                "ResourceFinish",
            ]

    def test_asynchronous_slices_are_closed(self) -> None:
        opened = [event["id"] for event in self.events() if event["ph"] == "b"]
        closed = [event["id"] for event in self.events() if event["ph"] == "e"]
        assert sorted(opened) == sorted(closed) == ["0", "1"]


class TestQlog:
    def traces(self) -> list[dict[str, Any]]:
        file = json.loads(export("qlog"))
        assert file["file_schema"] == "urn:ietf:params:qlog:file:contained"
        assert file["serialization_format"] == "application/qlog+json"
        traces: list[dict[str, Any]] = file["traces"]
        return traces

    def test_a_connection_is_a_trace_seen_from_the_server(self) -> None:
        traces = self.traces()
        assert [trace["common_fields"]["group_id"] for trace in traces] == ["0", "1"]
        for trace in traces:
            assert trace["vantage_point"] == {"type": "server"}
            assert trace["event_schemas"] == ["urn:ietf:params:qlog:events:quic-13"]
            times = [event["time"] for event in trace["events"]]
            assert times == sorted(times)

    def test_the_dropped_segment_is_lost_when_it_is_sent_again(self) -> None:
        events = self.traces()[0]["events"]
        sent = [e for e in events if e["name"] == "quic:packet_sent"]
        [lost] = [e for e in events if e["name"] == "quic:packet_lost"]
        assert lost["time"] == 113.0
        number = lost["data"]["header"]["packet_number"]
        first, second = (e for e in sent if e["data"]["frames"][0].get("offset") == 1448)
        assert first["data"]["header"]["packet_number"] == number
        assert second["data"]["header"]["packet_number"] > number

    def test_acknowledgements_name_the_packets_that_arrived(self) -> None:
        events = self.traces()[0]["events"]
        acked = [
            frame["acked_ranges"]
            for event in events
            if event["name"] == "quic:packet_received"
            for frame in event["data"]["frames"]
            if frame["frame_type"] == "ack"
        ]
        # Packet 0 is the SYN-ACK, 1 to 4 the data, 5 the retransmission of 2.
        assert acked == [[[1]], [[3]], [[3, 4]], [[3, 5]]]

    def test_windows_and_states_are_there(self) -> None:
        events = self.traces()[0]["events"]
        states = [e["data"] for e in events if e["name"] == "quic:congestion_state_updated"]
        assert states == [
            {"new": "slow_start"},
            {"old": "slow_start", "new": "recovery"},
            {"old": "recovery", "new": "congestion_avoidance"},
        ]
        metrics = [e["data"] for e in events if e["name"] == "quic:recovery_metrics_updated"]
        assert metrics[-1] == {
            "congestion_window": 3 * 1448,
            "bytes_in_flight": 0,
            "ssthresh": 2 * 1448,
        }


class TestPcapng:
    def read(self, tmp_path: Path, capture: CapturePoint) -> list[dict[str, str]]:
        file = tmp_path / "load.pcapng"
        file.write_bytes(export("pcapng", ExportContext(SCENARIO, GRAPH, capture)))
        return read_capture(file)

    @pytest.mark.parametrize("capture", CapturePoint)
    def test_no_packet_is_malformed_and_all_checksums_hold(
        self, tmp_path: Path, capture: CapturePoint
    ) -> None:
        rows = self.read(tmp_path, capture)
        assert rows
        for row in rows:
            assert row["_ws.malformed"] == "", row
            assert row["tcp.checksum.status"] == row["ip.checksum.status"] == "1", row

    def test_the_client_sees_what_arrives_and_the_server_what_leaves(self, tmp_path: Path) -> None:
        client = self.read(tmp_path, CapturePoint.CLIENT)
        server = self.read(tmp_path, CapturePoint.SERVER)
        # The drop is the only packet that one of them misses.
        assert len(server) == len(client) + 1 == 19
        assert len(self.read(tmp_path, CapturePoint.BOTH)) == len(client) + len(server)

    def test_the_handshake_negotiates_the_options(self, tmp_path: Path) -> None:
        syn, syn_ack, *_ = self.read(tmp_path, CapturePoint.CLIENT)
        for packet in (syn, syn_ack):
            assert packet["tcp.options.mss_val"] == "1460"
            assert packet["tcp.options.wscale.shift"] == "7"
            assert packet["tcp.options.sack_perm"] != ""
        assert syn["tcp.options.timestamp.tsecr"] == "0"
        assert syn_ack["tcp.options.timestamp.tsecr"] == syn["tcp.options.timestamp.tsval"]

    def test_windows_are_scaled_back_to_the_traces(self, tmp_path: Path) -> None:
        data = [row for row in self.read(tmp_path, CapturePoint.CLIENT) if row["tcp.len"] != "0"]
        assert {row["tcp.window_size"] for row in data} == {"65408"}

    def test_wireshark_flags_the_retransmission_and_nothing_else(self, tmp_path: Path) -> None:
        rows = self.read(tmp_path, CapturePoint.SERVER)
        again = [row for row in rows if row["tcp.analysis.retransmission"]]
        assert [(row["tcp.seq_raw"], row["frame.time_epoch"][:5]) for row in again] == [
            ("1449", "0.113")
        ]
        assert not [row for row in rows if row["tcp.analysis.lost_segment"]]

    def test_at_the_client_the_gap_shows(self, tmp_path: Path) -> None:
        rows = self.read(tmp_path, CapturePoint.CLIENT)
        assert [row["tcp.seq_raw"] for row in rows if row["tcp.analysis.lost_segment"]] == ["2897"]
        assert [
            row["tcp.seq_raw"]
            for row in rows
            if row["tcp.analysis.retransmission"] or row["tcp.analysis.out_of_order"]
        ] == ["1449"]
        reported = [row["tcp.options.sack_le"] for row in rows if row["tcp.options.sack_le"]]
        assert reported == ["2897", "2897"]

    def test_time_stamps_are_in_nanoseconds(self, tmp_path: Path) -> None:
        data = export("pcapng")
        kind, length = struct.unpack_from("<II", data)
        assert kind == 0x0A0D0D0A
        assert b"\x09\x00\x01\x00\x09" in data[length : length + 80], "if_tsresol is 9"
        last = self.read(tmp_path, CapturePoint.CLIENT)[-1]
        assert last["frame.time_epoch"] == "0.175000000"


@pytest.mark.parametrize("http", ["h1.0", "h1", "h1-pipelined", "h2", "quic"])
class TestSimulatedLoads:
    """The same for loads that the engine made, with losses."""

    PAGE = "example:shape-reddit"

    def load(self, http: str, name: str, capture: CapturePoint = CapturePoint.CLIENT) -> bytes:
        small_queue = {"network.queue_floor_packets": 10}
        self.outcome, scenario = load_traced(
            self.PAGE,
            {"http": http, "profile": "linux", "connectivity": "cable", "set": small_queue},
            run=0,
        )
        assert self.outcome.totals.retransmissions > 0
        return write_export(self.outcome, name, scenario=scenario, page=self.PAGE, capture=capture)

    def test_phases_fill_the_time_from_start_to_end(self, http: str) -> None:
        self.load(http, "har")
        for resource in self.outcome.resources:
            assert resource.phases is not None and resource.end_ms is not None
            phases = msgspec.structs.astuple(resource.phases)
            assert min(phases) >= 0
            assert sum(phases) == pytest.approx(resource.end_ms - resource.start_ms, abs=1e-6)

    def test_har_is_valid(self, http: str) -> None:
        log = json.loads(self.load(http, "har"))
        jsonschema.validate(log, json.loads((DATA / "har-1.2.schema.json").read_text()))
        initiators = {entry["_initiator"]["type"] for entry in log["log"]["entries"]}
        assert initiators == {"other", "parser"}

    def test_chrome_trace_has_only_whole_slices(self, http: str) -> None:
        trace = json.loads(self.load(http, "chrome-trace"))
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        assert min(event["dur"] for event in slices) >= 0
        names = {event["name"] for event in slices}
        assert {"connect", "ParseHTML", "EvaluateScript", "ParseAuthorStyleSheet"} <= names

    def test_qlog_acknowledges_only_what_was_sent(self, http: str) -> None:
        losses = 0
        for trace in json.loads(self.load(http, "qlog"))["traces"]:
            sent = -1
            for event in trace["events"]:
                data = event["data"]
                if event["name"] == "quic:packet_sent":
                    sent += 1
                    assert data["header"]["packet_number"] == sent
                losses += event["name"] == "quic:packet_lost"
                for frame in data.get("frames", ()):
                    for acked in frame.get("acked_ranges", ()):
                        assert acked[-1] <= sent
        assert self.outcome.trace is not None
        packets = self.outcome.trace.packets
        # An answer to a SYN has no payload that could be lost.
        again = [
            p for p in packets if p.event == "sent" and p.retransmission and not p.up and p.len
        ]
        assert losses == len(again)

    def test_wireshark_flags_the_servers_retransmissions_exactly(
        self, http: str, tmp_path: Path
    ) -> None:
        file = tmp_path / "load.pcapng"
        file.write_bytes(self.load(http, "pcapng", CapturePoint.SERVER))
        rows = [row for row in read_capture(file) if int(row["tcp.len"]) > 0]
        assert not [row for row in rows if row["_ws.malformed"]]
        assert {row["tcp.checksum.status"] for row in rows} == {"1"}
        # Wireshark calls a retransmission that follows within 3 ms "out of order".
        flagged = {
            (row["frame.time_epoch"], row["tcp.seq_raw"])
            for row in rows
            if row["ip.src"] != "198.19.0.1"
            and (row["tcp.analysis.retransmission"] or row["tcp.analysis.out_of_order"])
        }
        assert self.outcome.trace is not None
        assert flagged == {
            (f"{packet.t_ms / 1000:.9f}", str(packet.seq))
            for packet in self.outcome.trace.packets
            if packet.event == "sent" and packet.retransmission and not packet.up and packet.len
        }
