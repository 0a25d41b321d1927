"""One pass: a new browser, one cold load, and what it wrote."""

import asyncio
import base64
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from loadpath.errors import LoadpathError, hinted
from loadpath.profiler import categories, chromium
from loadpath.profiler.capture import capture_packets
from loadpath.profiler.devtools import BrowserEndedError, CommandError, DevTools
from loadpath.profiler.emulation import WINDOW, UserAgent
from loadpath.profiler.har import Bodies, write_archive
from loadpath.profiler.manifest import ARCHIVE_FILE, Pass, PassKind
from loadpath.profiler.netlog import tls_handshakes
from loadpath.profiler.recording import EVENTS_FILE, Recording
from loadpath.profiler.redact import Redactor
from loadpath.profiler.settings import Settings

__all__ = ["NETLOG_FILE", "TRACE_FILE", "PassOutput", "browser_flags", "run_pass"]

TRACE_FILE = "trace.json.gz"
NETLOG_FILE = "netlog.json"
CAPTURE_FILE = "capture.pcapng"
KEYS_FILE = "sslkeys"

QUIET_S = 1.0
"""So long without a request under way, and the page counts as loaded."""

MAX_WAIT_S = 5.0
"""For quiet, which pages with open connections or endless polling never reach."""

REPLY_TIMEOUT_S = 10.0
"""For a page to reply; a main thread busy for longer after its load event is not coming back."""

TRACE_TIMEOUT_S = 120.0
"""For the end of the trace, which every process has to flush."""

PAINT_WAIT_S = 0.5
"""A plain pass waits so long for the first paint: some thirty frames."""

TRACE_BUFFER_KB = 1_000_000
"""The browser allocates what it needs; a buffer that is full loses events."""

CHUNK_BYTES = 1 << 20
"""Of the trace, for each IO.read."""

_HINTS = {
    "ERR_NAME_NOT_RESOLVED": "check the name, and that this machine has a network; "
    "--host-resolver-rules maps names to addresses",
    "ERR_INTERNET_DISCONNECTED": "this machine has no network",
    "ERR_ADDRESS_UNREACHABLE": "this machine has no way to that network",
    "ERR_NETWORK_ACCESS_DENIED": "this machine has no way to that network",
    "ERR_CONNECTION_REFUSED": "is the server running, on this port?",
    "ERR_CONNECTION_TIMED_OUT": "is the server running, and not behind a firewall?",
    "ERR_INVALID_AUTH_CREDENTIALS": "check --auth USER:PASSWORD",
    "ERR_ABORTED": "the server sent something that is not a page, or nothing (204)",
    "ERR_CERT": "--ignore-certificate-errors accepts any certificate",
    "ERR_SSL": "does the server speak TLS on this port?",
    "ERR_TOO_MANY_REDIRECTS": "it may want a cookie: --cookie NAME=VALUE",
}
"""What to do about an error of Chromium's (net/base/net_error_list.h)."""


@dataclass(frozen=True, slots=True)
class PassOutput:
    """What a pass found, besides its files."""

    result: Pass
    product: str
    revision: str
    command_line: list[str]


async def run_pass(
    url: str, name: str, kind: PassKind, settings: Settings, browser: Path, profile: Path
) -> PassOutput:
    """Load `url` once in a new browser and record it in a new folder `name` of a profile.

    The archive, which is one for the profile, goes beside it. Should this process be killed, the
    whole profile is removed.

    Raises
    ------
    LoadpathError
        There is no page, or the browser ended.
    OSError
        The recording cannot be written.
    """
    folder = profile / name
    folder.mkdir()
    recording = Recording(url, kind, settings, folder)
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    bodies = None
    try:
        async with AsyncExitStack() as stack:
            if settings.capture and kind is not PassKind.PLAIN:
                path = folder / CAPTURE_FILE
                await stack.enter_async_context(capture_packets(path, recording.warnings))
            flags = browser_flags(kind, settings, folder)
            up = await stack.enter_async_context(
                chromium.start(
                    browser,
                    flags,
                    recording.listen,
                    unfinished=profile,
                    no_sandbox=settings.no_sandbox,
                )
            )
            user_agent = UserAgent.of(up.version["userAgent"], settings.emulate)
            recording.begin(up.devtools, user_agent)
            navigation = await _load(url, recording, up.devtools)
            if kind is PassKind.STRUCTURE:
                bodies = await _save_bodies(recording, up.devtools)
    except TimeoutError as error:
        raise BrowserEndedError("the browser does not reply any more") from error
    finally:
        recording.close()
    result = _result(name, kind, started_at, navigation, recording)
    if settings.redact:
        _redact(kind, settings, folder)
    if bodies is not None:
        with bodies:
            write_archive(
                folder / EVENTS_FILE,
                bodies,
                profile / ARCHIVE_FILE,
                title=url,
                on_content_load_ms=result.dom_content_loaded_ms,
                on_load_ms=result.load_ms,
            )
    return PassOutput(result, up.version["product"], up.version["revision"], up.command_line)


