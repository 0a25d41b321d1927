"""A page in a browser that is being watched: its targets, its load event, its end."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from loadpath.profiler.devtools import BrowserEndedError, DevTools, Event
from loadpath.profiler.emulation import UserAgent, session_commands
from loadpath.profiler.manifest import PassKind
from loadpath.profiler.settings import Settings

__all__ = ["Watch"]

MAX_DIALOG_TEXT = 80
"""Characters of a dialog's message that a warning quotes."""

_Value = TypeVar("_Value")


class Watch:
    """One load, fed by the browser's events."""

    def __init__(self, kind: PassKind, settings: Settings) -> None:
        loop = asyncio.get_running_loop()
        self.kind = kind
        self.settings = settings
        self.warnings: list[str] = []
        self.documents: list[str] = []
        """URLs of the main frame's documents."""
        self.main: asyncio.Future[str] = loop.create_future()
        """Session of the page, once attached."""
        self.loaded: asyncio.Future[None] = loop.create_future()
        """Done with the main frame's load event."""
        self._failed: asyncio.Future[None] = loop.create_future()
        # Nobody may be waiting by then.
        self._failed.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._targets: dict[str, str] = {}
        self._blank_loader = ""
        self._devtools: DevTools
        self._user_agent: UserAgent
        self._handlers: dict[str, Callable[[Event], None]] = {
            "Target.attachedToTarget": self._attached,
            "Target.detachedFromTarget": self._detached,
            "Inspector.targetCrashed": self._crashed,
            "Page.frameNavigated": self._navigated,
            "Page.lifecycleEvent": self._lifecycle,
            "Page.javascriptDialogOpening": self._dialog,
        }

    def begin(self, devtools: DevTools, user_agent: UserAgent) -> None:
        """Use a connection; before any target is attached."""
        self._devtools = devtools
        self._user_agent = user_agent

    def keep(self, event: Event) -> None:
        """Take an event before it is acted on; `OSError` ends the load."""

    def attached(self, session: str, info: dict[str, Any]) -> None:
        """Take note of a new target."""

    def listen(self, event: Event) -> None:
        """Keep an event and act on it."""
        if self._failed.done():
            return
        try:
            self.keep(event)
        except OSError as error:
            # A full disk is no reason for the event loop to break down.
            self._failed.set_exception(error)
            return
        handler = self._handlers.get(event.method)
        if handler is not None:
            handler(event)

    def close(self) -> None:
        """Wait for nothing any more."""
        for future in (self._failed, self.main, self.loaded):
            future.cancel()

    async def wait_for(
        self, awaitable: "asyncio.Future[_Value]", timeout_s: float | None = None
    ) -> _Value:
        """Wait, but no longer than there is something to wait for.

        Raises `BrowserEndedError` if the browser or the page's process ends, `OSError` if
        events cannot be kept, `TimeoutError`.
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
        self.attached(session, info)
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
