"""The parts of the profiler that need no browser."""

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from conftest import ROOT, Loadpath
from loadpath.errors import LoadpathError, NotFoundError, OutputExistsError
from loadpath.profiler import (
    Emulation,
    Manifest,
    Pass,
    PassKind,
    Profile,
    Settings,
    read_manifest,
    redact_har,
    share_archive,
    summarize,
)
from loadpath.profiler.chromium import FLAGS, command_line, find_browser
from loadpath.profiler.devtools import BrowserEndedError, CommandError, DevTools, Event
from loadpath.profiler.emulation import UserAgent, session_commands
from loadpath.profiler.har import Bodies, write_archive
from loadpath.profiler.netlog import read_netlog, tls_handshakes
from loadpath.profiler.passes import browser_flags
from loadpath.profiler.recorder import traced_over_plain
from loadpath.profiler.redact import Redactor
from loadpath.profiler.settings import page_url, parse_pairs

HEADLESS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "HeadlessChrome/156.0.8078.79 Safari/537.36"
)
USER_AGENT = UserAgent.of(HEADLESS, Emulation.DESKTOP)


class TestSettings:
    @pytest.mark.parametrize(
        ("text", "url"),
        [
            ("example.org", "https://example.org"),
            ("example.org/a?b#c", "https://example.org/a?b#c"),
            ("localhost:8080/x", "https://localhost:8080/x"),
            ("http://[::1]:80/", "http://[::1]:80/"),
            ("HTTP://EXAMPLE.org", "HTTP://EXAMPLE.org"),
        ],
    )
    def test_urls_may_leave_out_the_scheme(self, text: str, url: str) -> None:
        assert page_url(text) == url

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "not the URL of a page"),
            ("ftp://example.org", "expected an http:// or https:// URL"),
            ("file:///etc/passwd", "expected an http:// or https:// URL"),
            ("http://a b/", "not the URL of a page"),
            ("http://example.org:99999/", "is not a URL: Port out of range"),
            ("http://anna:secret@example.org/", "holds a user name or password"),
        ],
    )
    def test_urls_that_are_none(self, text: str, message: str) -> None:
        with pytest.raises(LoadpathError, match=message):
            page_url(text)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({"runs": -1}, "--runs -1: expected a number from 0"),
            ({"cpu_slowdown": 0.5}, "--cpu-slowdown 0.5: expected a number from 1"),
            ({"timeout_s": 0}, "--timeout 0: expected a number from 0.1"),
            ({"timeout_s": float("inf")}, "--timeout inf: expected"),
            ({"wait_s": float("nan")}, "--wait nan: expected"),
            ({"auth": "anna"}, "--auth: expected USER:PASSWORD"),
            ({"headers": {"a b": "c"}}, "--header 'a b': not the name of an HTTP header"),
            ({"headers": {"a": "b\r\nc: d"}}, "--header a: its value has a line break"),
            ({"browser_flags": ("-x",)}, "--browser-flag -x: expected a flag that begins with --"),
            ({"redact": True, "capture": True}, "packets cannot be redacted"),
        ],
    )
    def test_bad_values_are_errors(self, values: dict[str, Any], message: str) -> None:
        with pytest.raises(LoadpathError, match=message):
            Settings(**values)

    def test_pairs_are_split_at_the_first_separator(self) -> None:
        assert parse_pairs("--header", ["A: b:c", "D:"], ":") == {"A": "b:c", "D": ""}
        with pytest.raises(LoadpathError, match="--cookie: expected NAME=VALUE") as error:
            parse_pairs("--cookie", ["secret"], "=")
        assert "secret" not in str(error.value)

    def test_secrets_are_left_out_of_the_manifest_if_asked(self) -> None:
        secrets: dict[str, Any] = {"headers": {"K": "h"}, "cookies": {"c": "d"}, "auth": "u:p"}
        plain = Settings(**secrets).describe()
        assert {name: plain[name] for name in secrets} == secrets
        redacted = Settings(**secrets, redact=True).describe()
        assert redacted["headers"] == {"K": "[redacted]"}
        assert redacted["cookies"] == {"c": "[redacted]"}
        assert redacted["auth"] == "[redacted]"


