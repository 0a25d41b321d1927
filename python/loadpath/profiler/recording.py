"""What a pass hears from the browser: every event to disk, the state of the load in memory."""

import asyncio
import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from loadpath.profiler.devtools import BrowserEndedError, DevTools, Event
from loadpath.profiler.emulation import UserAgent, session_commands
from loadpath.profiler.manifest import PassKind
from loadpath.profiler.redact import Redactor
from loadpath.profiler.settings import Settings

__all__ = ["EVENTS_FILE", "Recording"]

EVENTS_FILE = "events.jsonl.gz"

MAX_DIALOG_TEXT = 80
"""Characters of a dialog's message that a warning quotes."""

LOCAL_SCHEMES = ("data:", "blob:")
"""DevTools tells of these as of requests."""

_Value = TypeVar("_Value")


class Recording:
    """One pass, fed by the browser's events."""

    def __init__(self, url: str, kind: PassKind, settings: Settings, folder: Path) -> None:
        loop = asyncio.get_running_loop()
        self.host = urlsplit(url).hostname
        self.kind = kind
        self.settings = settings
        self.folder = folder
        self.warnings: list[str] = []
        self.requests: set[str] = set()
        """Requests of the pass that may go over the network, redirects counted once."""
        self.transferred_bytes = 0
        self.under_way: set[str] = set()
        self.last_activity = time.monotonic()
        """When a request began or ended, on `time.monotonic`'s clock."""
        self.finished: list[tuple[str, str]] = []
        """Session and request of every response that came to its end, in that order."""
        self.documents: list[str] = []
        """URLs of the main frame's documents."""
        self.main: asyncio.Future[str] = loop.create_future()
        """Session of the page, once attached."""
        self.loaded: asyncio.Future[None] = loop.create_future()
        """Done with the main frame's load event."""
        self.trace_complete: asyncio.Future[dict[str, Any]] = loop.create_future()
        self._failed: asyncio.Future[None] = loop.create_future()
        # Nobody may be waiting by then.
        self._failed.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._targets: dict[str, str] = {}
        self._blank_loader = ""
        self._asked: set[str] = set()
        self._redactor = Redactor(settings.headers) if settings.redact else None
        self._events = gzip.open(folder / EVENTS_FILE, "wb", compresslevel=1)  # noqa: SIM115
        self._devtools: DevTools
        self._user_agent: UserAgent
        self._handlers: dict[str, Callable[[Event], None]] = {
            "Target.attachedToTarget": self._attached,
            "Target.detachedFromTarget": self._detached,
            "Inspector.targetCrashed": self._crashed,
            "Network.requestWillBeSent": self._request,
            "Network.loadingFinished": self._finished,
            "Network.loadingFailed": self._finished,
            "Network.webSocketCreated": self._socket,
            "Network.webTransportCreated": self._socket,
            "Page.frameNavigated": self._navigated,
            "Page.lifecycleEvent": self._lifecycle,
            "Page.javascriptDialogOpening": self._dialog,
            "Fetch.requestPaused": self._paused,
            "Fetch.authRequired": self._auth_required,
            "Tracing.tracingComplete": self._trace_completed,
        }

    def begin(self, devtools: DevTools, user_agent: UserAgent) -> None:
        """Use a connection; before any target is attached."""
        self._devtools = devtools
        self._user_agent = user_agent

    def listen(self, event: Event) -> None:
        """Write an event and act on it."""
        if self._failed.done():
            return
        try:
            if not event.method.startswith("Tracing."):
                self.write(event.method, event.params, event.session)
        except OSError as error:
            # A full disk is no reason for the event loop to break down.
            self._failed.set_exception(error)
            return
        handler = self._handlers.get(event.method)
        if handler is not None:
            handler(event)

    def write(self, method: str, params: bytes | msgspec.Raw, session: str = "") -> None:
        """Write one line of the event file."""
        if self._redactor is not None:
            params = self._redactor.event(method, params)
        self._events.write(
            b'{"session":%s,"target":%s,"method":%s,"params":%s}\n'
            % (
                msgspec.json.encode(session),
                msgspec.json.encode(self._targets.get(session, "")),
                msgspec.json.encode(method),
                bytes(params),
            )
        )

    def close(self) -> None:
        """Complete the event file."""
        self._events.close()
        for future in (self._failed, self.main, self.loaded, self.trace_complete):
            future.cancel()

    async def wait_for(
        self, awaitable: "asyncio.Future[_Value]", timeout_s: float | None = None
    ) -> _Value:
        """Wait, but no longer than there is something to wait for.

        Raises `BrowserEndedError` if the browser or the page's process ends, `OSError` if
        events cannot be written, `TimeoutError`.
        """
        futures: set[asyncio.Future[Any]] = {awaitable, self._failed, self._devtools.ended}
        done, _ = await asyncio.wait(
            futures,
            timeout=timeout_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if self._failed in done:
            self._failed.result()
        if awaitable in done:
            return awaitable.result()
        if done:
            self._devtools.ended.result()
            raise BrowserEndedError("the browser ended before the pass did")
        raise TimeoutError

    async def call(
        self, method: str, params: dict[str, Any] | None = None, *, timeout_s: float
    ) -> dict[str, Any]:
        """A command to the page, which may be too busy to reply."""
        session = self.main.result()
        return await self.wait_for(self._devtools.post(method, params, session=session), timeout_s)

    def expect_navigation(self, blank_loader: str) -> None:
        """From now on, a load event of any document but this one counts."""
        self._blank_loader = blank_loader

    def _attached(self, event: Event) -> None:
        params = event.decode()
        session, info = params["sessionId"], params["targetInfo"]
        self._targets[session] = info["targetId"]
        self.write("Loadpath.attached", msgspec.json.encode({"targetInfo": info}), session)
        is_main = info["type"] == "page" and not self.main.done()
        if info["type"] == "page" and not is_main:
            self.warnings.append("the page opened a window, which is recorded, too")

        def post(method: str, params: dict[str, Any]) -> None:
            self._devtools.post(method, params, session=session)

        if info["type"] == "service_worker":
            self.warnings.append("the page has a service worker, which is recorded, not modelled")
        for method, arguments in session_commands(
            self.kind, self.settings, info["type"], self._user_agent
        ):
            post(method, arguments)
        post(
            "Target.setAutoAttach",
            {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True},
        )
        post("Runtime.runIfWaitingForDebugger", {})
        if is_main:
            self.main.set_result(session)

    def _detached(self, event: Event) -> None:
        self._targets.pop(event.decode().get("sessionId", ""), None)

    def _crashed(self, event: Event) -> None:
        if self._is_main(event) and not self._failed.done():
            self._failed.set_exception(
                BrowserEndedError("the page's process crashed (out of memory?)")
            )

    def _is_main(self, event: Event) -> bool:
        return self.main.done() and event.session == self.main.result()

    def _request(self, event: Event) -> None:
        params = event.decode()
        request = params["requestId"]
        if not params["request"]["url"].startswith(LOCAL_SCHEMES):
            self.requests.add(request)
        self.under_way.add(request)
        self.last_activity = time.monotonic()

    def _finished(self, event: Event) -> None:
        params = event.decode()
        request = params["requestId"]
        if request in self.requests:
            self.transferred_bytes += int(params.get("encodedDataLength", 0))
        self.under_way.discard(request)
        self.last_activity = time.monotonic()
        if event.method == "Network.loadingFinished" and self.kind is PassKind.STRUCTURE:
            self.finished.append((event.session, request))

    def _socket(self, event: Event) -> None:
        kind = event.method.removeprefix("Network.w").removesuffix("Created")
        self.warnings.append(f"the page opened a W{kind}, which is recorded, not modelled")

    def _navigated(self, event: Event) -> None:
        frame = event.decode()["frame"]
        if self._is_main(event) and "parentId" not in frame and self._blank_loader:
            self.documents.append(frame["url"])

    def _lifecycle(self, event: Event) -> None:
        params = event.decode()
        if (
            self._blank_loader
            and params["name"] == "load"
            and self._is_main(event)
            and params["frameId"] == self._targets[event.session]
            and params["loaderId"] != self._blank_loader
            and not self.loaded.done()
        ):
            self.loaded.set_result(None)

    def _dialog(self, event: Event) -> None:
        params = event.decode()
        text = params["message"]
        if len(text) > MAX_DIALOG_TEXT:
            text = text[:MAX_DIALOG_TEXT] + "…"
        self.warnings.append(f"a dialog was dismissed: {params['type']} {text!r}")
        self._devtools.post("Page.handleJavaScriptDialog", {"accept": False}, session=event.session)

    def _paused(self, event: Event) -> None:
        params = {"requestId": event.decode()["requestId"]}
        self._devtools.post("Fetch.continueRequest", params, session=event.session)

    def _auth_required(self, event: Event) -> None:
        params = event.decode()
        challenge = params["authChallenge"]
        answer = {"response": "CancelAuth"}
        if (
            params["requestId"] not in self._asked
            and challenge.get("source") != "Proxy"
            and urlsplit(challenge["origin"]).hostname == self.host
        ):
            # Once, and nobody else: if they are refused, the page is what strangers see.
            user, _, password = (self.settings.auth or "").partition(":")
            answer = {"response": "ProvideCredentials", "username": user, "password": password}
        self._asked.add(params["requestId"])
        self._devtools.post(
            "Fetch.continueWithAuth",
            {"requestId": params["requestId"], "authChallengeResponse": answer},
            session=event.session,
        )

    def _trace_completed(self, event: Event) -> None:
        if not self.trace_complete.done():
            self.trace_complete.set_result(event.decode())