def browser_flags(kind: PassKind, settings: Settings, folder: Path) -> list[str]:
    """What the settings add to the flags that every pass has."""
    flags = [f"--window-size={WINDOW[0]},{WINDOW[1]}"]
    if settings.http1:
        flags += ["--disable-http2", "--disable-quic"]
    if settings.ignore_certificate_errors:
        flags.append("--ignore-certificate-errors")
    if settings.host_resolver_rules:
        flags.append(f"--host-resolver-rules={settings.host_resolver_rules}")
    flags += settings.browser_flags
    if kind is PassKind.PLAIN:
        return flags
    if settings.netlog:
        # "Everything" has all bytes, of which the sizes of TLS messages are needed once; they slow
        # loads down. By default, events have their times and sizes, and secrets are left out.
        everything = kind is PassKind.STRUCTURE and not settings.redact
        mode = "Everything" if everything else "Default"
        flags += [f"--log-net-log={folder / NETLOG_FILE}", f"--net-log-capture-mode={mode}"]
    if settings.capture:
        flags.append(f"--ssl-key-log-file={folder / KEYS_FILE}")
    return flags


@dataclass(slots=True)
class _Navigation:
    """Times of the load, as the page itself knows them."""

    reason: str | None = None
    """Why the load is not complete."""
    entry: dict[str, Any] | None = None
    """PerformanceNavigationTiming."""
    time_origin_ms: float | None = None
    monotonic_origin_s: float | None = None
    first_contentful_paint_ms: float | None = None

    def since_fetch_start(self, name: str) -> float | None:
        """A time of the entry, in ms; None if the page never got there."""
        if self.entry is None or not self.entry.get(name):
            return None
        return float(self.entry[name] - self.entry["fetchStart"])


async def _load(url: str, recording: Recording, devtools: DevTools) -> _Navigation:
    kind = recording.kind
    await devtools.call("Browser.setDownloadBehavior", {"behavior": "deny"})
    await devtools.call(
        "Target.setAutoAttach",
        {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True},
    )
    if kind is not PassKind.PLAIN:
        names = categories.STRUCTURE if kind is PassKind.STRUCTURE else categories.TIMING
        await devtools.call("Tracing.start", _trace_config(names))
    await recording.wait_for(recording.main, REPLY_TIMEOUT_S)
    await _prepare(url, recording, devtools)
    reason = await _navigate(url, recording, devtools)
    navigation = await _ask(recording)
    navigation.reason = reason
    if kind is not PassKind.PLAIN:
        documents = len(recording.documents)
        await _wait(recording)
        if len(recording.documents) > documents:
            recording.warnings.append(
                f"the page went on to {recording.documents[-1]} after its load event"
            )
    await _ask_for_paint(recording, navigation)
    _check(url, navigation, recording)
    recording.write("Loadpath.navigation", msgspec.json.encode(navigation), recording.main.result())
    if kind is not PassKind.PLAIN:
        devtools.post("Tracing.end")
        complete = await recording.wait_for(recording.trace_complete, TRACE_TIMEOUT_S)
        if complete.get("dataLossOccurred"):
            recording.warnings.append(
                "the trace is incomplete: more events, or faster, than the browser can keep"
            )
        await _save_stream(devtools, complete["stream"], recording.folder / TRACE_FILE)
    return navigation


