"""Profiles of pages in a real browser, and what can go wrong with them."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conftest import ROOT
from loadpath.profiler import read_events
from loadpath.profiler.chromium import DEFAULT_BROWSER
from web import Answer, Asked, Page, Web, self_signed, serving

pytestmark = pytest.mark.skipif(
    shutil.which(DEFAULT_BROWSER) is None, reason=f"no {DEFAULT_BROWSER} to profile with"
)

IMAGE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)
"""A PNG of one pixel."""

STRUCTURE_ONLY = ("-n", "0", "--plain-runs", "0", "--wait", "0")
"""One pass, as short as it can be."""


class Profiler:
    """Runs `loadpath profile`; the browsers' folders are below `scratch`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.output = folder / "profile"
        self.interpreter = sys.executable
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("LOADPATH_") and name not in ("DISPLAY", "WAYLAND_DISPLAY")
        } | {"TMPDIR": str(self.scratch), "NO_COLOR": "1", "TERM": "dumb"}

    def command(self, url: str, *options: str | Path) -> list[str]:
        return [
            *(self.interpreter, "-m", "loadpath", "profile", url, "-o", str(self.output)),
            *map(str, options),
        ]

    def __call__(
        self, url: str, *options: str | Path, prefix: tuple[str, ...] = ()
    ) -> "subprocess.CompletedProcess[str]":
        result = subprocess.run(
            [*prefix, *self.command(url, *options)],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            timeout=110,
            check=False,
        )
        assert self.left_behind() == []
        return result

    def start(self, url: str, *options: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self.command(url, *options),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def processes(self) -> list[int]:
        """Everything that runs in our folder, or has it in its command line, but the profiler."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                arguments = (path / "cmdline").read_bytes()
                is_ours = (path / "cwd").readlink() == self.folder
            except OSError:
                continue
            if b"\0profile\0" in arguments or not arguments:
                continue
            if is_ours or f"{self.scratch}/loadpath-browser-".encode() in arguments:
                found.append(int(path.name))
        return found

    def left_behind(self, within_s: float = 0.0) -> list[Any]:
        """Processes, scratch folders and unfinished outputs that are there after some time."""
        end = time.monotonic() + within_s
        while True:
            left = [*self.processes(), *self.scratch.iterdir()]
            if not left or time.monotonic() >= end:
                return left
            time.sleep(0.05)

    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads((self.output / "manifest.json").read_text())
        return manifest

    def warnings(self) -> str:
        manifest = self.manifest()
        return " | ".join(
            [*manifest["warnings"], *(w for p in manifest["passes"] for w in p["warnings"])]
        )

    def entries(self) -> list[dict[str, Any]]:
        har = json.loads((self.output / "archive.har").read_text())
        jsonschema.validate(
            har, json.loads((ROOT / "tests" / "data" / "har-1.2.schema.json").read_text())
        )
        entries: list[dict[str, Any]] = har["log"]["entries"]
        return entries

    def trace(self, name: str) -> list[dict[str, Any]]:
        with gzip.open(self.output / name / "trace.json.gz") as file:
            events: list[dict[str, Any]] = json.load(file)["traceEvents"]
        return events


@pytest.fixture
def profile(tmp_path: Path) -> Iterator[Profiler]:
    profiler = Profiler(tmp_path)
    yield profiler
    for process in profiler.processes():
        os.kill(process, signal.SIGKILL)


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that other users can reach, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="loadpath-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def wait_until(web: Web, path: str, times: int = 1) -> None:
    end = time.monotonic() + 60
    while web.paths().count(path) < times:
        assert time.monotonic() < end, f"nobody asked for {path}"
        time.sleep(0.02)


RICH: dict[str, Page] = {
    "/": """<!doctype html><title>rich</title><link rel=stylesheet href=style.css>
<h1>Rich</h1><script src=script.js></script><img src=moved.png><img src=nowhere.png>
<script>setTimeout(function late() { new Image().src = 'timer.png' }, 5)</script>
<script>Promise.resolve().then(() => fetch('/data.json', {method: 'POST', body: 'posted'}))</script>
<script>postMessage('hi', '*')</script><iframe src=frame.html></iframe>
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">""",
    "/style.css": "h1 { color: red }",
    "/script.js": "new Worker('worker.js')",
    "/worker.js": "fetch('worker.json')",
    "/worker.json": "{}",
    "/data.json": Answer(gzip.compress(b'{"answer": 42}'), 200, {"Content-Encoding": "gzip"}),
    "/moved.png": Answer(status=302, headers={"Location": "/image.png", "Set-Cookie": "seen=1"}),
    "/image.png": IMAGE,
    "/timer.png": IMAGE,
    "/frame.html": "<p>frame",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Profiler:
    """One profile of the rich page for several tests."""
    profiler = Profiler(tmp_path_factory.mktemp("rich"))
    with serving(RICH) as web:
        result = profiler(web.url, "-n", "1", "--plain-runs", "1", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["manifest"] == profiler.manifest()
    return profiler


class TestWhatIsRecorded:
    def test_the_manifest_has_every_pass_with_its_times(self, recorded: Profiler) -> None:
        manifest = recorded.manifest()
        assert (manifest["status"], manifest["reason"]) == ("complete", None)
        passes = manifest["passes"]
        # The redirect is one request, the image in the page is none.
        assert [p["requests"] for p in passes] == [len(RICH), len(RICH), None]
        assert [p["name"] for p in passes] == ["structure", "timing-1", "plain-1"]
        for p in passes:
            assert 0 < p["dom_content_loaded_ms"] <= p["load_ms"]
            assert p["first_contentful_paint_ms"] > 0
        assert manifest["traced_over_plain"] == passes[1]["load_ms"] / passes[2]["load_ms"]
        assert "--disable-field-trial-config" in manifest["browser"]["command_line"]
        assert manifest["browser"]["product"].startswith("HeadlessChrome/")

    def test_every_pass_has_its_files_and_nobody_else_may_read_them(
        self, recorded: Profiler
    ) -> None:
        files = {str(p.relative_to(recorded.output)) for p in recorded.output.rglob("*.*")}
        traced = {"events.jsonl.gz", "trace.json.gz", "netlog.json"}
        assert files == {
            "manifest.json",
            "archive.har",
            *(f"{name}/{file}" for name in ("structure", "timing-1") for file in traced),
            "plain-1/events.jsonl.gz",
        }
        assert recorded.output.stat().st_mode & 0o777 == 0o700

    def test_the_archive_has_every_request_with_its_body(self, recorded: Profiler) -> None:
        entries = recorded.entries()
        by_path = {
            e["request"]["url"].partition("://")[2].partition("/")[2]: e
            for e in entries
            if e["request"]["url"].startswith("http")
        }
        assert set(by_path) == {path[1:] for path in RICH} | {"nowhere.png"}
        for path, entry in by_path.items():
            content = entry["response"]["content"]
            page = RICH.get(f"/{path}")
            if isinstance(page, str):
                assert content["text"] == page
        assert by_path["data.json"]["response"]["content"]["text"] == '{"answer": 42}'
        assert by_path["image.png"]["response"]["content"]["encoding"] == "base64"
        moved = by_path["moved.png"]["response"]
        assert (moved["status"], moved["redirectURL"]) == (302, "/image.png")
        assert moved["cookies"] == [{"name": "seen", "value": "1"}]
        assert by_path["nowhere.png"]["response"]["status"] == 404
        assert by_path["data.json"]["request"]["postData"]["text"] == "posted"
        assert recorded.warnings().count("bodies") == 0

    def test_initiators_are_true(self, recorded: Profiler) -> None:
        initiators = {
            e["request"]["url"].rpartition("/")[2]: e["_initiator"] for e in recorded.entries()
        }
        assert initiators["style.css"]["type"] == "parser"
        assert initiators["timer.png"]["type"] == "script"
        # Images are loaded by a microtask of their own.
        image = initiators["timer.png"]["stack"]["parent"]
        assert image["callFrames"][0]["functionName"] == "late"
        assert image["parent"]["description"] == "setTimeout"
        assert initiators["data.json"]["stack"]["parent"]["description"] == "Promise.then"

    def test_every_target_is_recorded(self, recorded: Profiler) -> None:
        events = list(read_events(recorded.output / "structure" / "events.jsonl.gz"))
        kinds = [
            e.decode()["targetInfo"]["type"] for e in events if e.method == "Loadpath.attached"
        ]
        assert sorted(kinds) == ["page", "worker"]
        [navigation] = [e.decode() for e in events if e.method == "Loadpath.navigation"]
        assert navigation["entry"]["entryType"] == "navigation"

    @pytest.mark.parametrize("name", ["structure", "timing-1", "plain-1"])
    def test_the_runtime_domain_is_never_enabled(self, recorded: Profiler, name: str) -> None:
        methods = {e.method for e in read_events(recorded.output / name / "events.jsonl.gz")}
        assert "Page.lifecycleEvent" in methods
        assert not [method for method in methods if method.startswith("Runtime.")]
        assert any(m.startswith("Debugger.") for m in methods) == (name == "structure")
        assert any(m.startswith("Network.") for m in methods) == (name != "plain-1")

    def test_the_trace_has_what_the_graph_needs(self, recorded: Profiler) -> None:
        timing = {
            "RunTask",
            "ParseHTML",
            "EvaluateScript",
            "FunctionCall",
            "TimerInstall",
            "TimerFire",
            "EventDispatch",
            "RunMicrotasks",
            "SchedulePostMessage",
            "HandlePostMessage",
            "ResourceSendRequest",
            "ResourceReceiveResponse",
            "ResourceReceivedData",
            "ResourceFinish",
            "UpdateLayoutTree",
            "Layout",
            "Paint",
            "MarkLoad",
            "navigationStart",
            "thread_name",
            "process_name",
        }
        structure = timing | {
            "AsyncTask Scheduled",
            "AsyncTask Run",
            "HTMLDocumentParser::ScanAndPreload",
            "HTMLDocumentParser::PumpTokenizer",
        }
        assert timing - {event["name"] for event in recorded.trace("timing-1")} == set()
        assert structure - {event["name"] for event in recorded.trace("structure")} == set()

    def test_all_clocks_are_one(self, recorded: Profiler) -> None:
        clock = recorded.manifest()["clock"]
        assert abs(clock["trace_minus_devtools_ms"]) < 0.001
        # Its times are whole milliseconds.
        assert abs(clock["netlog_minus_devtools_ms"]) < 2

    @pytest.mark.parametrize("name", ["structure", "timing-1"])
    def test_the_network_log_is_complete(self, recorded: Profiler, name: str) -> None:
        log = json.loads((recorded.output / name / "netlog.json").read_text())
        assert log["events"]
        assert "polledData" in log


class TestOptions:
    def test_headers_cookies_and_credentials_reach_the_server_in_every_pass(
        self, profile: Profiler
    ) -> None:
        def page(asked: Asked) -> Answer:
            if "authorization" not in asked.headers:
                return Answer(b"who?", 401, {"WWW-Authenticate": 'Basic realm="x"'})
            return Answer(b"<script src=sub.js></script>", headers={"Set-Cookie": "sid=s3cr3t-d"})

        with serving(
            {"/": page, "/sub.js": "fetch('/p', {method: 'POST', body: 's3cr3t-e'})"}
        ) as web:
            result = profile(
                *(web.url, "-n", "1", "--plain-runs", "1", "--auth", "anna:s3cr3t-a"),
                *("--header", "X-Key: s3cr3t-b", "--cookie", "name=s3cr3t-c", "--redact"),
            )
            assert result.returncode == 0, result.stderr
            documents = [a for a in web.asked if a.path == "/" and "authorization" in a.headers]
            scripts = [a for a in web.asked if a.path == "/sub.js"]
        assert len(documents) == len(scripts) == 3
        for asked in documents + scripts:
            assert asked.headers["x-key"] == "s3cr3t-b"
            assert "name=s3cr3t-c" in asked.headers["cookie"]
            assert asked.headers["authorization"] == "Basic YW5uYTpzM2NyM3QtYQ=="
        # --redact: no secret is anywhere in the profile.
        paths = [path for path in profile.output.rglob("*") if path.is_file()]
        assert len(paths) > 5
        for path in paths:
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            assert b"YW5uYTpz" not in data, path
            # The body of sub.js holds the text that is posted; that is the page's.
            assert data.count(b"s3cr3t-") == data.count(b"s3cr3t-e") <= 1, path
        [post] = [e for e in profile.entries() if e["request"]["method"] == "POST"]
        assert post["request"]["postData"]["text"] == ""

    def test_wrong_credentials_are_an_error(self, profile: Profiler) -> None:
        refused = Answer(b"who?", 401, {"WWW-Authenticate": 'Basic realm="x"'})
        with serving({"/": refused}) as web:
            result = profile(web.url, *STRUCTURE_ONLY)
            assert "wants a user name and a password (401)\nhint: give --auth" in result.stderr
            result = profile(web.url, *STRUCTURE_ONLY, "--auth", "anna:wrong")
            assert "hint: it does not accept those of --auth" in result.stderr
        assert result.returncode == 1
        assert not profile.output.exists()

    def test_a_mobile_device_is_emulated(self, profile: Profiler) -> None:
        report = (
            "<meta name=viewport content='width=device-width'><script>new Image().src = '/?' + "
            "[innerWidth, devicePixelRatio, navigator.maxTouchPoints > 0, "
            "navigator.userAgent.includes('Mobile')]</script>"
        )
        with serving({"/": report}) as web:
            assert profile(web.url, *STRUCTURE_ONLY, "--emulate", "mobile").returncode == 0
        assert "/?412,1.75,true,true" in web.paths()
        agents = {a.headers["user-agent"] for a in web.asked}
        assert len(agents) == 1
        assert "Android" in agents.pop()
        assert web.asked[0].headers["sec-ch-ua-mobile"] == "?1"

    def test_the_desktop_browser_does_not_call_itself_headless(self, profile: Profiler) -> None:
        with serving({"/": "<script src=s.js></script>", "/s.js": "new Worker('w.js')"}) as web:
            assert profile(web.url, *STRUCTURE_ONLY).returncode == 0
        assert not any("Headless" in value for a in web.asked for value in a.headers.values())

    def test_scripts_run_before_the_pages_own_in_every_pass(self, profile: Profiler) -> None:
        (profile.folder / "consent.js").write_text("window.consent = 'given'")
        with serving({"/": "<script>new Image().src = '/?' + window.consent</script>"}) as web:
            result = profile(web.url, "-n", "1", "--plain-runs", "1", "--script", "consent.js")
        assert result.returncode == 0, result.stderr
        assert web.paths().count("/?given") == 3

    def test_a_slower_processor_takes_longer(self, profile: Profiler) -> None:
        page = (
            "<script>const t = performance.now(); let x = 0; for (let i = 0; i < 3e7; i++) x += i;"
            "new Image().src = '/?' + (performance.now() - t)</script>"
        )
        times = []
        for factor in ("1", "6"):
            with serving({"/": page}) as web:
                profile.output = profile.folder / factor
                assert profile(web.url, *STRUCTURE_ONLY, "--cpu-slowdown", factor).returncode == 0
            times.append(float(web.paths()[-1][2:]))
        assert times[1] > 2 * times[0]

    def test_what_comes_after_the_load_event_is_waited_for(self, profile: Profiler) -> None:
        page = "<p>x<script>onload = () => setTimeout(() => fetch('/late'), 1500)</script>"
        with serving({"/": page, "/late": "late"}) as web:
            profile(web.url, *STRUCTURE_ONLY)
            assert "/late" not in web.paths()
            profile.output = profile.folder / "longer"
            profile(web.url, *STRUCTURE_ONLY[:4], "--wait", "2.5")
            assert "/late" in web.paths()
        assert any(e["request"]["url"].endswith("/late") for e in profile.entries())

    def test_packets_are_captured_where_allowed(self, profile: Profiler) -> None:
        with serving({"/": "<p>x"}) as web:
            assert profile(web.url, *STRUCTURE_ONLY, "--capture").returncode == 0
        capture = profile.output / "structure" / "capture.pcapng"
        if "no packet capture" in profile.warnings():
            assert not capture.exists() or capture.stat().st_size < 1000
        else:
            assert b"GET / HTTP/1.1" in capture.read_bytes()

    def test_frames_of_other_sites_have_their_bodies_in_processes_of_their_own(
        self, profile: Profiler
    ) -> None:
        with serving({"/frame.html": "<p>frame<script src=f.js></script>", "/f.js": "1"}) as web:
            other = web.url.replace("127.0.0.1", "localhost")
            web.pages["/"] = f"<p>x<iframe src={other}/frame.html></iframe>"
            result = profile(web.url, *STRUCTURE_ONLY, "--browser-flag=--site-per-process")
        assert result.returncode == 0, result.stderr
        entries = profile.entries()
        texts = [e["response"]["content"].get("text") for e in entries]
        assert texts == [web.pages[path] for path in ("/", "/frame.html", "/f.js")]
        assert len({e["_session"] for e in entries}) == 2
        events = read_events(profile.output / "structure" / "events.jsonl.gz")
        kinds = [
            e.decode()["targetInfo"]["type"] for e in events if e.method == "Loadpath.attached"
        ]
        assert kinds == ["page", "iframe"]


class TestPagesThatMisbehave:
    def test_a_page_that_never_fires_load_is_partial(self, profile: Profiler) -> None:
        with serving({"/": "<p>x<img src=/hang><script src=a.js></script>", "/a.js": "1"}) as web:
            web.pages["/hang"] = web.hang
            result = profile(web.url, "-n", "1", "--wait", "0", "--timeout", "2")
        assert result.returncode == 0
        assert "partial (structure: no load event within 2 s" in result.stderr
        manifest = profile.manifest()
        assert manifest["status"] == "partial"
        # Plain passes have nothing to compare.
        assert [p["name"] for p in manifest["passes"]] == ["structure", "timing-1"]
        assert [p["load_ms"] for p in manifest["passes"]] == [None, None]
        assert manifest["traced_over_plain"] is None
        hanging = next(e for e in profile.entries() if e["request"]["url"].endswith("/hang"))
        assert hanging["response"]["_error"].startswith("unfinished")
        assert profile.trace("structure")

    def test_a_server_that_does_not_answer_is_an_error(self, profile: Profiler) -> None:
        with serving({}) as web:
            web.pages["/"] = web.hang
            result = profile(web.url, *STRUCTURE_ONLY, "--timeout", "1")
        assert "no answer within 1 s" in result.stderr
        assert (result.returncode, profile.output.exists()) == (1, False)

    def test_a_page_that_computes_for_ever_is_partial(self, profile: Profiler) -> None:
        with serving({"/": "<p>x<script>for (;;);</script>"}) as web:
            result = profile(web.url, *STRUCTURE_ONLY, "--timeout", "2")
        assert result.returncode == 0, result.stderr
        assert "partial (structure: no load event within 2 s)" in result.stderr
        assert "its main thread is busy" in profile.warnings()

    def test_dialogs_are_dismissed_and_told_of(self, profile: Profiler) -> None:
        page = (
            "<p>x<script>alert('hello'); const yes = confirm('sure?');"
            "new Image().src = '/?' + yes + prompt('name?')</script>"
        )
        with serving({"/": page}) as web:
            assert profile(web.url, *STRUCTURE_ONLY).returncode == 0
        assert "/?falsenull" in web.paths()
        for text in ("alert 'hello'", "confirm 'sure?'", "prompt 'name?'"):
            assert f"a dialog was dismissed: {text}" in profile.warnings()

    def test_a_page_may_hold_on_to_its_visitors(self, profile: Profiler) -> None:
        page = "<p>x<script>onbeforeunload = e => { e.preventDefault(); return 'stay' }</script>"
        with serving({"/": page}) as web:
            assert profile(web.url, *STRUCTURE_ONLY).returncode == 0

    def test_a_debugger_statement_does_not_stop_the_page(self, profile: Profiler) -> None:
        with serving({"/": "<p>x<script>debugger; new Image().src = '/after'</script>"}) as web:
            assert profile(web.url, *STRUCTURE_ONLY).returncode == 0
        assert "/after" in web.paths()

    def test_a_page_that_goes_on_at_once_is_replaced_by_the_next(self, profile: Profiler) -> None:
        pages: dict[str, Page] = {
            "/": "<p>x<script>location = '/next.html'</script><img src=/hang>",
            "/next.html": "<p>next",
        }
        with serving(pages) as web:
            web.pages["/hang"] = web.hang
            assert profile(web.url, *STRUCTURE_ONLY).returncode == 0
        assert "/next.html before its load event" in profile.warnings()
        assert profile.manifest()["status"] == "complete"

    def test_a_page_that_goes_on_after_its_load_keeps_its_bodies(self, profile: Profiler) -> None:
        with serving({}) as web:
            # Another site: another process, which takes the first document's data with it.
            other = web.url.replace("127.0.0.1", "localhost")
            web.pages |= {
                "/": "<p>first<script src=a.js></script>",
                "/a.js": f"onload = () => setTimeout(() => location = '{other}/next.html', 100)",
                "/next.html": "<p>next",
            }
            assert profile(web.url, *STRUCTURE_ONLY[:4], "--wait", "1").returncode == 0
        assert "/next.html after its load event" in profile.warnings()
        texts = [e["response"]["content"].get("text") for e in profile.entries()]
        assert texts == [web.pages["/"], web.pages["/a.js"], web.pages["/next.html"]]

    def test_text_that_is_not_unicode_is_no_obstacle(self, profile: Profiler) -> None:
        page = (
            r"<p>x<script>alert('\ud800'); fetch('/?\ud800', {method: 'POST', body: '\udfff'});"
            r"const o = { ['\ud800']: function () { new Image().src = '/after' } }; o['\ud800']();"
            r"performance.mark('\ud800')</script><script src=bytes.js></script>"
        )
        script = b"var a = '\xff\xed\xa0\x80'"
        with serving({"/": page, "/bytes.js": script, "/after": IMAGE}) as web:
            result = profile(web.url, *STRUCTURE_ONLY, "--redact")
        assert result.returncode == 0, result.stderr
        assert "/after" in web.paths()
        assert "alert '\ufffd'" in profile.warnings()
        assert profile.trace("structure")
        assert len(profile.entries()) == 4

    def test_what_is_not_modelled_is_warned_about(self, profile: Profiler) -> None:
        page = (
            "<p>x<script>new WebSocket(`ws://${location.host}/socket`);"
            "navigator.serviceWorker.register('/worker.js')</script>"
        )
        with serving({"/": page, "/worker.js": ""}) as web:
            result = profile(web.url, *STRUCTURE_ONLY[:4], "--wait", "1")
        assert result.returncode == 0, result.stderr
        assert "the page opened a WebSocket" in profile.warnings()
        assert "the page has a service worker" in profile.warnings()

    def test_a_download_is_an_error(self, profile: Profiler) -> None:
        file = Answer(b"PK", headers={"Content-Disposition": "attachment; filename=a.zip"})
        with serving({"/": file, "/empty": Answer(status=204)}) as web:
            result = profile(web.url, *STRUCTURE_ONLY)
            assert f"error: {web.url} is a download, not a page" in result.stderr
            result = profile(f"{web.url}/empty", *STRUCTURE_ONLY)
            assert "not a page, or nothing (204)" in result.stderr
        assert (result.returncode, profile.output.exists()) == (1, False)

    def test_an_error_page_is_recorded_with_a_warning(self, profile: Profiler) -> None:
        with serving({"/": Answer(b"<p>broken", 500)}) as web:
            assert profile(web.url, *STRUCTURE_ONLY).returncode == 0
        assert "the server answered with status 500" in profile.warnings()


class TestLargePages:
    """Memory of the profiler does not grow with the page."""

    LIMIT_KB = 150_000
    """The interpreter with its libraries takes 45 MB."""

    def run(self, profile: Profiler, url: str) -> int:
        """Run a profile; the most memory that it took, in kB."""
        process = profile.start(url, *STRUCTURE_ONLY, "--no-netlog")
        peak = 0
        while process.poll() is None:
            for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    peak = int(line.split()[1])
            time.sleep(0.02)
        assert process.returncode == 0
        assert profile.left_behind() == []
        return peak

    def test_a_page_with_5000_requests(self, profile: Profiler) -> None:
        page = "<p>x<script>for (let i = 0; i < 5000; i++) new Image().src = '/i.png?' + i</script>"
        with serving({"/": page, "/i.png": IMAGE}) as web:
            peak = self.run(profile, web.url)
        assert peak < self.LIMIT_KB
        images = [e for e in profile.entries() if "/i.png?" in e["request"]["url"]]
        assert len(images) == 5000
        assert all(e["response"]["content"]["text"] for e in images)

    def test_a_trace_of_100_megabytes(self, profile: Profiler) -> None:
        page = (
            "<p>x<script>const text = 'x'.repeat(1000); let i = 0;"
            "const image = document.body.appendChild(new Image()); image.src = '/hang';"
            # In small portions: the browser drops what comes faster than it is collected.
            "(function more() { for (let j = 0; j < 100; j++) performance.mark(text + i++);"
            "if (i < 100000) setTimeout(more, 3); else image.src = '/done' })()</script>"
        )
        with serving({"/": page, "/done": IMAGE}) as web:
            web.pages["/hang"] = web.hang
            peak = self.run(profile, web.url)
        assert peak < self.LIMIT_KB
        size = 0
        with gzip.open(profile.output / "structure" / "trace.json.gz") as file:
            while chunk := file.read(1 << 20):
                size += len(chunk)
                last = chunk
        assert size > 100_000_000
        assert last.rstrip().endswith(b"}")
        assert "incomplete" not in profile.warnings()


HANGING: dict[str, Page] = {"/": "<p>x<img src=/hang>"}


class TestNoBrowserIsLeftBehind:
    @pytest.mark.parametrize(
        ("number", "status"), [(signal.SIGKILL, -9), (signal.SIGTERM, -15), (signal.SIGINT, 130)]
    )
    def test_when_the_profiler_is_ended(
        self, profile: Profiler, number: signal.Signals, status: int
    ) -> None:
        with serving(HANGING) as web:
            web.pages["/hang"] = web.hang
            process = profile.start(web.url)
            wait_until(web, "/hang")
            # Reaper, shell, browser, and its children.
            assert len(profile.processes()) > 5
            process.send_signal(number)
            assert process.wait(20) == status
            assert profile.left_behind(within_s=10) == []
        # Nor is the unfinished profile.
        assert [path.name for path in profile.folder.iterdir()] == ["scratch"]

    def test_when_the_profiler_is_killed_and_the_browser_hangs(self, profile: Profiler) -> None:
        with serving(HANGING) as web:
            web.pages["/hang"] = web.hang
            process = profile.start(web.url)
            wait_until(web, "/hang")
            for pid in profile.processes():
                if b"reaper.py" not in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGSTOP)
            process.kill()
            process.wait()
            assert profile.left_behind(within_s=15) == []

    @staticmethod
    def _kill_browser(profile: Profiler) -> None:
        """Kill the browser's main process: not its launcher, not its children."""
        for pid in profile.processes():
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            is_launcher = any(a.endswith((b"reaper.py", b"/sh")) for a in arguments[:5])
            if not is_launcher and not any(a.startswith(b"--type=") for a in arguments):
                os.kill(pid, signal.SIGKILL)

    def test_when_the_browser_is_killed(self, profile: Profiler) -> None:
        with serving({"/": "<p>x<img src=/end>"}) as web:

            def end(asked: Asked) -> Answer:
                self._kill_browser(profile)
                return Answer()

            web.pages["/end"] = end
            result = profile(web.url, *STRUCTURE_ONLY)
        assert result.returncode == 1
        assert "error: the browser ended" in result.stderr
        assert not profile.output.exists()

    def test_a_timing_pass_without_its_browser_makes_the_profile_partial(
        self, profile: Profiler
    ) -> None:
        with serving({"/": "<p>x<img src=/end>"}) as web:

            def end(asked: Asked) -> Answer:
                if web.paths().count("/end") == 2:
                    self._kill_browser(profile)
                return Answer()

            web.pages["/end"] = end
            result = profile(web.url, "-n", "2", "--plain-runs", "0", "--wait", "0")
        assert result.returncode == 0
        manifest = profile.manifest()
        assert manifest["status"] == "partial"
        assert [p["status"] for p in manifest["passes"]] == ["complete", "failed", "complete"]
        assert "timing-1: the browser ended" in manifest["reason"]

    def test_when_the_page_crashes(self, profile: Profiler) -> None:
        with serving({"/": "<p>x<img src=/end>"}) as web:

            def end(asked: Asked) -> Answer:
                for pid in profile.processes():
                    if b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(pid, signal.SIGKILL)
                return Answer()

            web.pages["/end"] = end
            result = profile(web.url, *STRUCTURE_ONLY, "--timeout", "20")
        assert result.returncode == 1
        assert "error: the page's process crashed" in result.stderr


class TestErrors:
    """One clear error, status 1, no folder."""

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("http://nowhere.invalid/", "ERR_NAME_NOT_RESOLVED\nhint: check the name"),
            ("http://127.0.0.1:9/", "ERR_UNSAFE_PORT"),
            ("http://127.0.0.1:59999/", "ERR_CONNECTION_REFUSED\nhint: is the server running"),
        ],
    )
    def test_pages_that_are_not_there(self, profile: Profiler, url: str, message: str) -> None:
        result = profile(url, *STRUCTURE_ONLY)
        assert f"error: {url}: net::{message}" in result.stderr
        assert (result.returncode, result.stdout, profile.output.exists()) == (1, "", False)

    @pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl for a certificate")
    def test_certificates_that_nobody_trusts(self, profile: Profiler) -> None:
        with serving({"/": "<p>x"}, self_signed(profile.folder)) as web:
            result = profile(web.url, *STRUCTURE_ONLY)
            assert "ERR_CERT_AUTHORITY_INVALID\nhint: --ignore-cert" in result.stderr
            assert (result.returncode, profile.output.exists()) == (1, False)
            result = profile(web.url, *STRUCTURE_ONLY, "--ignore-certificate-errors")
        assert result.returncode == 0, result.stderr

    def test_a_folder_that_exists_is_not_touched(self, profile: Profiler) -> None:
        profile.output.mkdir()
        with serving({"/": "<p>x"}) as web:
            result = profile(web.url, *STRUCTURE_ONLY)
        assert f"error: {profile.output} exists already" in result.stderr
        assert (result.returncode, web.asked) == (1, [])
        assert list(profile.output.iterdir()) == []

    def test_a_folder_that_may_not_be_looked_at(self, profile: Profiler) -> None:
        profile.output = profile.folder / ("x" * 300)
        result = profile("http://127.0.0.1/", *STRUCTURE_ONLY)
        assert f"error: cannot make {profile.output}: File name too long" in result.stderr
        assert result.returncode == 1

    def test_a_folder_that_cannot_be_made(self, profile: Profiler) -> None:
        profile.output = profile.folder / "nowhere" / "profile"
        result = profile("http://127.0.0.1/", *STRUCTURE_ONLY)
        assert f"error: cannot make {profile.output}: No such file or directory" in result.stderr
        assert result.returncode == 1

    def test_a_browser_that_is_none(self, profile: Profiler) -> None:
        result = profile("http://127.0.0.1/", *STRUCTURE_ONLY, "--browser", "/nowhere/chromium")
        assert "error: --browser /nowhere/chromium: does not exist" in result.stderr
        result = profile("http://127.0.0.1/", *STRUCTURE_ONLY, "--browser", "/bin/true")
        assert "error: /bin/true does not start: it wrote no message" in result.stderr
        assert result.returncode == 1

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a full disk")
    def test_a_full_disk(self, profile: Profiler) -> None:
        disk = profile.folder / "disk"
        disk.mkdir()
        profile.output = disk / "profile"
        mount = f"mount -t tmpfs -o size=200k none {disk} && "
        mount += '"$@"; status=$?; ls -A ' + str(disk) + "; exit $status"
        with serving({"/": "<p>x" + "y" * 100_000}) as web:
            result = profile(
                web.url, *STRUCTURE_ONLY, prefix=("unshare", "-m", "sh", "-c", mount, "sh")
            )
        assert result.returncode == 1
        assert f"error: cannot write {profile.output}: No space left on device" in result.stderr
        assert result.stdout == ""

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root to take the network away")
    def test_no_network(self, profile: Profiler) -> None:
        result = profile("http://example.org/", *STRUCTURE_ONLY, prefix=("unshare", "-n"))
        assert result.returncode == 1
        assert "error: http://example.org/: net::ERR_" in result.stderr
        assert "network" in result.stderr

    @pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
    def test_a_user_without_rights_gets_a_profile_or_a_reason(self, reachable: Path) -> None:
        profile = Profiler(reachable)
        for path in (profile.folder, profile.scratch):
            os.chown(path, 65534, 65534)
        # The shell in between has no capabilities left to run what only root may.
        user = (
            *("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"),
            *("sh", "-c", 'exec "$@"', "sh"),
        )
        profile.environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        for interpreter in (sys.executable, "/usr/bin/python3"):
            test = subprocess.run(
                [*user, interpreter, "-c", "import loadpath"],
                env=profile.environment,
                capture_output=True,
                check=False,
            )
            if test.returncode == 0:
                profile.interpreter = interpreter
                break
        else:
            pytest.skip("nobody may read this installation of Python")
        profile.environment["HOME"] = str(profile.folder)
        with serving({"/": "<p>x"}) as web:
            result = profile(web.url, *STRUCTURE_ONLY, prefix=user)
            if result.returncode != 0:
                assert "there is no usable sandbox\nhint: apt-get install" in result.stderr
                result = profile(web.url, *STRUCTURE_ONLY, "--no-sandbox", prefix=user)
        assert result.returncode == 0, result.stderr
        assert profile.manifest()["status"] == "complete"
