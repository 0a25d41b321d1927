"""A raw connection to Chromium's DevTools over its pipe.

Messages are JSON, each ended by a NUL byte (content/browser/devtools/devtools_pipe_handler.cc).
Commands may be sent without waiting for their replies; events go to one listener as they come,
their parameters undecoded, so that memory does not grow with the page.
"""

import asyncio
import os
import re
from collections.abc import Callable
from typing import Any

import msgspec

from loadpath.errors import LoadpathError

__all__ = ["BrowserEndedError", "CommandError", "DevTools", "Event"]


REPLY_TIMEOUT_S = 60.0
"""For the browser itself, whose replies take milliseconds unless it hangs."""


class CommandError(LoadpathError):
    """DevTools refused a command."""


class BrowserEndedError(LoadpathError):
    """The browser ended while something was expected of it."""


class Event(msgspec.Struct, frozen=True):
    """One event: DevTools session ("" is the browser's), method, parameters as JSON text."""

    method: str
    session: str
    params: msgspec.Raw

    def decode(self) -> dict[str, Any]:
        """The parameters."""
        params: dict[str, Any] = msgspec.json.decode(self.params)
        return params


class _Message(msgspec.Struct):
    id: int | None = None
    method: str = ""
    session: str = msgspec.field(default="", name="sessionId")
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"{}")
    error: dict[str, Any] | None = None


_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape in a JSON string; the group is a surrogate without its other half."""

_DECODER = msgspec.json.Decoder(_Message)


class DevTools(asyncio.Protocol):
    """One browser's connection."""

    def __init__(self, listener: Callable[[Event], None]) -> None:
        self._listener = listener
        self._buffer = bytearray()
        self._scanned = 0
        self._replies: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._next_id = 1
        self._writer: asyncio.WriteTransport | None = None
        self._reader: asyncio.ReadTransport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the browser has closed its end; has an exception if a listener failed."""
        self.ended.add_done_callback(lambda done: done.cancelled() or done.exception())

    @classmethod
    async def open(
        cls, commands_fd: int, replies_fd: int, listener: Callable[[Event], None]
    ) -> "DevTools":
        """A connection over two pipe ends, which it owns from now on."""
        loop = asyncio.get_running_loop()
        self = cls(listener)
        self._writer, _ = await loop.connect_write_pipe(
            asyncio.BaseProtocol, os.fdopen(commands_fd, "wb", buffering=0)
        )
        self._reader, _ = await loop.connect_read_pipe(
            lambda: self, os.fdopen(replies_fd, "rb", buffering=0)
        )
        return self

    def post(
        self, method: str, params: dict[str, Any] | None = None, *, session: str = ""
    ) -> asyncio.Future[dict[str, Any]]:
        """Send a command; commands of one session are carried out in order of sending.

        The future raises `CommandError` or `BrowserEndedError`.
        """
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        # Whoever does not wait for the reply does not want to hear of its failure either.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self.ended.done() or self._writer is None:
            future.set_exception(_ended(method))
            return future
        message: dict[str, Any] = {"id": self._next_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        self._replies[self._next_id] = (method, future)
        self._next_id += 1
        self._writer.write(msgspec.json.encode(message) + b"\0")
        return future

    async def call(
        self, method: str, params: dict[str, Any] | None = None, *, session: str = ""
    ) -> dict[str, Any]:
        """Send a command and wait for its result; raises as `post` says."""
        try:
            return await asyncio.wait_for(
                self.post(method, params, session=session), REPLY_TIMEOUT_S
            )
        except TimeoutError as error:
            raise BrowserEndedError(f"the browser does not reply to {method}") from error

    def close(self) -> None:
        """Close the pipe, which ends the browser."""
        for transport in (self._writer, self._reader):
            if transport is not None:
                transport.close()
        self._fail_all()

    def data_received(self, data: bytes) -> None:
        """Take what came, message by message."""
        buffer = self._buffer
        buffer += data
        start = 0
        try:
            while (end := buffer.find(0, max(start, self._scanned))) >= 0:
                self._receive(bytes(buffer[start:end]))
                start = end + 1
        except Exception as error:
            # The event loop would log it and go on waiting for what was in the message.
            self._fail_all(error)
            return
        del buffer[:start]
        self._scanned = len(buffer)

    def connection_lost(self, error: Exception | None) -> None:
        """Fail every command that is under way."""
        self._fail_all()

    def _receive(self, data: bytes) -> None:
        message = _DECODER.decode(_well_formed(data))
        if message.id is None:
            self._listener(Event(message.method, message.session, message.params))
            return
        method, future = self._replies.pop(message.id, ("", None))
        if future is None or future.done():
            return
        if message.error is not None:
            text = message.error.get("message", "no reason given")
            future.set_exception(CommandError(f"{method}: {text}"))
        else:
            future.set_result(msgspec.json.decode(message.result))

    def _fail_all(self, error: Exception | None = None) -> None:
        if self.ended.done():
            pass
        elif error is not None:
            self.ended.set_exception(error)
        else:
            self.ended.set_result(None)
        replies, self._replies = self._replies, {}
        for method, future in replies.values():
            if not future.done():
                future.set_exception(_ended(method))


def _well_formed(data: bytes) -> bytes:
    """The message with U+FFFD for lone surrogates, which JavaScript has and JSON readers refuse."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return data
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match[1] else match[0], data)


def _ended(method: str) -> BrowserEndedError:
    return BrowserEndedError(f"the browser ended while {method} was under way")