def _trace_config(names: dict[str, str]) -> dict[str, Any]:
    return {
        "transferMode": "ReturnAsStream",
        "streamFormat": "json",
        "streamCompression": "gzip",
        "traceConfig": {
            "recordMode": "recordUntilFull",
            "traceBufferSizeInKb": TRACE_BUFFER_KB,
            "includedCategories": list(names),
            "excludedCategories": ["*"],
        },
    }


async def _prepare(url: str, recording: Recording, devtools: DevTools) -> None:
    """What has to be in place before the page is asked for."""
    if recording.settings.cookies:
        cookies = [
            {"name": name, "value": value, "url": url, "path": "/"}
            for name, value in recording.settings.cookies.items()
        ]
        await devtools.call("Storage.setCookies", {"cookies": cookies})
    if recording.settings.auth is not None:
        # Documents alone: the browser sends the credentials with what follows by itself, and other
        # requests need not wait for us.
        pattern = {"urlPattern": "*", "resourceType": "Document"}
        await recording.call(
            "Fetch.enable",
            {"handleAuthRequests": True, "patterns": [pattern]},
            timeout_s=REPLY_TIMEOUT_S,
        )
    tree = await recording.call("Page.getFrameTree", timeout_s=REPLY_TIMEOUT_S)
    recording.expect_navigation(tree["frameTree"]["frame"]["loaderId"])


async def _navigate(url: str, recording: Recording, devtools: DevTools) -> str | None:
    """Go to the page and wait for its load event; why not, if that did not come in time."""
    timeout_s = recording.settings.timeout_s
    end = time.monotonic() + timeout_s
    try:
        answer = await recording.call("Page.navigate", {"url": url}, timeout_s=timeout_s)
    except TimeoutError:
        raise hinted(
            LoadpathError(f"{url}: no answer within {timeout_s:g} s"), "--timeout SECONDS"
        ) from None
    if answer.get("isDownload"):
        raise LoadpathError(f"{url} is a download, not a page")
    if "errorText" in answer:
        raise _no_page(url, answer["errorText"])
    try:
        await recording.wait_for(recording.loaded, max(0.0, end - time.monotonic()))
    except TimeoutError:
        return f"no load event within {timeout_s:g} s"
    return None


def _no_page(url: str, text: str) -> LoadpathError:
    error = LoadpathError(f"{url}: {text}")
    for name, hint in _HINTS.items():
        if name in text:
            return hinted(error, hint)
    return hinted(error, "does it open in a browser?")


async def _evaluate(recording: Recording, expression: str) -> Any:
    answer = await recording.call(
        "Runtime.evaluate",
        {"expression": expression, "returnByValue": True},
        timeout_s=REPLY_TIMEOUT_S,
    )
    return answer["result"].get("value")


async def _ask(recording: Recording) -> _Navigation:
    """The times of the load, as soon as it is over: the page may go on to another."""
    navigation = _Navigation()
    try:
        value = await _evaluate(
            recording,
            "({entry: performance.getEntriesByType('navigation')[0]?.toJSON(),"
            " timeOrigin: performance.timeOrigin})",
        )
        await recording.call("Performance.enable", timeout_s=REPLY_TIMEOUT_S)
        metrics = await recording.call("Performance.getMetrics", timeout_s=REPLY_TIMEOUT_S)
    except (TimeoutError, CommandError):
        recording.warnings.append("the page does not reply: its main thread is busy")
        return navigation
    named = {metric["name"]: metric["value"] for metric in metrics["metrics"]}
    navigation.entry = value["entry"]
    navigation.time_origin_ms = value["timeOrigin"]
    navigation.monotonic_origin_s = named["NavigationStart"]
    return navigation


async def _ask_for_paint(recording: Recording, navigation: _Navigation) -> None:
    if navigation.entry is None:
        return
    end = time.monotonic() + PAINT_WAIT_S
    while navigation.first_contentful_paint_ms is None:
        try:
            navigation.first_contentful_paint_ms = await _evaluate(
                recording,
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null",
            )
        except (TimeoutError, CommandError):
            return
        if time.monotonic() >= end:
            return
        await asyncio.sleep(0.05)


