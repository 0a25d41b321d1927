"""What a pass hears from the browser: every event to disk, the state of the load in memory."""

import asyncio
import gzip
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from loadpath.profiler.devtools import Event
from loadpath.profiler.manifest import PassKind
from loadpath.profiler.redact import Redactor
from loadpath.profiler.settings import Settings
from loadpath.profiler.watch import Watch

__all__ = ["EVENTS_FILE", "LOCAL_SCHEMES", "Recording"]

EVENTS_FILE = "events.jsonl.gz"

LOCAL_SCHEMES = ("data:", "blob:")
"""DevTools tells of these as of requests."""


class Recording(Watch):
    """One pass, fed by the browser's events."""

    def __init__(self, url: str, kind: PassKind, settings: Settings, folder: Path) -> None:
        super().__init__(kind, settings)
        self.host = urlsplit(url).hostname
        self.folder = folder
        self.requests: set[str] = set()
        """Requests of the pass that may go over the network, redirects counted once."""
        self.transferred_bytes = 0
        self.under_way: set[str] = set()
        self.last_activity = time.monotonic()
        """When a request began or ended, on `time.monotonic`'s clock."""
        self.finished: list[tuple[str, str]] = []
        """Session and request of every response that came to its end, in that order."""
        self.trace_complete: asyncio.Future[dict[str, Any]] = (
            asyncio.get_running_loop().create_future()
        )
        self._asked: set[str] = set()
        self._redactor = Redactor(settings.headers) if settings.redact else None
        self._events = gzip.open(folder / EVENTS_FILE, "wb", compresslevel=1)  # noqa: SIM115
        self._handlers |= {
            "Network.requestWillBeSent": self._request,
            "Network.loadingFinished": self._finished,
            "Network.loadingFailed": self._finished,
            "Network.webSocketCreated": self._socket,
            "Network.webTransportCreated": self._socket,
            "Fetch.requestPaused": self._paused,
            "Fetch.authRequired": self._auth_required,
            "Tracing.tracingComplete": self._trace_completed,
        }

    def keep(self, event: Event) -> None:
        """Write an event."""
        if not event.method.startswith("Tracing."):
            self.write(event.method, event.params, event.session)

    def attached(self, session: str, info: dict[str, Any]) -> None:
        """Write the start of a target, to tell events of workers and frames apart."""
        self.write("Loadpath.attached", msgspec.json.encode({"targetInfo": info}), session)

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
        super().close()
        self.trace_complete.cancel()

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