class TestBrowser:
    def test_every_flag_has_a_reason(self) -> None:
        assert all(flag.startswith("--") and len(reason) > 10 for flag, reason in FLAGS.items())

    def test_roots_browser_has_no_sandbox_and_says_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        browser, data = Path("/b"), Path("/d")
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert "--no-sandbox" in command_line(browser, data, [])
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert "--no-sandbox" not in command_line(browser, data, [])
        assert "--no-sandbox" in command_line(browser, data, [], no_sandbox=True)
        assert command_line(browser, data, ["--x"])[-2:] == ["--x", "about:blank"]

    def test_options_become_flags(self) -> None:
        settings = Settings(
            browser_flags=("--x",),
            http1=True,
            host_resolver_rules="MAP a b",
            ignore_certificate_errors=True,
            capture=True,
        )
        flags = browser_flags(PassKind.STRUCTURE, settings, Path("/p"))
        assert "--x" in flags
        assert {"--disable-http2", "--disable-quic", "--ignore-certificate-errors"} <= {*flags}
        assert "--host-resolver-rules=MAP a b" in flags
        assert "--log-net-log=/p/netlog.json" in flags
        assert "--ssl-key-log-file=/p/sslkeys" in flags
        timing = browser_flags(PassKind.TIMING, settings, Path("/p"))
        assert set(timing) - set(flags) == {"--net-log-capture-mode=Default"}
        # A plain pass goes the same way, but writes nothing.
        plain = browser_flags(PassKind.PLAIN, settings, Path("/p"))
        assert set(flags) - set(plain) == {
            "--log-net-log=/p/netlog.json",
            "--net-log-capture-mode=Everything",
            "--ssl-key-log-file=/p/sslkeys",
        }

    def test_a_missing_browser_is_an_error_with_a_hint(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(NotFoundError, match="no chromium-headless-shell") as error:
            find_browser()
        assert error.value.__notes__[0].startswith("hint: apt-get install chromium-headless-shell")
        (tmp_path / "file").touch()
        with pytest.raises(NotFoundError, match="is not an executable file"):
            find_browser(tmp_path / "file")

    def test_the_user_agent_is_that_of_a_browser_with_a_window(self) -> None:
        assert "Headless" not in json.dumps([USER_AGENT.text, USER_AGENT.metadata])
        assert "(X11; Linux x86_64)" in USER_AGENT.text
        assert "Chrome/156.0.0.0 Safari" in USER_AGENT.text
        mobile = UserAgent.of(HEADLESS, Emulation.MOBILE)
        assert "Android" in mobile.text
        assert "Chrome/156.0.0.0 Mobile Safari" in mobile.text
        assert mobile.metadata["mobile"] is True


class TestSessionCommands:
    @pytest.mark.parametrize("kind", PassKind)
    @pytest.mark.parametrize("target", ["page", "iframe", "worker", "service_worker"])
    def test_runtime_is_never_enabled(self, kind: PassKind, target: str) -> None:
        settings = Settings(headers={"A": "b"}, script="1", emulate=Emulation.MOBILE)
        methods = [m for m, _ in session_commands(kind, settings, target, USER_AGENT)]
        assert methods
        assert not [m for m in methods if m.startswith("Runtime.")]
        assert any(m.startswith("Debugger.") for m in methods) == (kind is PassKind.STRUCTURE)

    def test_the_structure_pass_has_stacks_bodies_and_the_wrapper(self) -> None:
        commands = dict(session_commands(PassKind.STRUCTURE, Settings(), "page", USER_AGENT))
        assert commands["Debugger.setAsyncCallStackDepth"] == {"maxDepth": 32}
        assert commands["Debugger.setSkipAllPauses"] == {"skip": True}
        assert commands["Network.enable"]["maxTotalBufferSize"] >= 1 << 30
        script = commands["Page.addScriptToEvaluateOnNewDocument"]
        wrapper = ROOT / "python" / "loadpath" / "profiler" / "wrapper.js"
        assert script == {"source": wrapper.read_text(), "runImmediately": False}

    def test_a_plain_pass_has_no_network_domain_unless_headers_need_it(self) -> None:
        def methods(settings: Settings) -> list[str]:
            return [m for m, _ in session_commands(PassKind.PLAIN, settings, "page", USER_AGENT)]

        assert not [m for m in methods(Settings()) if m.startswith("Network.")]
        assert methods(Settings(headers={"A": "b"}))[:2] == [
            "Network.enable",
            "Network.setExtraHTTPHeaders",
        ]

    def test_workers_get_nothing_that_only_documents_have(self) -> None:
        settings = Settings(script="1", emulate=Emulation.MOBILE, cpu_slowdown=2)
        commands = session_commands(PassKind.STRUCTURE, settings, "worker", USER_AGENT)
        assert not [m for m, _ in commands if m.startswith("Page.")]


class TestDevTools:
    def run(self, replies: bytes, *, pieces: int = 1 << 16) -> tuple[list[Any], list[Event]]:
        """Send two commands to a browser that says `replies` and ends; results and events."""

        async def session() -> tuple[list[Any], list[Event]]:
            commands_out, commands_in = os.pipe()
            replies_out, replies_in = os.pipe()
            events: list[Event] = []
            devtools = await DevTools.open(commands_in, replies_out, events.append)
            pending = [devtools.post("A.a", {"x": 1}), devtools.post("B.b", session="S")]
            await asyncio.sleep(0)
            assert os.read(commands_out, 1 << 16).split(b"\0")[:2] == [
                b'{"id":1,"method":"A.a","params":{"x":1}}',
                b'{"id":2,"method":"B.b","params":{},"sessionId":"S"}',
            ]
            for start in range(0, len(replies), pieces):
                os.write(replies_in, replies[start : start + pieces])
                await asyncio.sleep(0)
            os.close(replies_in)
            results = await asyncio.gather(*pending, return_exceptions=True)
            with pytest.raises(BrowserEndedError):
                await devtools.call("C.c")
            devtools.close()
            os.close(commands_out)
            return results, events

        return asyncio.run(session())

    @pytest.mark.parametrize("pieces", [1, 7, 1 << 16])
    def test_replies_and_events_arrive_in_any_pieces(self, pieces: int) -> None:
        results, events = self.run(
            b'{"id":2,"result":{"b":2},"sessionId":"S"}\0'
            b'{"method":"E.e","sessionId":"S","params":{"c":[1]}}\0{"id":1,"result":{}}\0',
            pieces=pieces,
        )
        assert results == [{}, {"b": 2}]
        assert [(e.method, e.session, e.decode()) for e in events] == [("E.e", "S", {"c": [1]})]

    def test_lone_surrogates_become_replacement_characters(self) -> None:
        _, events = self.run(
            rb'{"method":"E","params":{"a":"\ud800x\udc00 \ud83d\ude00 \\ud800 \uD800"}}' + b"\0"
        )
        assert events[0].decode() == {"a": "\ufffdx\ufffd \U0001f600 \\ud800 \ufffd"}

    def test_a_message_that_is_no_json_fails_what_waits(self) -> None:
        results, _ = self.run(b"{\0")
        assert all(isinstance(result, BrowserEndedError) for result in results)

    def test_refusals_name_the_command(self) -> None:
        results, _ = self.run(
            b'{"id":1,"error":{"code":-1,"message":"no such thing"}}\0{"id":2,"result":{}}\0'
        )
        assert isinstance(results[0], CommandError)
        assert str(results[0]) == "A.a: no such thing"

    def test_commands_fail_when_the_browser_ends(self) -> None:
        results, _ = self.run(b'{"id":2,"result":{}}\0')
        assert isinstance(results[0], BrowserEndedError)
        assert results[1] == {}


class TestReaper:
    REAPER = ROOT / "python" / "loadpath" / "profiler" / "reaper.py"

    def start(self, program: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(self.REAPER), "--", "sh", "-c", program],
            stdin=subprocess.PIPE,
        )

    def test_the_exit_status_is_the_programs(self) -> None:
        for program, status in (("exit 7", 7), ("kill -9 $$", 128 + signal.SIGKILL)):
            with self.start(program) as process:
                assert process.wait(20) == status

    def test_nothing_outlives_the_input(self, tmp_path: Path) -> None:
        pids = tmp_path / "pids"
        # A process that left the group, and one that does not heed signals.
        process = self.start(
            f"setsid sh -c 'echo $$ >> {pids}; exec sleep 600' & "
            f"trap '' TERM; echo $$ >> {pids}; while :; do sleep 600; done"
        )
        end = time.monotonic() + 20
        while not pids.exists() or len(pids.read_text().split()) < 2:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 128 + signal.SIGKILL
        for pid in pids.read_text().split():
            assert not Path(f"/proc/{pid}").exists()


