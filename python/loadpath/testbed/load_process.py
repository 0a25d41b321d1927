"""The process of a load: `python -m loadpath.testbed.load_process`, started by `loader` at the
client's end of a link.

It reads one line of JSON, loads the page once in a new browser, and prints what it saw as a line of
JSON. The browser stays, so that connections can be looked at, until standard input ends.
"""

import asyncio
import os
import shutil
import sys
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from loadpath.errors import LoadpathError
from loadpath.profiler import PassKind, Settings, chromium
from loadpath.profiler.devtools import CommandError, Event
from loadpath.profiler.emulation import WINDOW, UserAgent
from loadpath.profiler.navigation import (
    REPLY_TIMEOUT_S,
    Navigation,
    ask,
    ask_for_paint,
    evaluate,
    navigate,
)
from loadpath.profiler.netlog import tls_handshakes
from loadpath.profiler.recording import LOCAL_SCHEMES
from loadpath.profiler.watch import Watch
from loadpath.testbed.load import PageLoad, Request

__all__ = ["Failure", "Order", "requests_of"]


SETTLE_S = 0.5
"""What a browser that was just started still does: people's have long been started. Measured: what
a navigation takes before its name is looked up falls from 12.5 to 8.5 ms."""


class Order(msgspec.Struct, kw_only=True):
    """The line that is read."""

    url: str
    browser: str
    scratch: str
    """Folder for what goes with the load."""
    flags: list[str]
    no_sandbox: bool
    timeout_s: float
    network: bool
    """Whether to listen to the Network domain."""
    netlog: str | None = None
    """File for the browser's network log."""
    netlog_mode: str = "Default"


class Failure(msgspec.Struct):
    """What is printed if there is no page."""

    error: str
    hints: list[str]


class _Listening(Watch):
    """Keeps events of the network as they came, to be read after the load."""

    def __init__(self, settings: Settings, *, network: bool) -> None:
        # A timing pass enables the Network domain without buffers for bodies, a plain one does not.
        super().__init__(PassKind.TIMING if network else PassKind.PLAIN, settings)
        self.events: list[Event] = []

    def keep(self, event: Event) -> None:
        if event.method.startswith("Network."):
            self.events.append(event)


class _Owner(asyncio.Protocol):
    """Whoever wants the load: standard input ends when they do, or do not need us any more."""

    def __init__(self) -> None:
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.told = False
        """They have heard of the load; what is left is to end the browser."""

    def connection_lost(self, error: Exception | None) -> None:
        if not self.gone.done():
            self.gone.set_result(None)


async def _run(order: Order) -> None:
    """Load, but no longer than there is somebody to load for."""
    owner = _Owner()
    await asyncio.get_running_loop().connect_read_pipe(lambda: owner, sys.stdin.buffer)
    load = asyncio.ensure_future(_load(order, owner))
    either: set[asyncio.Future[Any]] = {load, owner.gone}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not owner.told:
        load.cancel()
    try:
        await load
    except asyncio.CancelledError:
        # Nobody may be left to do it.
        shutil.rmtree(order.scratch, ignore_errors=True)


async def _load(order: Order, owner: _Owner) -> PageLoad:
    settings = Settings(timeout_s=order.timeout_s)
    watch = _Listening(settings, network=order.network)
    flags = [f"--window-size={WINDOW[0]},{WINDOW[1]}", *order.flags]
    if order.netlog is not None:
        flags.append(f"--log-net-log={order.netlog}")
        flags.append(f"--net-log-capture-mode={order.netlog_mode}")
    try:
        async with chromium.start(
            Path(order.browser),
            flags,
            watch.listen,
            unfinished=Path(order.scratch),
            no_sandbox=order.no_sandbox,
        ) as up:
            watch.begin(up.devtools, UserAgent.of(up.version["userAgent"], settings.emulate))
            await up.devtools.call("Browser.setDownloadBehavior", {"behavior": "deny"})
            await up.devtools.call(
                "Target.setAutoAttach",
                {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True},
            )
            await watch.wait_for(watch.main, REPLY_TIMEOUT_S)
            tree = await watch.call("Page.getFrameTree", timeout_s=REPLY_TIMEOUT_S)
            watch.expect_navigation(tree["frameTree"]["frame"]["loaderId"])
            await asyncio.sleep(SETTLE_S)
            reason = await navigate(order.url, watch)
            navigation = await ask(watch)
            await ask_for_paint(watch, navigation)
            paint = await _ask_for_paint_details(watch, navigation)
            loaded = _page_load(watch, navigation, paint, reason)
            loaded.browser = up.version["product"]
            _print(loaded)
            owner.told = True
            # Until then the connections are there to be looked at.
            await owner.gone
    finally:
        watch.close()
    return loaded


async def _ask_for_paint_details(watch: Watch, navigation: Navigation) -> dict[str, Any]:
    if navigation.entry is None:
        return {}
    script = (resources.files("loadpath.testbed") / "paint.js").read_text()
    with suppress(TimeoutError, CommandError):
        return dict(await evaluate(watch, script) or {})
    return {}