def _check(url: str, navigation: _Navigation, recording: Recording) -> None:
    """Say what is odd about the page that was loaded."""
    if len(recording.documents) > 1 and navigation.entry is not None:
        loaded = navigation.entry["name"]
        if loaded != recording.documents[0]:
            recording.warnings.append(
                f"the page went on to {loaded} before its load event, and times are of that page"
            )
    status = navigation.entry.get("responseStatus") if navigation.entry else None
    if status == 401:
        raise hinted(
            LoadpathError(f"{url}: the server wants a user name and a password (401)"),
            "give --auth USER:PASSWORD"
            if recording.settings.auth is None
            else "it does not accept those of --auth",
        )
    if status and status >= 400:
        recording.warnings.append(f"the server answered with status {status}")


async def _wait(recording: Recording) -> None:
    """Record what the page does after its load event."""
    wait_s = recording.settings.wait_s
    now = time.monotonic()
    end = now + (MAX_WAIT_S if wait_s is None else wait_s)
    quiet_since = now
    while now < end:
        if wait_s is None and not recording.under_way:
            quiet_since = max(quiet_since, recording.last_activity)
            if now - quiet_since >= QUIET_S:
                return
        # In steps, to hear of a browser that ends.
        tick: asyncio.Future[None] = asyncio.ensure_future(asyncio.sleep(min(0.05, end - now)))
        await recording.wait_for(tick)
        now = time.monotonic()


async def _save_stream(devtools: DevTools, handle: str, path: Path) -> None:
    with path.open("wb") as file:
        while True:
            part = await devtools.call("IO.read", {"handle": handle, "size": CHUNK_BYTES})
            data = part["data"]
            file.write(base64.b64decode(data) if part.get("base64Encoded") else data.encode())
            if part["eof"]:
                break
    devtools.post("IO.close", {"handle": handle})


async def _save_bodies(recording: Recording, devtools: DevTools) -> Bodies:
    bodies = Bodies(recording.folder)
    missing = 0
    main = recording.main.result()
    silent: set[str] = set()
    for session, request in recording.finished:
        # Sessions of workers end with them; the page's knows their bodies as well.
        for asked in dict.fromkeys((session, main)):
            if asked in silent:
                continue
            posted = devtools.post("Network.getResponseBody", {"requestId": request}, session=asked)
            try:
                body = await recording.wait_for(posted, REPLY_TIMEOUT_S)
            except CommandError:
                continue
            except TimeoutError:
                silent.add(asked)
                continue
            bodies.add(request, body)
            break
        else:
            missing += 1
    if missing:
        recording.warnings.append(f"{missing} of {len(recording.finished)} bodies are not kept")
    return bodies


def _redact(kind: PassKind, settings: Settings, folder: Path) -> None:
    redactor = Redactor(settings.headers)
    if (folder / TRACE_FILE).exists():
        redactor.trace(folder / TRACE_FILE)
    if (folder / NETLOG_FILE).exists():
        secrets = [*settings.headers.values(), *settings.cookies.values()]
        redactor.netlog(folder / NETLOG_FILE, secrets)


def _result(
    name: str, kind: PassKind, started_at: str, navigation: _Navigation, recording: Recording
) -> Pass:
    netlog = recording.folder / NETLOG_FILE
    return Pass(
        name=name,
        kind=kind,
        status="partial" if navigation.reason else "complete",
        reason=navigation.reason,
        started_at=started_at,
        load_ms=navigation.since_fetch_start("loadEventStart"),
        dom_content_loaded_ms=navigation.since_fetch_start("domContentLoadedEventStart"),
        first_contentful_paint_ms=navigation.first_contentful_paint_ms,
        requests=None if kind is PassKind.PLAIN else len(recording.requests),
        transferred_bytes=None if kind is PassKind.PLAIN else recording.transferred_bytes,
        tls=tls_handshakes(netlog) if netlog.exists() else [],
        warnings=list(dict.fromkeys(recording.warnings)),
    )