class Events:
    """Writes what a browser would have told."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def add(self, method: str, session: str = "main", **params: Any) -> None:
        event = {"session": session, "target": "T", "method": f"Network.{method}", "params": params}
        self.lines.append(msgspec.json.encode(event) + b"\n")

    def sent(self, request: str, url: str, at_s: float, **more: Any) -> None:
        body = {"url": url, "method": "GET", "headers": {"Accept": "*/*"}}
        self.add(
            "requestWillBeSent",
            requestId=request,
            request=body | {"initialPriority": "High"} | (more.pop("extra", None) or {}),
            timestamp=at_s,
            wallTime=1_700_000_000 + at_s,
            initiator={"type": "parser"},
            type="Image",
            frameId="F",
            **more,
        )

    def archive(self, folder: Path, bodies: dict[str, dict[str, Any]] | None = None) -> list[Any]:
        """The entries of the archive."""
        events, path = folder / "events.jsonl.gz", folder / "archive.har"
        events.write_bytes(gzip.compress(b"".join(self.lines)))
        with Bodies(folder) as kept:
            for request, body in (bodies or {}).items():
                kept.add(request, body)
            write_archive(events, kept, path, title="T", on_content_load_ms=1.0, on_load_ms=None)
        har = json.loads(path.read_text())
        schema = ROOT / "tests" / "data" / "har-1.2.schema.json"
        jsonschema.validate(har, json.loads(schema.read_text()))
        assert har["log"]["pages"][0]["pageTimings"] == {"onContentLoad": 1.0, "onLoad": -1}
        entries: list[Any] = har["log"]["entries"]
        return entries


def timing(**offsets_ms: float) -> dict[str, float]:
    names = ("dns", "connect", "ssl", "send")
    absent = {f"{name}{end}": -1.0 for name in names for end in ("Start", "End")}
    return absent | offsets_ms


class TestArchive:
    def test_phases_are_those_that_the_browser_saw(self, tmp_path: Path) -> None:
        events = Events()
        events.sent("1", "http://a/x.png?q=1", 10.0)
        phases = timing(
            requestTime=10.002,
            dnsStart=1,
            dnsEnd=3,
            connectStart=3,
            connectEnd=9,
            sslStart=5,
            sslEnd=9,
            sendStart=10,
            sendEnd=10.5,
            receiveHeadersEnd=30.5,
        )
        response = {"status": 200, "statusText": "OK", "headers": {"B": "1\n2"}, "timing": phases}
        response |= {"mimeType": "image/png", "protocol": "h2", "remoteIPAddress": "[::1]"}
        events.add("responseReceived", requestId="1", type="Image", response=response)
        events.add("dataReceived", requestId="1", dataLength=50, encodedDataLength=40)
        events.add("loadingFinished", requestId="1", timestamp=10.042, encodedDataLength=140)
        [entry] = events.archive(tmp_path, {"1": {"body": "eA==", "base64Encoded": True}})
        assert entry["timings"] == pytest.approx(
            {
                "blocked": 3,
                "dns": 2,
                "connect": 6,
                "ssl": 4,
                "send": 0.5,
                "wait": 20,
                "receive": 9.5,
            }
        )
        # HAR 1.2: the phases without ssl, which is part of connect. One ms between connect and send
        # belongs to none.
        assert entry["time"] == pytest.approx(41)
        assert entry["response"]["content"] == {
            "size": 50,
            "mimeType": "image/png",
            "text": "eA==",
            "encoding": "base64",
        }
        assert (entry["response"]["bodySize"], entry["_transferSize"]) == (40, 140)
        assert entry["response"]["headers"] == [
            {"name": "B", "value": "1"},
            {"name": "B", "value": "2"},
        ]
        assert entry["request"]["queryString"] == [{"name": "q", "value": "1"}]
        assert (entry["serverIPAddress"], entry["_protocol"]) == ("::1", "h2")
        assert (entry["_priority"], entry["_resourceType"]) == ("High", "image")
        assert (entry["_requestId"], entry["_frameId"]) == ("1", "F")

    def test_redirects_are_entries_with_headers_of_their_own(self, tmp_path: Path) -> None:
        events = Events()
        # Headers of the wire come when they like, but in order.
        for value in ("first", "second"):
            cookie = {"name": "c", "value": value}
            events.add(
                "requestWillBeSentExtraInfo",
                requestId="1",
                headers={"X": value},
                associatedCookies=[
                    {"cookie": cookie, "blockedReasons": []},
                    {"cookie": cookie, "blockedReasons": ["SecureOnly"]},
                ],
            )
        events.add(
            "responseReceivedExtraInfo",
            requestId="1",
            statusCode=302,
            headers={"Location": "/b", "Set-Cookie": "a=b; Path=/\nc=d"},
        )
        events.sent("1", "http://a/a", 1.0)
        redirect = {"status": 302, "statusText": "", "headers": {}}
        events.sent("1", "http://a/b", 2.0, redirectResponse=redirect, redirectHasExtraInfo=True)
        response = {"status": 200, "statusText": "OK", "headers": {"Y": "z"}}
        events.add("responseReceived", requestId="1", type="Image", response=response)
        events.add("loadingFinished", requestId="1", timestamp=3.0, encodedDataLength=9)
        first, second = events.archive(tmp_path, {"1": {"body": "b", "base64Encoded": False}})
        assert [e["request"]["url"] for e in (first, second)] == ["http://a/a", "http://a/b"]
        assert (first["response"]["status"], first["response"]["redirectURL"]) == (302, "/b")
        assert [c["name"] for c in first["response"]["cookies"]] == ["a", "c"]
        assert first["request"]["cookies"] == [{"name": "c", "value": "first"}]
        assert second["request"]["headers"] == [{"name": "X", "value": "second"}]
        assert second["response"]["headers"] == [{"name": "Y", "value": "z"}]
        assert "text" not in first["response"]["content"]
        assert second["response"]["content"]["text"] == "b"

    def test_requests_without_an_end_or_a_response_are_entries(self, tmp_path: Path) -> None:
        events = Events()
        events.sent("1", "http://a/failed", 1.0)
        events.sent("2", "http://a/unfinished", 1.1)
        events.sent("3", "http://a/cached", 1.2)
        events.add(
            "loadingFailed", requestId="1", timestamp=1.5, errorText="net::ERR_X", canceled=True
        )
        events.add("requestServedFromCache", requestId="3")
        failed, unfinished, cached = events.archive(tmp_path)
        assert (failed["response"]["status"], failed["_error"]) == (0, "net::ERR_X")
        assert failed["_canceled"] is True
        assert failed["time"] == pytest.approx(500)
        assert unfinished["response"]["_error"] == "unfinished when the recording ended"
        assert cached["_fromCache"] == "memory"

    def test_the_size_of_a_documents_body_is_what_its_headers_leave(self, tmp_path: Path) -> None:
        events = Events()
        events.sent("1", "http://a/", 1.0)
        response = {"status": 200, "statusText": "", "headers": {}, "encodedDataLength": 100}
        events.add("responseReceived", requestId="1", type="Document", response=response)
        events.add("dataReceived", requestId="1", dataLength=500, encodedDataLength=0)
        events.add("loadingFinished", requestId="1", timestamp=3.0, encodedDataLength=350)
        [entry] = events.archive(tmp_path)
        assert entry["response"]["content"]["size"] == 500
        assert (entry["response"]["bodySize"], entry["_transferSize"]) == (250, 350)

    def test_a_document_that_two_sessions_tell_of_is_one_entry(self, tmp_path: Path) -> None:
        events = Events()
        events.sent("1", "http://a/frame", 1.0)
        events.sent("1", "http://a/frame", 1.0)
        assert len(events.archive(tmp_path)) == 1


def foreign_har() -> dict[str, Any]:
    """As another tool would write it."""
    message = {
        "cookies": [{"name": "c", "value": "s3cr3t"}],
        "headers": [
            {"name": "COOKIE", "value": "s3cr3t"},
            {"name": "Set-cookie", "value": "s3cr3t"},
            {"name": "proxy-authorization", "value": "s3cr3t"},
            {"name": "Authorization", "value": "s3cr3t"},
            {"name": "X-Key", "value": "s3cr3t"},
            {"name": "Accept", "value": "text/html"},
        ],
    }
    post = {"mimeType": "text/plain", "text": "s3cr3t", "params": [{"name": "s3cr3t"}]}
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "other", "version": "1"},
            "entries": [
                {
                    "request": message | {"postData": post},
                    "response": message | {"content": {"text": "body"}},
                    "_webSocketMessages": [{"data": "s3cr3t"}],
                }
            ],
        }
    }


class TestRedaction:
    def test_events_lose_cookies_credentials_and_posted_data(self) -> None:
        params = {
            "request": {
                "url": "http://a/",
                "headers": {"cookie": "s3cr3t", "Authorization": "s3cr3t", "X": "kept"},
                # A body may look like anything.
                "postData": '{"mimeType": "s3cr3t"}',
                "postDataEntries": [{"bytes": "s3cr3t"}],
            },
            "redirectResponse": {"headers": {"Set-Cookie": "s3cr3t"}, "headersText": "s3cr3t"},
            "associatedCookies": [{"cookie": {"value": "s3cr3t"}}],
            "blockedCookies": [{"cookieLine": "s3cr3t"}],
        }
        redacted = Redactor().event("Network.any", msgspec.json.encode(params))
        assert json.loads(bytes(redacted)) == {
            "request": {"url": "http://a/", "headers": {"X": "kept"}},
            "redirectResponse": {"headers": {}},
        }

    def test_other_domains_are_left_alone(self) -> None:
        raw = b'{"headers": {"cookie": "x"}}'
        assert Redactor().event("Debugger.scriptParsed", raw) is raw

    def test_har_files_of_other_tools_are_redacted(self, tmp_path: Path) -> None:
        source, target = tmp_path / "a.har", tmp_path / "b.har"
        source.write_text(json.dumps(foreign_har(), indent=1))
        redact_har(source, target, secret_headers=["x-key"])
        text = target.read_text()
        assert "s3cr3t" not in text
        [entry] = json.loads(text)["log"]["entries"]
        assert entry["request"]["headers"] == [{"name": "Accept", "value": "text/html"}]
        assert entry["request"]["postData"]["mimeType"] == "text/plain"
        assert entry["response"]["content"]["text"] == "body"
        with pytest.raises(OutputExistsError):
            redact_har(source, target)

    @pytest.mark.parametrize("text", ["", "[]", '{"log": {}}', '{"log": {"entries": 3}}', "{"])
    def test_what_is_no_har_is_an_error(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "a.har").write_text(text)
        with pytest.raises(LoadpathError, match=r"a\.har is not a HAR"):
            redact_har(tmp_path / "a.har", tmp_path / "b.har")
        assert not (tmp_path / "b.har").exists()

    def test_traces_lose_cookies_and_stay_traces(self, tmp_path: Path) -> None:
        headers = [{"name": "set-cookie", "value": "s3cr3t"}, {"name": "Server", "value": "x"}]
        events = [
            {"name": "RunTask", "ts": 1},
            {"name": "ResourceReceiveResponse", "args": {"data": {"headers": headers}}},
            {"name": "RunTask", "ts": 2},
        ]
        lines = ",\n".join(json.dumps(event, separators=(",", ":")) for event in events)
        path = tmp_path / "trace.json.gz"
        path.write_bytes(gzip.compress(b'{"traceEvents":[\n%s\n],"metadata":{}}' % lines.encode()))
        Redactor().trace(path)
        kept = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        assert kept[1]["args"]["data"]["headers"] == [{"name": "Server", "value": "x"}]
        assert [kept[0], kept[2]] == [events[0], events[2]]


def a_profile(folder: Path) -> Path:
    """A small profile, with secrets in its archive."""
    folder.mkdir()
    manifest = Manifest(
        url="http://a/",
        status="complete",
        loadpath="0",
        browser={"product": "Chrome/1"},
        settings={"headers": {"X-Key": "s3cr3t"}},
        passes=[a_pass(PassKind.STRUCTURE, 300.0)],
    )
    (folder / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    events = Events()
    events.sent(
        "1",
        "http://a/",
        1.0,
        extra={"headers": {"x-key": "s3cr3t"}, "postData": "s3cr3t", "hasPostData": True},
    )
    events.archive(folder)
    return folder


def a_pass(kind: PassKind, load_ms: float | None) -> Pass:
    return Pass(name=kind, kind=kind, status="complete", started_at="", load_ms=load_ms)


class TestSharing:
    def test_the_archive_is_redacted_by_default(self, loadpath: Loadpath, tmp_path: Path) -> None:
        a_profile(tmp_path / "site")
        result = loadpath("archive", "site")
        assert (result.returncode, result.stdout) == (0, "site.har\n")
        assert "look before you share" in result.stderr
        text = (tmp_path / "site.har").read_text()
        assert "s3cr3t" not in text
        assert len(json.loads(text)["log"]["entries"]) == 1
        assert loadpath("archive", "site").returncode == 1

    def test_secrets_are_kept_on_request(self, tmp_path: Path) -> None:
        folder = a_profile(tmp_path / "site")
        target = share_archive(folder, tmp_path / "all.har", with_secrets=True)
        assert target.read_bytes() == (folder / "archive.har").read_bytes()

    def test_a_folder_that_is_no_profile_is_an_error(
        self, loadpath: Loadpath, tmp_path: Path
    ) -> None:
        result = loadpath("archive", ".")
        assert "error: . is not a recorded profile: no manifest.json" in result.stderr
        assert (result.returncode, list(tmp_path.iterdir())) == (1, [])


class TestManifest:
    def test_damaged_and_later_manifests_are_errors(self, tmp_path: Path) -> None:
        path = a_profile(tmp_path / "p") / "manifest.json"
        manifest = json.loads(path.read_text())
        assert read_manifest(path.parent).url == "http://a/"
        path.write_text(json.dumps(manifest | {"version": 2}))
        with pytest.raises(LoadpathError, match="loadpath-profile 2, expected loadpath-profile 1"):
            read_manifest(path.parent)
        path.write_text('{"url": 3}')
        with pytest.raises(LoadpathError, match=r"manifest\.json: "):
            read_manifest(path.parent)

    def test_the_ratio_is_that_of_medians(self) -> None:
        passes = [a_pass(PassKind.STRUCTURE, 900.0)]
        assert traced_over_plain(passes) is None
        passes += [a_pass(PassKind.TIMING, ms) for ms in (110.0, 120.0, 500.0)]
        assert traced_over_plain(passes) is None
        passes += [a_pass(PassKind.PLAIN, ms) for ms in (100.0, None, 90.0, 400.0)]
        assert traced_over_plain(passes) == pytest.approx(1.2)

    def test_the_summary_tells_what_was_found(self, tmp_path: Path) -> None:
        passes = [
            msgspec.structs.replace(
                a_pass(PassKind.STRUCTURE, 300.0), requests=7, transferred_bytes=2_345_678
            ),
            a_pass(PassKind.TIMING, 110.0),
            msgspec.structs.replace(a_pass(PassKind.TIMING, 130.0), warnings=["odd", "odd"]),
        ]
        manifest = msgspec.structs.replace(
            read_manifest(a_profile(tmp_path / "p")),
            passes=passes,
            status="partial",
            reason="why",
            traced_over_plain=1.234,
        )
        assert summarize(Profile(tmp_path, manifest)) == [
            ("page", "http://a/"),
            ("browser", "Chrome/1"),
            ("status", "partial (why)"),
            ("requests", "7, 2.3 MB"),
            ("structure", "load 300 ms"),
            ("timing", "2 passes: load 120 ms (110 to 130)"),
            ("timing/plain", "1.23"),
            ("warning", "odd"),
        ]


class TestNetLog:
    def log(self, folder: Path, *events: dict[str, Any], end: str = "]}") -> Path:
        names = ["TCP_CONNECT", "SSL_CONNECT", "SSL_HANDSHAKE_MESSAGE_SENT"]
        names.append("SSL_HANDSHAKE_MESSAGE_RECEIVED")
        numbers = {name: 10 + index for index, name in enumerate(names)}
        lines = [
            json.dumps(
                {
                    "params": event.get("params", {}),
                    "phase": event.get("phase", 0),
                    "source": {"id": event.get("source", 1), "type": 1},
                    "time": "1000",
                    "type": numbers[event["name"]],
                },
                separators=(",", ":"),
            )
            for event in events
        ]
        head = json.dumps({"constants": {"logEventTypes": numbers}})[:-1]
        path = folder / "netlog.json"
        path.write_text(head + ',\n"events": [\n' + ",\n".join(lines) + end)
        return path

    def test_handshakes_are_measured_up_to_their_end(self, tmp_path: Path) -> None:
        def message(side: str, text: str, source: int = 1) -> dict[str, Any]:
            name = f"SSL_HANDSHAKE_MESSAGE_{side}"
            return {"name": name, "params": {"bytes": text}, "source": source}

        path = self.log(
            tmp_path,
            {"name": "TCP_CONNECT", "phase": 2, "params": {"remote_address": "1.2.3.4:443"}},
            {"name": "SSL_CONNECT", "phase": 1},
            message("SENT", "AAAA"),
            message("SENT", "AAAAAAAA", source=2),
            message("RECEIVED", "AAAAAAAA"),
            message("RECEIVED", "AAAA"),
            message("SENT", "AAAA"),
            {"name": "SSL_CONNECT", "phase": 2, "params": {"is_resumed": True}},
            message("RECEIVED", "AAAAAAAAAAAA"),
        )
        [handshake] = tls_handshakes(path)
        assert msgspec.structs.asdict(handshake) == {
            "address": "1.2.3.4:443",
            "client_hello_bytes": 3,
            "server_flight_bytes": 9,
            "resumed": True,
        }

    def test_a_log_without_its_end_is_read_as_far_as_it_goes(self, tmp_path: Path) -> None:
        connect = {"name": "TCP_CONNECT"}
        path = self.log(tmp_path, connect, connect, end=',\n{"params":{"x":"type":10},')
        assert len(list(read_netlog(path, ["TCP_CONNECT", "UNKNOWN"]))) == 2