def _page_load(
    watch: _Listening, navigation: Navigation, paint: dict[str, Any], reason: str | None
) -> PageLoad:
    load = PageLoad(
        status="partial" if reason else "complete",
        reason=reason,
        load_ms=navigation.since_fetch_start("loadEventStart"),
        dom_content_loaded_ms=navigation.since_fetch_start("domContentLoadedEventStart"),
        warnings=list(dict.fromkeys(watch.warnings)),
    )
    if navigation.entry is None or navigation.monotonic_origin_s is None:
        load.status, load.reason = "partial", reason or "the page does not reply"
        return load
    fetch_ms = navigation.entry["fetchStart"]

    def since_fetch_start(time_ms: float | None) -> float | None:
        return None if time_ms is None else time_ms - fetch_ms

    load.first_contentful_paint_ms = since_fetch_start(navigation.first_contentful_paint_ms)
    load.largest_contentful_paint_ms = since_fetch_start(paint.get("lcp"))
    load.rum_speed_index_ms = since_fetch_start(paint.get("speedIndex"))
    load.requests = requests_of(watch.events, 1e3 * navigation.monotonic_origin_s + fetch_ms)
    if len(watch.documents) > 1 and navigation.entry["name"] != watch.documents[0]:
        load.warnings.append(
            f"the page went on to {navigation.entry['name']} before its load event, and times are "
            "of that page"
        )
    return load


def requests_of(events: list[Event], origin_ms: float) -> list[Request]:
    """The requests that events of the Network domain tell of, in order.

    Parameters
    ----------
    events
        In order of arrival, of all targets.
    origin_ms
        The zero of the load's clock on DevTools' monotonic one, ms.
    """
    hops: dict[str, list[dict[str, Any]]] = {}
    order: list[dict[str, Any]] = []
    for event in events:
        params = event.decode()
        identity = params.get("requestId")
        known = hops.get(identity or "", [])
        match event.method:
            case "Network.requestWillBeSent":
                if params["request"]["url"].startswith(LOCAL_SCHEMES):
                    continue
                if known and "redirectResponse" in params:
                    known[-1]["response"] = params["redirectResponse"]
                    known[-1]["end_s"] = params["timestamp"]
                elif known:
                    # Frames of other processes tell of their document twice.
                    continue
                hop: dict[str, Any] = {"sent": params, "body": 0}
                hops.setdefault(params["requestId"], []).append(hop)
                order.append(hop)
            case "Network.responseReceived" if known:
                known[-1]["response"] = params["response"]
            case "Network.dataReceived" if known:
                known[-1]["body"] += params["encodedDataLength"]
            case "Network.requestServedFromCache" if known:
                known[-1]["cached"] = True
            case "Network.loadingFinished" if known:
                known[-1]["end_s"] = params["timestamp"]
                known[-1]["transferred"] = params["encodedDataLength"]
            case "Network.loadingFailed" if known:
                known[-1]["error"] = params.get("blockedReason") or params.get("errorText", "")
    return [_request(hop, origin_ms) for hop in order]


def _request(hop: dict[str, Any], origin_ms: float) -> Request:
    sent, response = hop["sent"], hop.get("response", {})
    timing = response.get("timing")
    cached = (
        hop.get("cached", False)
        or response.get("fromDiskCache", False)
        or response.get("fromPrefetchCache", False)
        or response.get("fromServiceWorker", False)
    )

    def at(name: str) -> float | None:
        """A phase; DevTools counts them from requestTime, and -1 is none."""
        if timing is None or cached or timing.get(name, -1) < 0:
            return None
        return float(1e3 * timing["requestTime"] + timing[name] - origin_ms)

    start, connection = at("connectStart"), int(response.get("connectionId", 0))
    reused = response.get("connectionReused", False)
    headers = response.get("encodedDataLength", 0)
    transferred = int(hop.get("transferred", headers + hop["body"]))
    end_s = hop.get("end_s")
    address = response.get("remoteIPAddress", "")
    return Request(
        url=sent["request"]["url"],
        method=sent["request"]["method"],
        kind=sent.get("type", ""),
        mime_type=response.get("mimeType", ""),
        status=response.get("status", 0),
        protocol=response.get("protocol", ""),
        priority=sent["request"].get("initialPriority", ""),
        address=f"{address}:{response.get('remotePort', 0)}" if address else "",
        connection=0 if cached else connection,
        reused=reused,
        start_ms=1e3 * sent["timestamp"] - origin_ms,
        dns_start_ms=at("dnsStart"),
        connect_start_ms=start,
        connect_end_ms=at("connectEnd"),
        send_start_ms=at("sendStart"),
        send_end_ms=at("sendEnd"),
        response_start_ms=at("receiveHeadersStart") or at("receiveHeadersEnd"),
        end_ms=None if end_s is None else 1e3 * end_s - origin_ms,
        # Of documents, DevTools tells no bytes by piece.
        body_bytes=0 if cached else hop["body"] or max(0, transferred - int(headers)),
        transferred_bytes=0 if cached else transferred,
        cached=cached,
        error=hop.get("error"),
    )


def _print(message: object) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
    sys.stdout.buffer.flush()


def main() -> int:
    """Load once."""
    line = sys.stdin.buffer.readline()
    if not line:
        return 1
    order = msgspec.json.decode(line, type=Order)
    # What starts below must not fill the folder for temporary files of others.
    os.environ["TMPDIR"] = order.scratch
    try:
        asyncio.run(_run(order))
    except LoadpathError as error:
        hints = [str(note) for note in getattr(error, "__notes__", [])]
        _print(Failure(str(error), hints))
        return 1
    if order.netlog is not None and order.netlog_mode == "Everything":
        # The log is whole when the browser has ended.
        _print(tls_handshakes(Path(order.netlog)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
