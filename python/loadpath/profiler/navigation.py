"""Going to a page, and what the page itself knows of its load."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from loadpath.errors import LoadpathError, hinted
from loadpath.profiler.devtools import CommandError
from loadpath.profiler.watch import Watch

__all__ = ["REPLY_TIMEOUT_S", "Navigation", "ask", "ask_for_paint", "evaluate", "navigate"]

REPLY_TIMEOUT_S = 10.0
"""For a page to reply; a main thread busy for longer after its load event is not coming back."""

PAINT_WAIT_S = 0.5
"""A plain pass waits so long for the first paint: some thirty frames."""

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


@dataclass(slots=True)
class Navigation:
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


async def navigate(url: str, watch: Watch) -> str | None:
    """Go to the page and wait for its load event; why not, if that did not come in time."""
    timeout_s = watch.settings.timeout_s
    end = time.monotonic() + timeout_s
    try:
        answer = await watch.call("Page.navigate", {"url": url}, timeout_s=timeout_s)
    except TimeoutError:
        raise hinted(
            LoadpathError(f"{url}: no answer within {timeout_s:g} s"), "--timeout SECONDS"
        ) from None
    if answer.get("isDownload"):
        raise LoadpathError(f"{url} is a download, not a page")
    if "errorText" in answer:
        raise _no_page(url, answer["errorText"])
    try:
        await watch.wait_for(watch.loaded, max(0.0, end - time.monotonic()))
    except TimeoutError:
        return f"no load event within {timeout_s:g} s"
    return None


def _no_page(url: str, text: str) -> LoadpathError:
    error = LoadpathError(f"{url}: {text}")
    for name, hint in _HINTS.items():
        if name in text:
            return hinted(error, hint)
    return hinted(error, "does it open in a browser?")


async def evaluate(watch: Watch, expression: str) -> Any:
    """The value of an expression in the page; promises are waited for.

    Raises `TimeoutError` if the page is too busy, `CommandError` if it has gone.
    """
    answer = await watch.call(
        "Runtime.evaluate",
        {"expression": expression, "returnByValue": True, "awaitPromise": True},
        timeout_s=REPLY_TIMEOUT_S,
    )
    return answer["result"].get("value")


async def ask(watch: Watch) -> Navigation:
    """The times of the load, as soon as it is over: the page may go on to another."""
    navigation = Navigation()
    try:
        value = await evaluate(
            watch,
            "({entry: performance.getEntriesByType('navigation')[0]?.toJSON(),"
            " timeOrigin: performance.timeOrigin})",
        )
        await watch.call("Performance.enable", timeout_s=REPLY_TIMEOUT_S)
        metrics = await watch.call("Performance.getMetrics", timeout_s=REPLY_TIMEOUT_S)
    except (TimeoutError, CommandError):
        watch.warnings.append("the page does not reply: its main thread is busy")
        return navigation
    named = {metric["name"]: metric["value"] for metric in metrics["metrics"]}
    navigation.entry = value["entry"]
    navigation.time_origin_ms = value["timeOrigin"]
    navigation.monotonic_origin_s = named["NavigationStart"]
    return navigation


async def ask_for_paint(watch: Watch, navigation: Navigation) -> None:
    """Fill in the first paint, which may come a moment after the load event."""
    if navigation.entry is None:
        return
    end = time.monotonic() + PAINT_WAIT_S
    while navigation.first_contentful_paint_ms is None:
        try:
            navigation.first_contentful_paint_ms = await evaluate(
                watch,
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null",
            )
        except (TimeoutError, CommandError):
            return
        if time.monotonic() >= end:
            return
        await asyncio.sleep(0.05)
