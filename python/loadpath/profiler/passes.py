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
from loadpath.profiler.navigation import (
    REPLY_TIMEOUT_S,
    Navigation,
    ask,
    ask_for_paint,
    navigate,
)
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

TRACE_TIMEOUT_S = 120.0
"""For the end of the trace, which every process has to flush."""

TRACE_BUFFER_KB = 1_000_000
"""The browser allocates what it needs; a buffer that is full loses events."""

CHUNK_BYTES = 1 << 20
"""Of the trace, for each IO.read."""


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


async def _load(url: str, recording: Recording, devtools: DevTools) -> Navigation:
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
    reason = await navigate(url, recording)
    navigation = await ask(recording)
    navigation.reason = reason
    if kind is not PassKind.PLAIN:
        documents = len(recording.documents)
        await _wait(recording)
        if len(recording.documents) > documents:
            recording.warnings.append(
                f"the page went on to {recording.documents[-1]} after its load event"
            )
    await ask_for_paint(recording, navigation)
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


def _check(url: str, navigation: Navigation, recording: Recording) -> None:
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
    name: str, kind: PassKind, started_at: str, navigation: Navigation, recording: Recording
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
